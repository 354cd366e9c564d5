"""Kill a command at each of its file operations, or fail each of them once, and check what is left.

    python -m tests.faults.enumerate [--commands NAME ...] [--errors kill EIO ...] [--every N] [--first M] [--table]
                                     [--processes P]

A small library that is loaded before all others (`shim.c`) counts the operations of a process below the index (opened
for writing, written, renamed, linked, removed, made, cut, flushed), and kills it before one of them, or fails one.
After each, every document has to be in its state before the command or in that after it, the table has to be whole, and
the same command, run again, has to bring the state after it. `limit` is as `ulimit -f`: no file may grow beyond a size.
"""

import argparse
import errno
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from unittest.mock import patch

from clew.errors import ClewError
from clew.store.inspection import verify
from clew.store.passage_table import PassageTable
from tests.faults.commands import make_voyage, memory_folder, snapshot_hash, write_lines

SHIM_SOURCE = Path(__file__).with_name("shim.c")
TABLE = "passages.lance"
KILL, LIMIT = "kill", "limit"
ERRORS = (KILL, LIMIT, "EIO", "ENOSPC", "EMFILE", "EACCES", "EFBIG")
COMMANDS = (
    "index", "update", "remove", "compact", "import", "change", "broken", "reencode", "commit", "repair", "restore",
    "decide", "create",
)  # fmt: skip
_WHOLE = frozenset(
    {"remove", "compact", "import", "change", "broken", "reencode", "commit", "restore", "decide", "create"}
)
"""Commands of one commit: a reader sees all of the state before or all of that after."""
_patching = Lock()  # threads that patch one name would leave it patched
_BATCH = 12
_DOCUMENTS = 30


@dataclass(frozen=True, slots=True)
class Case:
    """A command that writes, and the states before and after it."""

    name: str
    arguments: tuple[str, ...]  # without the index
    start: Path | None  # the index that it is run on; None for none
    before: Mapping[str, str]
    after: Mapping[str, str]
    snapshot: str  # hash of the snapshot after it
    code: int  # that the command ends with
    operations: str  # a letter for each of its file operations


@dataclass(slots=True)
class Outcomes:
    """Counts over the disturbed runs of a command."""

    runs: int = 0
    faults: list[str] = field(default_factory=list)  # a sentence for each run that left something wrong


def build_shim(folder: Path) -> Path | None:
    """Compile the library; None where there is no C compiler, or another way to load one before others."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "shim.so"
    command: list[str | Path] = [compiler, "-shared", "-fPIC", "-O1", "-o", library, SHIM_SOURCE, "-ldl"]
    done = subprocess.run(command, check=False, capture_output=True)
    return library if done.returncode == 0 else None


class Disturber:
    """Runs commands, each in a process of its own that can be disturbed."""

    def __init__(self, library: Path, folder: Path, below: str = ".") -> None:
        self._folder, self._below = folder, below
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        }
        command = [sys.executable, "-m", "tests.faults.fault_server", str(library)]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path.cwd()
        )

    def close(self) -> None:
        """End the server."""
        self._server.communicate()

    def run(self, arguments: Sequence[str], index: Path, at: int = 0, error: str = KILL) -> tuple[int, str, str]:
        """Run a command; return its exit code, negative for a signal, its messages, and its operations as letters.

        `at` is the number of the operation that is disturbed, 0 for none; of a limit, the size of the largest file.
        """
        operations, messages = self._folder / "operations", self._folder / "messages"
        operations.unlink(missing_ok=True)
        task = {
            "arguments": [*arguments, "--index", str(index)],
            "root": str(index / self._below),
            "operations": str(operations),
            "messages": str(messages),
            "at": 0 if error == LIMIT else at,
            "error": 0 if error in (KILL, LIMIT) else getattr(errno, error),
            "file_bytes": at if error == LIMIT else 0,
            "batch": _BATCH,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(task) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        letters = operations.read_text(encoding="ascii") if operations.exists() else ""
        return code, messages.read_text(encoding="utf-8", errors="replace"), letters


@contextmanager
def open_disturber(folder: Path, below: str = ".") -> Iterator[Disturber | None]:
    """Yield what disturbs operations below a folder of indexes; None where it cannot be built here."""
    with open_disturbers(folder, 1, below) as disturbers:
        yield next(iter(disturbers), None)


@contextmanager
def open_disturbers(folder: Path, count: int, below: str = ".") -> Iterator[list[Disturber]]:
    """Yield as many as wanted, that work side by side; none where they cannot be built here."""
    library = build_shim(folder)
    disturbers: list[Disturber] = []
    if library is None:
        yield disturbers
        return
    with ExitStack() as stack:
        for number in range(count):
            own = folder / f"disturber-{number}"
            own.mkdir()
            disturbers.append(Disturber(library, own, below))
            stack.callback(disturbers[-1].close)
        yield disturbers


class Cases:
    """The cases, each made when it is asked for, with those whose results it starts from."""

    def __init__(self, disturber: Disturber, folder: Path) -> None:
        self.disturber, self.folder = disturber, folder
        self._made: dict[str, Case] = {}

    def case(self, name: str) -> Case:
        """Return a case, and the index that it leaves undisturbed as `FOLDER/NAME`."""
        if name not in self._made:
            start, arguments = getattr(self, f"_make_{name}")()
            self._made[name] = self._run(name, start, arguments)
        return self._made[name]

    def result(self, name: str) -> Path:
        """Return the index that a command leaves undisturbed."""
        return self.folder / self.case(name).name

    def _run(self, name: str, start: Path | None, arguments: Sequence[str]) -> Case:
        index = self.folder / name
        if start is not None:
            shutil.copytree(start, index)
        before = {} if name == "repair" else read_state(index)
        code, messages, operations = self.disturber.run(arguments, index)
        assert code == (2 if name == "broken" else 0), messages
        if name == "repair":
            self.disturber.run(["stats"], index)  # any reader makes the snapshot
        return Case(name, tuple(arguments), start, before, read_state(index), snapshot_hash(index), code, operations)

    def _write(self, name: str, numbers: Sequence[int], state: int = 1) -> str:
        rows = [make_voyage(number, state if number % 4 == 0 else 1) for number in numbers]
        return str(write_lines(self.folder / name, rows))

    def _graph(self, name: str, count: int, state: int = 1) -> Path:
        rows = (f"Voyage {n % 50}\tmet{' again' * (state - 1)}\tship {n}\n" for n in range(count))
        file = self.folder / name / "g.tsv"
        file.parent.mkdir()
        file.write_text("".join(rows), encoding="utf-8")
        return file

    def _make_index(self) -> tuple[Path | None, list[str]]:
        return None, ["index", self._write("old.jsonl", range(_DOCUMENTS)), "--encoder", "hashing:16"]

    def _make_update(self) -> tuple[Path | None, list[str]]:
        return self.result("index"), ["index", self._write("new.jsonl", range(_DOCUMENTS + 10), state=2)]

    def _make_remove(self) -> tuple[Path | None, list[str]]:
        return self.result("update"), ["remove", *(f"v{number:04d}" for number in range(0, _DOCUMENTS, 3))]

    def _make_compact(self) -> tuple[Path | None, list[str]]:
        return self.result("remove"), ["compact"]

    def _make_import(self) -> tuple[Path | None, list[str]]:
        return self.result("index"), ["kg", "import", str(self._graph("one", 200)), "--name", "g"]

    def _make_create(self) -> tuple[Path | None, list[str]]:
        return None, ["kg", "import", str(self._graph("first", 200)), "--name", "g", "--encoder", "hashing:16"]

    def _make_decide(self) -> tuple[Path | None, list[str]]:
        return self.result("index"), ["entities", "merge", "Voyage 1", "Voyage 2"]

    def _make_change(self) -> tuple[Path | None, list[str]]:
        return self.result("import"), ["kg", "import", str(self._graph("other", 120, state=2)), "--name", "g"]

    def _make_broken(self) -> tuple[Path | None, list[str]]:
        packed = gzip.compress(self._graph("cut", 4_000, state=3).read_bytes())
        file = self.folder / "cut" / "cut.tsv.gz"
        file.write_bytes(packed[: len(packed) // 2])
        return self.result("import"), ["kg", "import", str(file), "--name", "g"]

    def _make_reencode(self) -> tuple[Path | None, list[str]]:
        return self.result("remove"), ["reencode", "--encoder", "hashing:8"]

    def _make_commit(self) -> tuple[Path | None, list[str]]:
        start, staging = self.folder / "staged", str(self.folder / "staging")
        shutil.copytree(self.result("index"), start)
        file = self._write("parts.jsonl", range(_DOCUMENTS + 10), state=2)
        for part in ("1/2", "2/2"):
            code, messages, _ = self.disturber.run(["index", file, "--shard", part, "--staging", staging], start)
            assert code == 0, messages
        return start, ["index", "--commit", staging]

    def _make_restore(self) -> tuple[Path | None, list[str]]:
        start = self.result("remove")
        return start, ["restore", str(PassageTable.open(start).version - 1)]

    def _make_repair(self) -> tuple[Path | None, list[str]]:
        start = self.folder / "damaged"
        shutil.copytree(self.result("update"), start)
        files = sorted((start / "passages.lance" / "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
        files[0].write_bytes(b"")
        return start, ["repair", "--yes"]


def read_state(index: Path) -> dict[str, str]:
    """Return the hashes of the documents; {} where no version was committed; a damaged table is a ClewError."""
    return PassageTable.open(index).document_hashes() if has_versions(index) else {}


def has_versions(index: Path) -> bool:
    """Return whether a version was committed to the table of an index."""
    return any((index / TABLE / "_versions").glob("*.manifest"))


def disturb(disturber: Disturber, case: Case, index: Path, at: int, error: str) -> str | None:
    """Run a command on a copy of the index, disturbed at an operation or a size; return what is wrong then, or None."""
    shutil.rmtree(index, ignore_errors=True)
    if case.start is not None:
        shutil.copytree(case.start, index)
    code, messages, _ = disturber.run(case.arguments, index, at, error)
    if "Traceback" in messages and code != 0:
        return f"ended with a traceback: {messages[-600:]}"
    if code < 0 and error != KILL:
        return f"ended by signal {-code}: {messages[-600:]}"
    try:
        fault = _find_fault(case, index, is_done=code == 0)
        return fault or _finish(disturber, case, index)
    except ClewError as found:
        return f"left what cannot be read, after {messages.strip()!r}: {found}"


def _find_fault(case: Case, index: Path, *, is_done: bool) -> str | None:
    if case.name == "repair":
        return None  # it begins with a damaged table; what counts is how it ends
    state = read_state(index)
    if is_done and state != case.after:
        return "said that it was done, and was not"
    if case.name == "create" and not state and has_versions(index):
        return "left an empty index"
    if case.name in _WHOLE and state not in (case.before, case.after):
        return "left a part of the new state beside a part of the old one"
    for id_ in {*case.before, *case.after, *state}:
        if state.get(id_) not in (case.before.get(id_), case.after.get(id_)):
            return f"left {id_} in a state that it never had"
    if state and (problems := _find_problems(index)):
        return f"left damage: {problems[0]}"
    return None


def _find_problems(index: Path) -> list[str]:
    # The child process that reads files of deleted rows costs a second; what is short is an error here, too.
    with _patching, patch("clew.store.inspection.crashing_fragments", return_value=set()):
        return verify(index)


def _finish(disturber: Disturber, case: Case, index: Path) -> str | None:
    """Run the command again, undisturbed, and return what is wrong after that."""
    was_done = case.name in ("remove", "commit", "decide") and read_state(index) == case.after
    code, messages, _ = disturber.run(case.arguments, index)
    if code != case.code and not was_done:
        return f"cannot be run again: {messages.strip()}"
    if was_done or case.name == "repair":
        disturber.run(["stats"], index)
    if read_state(index) != case.after:
        return "has another state after it was run again"
    if snapshot_hash(index) != case.snapshot:
        return "has another snapshot after it was run again"
    problems = _find_problems(index)
    return f"leaves damage when it is run again: {problems[0]}" if problems else None


def limits(index: Path, count: int) -> list[int]:
    """Return sizes in bytes, evenly up to that of the largest file of the index that a command leaves."""
    largest = max(file.stat().st_size for file in index.rglob("*") if file.is_file())
    return [largest * number // (count + 1) for number in range(1, count + 1)]


def enumerate_faults(
    disturbers: Sequence[Disturber], case: Case, folder: Path, error: str, places: Sequence[int]
) -> Outcomes:
    """Disturb a command at some of its operations, or sizes of files, in as many processes as there are disturbers."""
    free, outcomes = list(disturbers), Outcomes(len(places))

    def find_fault(at: int) -> str | None:
        disturber = free.pop()
        index = folder / f"disturbed-{disturbers.index(disturber)}"
        fault = disturb(disturber, case, index, at, error)
        free.append(disturber)
        place = f"{at} bytes" if error == LIMIT else f"operation {at} ({case.operations[at - 1]})"
        return fault and f"{case.name}, {error} at {place}: {fault}"

    with ThreadPoolExecutor(len(disturbers)) as pool:
        outcomes.faults += [fault for fault in pool.map(find_fault, places) if fault]
    return outcomes


def main() -> None:
    """Print the counts of all commands and errors, and each fault that was found; exit 1 where there is one."""
    parser = argparse.ArgumentParser(description="Disturb the commands that write at each of their file operations.")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    parser.add_argument("--errors", nargs="+", choices=ERRORS, default=ERRORS)
    parser.add_argument("--every", type=int, default=1, help="disturb every n-th operation")
    parser.add_argument("--first", type=int, default=1, help="from this one on")
    parser.add_argument("--sizes", type=int, default=5, help="limits on the size of files that a command is given")
    parser.add_argument("--table", action="store_true", help="only operations on the table, none on derived files")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    below = TABLE if options.table else "."
    total = faults = 0
    with memory_folder() as folder, open_disturbers(folder, options.processes, below) as disturbers:
        if not disturbers:
            sys.exit("faults: a C compiler and a Linux are wanted")
        cases = Cases(disturbers[0], folder)
        for command in options.commands:
            case = cases.case(command)
            operations = range(options.first, len(case.operations) + 1, options.every)
            for error in options.errors:
                places = limits(cases.result(command), options.sizes) if error == LIMIT else operations
                found = enumerate_faults(disturbers, case, folder, error, places)
                total, faults = total + found.runs, faults + len(found.faults)
                print(f"{command:10} {error:8} {found.runs:5} runs, {len(found.faults):3} faults", flush=True)
                for fault in found.faults:
                    print(f"  {fault}", flush=True)
    print(f"{total} runs, {faults} faults", flush=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
