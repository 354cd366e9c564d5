"""Measure the times found in sentences, and how long it takes: `python bench/dates.py [--passages FILE] [--list]`.

The sentences are those of tests/text/times, written by hand; a sentence is right where all its times are, and no other.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from clew.text.times import TimeSpan, find_times, read_time
from workbench import describe_machine, print_table

SENTENCES = Path(__file__).parent.parent / "tests" / "text" / "times"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", default="development", help="development or held_back")
    parser.add_argument("--passages", type=Path, help="a file of passages, one JSON object with `text` a line")
    parser.add_argument("--list", action="store_true", help="print the sentences that are wrong")
    options = parser.parse_args()
    print(describe_machine())
    counts: dict[str, list[bool]] = {}
    for row in read_rows(SENTENCES / f"{options.sentences}.jsonl"):
        expected = list(map(expand, row["times"]))
        found = [one.span for one in find_times(row["text"], read_time(row["reference"]))]
        counts.setdefault(row["language"], []).append(found == expected)
        if options.list and found != expected:
            print(
                f"{row['language']} {row['text']}\n   wanted {list(map(str, expected))}, found {list(map(str, found))}"
            )
    counts["all"] = [right for some in counts.values() for right in some]
    rows = [[language, str(len(some)), f"{sum(some) / len(some):.1%}"] for language, some in counts.items()]
    print_table(("language", "sentences", "right"), rows)
    if options.passages:
        print(describe_speed([row["text"] for row in read_rows(options.passages)]))


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def expand(text: str) -> TimeSpan:
    """Return the span of "1998", "1990..1998", "2011.." or "..1975"."""
    first, dots, last = text.partition("..")
    start, end = read_time(first) if first else None, read_time(last if dots else first) if last or not dots else None
    return TimeSpan(start.first if start else None, end.last if end else None)


def describe_speed(texts: list[str]) -> str:
    """Return the processor time of a passage on average, with a reference, after one passage that loads all words."""
    reference = TimeSpan(738_000, 738_000)
    find_times("3 May 2004", reference)
    words = sum(len(text.split()) for text in texts)
    start = time.process_time()
    found = sum(len(find_times(text, reference)) for text in texts)
    milliseconds = 1000 * (time.process_time() - start)
    per_words = milliseconds / words * 100
    return (
        f"{len(texts)} passages, {found} times, {milliseconds / len(texts):.3f} ms each, {per_words:.3f} ms a 100 words"
    )


if __name__ == "__main__":
    main()
