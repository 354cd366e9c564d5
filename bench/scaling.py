"""PageRank on ten times the passages: `python bench/scaling.py`.

The larger corpus is all shared corpora together, and copies of 2Wiki with every title renamed, so that the copies are
a graph of their own and share words, but no names, with the questions' one. Neither has vectors: the walk uses none.
"""

import json
import re

import numpy as np

from clew import index as indexes
from clew.text.gazetteer import Gazetteer
from clew.text.names import without_parentheses
from latency import timed
from workbench import BENCHMARKS, DATA, WORK, clew, machine, print_table, question_texts, records

CORPORA = ("2wiki", "2wiki-train", "hotpotqa", "musique", "musique-dev")


def main() -> None:
    """Print the medians of both sizes in one run, and their ratio."""
    small = BENCHMARKS["2wiki"]
    base = list(records(DATA / small.corpus))
    WORK.mkdir(parents=True, exist_ok=True)
    large = WORK / "tenfold.jsonl"
    if not large.is_file():
        write_tenfold(base, large)
    sizes = {}
    for name, path in (("1x", DATA / small.corpus), ("10x", large)):
        folder = WORK / f"scaling-{name}"
        clew("index", str(path), "--index", str(folder), "--encoder", "none")
        sizes[name] = indexes.open(folder)
    print(machine())
    texts = question_texts(small)
    medians = {name: float(np.median(timed(index, "pagerank", texts))) for name, index in sizes.items()}
    again = {name: float(np.median(timed(index, "pagerank", texts))) for name, index in sizes.items()}
    rows = [
        [name, str(len(index.snapshot.passage_ids)), f"{medians[name]:.2f}", f"{again[name]:.2f}"]
        for name, index in sizes.items()
    ]
    print_table(("corpus", "passages", "ms p50", "ms p50, again"), rows)
    print(f"ratio {medians['10x'] / medians['1x']:.2f}, again {again['10x'] / again['1x']:.2f}")


def write_tenfold(base: list[dict[str, str]], path) -> None:  # type: ignore[no-untyped-def]
    """Write ten times as many passages as `base`."""
    wanted = 10 * len(base)
    gazetteer = Gazetteer([(r["title"], without_parentheses(r["title"])) for r in base])
    matches = [gazetteer.find(r["text"]) for r in base]
    with path.with_suffix(".part").open("w", encoding="utf-8") as out:
        written = 0
        for corpus in CORPORA:
            for record in records(DATA / f"{corpus}/corpus.jsonl"):
                out.write(json.dumps(record) + "\n")
                written += 1
        copy = 0
        while written < wanted:
            copy += 1
            for record, found in zip(base, matches, strict=True):
                if written == wanted:
                    break
                renamed = renamed_text(record["text"], found, copy)
                title = renamed_title(record["title"], copy)
                out.write(json.dumps({"id": f"copy{copy}-{record['id']}", "title": title, "text": renamed}) + "\n")
                written += 1
    path.with_suffix(".part").replace(path)


def renamed_title(title: str, copy: int) -> str:
    """Return a name that nothing else has: each of its words gets an ending of the copy."""
    return re.sub(
        r"(\w+)",
        lambda m: f"{m.group(1)}{'xyzqvwkjh'[copy % 9]}{copy}" if m.group(1)[0].isupper() else m.group(1),
        title,
    )


def renamed_text(text: str, found: list, copy: int) -> str:  # type: ignore[type-arg]
    """Return a text with every known title in it renamed, and the other capitalised words too."""
    pieces, place = [], 0
    for match in found:
        pieces += [text[place : match.start], renamed_title(text[match.start : match.end], copy)]
        place = match.end
    return "".join([*pieces, text[place:]])


if __name__ == "__main__":
    main()
