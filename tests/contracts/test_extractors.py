"""Contract of every extractor of `open_extractor`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew.indexing.extraction.registry import accept_extractor, open_extractor
from clew.protocols import Extractor
from clew.types import Extraction, Failure, Passage, Prompt
from tests.indexing.extraction.scripted_model import make_reply
from tests.models.llm.scripted_model import ScriptedModel

TEXTS = {
    "a": "The Fram left Oslo in 1893.",
    "b": "卡尔斯克鲁纳是瑞典的港口城市。",
    "c": "",
    "d": "🚢 \0 \ufffe",
    "missing": "Not in any file of results.",
}
PASSAGES = [Passage(id_, "d", "Title", text, 5, 5 + len(text)) for id_, text in TEXTS.items()]


def reply(prompt: Prompt) -> dict[str, object]:
    return make_reply(prompt.reply.__name__, prompt.content)


def open_scripted(name: str) -> Extractor:
    return open_extractor(name, lambda _: ScriptedModel(reply))


@pytest.fixture
def open_named(own_part: Callable[[str], dict[str, Any]]) -> Callable[[str], Extractor]:
    """Opens an extractor by name; `own` is that of docs/extend.md, given as an object."""
    return lambda name: (
        accept_extractor(own_part("extractor")["Departures"]()) if name == "own" else open_scripted(name)
    )


@pytest.fixture(params=["rules", "auto", "learned", "published", "llm", "own"])
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of an extractor; results of all passages but the last are published."""
    if request.param != "published":
        return "llm:scripted:model" if request.param == "llm" else str(request.param)
    path = tmp_path / "openie.jsonl"
    entries = [{"id": p.id, "entities": ["Oslo"], "triples": [["Fram", "left", "Oslo"]]} for p in PASSAGES[:-1]]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return f"published:{path}"


@pytest.fixture
def extractor(name: str, open_named: Callable[[str], Extractor]) -> Extractor:
    return open_named(name)


def test_each_passage_has_a_result_in_its_place(extractor: Extractor) -> None:
    for passage, result in zip(PASSAGES, extractor.extract(PASSAGES), strict=True):
        if isinstance(result, Failure):
            assert result.item == passage.id
            assert result.reason
        else:
            check(passage, result)


def check(passage: Passage, result: Extraction) -> None:
    for mention in result.mentions:
        assert mention.name
        assert mention.kind in ("name", "quoted", "acronym", "date", "number", "identifier")
        if (mention.start, mention.end) != (-1, -1):
            # Offsets are relative to the passage, not to its document, which starts five characters earlier.
            assert 0 <= mention.start < mention.end <= len(passage.text)
    for head, relation, tail in result.triples:
        assert head
        assert relation
        assert tail


def test_a_result_depends_on_its_own_passage_only(extractor: Extractor) -> None:
    together = extractor.extract(PASSAGES)
    assert [extractor.extract([passage])[0] for passage in PASSAGES] == together
    assert extractor.extract(PASSAGES[::-1]) == together[::-1]
    assert extractor.extract([]) == []


def test_a_second_extractor_is_the_same(
    extractor: Extractor, name: str, open_named: Callable[[str], Extractor]
) -> None:
    again = open_named(name)
    assert again.fingerprint == extractor.fingerprint
    assert again.extract(PASSAGES) == extractor.extract(PASSAGES)


def test_fingerprints_tell_extractors_apart(tmp_path: Path) -> None:
    prints = {open_scripted(name).fingerprint for name in ("rules", "auto", "learned", "llm:scripted:model")}
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps({"id": "a", "entities": [f"Name {number}"], "triples": []}) + "\n", encoding="utf-8")
        prints.add(open_extractor(f"published:{path}").fingerprint)
    assert len(prints) == 6


def test_which_extractors_fail(extractor: Extractor, name: str) -> None:
    failures = [result.item for result in extractor.extract(PASSAGES) if isinstance(result, Failure)]
    assert failures == (["missing"] if name.startswith("published") else [])


@pytest.mark.parametrize(
    "wrong",
    ["", "RULES", "published", "published:", "auto:x", "learned:/no/such/folder", "published:/no/such/file", "llm:gpt"],
)
def test_an_invalid_name_is_refused(wrong: str) -> None:
    with pytest.raises(InputError):
        open_extractor(wrong)
