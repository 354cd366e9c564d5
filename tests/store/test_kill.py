"""Commits survive `kill -9` at any moment: committed documents are complete, and the next run continues."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.store.inspection import verify
from clew.store.passage_table import PassageTable
from clew.store.writer_lock import writer_lock
from tests.store.rows import make_documents, make_index

WRITE = """
import sys
from pathlib import Path
from tests.store.rows import make_documents
from clew.store.writer_lock import writer_lock
from clew.store.passage_table import PassageTable
folder, start = Path(sys.argv[1]), int(sys.argv[2])
with writer_lock(folder):
    table = PassageTable.open(folder)
    for number in range(start, start + 10_000):
        rows = make_documents((f"new {number}", 3), ("changed", number % 3 + 1), state=str(number))
        table.replace(rows, [f"new {number}", "changed"])
        print("committed", flush=True)
        if number % 7 == 6:
            table.compact()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_killed_writer_leaves_whole_documents(tmp_path: Path) -> None:
    make_index(tmp_path, ("untouched", 2))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    committed = 0
    for attempt in range(5):
        command = [sys.executable, "-c", WRITE, str(tmp_path), str(committed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "committed\n"
            time.sleep(0.02 + 0.09 * attempt)
            os.kill(child.pid, signal.SIGKILL)
        table = PassageTable.open(tmp_path)
        documents = table.document_hashes()
        committed = sum(id_.startswith("new ") for id_ in documents)
        assert {id_: state for id_, state in documents.items() if id_.startswith("new ")} == {
            f"new {number}": f"new {number}/{number}" for number in range(committed)
        }
        assert table.count_rows() == 2 + 3 * committed + (committed - 1) % 3 + 1
        assert documents["changed"] == f"changed/{committed - 1}"
    assert verify(tmp_path) == []
    with writer_lock(tmp_path):
        table = PassageTable.open(tmp_path)
        table.compact()
        table.delete([id_ for id_ in table.document_hashes() if id_ != "untouched"])
        assert table.read().equals(make_documents(("untouched", 2)))
        table.compact()
    assert len(list((tmp_path / "passages.lance" / "data").iterdir())) == 1
