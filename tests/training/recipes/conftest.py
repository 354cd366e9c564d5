"""The example corpus as a folder of data, shared by recipes that learn from questions on documents."""

import json
from pathlib import Path

import pytest

from clew.training.data.corpora import DEVELOPMENT_FILE, TRAIN_FILE
from tests.conftest import EXAMPLES


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example corpus as a folder of data: every second question to learn from."""
    folder = tmp_path_factory.mktemp("data") / "polar"
    folder.mkdir()
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        for path in sorted((EXAMPLES / "polar").glob("*.md")):
            text = path.read_text(encoding="utf-8")
            title = text.partition("\n")[0].lstrip("# ")
            out.write(json.dumps({"id": path.name, "title": title, "text": text}) + "\n")
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / TRAIN_FILE).write_text("".join(lines[::2]), encoding="utf-8")
    (folder / DEVELOPMENT_FILE).write_text("".join(lines[1::2]), encoding="utf-8")
    return folder
