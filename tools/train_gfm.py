"""Train the network of `gfm` that ships with Clew: `python tools/train_gfm.py [--out FOLDER] [--pages N] [--tiny]`.

Learns from questions of several hops over Wikipedia, as indexes of the benchmarks hold it, and from questions on pages
as they lie on the web: paragraphs of one article after the other, papers and posts without titles, a part in lower
case, a part under menus (`make_pages`). The epoch is chosen on hotpotqa/dev, musique-dev and the web pages of `wild`.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from clew.datasets.questions import Record, read_records
from clew.graph.snapshot.snapshot import Snapshot
from clew.index import create
from clew.index import open as open_index
from clew.training.data.corpora import IndexedQuestions
from clew_lab.training.recipes.gfm import train_gfm
from clew_lab.training.recipes.gfm_recipe import GFMRecipe

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from workbench import BENCHMARKS, DATA, WORK, build_corpus, build_questions

LEARNED = {"hotpotqa": "train.jsonl", "2wiki-train": "train.jsonl", "musique": "train.jsonl"}
MOST = 600  # questions of one file
ARTICLES = 4  # one of so many is read
VALIDATED = ("hotpotqa", "musique-dev", "wild")
SITES = ("news", "shop", "club", "lab", "town")
SECTIONS = ("Home", "About us", "Contact", "Newsletter", "Terms of use", "Privacy policy", "Subscribe", "Sport")


def main() -> None:
    """Make what is missing, train, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=WORK.parent / "gfm", help="folder to write to")
    parser.add_argument("--pages", type=int, default=900, help="questions on pages that are learned")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="few questions, to try the script")
    arguments = parser.parse_args()
    pages = 40 if arguments.tiny else arguments.pages
    names = list(LEARNED)[-1 if arguments.tiny else 0 :]
    learned = [IndexedQuestions(find_index(name), DATA / name / LEARNED[name]) for name in names]
    learned.append(make_pages(pages, WORK / f"pages-{pages}"))
    validated = [IndexedQuestions(find_index(name), build_questions(BENCHMARKS[name])) for name in VALIDATED]
    recipe = GFMRecipe()
    recipe = replace(recipe, loop=replace(recipe.loop, epochs=1 if arguments.tiny else arguments.epochs))
    result = train_gfm((), (), arguments.out, recipe, report, indexes=learned, validation_indexes=validated)
    for name, value in result.figures.items():
        print(f"{name}: {result.initial_figures[name]:.4f} before, {value:.4f} after")
    print(f"{arguments.out}: learned from {result.questions:,} questions in {result.seconds:.0f} s")


def find_index(name: str) -> Path:
    """Return the index of a benchmark, made where it is missing."""
    place = WORK / f"{name}-all-MiniLM-L6-v2-int8"
    if not place.exists():
        print(f"indexing {name}", flush=True)
        create(place).add([build_corpus(BENCHMARKS[name])])
    return place


def make_pages(count: int, folder: Path) -> IndexedQuestions:
    """Return about `count` questions on an index of pages without titles, with the passages that hold their answers."""
    questions = folder.with_suffix(".questions.jsonl")
    if not questions.exists():
        chooser = random.Random(count)
        squad, *others = (list(read_records(DATA / "qa" / f"{name}.jsonl.gz")) for name in ("squad", "covidqa", "nq"))
        single = [one for records in others for one in records[:MOST] if len(one.items("gold")) == 1]
        texts = [*join_articles(chooser), *(passage["text"] for one in single for passage in one.items("passages"))]
        pages = [{"id": f"page-{n}", "text": dress(text, chooser)} for n, text in enumerate(dict.fromkeys(texts))]
        write_rows(folder.with_suffix(".jsonl"), pages)
        create(folder).add([folder.with_suffix(".jsonl")])
        chosen = [*chooser.sample(squad, ARTICLES * count // 2), *chooser.sample(single, min(len(single), count // 2))]
        snapshot = open_index(folder).snapshot
        write_rows(questions, [row for one in chosen if (row := find_gold(one, snapshot))["gold"]])
    return IndexedQuestions(folder, questions)


def join_articles(chooser: random.Random) -> Iterator[str]:
    """Yield the paragraphs of articles, five to twelve of them a page."""
    records = read_records(DATA / "qa" / "squad-corpus.jsonl.gz")
    for number, (_, paragraphs) in enumerate(groupby(records, key=lambda record: record.text("title"))):
        rest = [record.text("text") for record in paragraphs] if number % ARTICLES == 0 else []
        while rest:
            size = chooser.randint(5, 12)
            yield "\n\n".join(rest[:size])
            rest = rest[size:]


def dress(text: str, chooser: random.Random) -> str:
    """Return a text in lower case, under a menu, or as it is."""
    site = f"https://{chooser.choice(SITES)}.example"
    menu = "\n".join(f"*   [{one}]({site}/{one[:4]})" for one in chooser.sample(SECTIONS, 5))
    return chooser.choice((text, text, text.lower(), f"{menu}\n\n{text}\n\n{menu}"))


def find_gold(record: Record, snapshot: Snapshot) -> dict[str, Any]:
    """Return a question with the passages that hold an answer of it as its own passage writes it."""
    source = record.items("passages")[record.items("gold")[0]]["text"]
    places = [source.find(answer) for answer in record.texts("answers")]
    wanted = {" ".join(source[max(at - 60, 0) : at + 60].lower().split()[1:-1]) for at in places if at >= 0}
    passages = zip(snapshot.passage_ids, snapshot.texts, strict=True)
    gold = [id_ for id_, text in passages if any(words in " ".join(text.lower().split()) for words in wanted)]
    about = {name: record.fields[name] for name in ("id", "question", "answers")}
    return {**about, "gold": gold}


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write a file of JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def report(stage: str, done: int, total: int) -> None:
    """Print every hundredth step."""
    if done % 100 == 0:
        print(f"{stage}: {done:,} of {total:,}", flush=True)


if __name__ == "__main__":
    main()
