"""Questions in other languages: `python bench/languages.py [--encoder NAME] [--retrievers a,b] [--misses]`.

`bench/languages/` has for each language the notes of bench/desk/wiki, translated and shortened, and fourteen questions,
the same ones in all languages. Each language asks two indexes: the desk as it is, whose notes are in English, and the
desk with the notes of the language in their place. For each retriever: the share of questions whose note is first, and
that of those whose note is among the first three; English asks the desk as it is. The rest of the desk is there to
distract. On these questions `hybrid` was chosen for the encoder, with its default weight, and that each sentence is
read by itself; the encoder's directions were not.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clew import index as indexes
from clew.datasets.questions import read_records
from clew.models.encoders.registry import MULTILINGUAL_ENCODER
from clew.plugins.spec import split_list
from clew.settings import Settings
from desk import DESK
from workbench import describe_machine, print_table

NOTES = Path(__file__).parent / "languages"
LANGUAGES = ("en", "de", "es", "ru", "zh", "ar", "hi")
PLACES = (1, 3)


@dataclass(frozen=True, slots=True)
class LanguageQuestion:
    """A question and the name of the note that answers it."""

    text: str
    note: str


def main() -> None:
    """Make the indexes, and print a table a retriever."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default=MULTILINGUAL_ENCODER)
    parser.add_argument("--retrievers", default="auto,dense,fused,bm25")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--misses", action="store_true", help="print the questions whose note is not first")
    arguments = parser.parse_args()
    languages, retrievers = split_list(arguments.languages), split_list(arguments.retrievers)
    print(describe_machine())
    ranks: dict[tuple[str, str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        english = make_index(Path(place), "en", arguments.encoder)
        for language in languages:
            questions = load_questions(language)
            places = {"English notes": english}
            if language != "en":
                places["own notes"] = make_index(Path(place), language, arguments.encoder)
            for kind, index in places.items():
                for retriever in retrievers:
                    found = [find_rank(index, one, retriever) for one in questions]
                    ranks[retriever, language, kind] = found
                    if arguments.misses:
                        print_misses(f"{retriever}, {kind}", questions, found)
    for retriever in retrievers:
        print(f"\n{retriever} ({arguments.encoder}): % of questions whose note is first, and in the first three")
        rows = [[kind, *(_format(ranks.get((retriever, one, kind))) for one in languages)] for kind in
                ("English notes", "own notes")]  # fmt: skip
        print_table(("", *languages), rows)


def make_index(folder: Path, language: str, encoder: str) -> indexes.Index:
    """Return an index of the desk, its notes in a language."""
    documents = folder / f"desk-{language}"
    left_out = ("README.md", "questions.jsonl", "answers.jsonl", "printed", "tables")
    shutil.copytree(DESK, documents, ignore=shutil.ignore_patterns(*left_out, *(["wiki"] if language != "en" else [])))
    if language != "en":
        (documents / "wiki").mkdir()
        for record in read_records(NOTES / f"{language}.jsonl"):
            text = f"# {record.text('title')}\n\n{record.text('text')}\n"
            (documents / "wiki" / f"{record.text('note')}.md").write_text(text, encoding="utf-8")
    index = indexes.create(folder / f"index-{language}", Settings(encoder=encoder))
    index.add([documents])
    return index


def load_questions(language: str) -> list[LanguageQuestion]:
    """Return the questions of a language."""
    return [
        LanguageQuestion(text, record.text("note"))
        for record in read_records(NOTES / f"{language}.jsonl")
        for text in record.texts("questions")
    ]


def find_rank(index: indexes.Index, question: LanguageQuestion, retriever: str) -> float:
    """Return the rank of the question's note, from 1; infinity where it is not among the first twenty passages."""
    evidence = index.search(question.text, 20, retriever)
    for rank, scored in enumerate(evidence.passages, 1):
        if question.note in scored.item.id:
            return float(rank)
    return float("inf")


def print_misses(label: str, questions: Sequence[LanguageQuestion], ranks: Sequence[float]) -> None:
    """Print the questions whose note is not first, with its rank."""
    for question, rank in zip(questions, ranks, strict=True):
        if rank > 1:
            print(f"{label}: {rank:g} {question.note}: {question.text}")


def _format(ranks: Sequence[float] | None) -> str:
    if ranks is None:
        return "-"
    return " / ".join(f"{100 * sum(rank <= place for rank in ranks) / len(ranks):.0f}" for place in PLACES)


if __name__ == "__main__":
    main()
