"""One long file without titles: `python bench/long_files.py [KIND ...] [--retrievers a,b] [--source KIND=PATH]`.

Five kinds of documentation that lies on a machine (`long_texts`), each indexed as one file. `bench/long_files/` has
questions for them, written by reading the texts before any search: natural words, and quotes that mark the evidence.
A question of two hops has two quotes. Evidence is found where each quote stands in one of the first five passages.
The set is for development: the weights of `hybrid` were first chosen on it, not those of today.
"""

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from clew import index as indexes
from clew.arrays import DoubleArray
from clew.evaluation.significance import compare_means, mean_interval
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.plugins.spec import split_list
from clew.protocols import Retriever
from clew.types import Evidence
from long_texts import KINDS, read_text
from workbench import WORK, describe_machine, load_records, print_table, run_clew

QUESTIONS = Path(__file__).parent / "long_files"
RETRIEVERS = "auto,gfm,chains,bm25,dense,fused,pagerank"
RIVALS = ("bm25", "fused")
K = 5


@dataclass(frozen=True, slots=True)
class QuotedQuestion:
    """A question, and for each quote of its evidence where the quotes' middles stand in the text, in characters."""

    text: str
    places: tuple[tuple[int, ...], ...]


def main() -> None:
    """Print a table for each kind of text, and one for all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--retrievers", default=RETRIEVERS, help="the first is compared with bm25 and fused")
    parser.add_argument("--source", action="append", default=[], metavar="KIND=PATH", help="where a kind of text lies")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    arguments = parser.parse_args()
    retrievers = split_list(arguments.retrievers)
    sources = parse_sources(parser, arguments.kinds or list(KINDS), arguments.source)
    print(describe_machine())
    found: dict[str, list[DoubleArray]] = {name: [] for name in retrievers}
    hops: list[int] = []
    for kind, source in sources.items():
        text = read_text(kind, source)
        questions = load_questions(QUESTIONS / f"{kind}.jsonl", text)
        index = indexes.open(build_index(kind, text, arguments.encoder))
        count = len(index.snapshot.passage_ids)
        print(f"\n{kind}: {len(text.split()):,} words, {count:,} passages, {len(questions)} questions", flush=True)
        shares, times = {}, {}
        for name in retrievers:
            shares[name], times[name] = measure(questions, index.retriever(name, 0))
            found[name].append(shares[name])
        own_hops = [len(question.places) for question in questions]
        hops += own_hops
        print_shares(shares, own_hops, times)
    if len(sources) > 1:
        print(f"\nall kinds: {len(hops)} questions")
        print_shares({name: np.concatenate(values) for name, values in found.items()}, hops, {})


def parse_sources(parser: argparse.ArgumentParser, kinds: Sequence[str], given: Sequence[str]) -> dict[str, Path]:
    """Return for each kind of text where it lies, in order; exits with one line where there is no such kind."""
    places = dict(pair.partition("=")[::2] for pair in given)
    for kind in (*kinds, *places):
        if kind not in KINDS:
            parser.error(f"{kind!r} is no kind of text; choose among {', '.join(KINDS)}")
    return {kind: Path(places[kind]) if kind in places else KINDS[kind].source for kind in kinds}


def build_index(kind: str, text: str, encoder: str) -> Path:
    """Return the index of a text as one file, made or updated if necessary."""
    file, folder = WORK / "long-files" / f"{kind}.txt", WORK / f"long-{kind}-{encoder}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
    run_clew("index", str(file), "--index", str(folder), "--encoder", encoder)
    return folder


def load_questions(path: Path, text: str) -> list[QuotedQuestion]:
    """Return the questions of a file whose quotes all stand in a text; prints how many others there are."""
    words = [(match.group(), match.start()) for match in re.finditer(r"\S+", text)]
    joined = " ".join(word for word, _ in words)
    starts = np.repeat(
        [start for _, start in words], [len(word) + 1 for word, _ in words]
    )  # of the word that a character of `joined` belongs to
    records = list(load_records(path))
    questions = []
    for record in records:
        quotes = [" ".join(quote.split()) for quote in record["evidence"]]
        places = tuple(
            tuple(int(starts[match.start() + len(quote) // 2]) for match in re.finditer(re.escape(quote), joined))
            for quote in quotes
        )
        if all(places):
            questions.append(QuotedQuestion(str(record["question"]), places))
    if missing := len(records) - len(questions):
        print(f"{path.name}: {missing} of {len(records)} questions left out: this text lacks their quotes")
    if not questions:
        raise SystemExit(f"{path.name}: the text has no quote of any question; give its source of another version")
    return questions


def measure(questions: Sequence[QuotedQuestion], retriever: Retriever) -> tuple[DoubleArray, float]:
    """Return for each question (n,) the share of its quotes among the first passages, and median milliseconds."""
    retriever.retrieve([questions[0].text], K)  # warm up
    shares, times = [], []
    for question in questions:
        started = time.perf_counter()
        evidence = retriever.retrieve([question.text], K)[0]
        times.append(1000 * (time.perf_counter() - started))
        shares.append(quote_share(question, evidence))
    return np.array(shares), median(times)


def quote_share(question: QuotedQuestion, evidence: Evidence) -> float:
    """Return the share of a question's quotes whose middle stands in one of the first passages."""
    spans = [(scored.item.start, scored.item.end) for scored in evidence.passages[:K]]
    found = [any(start <= place < end for place in places for start, end in spans) for places in question.places]
    return sum(found) / len(found)


def print_shares(shares: dict[str, DoubleArray], hops: Sequence[int], times: dict[str, float]) -> None:
    """Print a row for each retriever, and the paired differences between the first and its rivals, in %."""
    two = np.array(hops) > 1
    rows = []
    for name, values in shares.items():
        complete = (values == 1.0).astype(float)
        low, high = mean_interval(complete, np.random.default_rng(0))
        cells = [f"{100 * complete.mean():.1f} ({100 * low:.1f}-{100 * high:.1f})", f"{100 * values.mean():.1f}"]
        cells += [f"{100 * complete[group].mean():.1f}" if group.any() else "" for group in (~two, two)]
        rows.append([name, *cells, f"{times[name]:.1f}" if name in times else ""])
    head = ("retriever", f"all evidence in the first {K}", "share of it", "one hop", "two hops", "ms p50")
    print_table(head, rows)
    first, *others = shares
    for other in others:
        if other in RIVALS:
            a, b = ((shares[name] == 1.0).astype(float) for name in (first, other))
            c = compare_means((first, other), f"all evidence@{K}", a, b, np.random.default_rng(0))
            interval = f"{100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f}"
            print(f"{first} - {other}: {100 * c.difference:+.1f} ({interval})", flush=True)


if __name__ == "__main__":
    main()
