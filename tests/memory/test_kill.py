"""A memory that is killed between two file operations has what it acknowledged, and nothing that it said was forgotten.

All operations: `python -m tests.memory.test_kill [--every N] [--first M]`.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.memory import Memory
from clew.settings import Settings
from clew.store.inspection import verify
from tests.faults.commands import memory_folder, snapshot_hash
from tests.faults.enumerate import Disturber, open_disturber
from tests.memory import conversation
from tests.memory.conversation import NEVER, TEXTS

SCRIPT = str(Path(conversation.__file__))
KEPT = ["cora", "dora"]
BEFORE_FORGETTING = {"anna": ("remembered", "cora"), "emil": ("remembered", "emil"), "bert": ("forgot", "emil")}
SETTINGS = Settings(encoder="hashing:16", extractor="rules")


class Conversation:
    """A conversation that is held in copies of one index."""

    def __init__(self, disturber: Disturber, folder: Path) -> None:
        self._disturber, self._folder = disturber, folder
        with Memory(folder / "start", SETTINGS, merge_turns=NEVER, merge_seconds=NEVER) as memory:
            conversation.remember(memory, "anna")
        code, messages, self.operations = self._run(0)
        assert code == 0, messages
        self._snapshot = snapshot_hash(folder / "index")
        assert sorted(clew.open(folder / "index").table.document_hashes()) == KEPT

    def _run(self, at: int) -> tuple[int, str, str]:
        index = self._folder / "index"
        shutil.rmtree(index, ignore_errors=True)
        shutil.copytree(self._folder / "start", index)
        return self._disturber.run([SCRIPT], index, at)

    def kill(self, at: int) -> str | None:
        """Kill it at an operation; return what is wrong after that, or None."""
        _, messages, _ = self._run(at)
        index = self._folder / "index"
        done = {tuple(line.split()) for line in messages.splitlines()}
        remembered = {name for name in TEXTS if ("remembered", name) in done} | {"anna"}
        forgotten = {name for name in TEXTS if ("forgot", name) in done}
        with Memory(index, merge_turns=NEVER, merge_seconds=NEVER) as memory:
            for name, text in TEXTS.items():
                found = [scored.item.text for scored in memory.recall(f"What was bought by {name}?", user=name)]
                if name in forgotten and found:
                    return f"shows {name}, who is forgotten"
                if name in remembered and BEFORE_FORGETTING.get(name) not in done and found != [text]:
                    return f"has lost {name}, or shows it twice: {found}"
            for name in KEPT:
                conversation.remember(memory, name)
            for name in set(TEXTS) - set(KEPT):
                memory.forget(id=name, shred=name == "bert")
        if problems := verify(index):
            return f"is damaged: {problems[0]}"
        return None if snapshot_hash(index) == self._snapshot else "ends with another snapshot"


@pytest.fixture(scope="module")
def held() -> Iterator[Conversation]:
    with memory_folder() as folder, open_disturber(folder) as disturber:
        if disturber is None:
            pytest.skip("a C compiler and a Linux are wanted")
        yield Conversation(disturber, folder)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.01, 0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 0.99])
def test_a_killed_memory_has_what_it_acknowledged(held: Conversation, place: float) -> None:
    assert held.kill(1 + int(place * len(held.operations))) is None


def main() -> None:
    """Print the faults of all kills; exit 1 where there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="kill at every n-th operation")
    parser.add_argument("--first", type=int, default=1, help="from this one on")
    options = parser.parse_args()
    with memory_folder() as folder, open_disturber(folder) as disturber:
        if disturber is None:
            sys.exit("a C compiler and a Linux are wanted")
        held = Conversation(disturber, folder)
        places = range(options.first, len(held.operations) + 1, options.every)
        faults = [f"{at} ({held.operations[at - 1]}): {fault}" for at in places if (fault := held.kill(at))]
        print(f"{len(places)} kills of {len(held.operations)} operations, {len(faults)} faults", *faults, sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
