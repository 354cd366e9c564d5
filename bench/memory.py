"""Times of a memory: `python bench/memory.py [--turns N] [--asked N] [--work DIR]`.

An index of N turns of 50 users, sentences of the shared corpora, is made once in DIR, and copied for each run. Its
vectors are sums of random vectors of words, so that it is made in minutes; questions and new turns are encoded as they
always are. Printed are milliseconds, median and 95th percentile, of `remember` and of the `recall` that follows it and
has to find the turn, with a filter by user and without: while nothing else runs, and while a thread merges. The
processor time is that of the whole process, and so is not printed while another thread of it merges.
"""

import argparse
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree
from threading import Event, Thread
from unittest.mock import patch
from zlib import crc32

import numpy as np

import clew
from clew.arrays import FloatArray
from clew.memory.turns import make_turn
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.protocols import SpanVectors
from clew.text.sentences import sentence_spans
from clew.types import Document
from workbench import DATA, WORK, describe_machine, load_records, print_table

SOURCES = ("hotpotqa", "2wiki-train", "musique", "musique-dev", "2wiki")
FIRST = ["Ilse", "Arne", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hans", "Ines"]
LAST = ["Berg", "Dahl", "Eide", "Falk", "Gran"]
USERS = [f"{first} {last}" for last in LAST for first in FIRST]
MINUTES = 7  # between two turns


def list_sentences() -> Iterator[str]:
    """Yield the distinct sentences of the corpora."""
    seen: set[str] = set()
    for source in SOURCES:
        for record in load_records(DATA / source / "corpus.jsonl"):
            for start, end in sentence_spans(record["text"]):
                text = " ".join(record["text"][start:end].split())
                if 20 <= len(text) <= 300 and text not in seen:
                    seen.add(text)
                    yield text


def make_turns(count: int) -> Iterator[Document]:
    """Yield turns of all users by turns."""
    for number, text in zip(range(count), list_sentences(), strict=False):
        user = USERS[number % len(USERS)]
        moment = np.datetime64("2022-01-01T00:00") + np.timedelta64(MINUTES * number, "m")
        session = f"{user.lower()}-{number // 1000}"
        yield make_turn(text, user.lower(), session, speaker=user, time=str(moment), id=f"turn-{number:016}")


class _SumOfWords:
    """Vectors that cost nothing."""

    def __init__(self) -> None:
        self._words: dict[str, FloatArray] = {}

    def encode(self, texts: Iterable[str]) -> FloatArray:
        return np.stack([self._encode(text) for text in texts])

    def encode_spans(
        self, texts: list[str], spans: list[list[tuple[int, int]]], _on_states: object = None
    ) -> SpanVectors:
        parts = [self.encode(text[start:end] for start, end in own) for text, own in zip(texts, spans, strict=True)]
        return SpanVectors(self.encode(texts), parts, [len(text) for text in texts])

    def _encode(self, text: str) -> FloatArray:
        vector = np.full(Int8MiniLM.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            if word not in self._words:
                generator = np.random.default_rng(crc32(word.encode()))
                self._words[word] = generator.standard_normal(len(vector)).astype(np.float32)
            vector += self._words[word]
        return vector / np.linalg.norm(vector)


def make_base(folder: Path, count: int) -> None:
    """Make the index of a number of turns, unless it is there."""
    if folder.exists():
        return
    fake = _SumOfWords()
    with patch.multiple(
        Int8MiniLM, encode=lambda _, t: fake.encode(t), encode_spans=lambda _, *a: fake.encode_spans(*a)
    ):
        index = clew.create(folder.with_name(f"{folder.name}-unfinished"))
        index.add(make_turns(count))
        index.close()
    folder.with_name(f"{folder.name}-unfinished").rename(folder)


class Times:
    """Milliseconds of calls by name: passed, and of processor time."""

    def __init__(self) -> None:
        self.passed: defaultdict[str, list[float]] = defaultdict(list)
        self.processor: defaultdict[str, list[float]] = defaultdict(list)

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure a call."""
        began, spent = time.perf_counter(), time.process_time()
        yield
        self.passed[name].append(1e3 * (time.perf_counter() - began))
        self.processor[name].append(1e3 * (time.process_time() - spent))


def ask(memory: clew.Memory, texts: list[str], rng: random.Random, users: list[str]) -> Times:
    """Return the times of remembering and recalling one new turn after the other."""
    times = Times()
    for number, text in enumerate(texts):
        user, place = rng.choice(users), f"Quay {rng.randrange(10**6)}"
        with times.measure("remember"):
            made = memory.remember(f"{text} We met at {place}.", user=user, session=f"new-{number}")
        for name, asked in (("recall of a user", user), ("recall of all", "")):
            with times.measure(name):
                found = memory.recall(f"Who was met at {place}?", user=asked)
            assert made in {each.item.document_id for each in found}, (text, place)
    return times


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=200, help="turns that are remembered and recalled")
    parser.add_argument("--work", type=Path, default=WORK / "memory")
    options = parser.parse_args()
    base, folder = options.work / f"base-{options.turns}", options.work / "run"
    make_base(base, options.turns)
    rmtree(folder, ignore_errors=True)
    copytree(base, folder)
    rng = random.Random(7)
    texts = [f"{number} {text}" for number, text in zip(range(2 * options.asked), list_sentences(), strict=False)]
    users = [name.lower() for name in USERS]
    began = time.perf_counter()
    with clew.Memory(folder, merge_turns=10**9, merge_seconds=10**9) as memory:
        opened = time.perf_counter() - began
        firsts = Times()
        for user in users:
            with firsts.measure("first recall of a user"):
                memory.recall("Who was met at the quay?", user=user)
        rows = {"": ask(memory, texts[: options.asked], rng, users)}
        rows[""].passed |= firsts.passed
        rows[""].processor |= firsts.processor
        merges: list[float] = []
        stopping = Event()

        def merge_on() -> None:
            while not stopping.is_set():
                began = time.perf_counter()
                if memory.merge():
                    merges.append(time.perf_counter() - began)

        thread = Thread(target=merge_on)
        thread.start()
        rows[", while merging"] = ask(memory, texts[options.asked :], rng, users)
        stopping.set()
        thread.join()
    table = [
        [f"{name}{state}", *_summarise(passed), *([] if state else _summarise(times.processor[name]))]
        for state, times in rows.items()
        for name, passed in times.passed.items()
    ]
    print(f"{describe_machine()}, load {os.getloadavg()[0]:.1f}; {options.turns:,} turns; opened in {opened:.1f} s")
    head = [f"{options.turns:,} turns: ms of", "median", "95th percentile", "of processor time", "95th percentile"]
    print_table(head, [[*row, "", ""][: len(head)] for row in table])
    print(f"{len(merges)} merges, {np.median(merges):.1f} s at the median")


def _summarise(times: list[float]) -> list[str]:
    return [f"{np.median(times):.1f}", f"{np.percentile(times, 95):.1f}"]


if __name__ == "__main__":
    main()
