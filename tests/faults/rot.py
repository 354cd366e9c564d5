"""Damage every kind of file of an index in many ways, and check that no wrong answer comes without an error.

    python -m tests.faults.rot [--count N] [--seed S] [--processes P] [--only TEXT]

The index has updated and removed documents, an imported graph, vectors, arrays of a retriever, replies of a language
model, the state of a watched folder, keys, and weights. Each damage is done to a copy: bits flipped, the end cut off,
a part zeroed, bytes added, the file emptied, removed, taken from another one, or put back as it was before the last
commands. After it documents are read and questions searched, with derived files and without; what comes is what came
before, or a `ClewError`.
"""

import argparse
import faulthandler
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

import clew
from clew.arrays import FloatArray
from clew.errors import ClewError
from clew.models.llm.reply_cache import ReplyCache
from clew.server.keys import KeyFile
from clew.settings import Settings
from clew.store.weights_io import read_weights, write_weights
from clew.types import Prompt, Reply, Usage
from tests.faults.commands import SERVER, make_voyage, run_clew, write_lines
from tests.small_index import without_timing

KINDS = ("flip", "flip", "flip", "flips", "cut", "half", "empty", "zero", "append", "swap", "old", "gone")
RIGHT, ERROR, WRONG, CRASH = "right", "error", "wrong", "crash"
QUESTIONS = ("Which captain took Voyage 12 to Hobart?", "What did Voyage 7 meet?")
RETRIEVERS = ("bm25", "pagerank", "hipporag2")
TABLE = "passages.lance/"
_TRIAL_SECONDS = 300
_TRIALS_PER_PROCESS = 60
_WRITTEN_IN_PLACE = (".sqlite", ".lock", "hint.json")  # parts of names


class Letters(BaseModel):
    """The reply of the calls that are cached."""

    model_config = ConfigDict(extra="forbid")
    letters: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One damage of one file."""

    number: int
    file: str  # below the index
    kind: str
    without_derived: bool


@dataclass(frozen=True, slots=True)
class Fixture:
    """An index, as it is, as it was before the last commands, and what goes with it."""

    folder: Path

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def old(self) -> Path:
        return self.folder / "old"

    @property
    def watched(self) -> Path:
        return self.folder / "watched"

    @property
    def key(self) -> str:
        return (self.folder / "key").read_text(encoding="utf-8")

    def files(self) -> list[str]:
        """Return the files of the index, sorted."""
        paths = (path.relative_to(self.index).as_posix() for path in self.index.rglob("*") if path.is_file())
        return sorted(path for path in paths if "/pins/" not in path)


def make_fixture(folder: Path) -> Fixture:
    """Make the index."""
    made = Fixture(folder)
    made.watched.mkdir()
    for number in range(6):
        (made.watched / f"port{number}.txt").write_text(f"Port {number} saw Voyage {number} leave.", encoding="utf-8")
    index = clew.create(made.index, Settings(encoder="hashing:16", extractor="rules"))
    first = write_lines(folder / "first.jsonl", [make_voyage(number) for number in range(30)])
    index.add([first])
    index.sync_folder(made.watched)
    _write_others(made, 1)
    _search(made.index)
    shutil.copytree(made.index, made.old)
    rows = [make_voyage(number, 2 if number % 3 == 0 else 1) for number in range(40)]
    index.add([write_lines(folder / "second.jsonl", rows)])
    index.remove([f"v{number:04d}" for number in range(1, 40, 7)])
    graph = folder / "g.tsv"
    graph.write_text("".join(f"Voyage {n}\tmet\tVoyage {n + 3}\n" for n in range(60)), encoding="utf-8")
    assert run_clew("kg", "import", graph, "--name", "g", "--index", made.index).code == 0
    (made.watched / "port7.txt").write_text("Port 7 saw Voyage 7 leave.", encoding="utf-8")
    (made.watched / "port1.txt").unlink()
    clew.open(made.index).sync_folder(made.watched)
    _write_others(made, 2)
    _search(made.index)
    return made


def _write_others(made: Fixture, state: int) -> None:
    """Write a state of what lies beside the table: replies, keys, and weights."""
    cache = ReplyCache(made.index / "calls.sqlite")
    for number in range(20):
        cache.put(f"key{number}", "provider:model", _prompt(), Reply(Letters(letters=f"reply {number}"), Usage()))
    (made.folder / "key").write_text(KeyFile(made.index / "keys.json").add(f"key {state}", ["polar"]), encoding="utf-8")
    arrays = {"weight": np.arange(64, dtype=np.float32) * state, "bias": np.ones(8, dtype=np.float32)}
    write_weights(made.index / "weights" / "some", {"width": 8, "state": state}, arrays)


def _prompt() -> Prompt:
    return Prompt("letters", "", "", Letters)


def plan_trials(made: Fixture, count: int, seed: int, only: str = "") -> list[Trial]:
    """Return as many trials, over the folders of the index in turn, and in each over all files and kinds of damage.

    The table is read with derived files and without.
    """
    rng = random.Random(seed)
    groups: dict[str, list[tuple[str, str, bool]]] = {}
    for file in made.files():
        if only in file:
            folder = Path(file).parent if Path(file).parent != Path() else Path(file)
            group = "/".join(folder.parts[:2])
            bare = (False, True) if file.startswith(TABLE) else (False,)
            groups.setdefault(group, []).extend((file, kind, one) for kind in KINDS for one in bare)
    for pairs in groups.values():
        rng.shuffle(pairs)
    rounds = zip(*(cycle(pairs) for _, pairs in sorted(groups.items())), strict=False)
    chosen = islice((pair for one in rounds for pair in one), count)
    return [Trial(seed * 1_000_000 + number, *pair) for number, pair in enumerate(chosen)]


def damage(made: Fixture, trial: Trial, index: Path) -> bool:
    """Damage a file of a copy of the index; return whether it differs."""
    rng = random.Random(trial.number)
    file = index / trial.file
    before = file.read_bytes()
    after = _damaged(made, trial, before, rng)
    if after == before:
        return False
    file.unlink()
    if after is not None:
        file.write_bytes(after)
    return True


def _damaged(made: Fixture, trial: Trial, data: bytes, rng: random.Random) -> bytes | None:
    changed = bytearray(data)
    if trial.kind in ("flip", "flips") and data:
        for _ in range(1 if trial.kind == "flip" else 2 + len(data) // 2000):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif trial.kind == "zero" and data:
        start = rng.randrange(len(data))
        changed[start : start + 64] = bytes(len(changed[start : start + 64]))
    elif trial.kind in ("swap", "old"):
        return _other_content(made, trial, data, rng)
    cuts = {"cut": len(data) - 1 - rng.randrange(16), "half": len(data) // 2, "empty": 0}
    if trial.kind in cuts:
        return data[: max(cuts[trial.kind], 0)]
    return None if trial.kind == "gone" else bytes(changed) + (b"\0more" if trial.kind == "append" else b"")


def _other_content(made: Fixture, trial: Trial, data: bytes, rng: random.Random) -> bytes:
    """Return the file as it was, or that of another file in its folder, now or before."""
    before = made.old / trial.file
    if trial.kind == "old" and before.is_file():
        return before.read_bytes()
    folder = (made.old if trial.kind == "old" else made.index) / Path(trial.file).parent
    others = sorted(path for path in folder.glob("*") if path.is_file() and path.name != Path(trial.file).name)
    return rng.choice(others).read_bytes() if others else data[::-1]


def copy_index(made: Fixture, target: Path, *, without_derived: bool) -> None:
    """Copy the index by links to its files, but for those that are written in place."""

    def copy(source: str, path: str) -> str:
        if any(part in Path(source).name for part in _WRITTEN_IN_PLACE):
            return shutil.copy2(source, path)
        os.link(source, path)
        return path

    ignore = shutil.ignore_patterns("derived") if without_derived else None
    shutil.copytree(made.index, target, copy_function=copy, ignore=ignore)


def _search(index: Path) -> object:
    with clew.open(index) as opened:
        return [without_timing(opened.search(q, 5, name)) for q in QUESTIONS for name in RETRIEVERS]


def _read_documents(index: Path) -> object:
    with clew.open(index) as opened:
        return opened.table.document_hashes(), opened.table.read().to_pylist()


def _read_replies(index: Path) -> object:
    replies = ReplyCache(index / "calls.sqlite").get_many({f"key{number}": _prompt() for number in range(20)})
    return {key: reply.value for key, reply in replies.items()}


def _read_weights(index: Path) -> object:
    def build(config: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> object:
        return config["width"], config["state"], {name: array.tolist() for name, array in arrays.items()}

    return read_weights(index / "weights" / "some", "weights", build)


def _follow_folder(index: Path, watched: Path) -> object:
    """Bring the index up to date with the unchanged folder, and return its documents."""
    with clew.open(index) as opened:
        opened.sync_folder(watched)
        return opened.table.document_hashes()


def _check_key(index: Path, key: str) -> object:
    keys = KeyFile(index / "keys.json")
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    access = keys.verify(key)
    return keys.verify(wrong), access and (access.indexes, access.where, access.write)


def answers(made: Fixture, index: Path, file: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is read from an index where a file is damaged, each to be called."""
    if file == "keys.json":
        yield "key", lambda: _check_key(index, made.key)
    elif file.startswith("watched/"):
        yield "folder", lambda: _follow_folder(index, made.watched)
    elif file.startswith("weights/"):
        yield "weights", lambda: _read_weights(index)
    elif "calls.sqlite" in file:
        yield "replies", lambda: _read_replies(index)
    else:
        yield "documents", lambda: _read_documents(index)
        yield "search", lambda: _search(index)


def is_right(name: str, found: object, expected: object) -> bool:
    """Return whether what was read is what there was, or less where a cache or a key may be refused."""
    if name == "replies":
        assert isinstance(found, dict)
        assert isinstance(expected, dict)
        return all(expected.get(key) == value for key, value in found.items())
    return found == expected or (name == "key" and found == (None, None))


def run_trial(made: Fixture, trial: Trial, expected: dict[str, object]) -> tuple[str, str]:
    """Return the result of a trial, and what is to be said of it."""
    with tempfile.TemporaryDirectory(dir=made.folder) as name:
        index = Path(name) / f"index{trial.number}"
        copy_index(made, index, without_derived=trial.without_derived)
        if not damage(made, trial, index):
            return RIGHT, "the file is as it was"
        result = RIGHT
        for what, read in answers(made, index, trial.file):
            try:
                found = read()
            except ClewError as error:
                result = ERROR
                if "\n" in str(error):
                    return WRONG, f"{what}: the error has more than one line: {error}"
                continue
            if not is_right(what, found, expected[what]):
                return WRONG, f"{what}: {str(found)[:300]}"
        return result, ""


def expected_answers(made: Fixture) -> dict[str, object]:
    """Return what is read from a copy of the index as it is, since other processes copy it at the same time."""
    kinds = ("", "keys.json", "watched/", "weights/", "calls.sqlite")
    with tempfile.TemporaryDirectory(dir=made.folder) as name:
        index = Path(name) / "index"
        copy_index(made, index, without_derived=False)
        return {name: read() for file in kinds for name, read in answers(made, index, file)}


def run_trials(folder: str, trials: Sequence[Trial], log: str) -> None:
    """Run trials in this process, and write a line of JSON for each to a file."""
    made = Fixture(Path(folder))
    with Path(log).open("a", encoding="utf-8") as out, Path(os.devnull).open("w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 2)  # of Lance's panics
        expected = expected_answers(made)
        for trial in trials:
            faulthandler.dump_traceback_later(_TRIAL_SECONDS, exit=True, file=nothing)
            result, text = run_trial(made, trial, expected)
            faulthandler.cancel_dump_traceback_later()
            out.write(json.dumps([trial.number, result, text]) + "\n")
            out.flush()


def run_in_processes(made: Fixture, trials: Sequence[Trial], processes: int = 1) -> dict[Trial, tuple[str, str]]:
    """Run trials in processes, of which a new one takes the place of one that died; return their results."""
    results: dict[Trial, tuple[str, str]] = {}
    rest = list(trials)
    while rest:
        blocks = [rest[start : start + _TRIALS_PER_PROCESS] for start in range(0, len(rest), _TRIALS_PER_PROCESS)]
        started = []
        for number, block in enumerate(blocks[:processes]):
            log = made.folder / f"log{block[0].number}-{number}"
            process = SERVER.Process(target=run_trials, args=(str(made.folder), block, str(log)))
            process.start()
            started.append((process, block, log))
        for process, block, log in started:
            process.join()
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            done = [json.loads(line) for line in lines]
            assert [number for number, *_ in done] == [trial.number for trial in block[: len(done)]]
            results |= {trial: (result, text) for trial, (_, result, text) in zip(block, done, strict=False)}
            if len(done) < len(block):
                results[block[len(done)]] = (CRASH, f"the process ended with {process.exitcode}")
        rest = [trial for trial in rest if trial not in results]
    return results


def main() -> None:
    """Print the counts of results by folder, and each wrong one; exit 1 where there is one."""
    parser = argparse.ArgumentParser(description="Damage every kind of file of an index in many ways.")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path below the index contains this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = make_fixture(Path(name))
        trials = plan_trials(made, options.count, options.seed, options.only)
        results: dict[Trial, tuple[str, str]] = {}
        step = _TRIALS_PER_PROCESS * options.processes
        for start in range(0, len(trials), step):
            found = run_in_processes(made, trials[start : start + step], options.processes)
            results |= found
            for trial, (result, text) in found.items():
                if result in (WRONG, CRASH):
                    print(f"{result}: {json.dumps(asdict(trial))}: {text}", flush=True)
            print(f"{len(results)} of {len(trials)}: {dict(Counter(one for one, _ in results.values()))}", flush=True)
    counts = Counter((trial.file.split("/")[0], result) for trial, (result, _) in results.items())
    for (folder, result), number in sorted(counts.items()):
        print(f"{folder:20} {result:6} {number}")
    sys.exit(1 if any(result in (WRONG, CRASH) for result, _ in results.values()) else 0)


if __name__ == "__main__":
    main()
