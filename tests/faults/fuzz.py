"""Generated inputs of every reader: each is read, or refused with a `ClewError`, in bounded time and memory.

    python -m tests.faults.fuzz [--count N] [--seed S] [--processes P] [--only NAME ...]

An input is a valid one with some bytes or tokens changed, doubled, removed or taken from another. The number of an
input decides all of it, so that `--seed` goes on where an earlier run ended: seed 0 has the inputs 0 to N - 1, seed 1
the next N. A process may take 2 GB more of memory than it starts with, and 20 seconds an input; where it dies, another
goes on after the input.
"""

import argparse
import io
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ValidationError

from clew.errors import ClewError
from clew.indexing.kg_formats.files import FILE_KINDS, graph_file
from clew.indexing.sources.conversion import convert, limit_memory
from clew.indexing.sources.plain_text import (
    check_text,
    decode_bytes,
    make_contents_document,
    make_markdown_document,
    make_text_document,
)
from clew.indexing.sources.record_files import read_table_rows
from clew.indexing.sources.records import STANDARD_COLUMNS, read_json_lines
from clew.models.llm.object_model import parse_reply
from clew.query.filters import parse_filter
from clew.rerankers.registry import parse_reranker
from clew.retrievers.gfm.weights import WEIGHTS_FORMAT, load_weights
from clew.retrievers.registry import parse_retriever
from clew.server import records
from clew.server.keys import KeyFile
from clew.server.records import NewDocuments
from clew.settings import load_settings
from clew.types import Passage
from clew_lab.datasets.candidates import load_candidates
from clew_lab.datasets.loaders import load_corpus, load_questions
from clew_lab.extraction.published import PublishedExtractor
from tests.faults.commands import SERVER, memory_folder, run_clew

_SECONDS, _MEMORY = 20, 2 << 30
_CHANGES = 6  # of an input, at most
_MAX_BYTES = 20_000
_BLOCK = 20_000  # inputs of a process
TRICKY = (
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\r",
    b"\n", b"\t", b'"', b"'", b"\\", b",", b":", b";", b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"&", b"%",
    b"--", b"null", b"true", b"NaN", b"1e400", b"-1", b"0", b"9" * 400, b"9" * 5000, b"[" * 3000, b"{\"a\":" * 500,
    b"a" * 5000, b"<!ENTITY a 'b'>", b"<![CDATA[", b"&a;", b"../", b"%00", b"__class__", b" AND ", b" OR NOT ",
    b" IN (", b"''", b"!!int ", b"!!timestamp ", b"0x" + b"f" * 5000,
)  # fmt: skip


class Cities(BaseModel):
    """A reply's schema."""

    cities: list[str]
    count: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: valid inputs, and what reads one in a folder of its own."""

    name: str
    inputs: tuple[bytes, ...]
    read: Callable[[bytes, Path], object]
    weight: int = 4  # how often its turn comes
    refusals: tuple[type[Exception], ...] = ()  # besides `ClewError`


def _read_all(items: Iterator[object]) -> None:
    for _ in items:
        pass


def _write(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


def _read_jsonl(data: bytes, _: Path) -> None:
    _read_all(read_json_lines(iter(data.splitlines(keepends=True)), "a.jsonl", "a.jsonl"))


def _read_text(data: bytes, _: Path) -> None:
    text, _encoding = decode_bytes(data)
    check_text(text)
    make_text_document("a", "a", text)


def _read_file(data: bytes, _: Path, suffix: str) -> None:
    for contents in convert(suffix, data):
        make_contents_document("a", "a", contents)


def _read_rows(data: bytes, _: Path, delimiter: str) -> None:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="surrogateescape", newline="")
    _read_all(read_table_rows(text, delimiter, "a.csv", "a.csv", STANDARD_COLUMNS))


def _read_graph(data: bytes, folder: Path, suffix: str) -> None:
    _read_all(graph_file(_write(folder, f"g{suffix}", data)).statements())


def _read_published(data: bytes, folder: Path) -> None:
    PublishedExtractor(_write(folder, "p.json", data)).extract([Passage("a", "a", "Oslo", "Oslo is in Norway.", 0, 18)])


def _read_body(data: bytes, _: Path, record: type[BaseModel]) -> None:
    request = record.model_validate_json(data)
    request.model_dump_json()


def _read_settings(data: bytes, folder: Path) -> None:
    _write(folder, "clew.toml", data)
    with chdir(folder):
        load_settings()


def _read_weights(data: bytes, folder: Path) -> None:
    _write(folder, "config.json", data)
    _write(folder, "model.safetensors", b"\2\0\0\0\0\0\0\0{}")
    load_weights(folder)


def _read_keys(data: bytes, folder: Path) -> None:
    _write(folder, "keys.json", data)
    KeyFile(folder / "keys.json").verify("clew_0123456789ab_" + "a" * 43)


def _run_command(data: bytes, folder: Path) -> None:
    """Run a command that reads, with arguments from lines; one line and the exit code 2 are a refusal."""
    arguments = [line.decode("utf-8", "surrogateescape") for line in data.split(b"\n")]
    arguments = [one for one in arguments if "\0" not in one and not one.startswith("--install")]
    if not arguments or arguments[0] not in COMMANDS:
        arguments = ["stats", *arguments]
    with chdir(folder):
        outcome = run_clew(*arguments)
    if outcome.code not in (0, 1, 2) or "Traceback" in outcome.err:
        raise RuntimeError(f"{arguments} ended with {outcome.code}: {outcome.err[-300:]}")


COMMANDS = ("stats", "search", "ask", "verify", "retrievers", "diff", "cache", "eval", "explain")
_JSONL = json.dumps({"id": "a", "title": "Oslo", "text": "Oslo is in Norway.", "metadata": {"year": 1048}}).encode()
_OPENIE = {"docs": [{"idx": "1", "passage": "Oslo is in Norway.", "extracted_entities": ["Oslo"],
                     "extracted_triples": [["Oslo", "is in", "Norway"]]}]}  # fmt: skip
_LINES = {"id": "a", "entities": ["Oslo"], "triples": [["Oslo", "is in", "Norway"]]}
_QUESTION = {"id": "q", "question": "Where?", "answer": "Oslo", "gold": ["a"], "hops": 2,
             "supporting_facts": [["Oslo", 0]], "context": [["Oslo", ["It is."]]]}  # fmt: skip
_POOL = {"question": "Where?", "answers": ["Oslo"],
         "ctxs": [{"id": "a", "title": "Oslo", "text": "It is.", "score": "1.5", "has_answer": True}]}  # fmt: skip
_KEYS = {"version": 1, "keys": [{"id": "0123456789ab", "hash": "0" * 64, "label": "a", "indexes": None, "where": None,
                                 "write": False, "created": 1.5}]}  # fmt: skip
_WEIGHTS = {"format": WEIGHTS_FORMAT, "width": 4, "text_width": 6, "layers": 2, "features": 7, "prior": True,
            "learned_inverse": True, "targets": "passages", "nodes": 300, "about": {},
            "encoder": {"name": "a", "fingerprint": "b", "normalize": False, "query": ""}}  # fmt: skip
_MARKDOWN = (
    b"---\ntitle: Oslo\naliases: [Christiania]\n---\n# Oslo\n\nSee [[Norway]] and [x](y.md).\n\n| a | b |\n|--|--|\n"
)
_NOTE = (
    b"---\ntitle: 'Bergen: a port'\ndate: 2024-05-03\ntags: {kind: [city, port], size: 0x1f}\n---\nBergen is a port.\n"
)
_TURTLE = b'@prefix ex: <http://e/> .\nex:a ex:b ex:c ; ex:d "text"@en , [ ex:e ( 1 2 ) ] .\n'
_FILTERS = (
    b"year >= 1990 AND lang IN ('en', 'de')", b"NOT (title LIKE 'O%' OR size BETWEEN 1 AND 2.5)", b"a.b IS NOT NULL",
    b"x <> true", b"\"odd name\" = 'it''s'",
)  # fmt: skip
_SPECS = (
    b"frag:paths=5,search=bfs", b"gfm:nodes=all,rerank=g-rag,rerank_depth=50", b"naive-ge:gamma=0.5,width=10,length=3",
    b"fused", b"routed", b"pagerank", b"gcn-subgraph:budget=100", b"reranked:base=bm25,rerank=words",
)  # fmt: skip
_BODIES: dict[type[BaseModel], bytes] = {
    records.SearchRequest: b'{"question": "Where?", "k": 5, "retriever": "bm25", "where": "year > 1"}',
    records.AskRequest: b'{"question": "Where?", "k": 5, "model": "a:b", "topics": ["Oslo"]}',
    NewDocuments: b'{"documents": [{"id": "a", "title": "Oslo", "text": "It is.", "metadata": {"a": [1]}}]}',
}
_TABLES = b'id,title,text,year\na,Oslo,"It is, yes",1048\nb,Bergen,"a ""b""",\n'
_FILES = {
    ".html": b"<h1>Oslo</h1><nav>x</nav><p>It <a href='n.html'>is</a>.<table><tr><th>a<tr><td>b</table><pre>c</pre>",
    ".eml": b"From: Ann <ann@example.org>\nSubject: Oslo\nDate: Fri, 3 May 2024 10:00:00 +0200\n\nIt is in Norway.\n",
    ".mbox": b"From ann@example.org Fri May  3\nFrom: ann\nSubject: Oslo\n\nOne\n\nFrom bob\nFrom: bob\n\nTwo\n",
    ".ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# Oslo"]}, {"cell_type": "code", "source": "1"}]}',
    ".rst": b"Oslo\n====\n\nIt is in *Norway*.\n\nPort\n----\n\n.. include:: x\n\n* a\n",
}
TARGETS = (
    Target("jsonl", (_JSONL, _JSONL + b"\n" + _JSONL), _read_jsonl),
    Target("csv", (_TABLES,), partial(_read_rows, delimiter=",")),
    Target("tsv", (_TABLES.replace(b",", b"\t"),), partial(_read_rows, delimiter="\t")),
    Target("markdown", (_MARKDOWN, _NOTE), lambda data, _: make_markdown_document("a", "a", decode_bytes(data)[0])),
    Target("text", (b"Oslo\n\nOslo is in Norway.\n",), _read_text),
    *(Target(f"file {suffix}", (data,), partial(_read_file, suffix=suffix)) for suffix, data in _FILES.items()),
    Target("filter", _FILTERS, lambda data, _: parse_filter(data.decode("utf-8", "surrogateescape"))),
    Target("retriever", _SPECS, lambda data, _: parse_retriever(data.decode("utf-8", "surrogateescape"))),
    Target("reranker", (b"words", b"g-rag"), lambda data, _: parse_reranker(data.decode("utf-8", "surrogateescape"))),
    Target("reply", (b'{"cities": ["Oslo"], "count": 2}', b'Here: ```json\n{"cities": []}\n```'),
           lambda data, _: parse_reply(data.decode("utf-8", "replace"), Cities), 4, (ValueError,)),
    Target("published", (json.dumps(_OPENIE).encode(), json.dumps(_LINES).encode()), _read_published, 2),
    Target("questions", (json.dumps([_QUESTION]).encode(), json.dumps(_QUESTION).encode()),
           lambda data, folder: load_questions(_write(folder, "q.json", data)), 2),
    Target("corpus", (_JSONL, json.dumps([_QUESTION]).encode()),
           lambda data, folder: _read_all(iter(load_corpus(_write(folder, "c.jsonl", data)))), 2),
    Target("candidates", (json.dumps([_POOL]).encode(), json.dumps(_POOL).encode()),
           lambda data, folder: load_candidates(_write(folder, "pool.json", data)), 2),
    Target("keys", (json.dumps(_KEYS, indent=1).encode(),), _read_keys, 2),
    Target("weights", (json.dumps(_WEIGHTS).encode(),), _read_weights, 2),
    Target("settings", (b'passage_tokens = 256\nencoder = "hashing"\n[prices]\n"a" = [1.0, 2]\n',), _read_settings, 1),
    *(Target(f"graph {kind}", inputs, partial(_read_graph, suffix=FILE_KINDS[kind][0]), 2) for kind, inputs in {
        "tsv": (b"Oslo\tis in\tNorway\nBergen\tis in\tNorway\n",),
        "csv": (b"head,relation,tail\nOslo,\"is, in\",Norway\n",),
        "jsonl": (b'{"head": "Oslo", "relation": "is in", "tail": "Norway"}\n["a", "b", "c"]\n',),
        "json": (b'[{"head": "Oslo", "relation": "is in", "tail": "Norway"}, ["a", "b", "c"]]', b'["a", "b", "c"]'),
        "ntriples": (b'<http://e/a> <http://e/b> "c"@en .\n_:x <http://e/b> <http://e/c> .\n',),
        "turtle": (_TURTLE,),
    }.items()),
    *(Target(f"body {record.__name__}", (body,), partial(_read_body, record=record), 4, (ValidationError,))
      for record, body in _BODIES.items()),
    Target("command", tuple(b"\n".join(line) for line in (
        (b"stats", b"--index", b"nowhere", b"--json"),
        (b"search", b"Where is Oslo?", b"--index", b"nowhere", b"-k", b"5", b"--retriever", b"frag:paths=3"),
        (b"retrievers", b"frag"),
        (b"ask", b"Where?", b"--index", b"nowhere", b"--where", b"year > 1", b"--model", b"a:b"),
    )), _run_command, 1),
)  # fmt: skip
_TURNS = tuple(target for target in TARGETS for _ in range(target.weight))


def make_input(number: int, only: Sequence[str] = ()) -> tuple[Target, bytes]:
    """Return the target and the bytes of an input."""
    rng = random.Random(number)
    turns = [target for target in _TURNS if target.name in only] if only else _TURNS
    target = turns[number % len(turns)]
    data = bytearray(rng.choice(target.inputs))
    for _ in range(rng.randrange(_CHANGES + 1)):
        _change(data, target, rng)
    return target, bytes(data[:_MAX_BYTES])


def _change(data: bytearray, target: Target, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((1, 2, 5, 20)))
    kind = rng.randrange(7)
    if kind == 0 and data:
        data[start % len(data)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[start:end]
    elif kind == 2:
        data[start:start] = data[start:end]
    elif kind == 3:
        data[start:end] = rng.choice(TRICKY)
    elif kind == 4:
        data[start:start] = rng.choice(TRICKY)
    elif kind == 5:
        other = rng.choice(target.inputs)
        place = rng.randrange(len(other) + 1)
        data[start:end] = other[place : place + rng.choice((3, 10, 40))]
    else:
        del data[start:]


class Verdict:
    """Context manager that ends every error of a block but Ctrl-C, and keeps what is wrong with it."""

    fault: str | None = None

    def __init__(self, target: Target) -> None:
        self._target = target

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None or isinstance(error, KeyboardInterrupt):
            return error is None
        if isinstance(error, (ClewError, *self._target.refusals)):
            lines = str(error).count("\n") if isinstance(error, ClewError) else 0
            self.fault = f"{self._target.name}: an error of {lines + 1} lines: {str(error)[:300]!r}" if lines else None
        else:
            self.fault = f"{self._target.name}: {''.join(traceback.format_exception(error, limit=-4))[-900:]}"
        return True


def check(number: int, folder: Path, only: Sequence[str] = ()) -> str | None:
    """Read an input, and return what is wrong with how that ended."""
    target, data = make_input(number, only)
    with Verdict(target) as verdict:
        target.read(data, folder)
    return verdict.fault


def run_block(first: int, count: int, log: str, only: Sequence[str]) -> None:
    """Check inputs in this process, and write the number of each before it is read, and what is wrong with it after.

    An alarm that nothing handles ends the process where an input takes too long; setting one costs no thread.
    """
    limit_memory(_MEMORY)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with (
        memory_folder() as folder,
        Path(log).open("a", encoding="utf-8") as out,
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
    ):
        os.dup2(nothing.fileno(), 2)
        for number in range(first, first + count):
            out.write(f"{number}\n")
            out.flush()
            signal.setitimer(signal.ITIMER_REAL, _SECONDS)
            if fault := check(number, folder, only):
                out.write(json.dumps([number, fault]) + "\n")
        signal.setitimer(signal.ITIMER_REAL, 0)
        out.write("done\n")


def run_range(first: int, count: int, only: Sequence[str] = ()) -> list[str]:
    """Check inputs in other processes, one after the other; return a line for each fault."""
    faults: list[str] = []
    with memory_folder() as folder:
        log, end = folder / "log", first + count
        while first < end:
            process = SERVER.Process(target=run_block, args=(first, end - first, str(log), tuple(only)))
            process.start()
            process.join()
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            log.unlink(missing_ok=True)
            found = [json.loads(line) for line in lines if line.startswith("[")]
            faults += [f"input {number}: {fault}" for number, fault in found]
            if lines and lines[-1] == "done":
                break
            last = next(int(line) for line in reversed(lines) if line.isdigit())  # where none is, this file is at fault
            target, _ = make_input(last, only)
            faults.append(f"input {last}: {target.name}: hung, or ended its process with {process.exitcode}")
            first = last + 1
    return faults


def main() -> None:
    """Print each fault, and their number; exit 1 where there is one."""
    parser = argparse.ArgumentParser(description="Give generated inputs to every reader.")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", default=[], choices=[target.name for target in TARGETS])
    options = parser.parse_args()
    first = options.seed * options.count
    end = first + options.count
    blocks = [(start, min(_BLOCK, end - start)) for start in range(first, end, _BLOCK)]
    done, total = 0, 0
    with ThreadPoolExecutor(options.processes) as pool:
        results = pool.map(lambda block: run_range(block[0], block[1], options.only), blocks)
        for (_, count), faults in zip(blocks, results, strict=True):
            done, total = done + count, total + len(faults)
            for fault in faults:
                print(fault, flush=True)
            print(f"{done} inputs, {total} faults", flush=True)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
