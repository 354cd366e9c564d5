"""Ask many different questions in one process, and measure the memory and the open files that it holds.

    python -m tests.faults.searches [--count N]

An index is made of the example corpus. Questions differ in their names and numbers, so that no cache answers them, and
are asked with `bm25`, `pagerank`, `chains` and `gfm` in turns, by the shares of `SHARES`. What the process holds after
the first `WARM_UP` questions is compared with what it holds at the end: file descriptors may not grow at all, and
resident memory by at most `MAX_GROWTH_MIB`, which bounded caches of vectors, masks and retrievers may fill.
"""

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice, product
from pathlib import Path

import clew
from clew.index import Index
from clew.settings import Settings

WARM_UP = 1000  # searches before the first measurement: code is loaded, and caches fill
MAX_GROWTH_MIB = 64.0
SHARES = {"bm25": 16, "pagerank": 2, "chains": 1, "gfm": 1}
EXAMPLES = Path(__file__).parents[2] / "examples" / "polar"
_FORMS = ("Who led {} to {} in {}?", "Which ship of {} was at {} in {}?", "Where did {} meet {} after {}?")
_YEARS = range(1800, 2000)
_PASSAGES = 5
_STEPS = 10  # lines of progress


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds at a moment."""

    searches: int
    memory_mib: float  # resident
    descriptors: int  # open files


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process held after the first searches and at the end."""

    first: Held
    last: Held

    @property
    def growth_mib(self) -> float:
        """How much more memory is held at the end."""
        return self.last.memory_mib - self.first.memory_mib

    @property
    def new_descriptors(self) -> int:
        """How many more files are open at the end."""
        return self.last.descriptors - self.first.descriptors

    @property
    def is_bounded(self) -> bool:
        """Whether neither grew beyond its bound."""
        return self.new_descriptors <= 0 and self.growth_mib <= MAX_GROWTH_MIB


def make_example_index(folder: Path) -> Index:
    """Return a new index of the example corpus, with facts by rules."""
    index = clew.create(folder, Settings(extractor="rules"))
    index.add([EXAMPLES])
    return index


def make_questions(titles: list[str]) -> Iterator[str]:
    """Yield different questions: neighbours have other names, and each pair of names comes with many years."""
    for year, form, step in product(_YEARS, _FORMS, range(1, len(titles))):
        for place, title in enumerate(titles):
            yield form.format(title, titles[(place + step) % len(titles)], year)


def measure(searches: int) -> Held:
    """Return what this process holds, after unreachable objects are freed (Linux)."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Held(searches, resident * resource.getpagesize() / 2**20, sum(1 for _ in Path("/proc/self/fd").iterdir()))


def run(index: Index, count: int, warm_up: int = WARM_UP, show: Callable[[Held], None] | None = None) -> Outcome:
    """Ask so many questions, and measure after the first and at the end; `show` gets measurements between."""
    questions = make_questions([document.title for document in index.documents])
    retrievers = cycle([name for name, share in SHARES.items() for _ in range(share)])
    first = None
    for number, (question, retriever) in enumerate(zip(islice(questions, count), retrievers, strict=False), 1):
        index.search(question, _PASSAGES, retriever)
        if number == warm_up:
            first = measure(number)
        elif show is not None and number > warm_up and number % max(1, count // _STEPS) == 0:
            show(measure(number))
    if first is None:
        raise ValueError(f"{count} searches are no more than the {warm_up} before the first measurement")
    return Outcome(first, measure(count))


def describe(held: Held) -> str:
    """Return a measurement in words."""
    return f"{held.searches:7,} searches: {held.memory_mib:7.1f} MiB resident, {held.descriptors} open files"


def main() -> None:
    """Print what the process holds as it searches; exit 1 where that grew beyond the bounds."""
    parser = argparse.ArgumentParser(description="Ask many questions in one process and measure what it holds.")
    parser.add_argument("--count", type=int, default=100_000, help=f"searches, more than {WARM_UP:,}")
    count = parser.parse_args().count
    if count <= WARM_UP:
        parser.error(f"--count is {count}; give more than {WARM_UP}")
    with tempfile.TemporaryDirectory() as name, make_example_index(Path(name) / "index") as index:
        begun, used = time.perf_counter(), time.process_time()
        outcome = run(index, count, show=lambda held: print(describe(held), flush=True))
        seconds, processor = time.perf_counter() - begun, time.process_time() - used
    print(describe(outcome.first), describe(outcome.last), sep="\n")
    print(
        f"{outcome.growth_mib:+.1f} MiB (at most {MAX_GROWTH_MIB:.0f}) and {outcome.new_descriptors:+d} open files (at "
        f"most 0); {seconds:.0f} s, {1000 * processor / count:.1f} ms of the processor for a search"
    )
    sys.exit(0 if outcome.is_bounded else 1)


if __name__ == "__main__":
    main()
