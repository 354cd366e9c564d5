"""Train the reader that ships with Clew: `python tools/train_reader.py [--start FOLDER] [--out FOLDER] [--device D]`.

Learns from the questions of the data folder (`CLEW_DATA`, by default the one of the benchmarks), with the passages that
Clew's own indexes of HotpotQA, 2WikiMultiHopQA (training part) and MuSiQue find, and from questions of relations (see
`relation_questions.py`); indexes and questions are made where they are missing. It begins with a reader, by default the
one in the package, so that what was learned is kept; or with the BERT model in a folder. A run that was stopped goes on
after its last epoch; a further one draws other questions by another `--seed`. On two cores an epoch takes half an hour.
"""

import argparse
import sys
from pathlib import Path

from clew.index import create
from clew.index import open as open_index
from clew.models.reader.reader import READER_FOLDER
from clew.training.checkpoint import single_process
from clew.training.hyperparameters import ReaderRecipe, Recipe
from clew.training.recipes.reader import QuestionFile, ReaderData, SearchedQuestions, train_reader

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from relation_questions import write_questions

from workbench import DATA, WORK

DRAWN = {
    "squad": 7000, "squad-silver": 2000, "wiki-crowd": 1800, "nq": 800, "nq-swapped": 500, "afriqa": 1000,
    "quoref": 400, "quoref-contrast": 200, "drop-contrast": 100, "multirc": 24, "confiqa": 300, "covidqa": 100,
    "qamr": 1000, "boolq": 200, "strategyqa": 100, "hotpotqa-evidence": 800, "hotpotqa-more": 213,
}  # fmt: skip
"""Questions that an epoch draws of each file; those over several passages teach most and are drawn whole."""
COMBINED, RELATIONS, RECURRING = 400, 1200, 3000
"""Questions that are made for an epoch: of two of the others, of relations, and of names that stand in two texts."""
LEARNED = {"hotpotqa": "train.jsonl", "2wiki-train": "train.jsonl", "musique": "train.jsonl"}
VALIDATED = {"hotpotqa": "dev.jsonl", "musique-dev": "dev.jsonl"}


def main() -> None:
    """Train, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, default=READER_FOLDER, help="folder of a reader or of a BERT model")
    parser.add_argument("--out", type=Path, default=WORK.parent / "reader", help="folder to write to")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiny", action="store_true", help="a hundredth of the questions, to try the script")
    arguments = parser.parse_args()
    share = 100 if arguments.tiny else 1
    files = [QuestionFile(DATA / "qa" / f"{name}.jsonl.gz", count // share) for name, count in DRAWN.items()]
    count = arguments.epochs * RELATIONS // share
    relations = WORK / f"relations-{count}-{arguments.seed}.jsonl"
    if not relations.exists():
        write_questions(relations, count, arguments.seed)
    files.append(QuestionFile(relations, RELATIONS // share))
    data = ReaderData(
        files,
        [find_questions(*item) for item in list(LEARNED.items())[-1 if arguments.tiny else 0 :]],
        [DATA / name for name in ("qa/squad-corpus.jsonl.gz", "2wiki-train/corpus.jsonl", "musique/corpus.jsonl")],
        [find_questions(*item) for item in list(VALIDATED.items())[-1 if arguments.tiny else 0 :]],
    )
    loop = Recipe(arguments.epochs, arguments.rate, decay=0.01, warmup=100, average=0.998, seed=arguments.seed)
    recipe = ReaderRecipe(batch=16, combined=COMBINED // share, recurring=RECURRING // share, loop=loop)
    result = train_reader(data, arguments.start, arguments.out, recipe, report, single_process(arguments.device))
    for name, value in result.figures.items():
        print(f"{name}: {result.initial_figures[name]:.1f} before, {value:.1f} after")
    print(f"{arguments.out}: learned from {result.questions:,} questions in {result.seconds:.0f} s")


def find_questions(name: str, file: str) -> SearchedQuestions:
    """Return the questions of a set with their index, which is made where it is missing."""
    place = WORK / f"{name}-all-MiniLM-L6-v2-int8"
    if not place.exists():
        print(f"indexing {name}", flush=True)
        create(place).add([DATA / name / "corpus.jsonl"])
    return SearchedQuestions(DATA / name / file, open_index(place), name)


def report(stage: str, done: int, total: int) -> None:
    """Print every hundredth step."""
    if done % 100 == 0:
        print(f"{stage}: {done:,} of {total:,}", flush=True)


if __name__ == "__main__":
    main()
