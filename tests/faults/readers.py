"""Two processes that open and search an index again and again while a third one writes to it.

    python -m tests.faults.readers [--opens N]

The writer adds, replaces and removes documents and compacts. No opening and no search may fail, and a search sees one
version: each document has the text of one state, and all that were written together have the same.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import clew
from clew.errors import ClewError
from clew.settings import Settings
from clew.types import Document
from tests.faults.commands import SERVER

READERS = 2
_GROUP = 6  # documents that are written in one commit, each with the number of their state
_GROUPS = 3
_STOP = "stop"


def make_documents(group: int, state: int) -> list[Document]:
    """Return the documents of a group, which all name their state."""
    return [
        Document(f"g{group}d{number}", f"Ship {group} {number}", f"Ship {group} {number} is in state s{state}.")
        for number in range(_GROUP)
    ]


def write(folder: str) -> None:
    """Change an index until there is a file that says to stop."""
    rng = random.Random(0)
    with clew.open(folder) as index:
        for state in range(1, 1_000_000):
            if Path(folder, _STOP).exists():
                return
            index.add(make_documents(rng.randrange(_GROUPS), state))
            extra = make_documents(_GROUPS, state)
            index.add(extra)
            if state % 3 == 0:
                index.remove([document.id for document in extra])
            if state % 4 == 0:
                index.compact()


def read(folder: str, number: int, opens: int) -> None:
    """Open an index so many times, and write the counts of opens, errors and their texts to a file."""
    found: Counter[str] = Counter()
    for turn in range(opens):
        try:
            fault = _look(folder, turn)
        except ClewError as error:
            fault = f"{type(error).__name__}: {error}"
        found[fault or ""] += 1
    Path(folder, f"reader{number}.json").write_text(json.dumps(found), encoding="utf-8")


def _look(folder: str, turn: int) -> str | None:
    """Open the index and read from it; return what is wrong with what was seen."""
    with clew.open(folder) as index:
        group = turn % _GROUPS
        evidence = index.search(f"Ship {group}", 3 * _GROUP, ("bm25", "pagerank")[turn % 2])
        own = [scored.item for scored in evidence.passages if scored.item.id.startswith(f"g{group}d")]
        states = {passage.text.split()[-1] for passage in own}
        if len(own) != _GROUP or len(states) != 1:
            return f"a search saw {len(own)} documents of a group in {len(states)} states"
        rows = index.table.read(["document_id", "text"]) if turn % 3 == 0 else None
        if rows is not None and index.stats().documents != rows.num_rows:
            return "the snapshot and the table have other numbers of documents"
        return None


def run(folder: Path, opens: int) -> Counter[str]:
    """Run readers that open an index so many times in all beside a writer; return counts by fault, "" for none."""
    index = clew.create(folder, Settings(encoder="none", extractor="rules"))
    for group in range(_GROUPS):
        index.add(make_documents(group, 0))
    index.close()
    writer = SERVER.Process(target=write, args=(str(folder),))
    readers: list[ForkServerProcess] = [
        SERVER.Process(target=read, args=(str(folder), number, opens // READERS)) for number in range(READERS)
    ]
    for process in (writer, *readers):
        process.start()
    for process in readers:
        process.join()
    (folder / _STOP).touch()
    writer.join()
    ends = Counter({f"a process ended with code {p.exitcode}": 1 for p in (writer, *readers) if p.exitcode})
    counts = [folder / f"reader{number}.json" for number in range(READERS)]
    return sum((Counter(json.loads(one.read_text(encoding="utf-8"))) for one in counts if one.exists()), ends)


def main() -> None:
    """Print the number of opens, and each error with its count; exit 1 where there is one."""
    parser = argparse.ArgumentParser(description="Open an index again and again while another process writes to it.")
    parser.add_argument("--opens", type=int, default=5000)
    opens = parser.parse_args().opens
    with tempfile.TemporaryDirectory() as name:
        found = run(Path(name) / "index", opens)
        versions = len(list((Path(name) / "index" / "passages.lance" / "_transactions").glob("*")))
    wrong = {fault: count for fault, count in found.items() if fault}
    print(f"{found.total()} opens, {sum(wrong.values())} errors, {versions} records of commits left")
    for fault, count in wrong.items():
        print(f"{count:5} {fault}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
