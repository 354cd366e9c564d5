"""Run the command line in the test's process or in a forked one, and small corpora for it."""

import json
import multiprocessing
import os
import re
import runpy
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from hashlib import blake2b
from io import BytesIO, StringIO, TextIOWrapper
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import typer

from clew.commands import app
from clew.errors import IndexFormatError
from clew.indexing import kg_import, pipeline
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import LOCAL_FILES, snapshot_folder
from tests.memory_files import find_memory_folder

SERVER = multiprocessing.get_context("forkserver")
_ONCE = re.compile(
    r"^note: (compiling, once: |read \d+ names in ).*; later runs load (them|the compiled code)\n", re.MULTILINE
)
_PROGRESS = re.compile(r"^\w[\w ]*: [\d,]+( of [\d,]+)?, [\d,]+/s.*\n", re.MULTILINE)
# Warm, so that a process costs a fork, and no second of imports and of loading compiled functions.
SERVER.set_forkserver_preload(["tests.faults.warmed"])
_LEAST_MEMORY = 1 << 30  # the indexes of a module's commands take a tenth of it
PLACES = ("Tromsø", "Hobart", "Cape Town", "Buenos Aires", "Vardø", "Lyttelton", "Kerguelen")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def load_command(*path: str) -> Any:
    """Return the command of a path, such as `train gfm`, with its options."""
    command: Any = app.root_command()
    for name in path:
        _, command, _ = command.resolve_command(typer.Context(command), [name])
    return command


def run_clew(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
    """Run a command in this process; exceptions that it does not report are raised here.

    Notes on what takes seconds once on a machine are left out: they depend on what ran there before.
    """
    out, err, code = StringIO(), StringIO(), None
    input_stream = TextIOWrapper(BytesIO(stdin), encoding="utf-8")
    argv = ["clew", *map(str, arguments)]
    with (
        patch.object(sys, "argv", argv),
        patch.object(sys, "stdin", input_stream),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            app.main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), _ONCE.sub("", err.getvalue()))


def start_process(*arguments: str | Path, batch: int = pipeline.BATCH_PASSAGES) -> ForkServerProcess:
    """Start a command in its own process, which commits every `batch` passages or triples; its output is discarded."""
    process = SERVER.Process(target=_run_command, args=([*map(str, arguments)], batch, None))
    process.start()
    return process


def run_process(*arguments: str | Path, batch: int = pipeline.BATCH_PASSAGES) -> Outcome:
    """Run a command to its end in a process of its own.

    Notes on what took seconds, and on how far it had come by then, are left out: they depend on what else runs.
    """
    with memory_folder() as folder:
        process = SERVER.Process(target=_run_command, args=([*map(str, arguments)], batch, str(folder)))
        process.start()
        process.join()
        assert process.exitcode is not None
        out, err = (_read_text(folder / name) for name in ("out", "err"))
    return Outcome(process.exitcode, out, _PROGRESS.sub("", _ONCE.sub("", err)))


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _run_command(arguments: list[str], batch: int, folder: str | None) -> None:
    for name in ("out", "err"):
        path = Path(os.devnull if folder is None else folder) / ("" if folder is None else name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, 1 if name == "out" else 2)  # the numbers, since Rust and C write past sys.stderr
    run_in_batches(arguments, batch)


def run_in_batches(arguments: list[str], batch: int) -> None:
    """Run a command, or a script, in this process, which it ends; a commit has `batch` passages or triples."""
    sys.argv = ["clew", *arguments]
    if arguments[0].endswith(".py"):
        runpy.run_path(arguments[0], run_name="__main__")
        sys.exit(0)
    with (
        patch.multiple(pipeline, BATCH_PASSAGES=batch, BATCH_LIMIT=batch),
        patch.multiple(kg_import, SHARD_TRIPLES=batch, FILE_TRIPLES=2 * batch),
    ):
        app.main()


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Yield a temporary folder in memory where there is one: writing and flushing costs nothing there."""
    with TemporaryDirectory(dir=find_memory_folder(_LEAST_MEMORY)) as name:
        yield Path(name)


def make_voyage(number: int, state: int = 1) -> dict[str, object]:
    """Return a document that names two earlier ones, so that every document changes the graph of others."""
    place, other_place = PLACES[number % len(PLACES)], PLACES[number * 3 % len(PLACES)]
    text = (
        f"Voyage {number} left {place} in {1800 + number} under Captain Ole Berg{number % 11}. "
        f"It followed [[Voyage {number // 2}]] and met the crew of Voyage {max(number - 1, 0)} off {other_place}. "
        f"The log of state {state} was kept by the Society of {place}."
    )
    return {"id": f"v{number:04d}", "title": f"Voyage {number}", "text": text, "metadata": {"year": 1800 + number}}


def folder_hash(path: Path, leave_out: Collection[str] = ()) -> str:
    """Return a hash of the relative names and contents of the files under a folder but those of some names."""
    digest = blake2b(digest_size=16)
    for file in sorted(file for file in path.rglob("*") if file.is_file() and file.name not in leave_out):
        name, data = file.relative_to(path).as_posix().encode(), file.read_bytes()
        digest.update(len(name).to_bytes(8, "little") + name + len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def snapshot_hash(index: Path) -> str:
    """Return the hash of the snapshot of an index's newest version, which must exist, without its local files."""
    folder = snapshot_folder(PassageTable.open(index))
    assert folder.is_dir()
    return folder_hash(folder, LOCAL_FILES)


def stored_documents(index: Path) -> dict[str, str]:
    """Return the hashes of the documents that a reader sees now; {} where there is no index yet."""
    try:
        return PassageTable.open(index).document_hashes()
    except IndexFormatError:
        return {}


def write_graph(path: Path, count: int, state: int = 1) -> Path:
    """Write triples of voyages to a new folder; in state 2 they are half as many, and every fourth fifty differ."""
    path.parent.mkdir()
    rows = (
        f"Voyage {n % 90}\tmet{' again' * (state - 1) if n // 50 % 4 == 0 else ''}\tship {n}\n"
        for n in range(count // state)
    )
    path.write_text("".join(rows), encoding="utf-8")
    return path


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
