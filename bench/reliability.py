"""Reliability of `clew ask` without a language model: `python bench/reliability.py [SET ...]`.

Of the answers that are asserted, not marked weak, the share that is right by exact match, by what decided them (the
comparison of titles, an age computed, or the reader) and by bins of the printed probability. A quarter of
the questions is asked once more without its gold passages, where every assertion is wrong. `examples` are the 60
questions of examples/questions.jsonl over examples/polar, `life dates` when each person of that corpus was born and
died whose article gives both years in brackets. All sets are for evaluation alone.

The last table asks the questions of the sets with a name exchanged for another of the same shape (`exchanged_names`):
an assertion is wrong there where it is the old answer, or where no passage of the new name states it. "One step on" are
those wrong ones whose quoted passage the new name's passage names, so that a question of two steps may be answered
rightly. The rules for it were chosen on 2wiki-train and the training questions of hotpotqa.
"""

import argparse
import re
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from clew import index as indexes
from clew.answering.computed_dates import COMPUTED_NOTE
from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.rules import COMPARISON_NOTE
from clew.models.reader.windows import READ_PASSAGES
from clew.retrievers.registry import parse_retriever
from clew.text.answer_metrics import exact_match
from clew.training.data.reader_examples import FOUND
from clew.training.fitting.answer_confidence import remove_gold
from clew.types import Answer, Question
from clew_lab.datasets.loaders import load_questions
from exchanged_names import ExchangedQuestion, exchange_names
from workbench import BENCHMARKS, DATA, WORK, describe_machine, print_table

LOCAL_SETS = ("examples", "life dates")
EXAMPLES = Path(__file__).parent.parent / "examples"
BINS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
DECIDERS = {COMPARISON_NOTE: "comparison", COMPUTED_NOTE: "computed from dates"}
_LIFE = re.compile(r"^(?:Sir )?(?P<name>[^(),\n]+?) \((?P<birth>\d{4})–(?P<death>\d{4})\)", re.MULTILINE)
_PROBABILITY = re.compile(r"\(probability (\d\.\d\d)")


def main() -> None:
    """Print what is asserted, hedged and withheld for each set, then right answers by bins of the probability."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "musique-dev", *LOCAL_SETS])
    parser.add_argument("--retriever", default="gfm")
    parser.add_argument("--show", action="store_true", help="print the wrong assertions of exchanged names")
    parser.add_argument("--every", type=int, default=4, help="every so many questions are asked without gold too")
    arguments = parser.parse_args()
    print(describe_machine())
    rows, answered, decided, exchanged = [], [], [], []
    for name in arguments.sets:
        with tempfile.TemporaryDirectory() as folder:
            index, questions = open_set(name, Path(folder))
            pairs, without = answer_set(index, questions, arguments.retriever, arguments.every)
            others = answer_exchanged(index, questions, arguments.retriever)
        rows += [summarise(name, pairs), summarise(f"{name}, gold taken out", without, answerable=False)]
        decided += decisions(name, pairs)
        answered += [*pairs, *((None, answer) for _, answer in without)]
        exchanged.append(summarise_exchanged(name, others))
        if arguments.show:
            show_wrong(others)
    print()
    print_table(
        ("set", "questions", "asserted", "right", "wrong", "reliability %", "not sure", "right there", "no answer"),
        rows,
    )
    print()
    print_table(("set", "decided by", "asserted", "right"), decided)
    print()
    print_table(("probability", "answers", "mean %", "right %"), bins(answered))
    print()
    print_table(
        ("names exchanged", "questions", "asserted", "wrong", "of those the old answer", "one step on"), exchanged
    )


def open_set(name: str, folder: Path) -> tuple[indexes.Index, Sequence[Question]]:
    """Return the index and the questions of a set; the index of the examples is made in a folder."""
    if name not in LOCAL_SETS:
        index = indexes.open(next(WORK.glob(f"{name}-all-MiniLM-L6-v2-int8")))
        return index, load_questions(DATA / BENCHMARKS[name].questions)
    index = indexes.create(folder / "examples")
    index.add([EXAMPLES / "polar"])
    return index, load_questions(EXAMPLES / "questions.jsonl") if name == "examples" else ask_life_dates()


def ask_life_dates() -> list[Question]:
    """Return when each person was born and died whose article gives both years after its name."""
    questions = []
    for file in sorted((EXAMPLES / "polar").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        if (life := _LIFE.search(text)) and title in life["name"]:
            for form, year in (("When was {} born?", life["birth"]), ("When did {} die?", life["death"])):
                questions.append(Question(form.format(title), form.format(title), (year,), (file.name,)))
    return questions


def answer_set(
    index: indexes.Index, questions: Sequence[Question], name: str, every: int
) -> tuple[list[tuple[Question, Answer]], list[tuple[Question, Answer]]]:
    """Return the answers to all questions with answers, and those to some without their gold passages."""
    answerer = ExtractiveAnswerer()
    retriever = index.retriever(parse_retriever(name), 1)
    answerable = [question for question in questions if question.answers]
    found = [(q, answerer.answer_one(q.text, retriever.retrieve([q.text], READ_PASSAGES)[0])) for q in answerable]
    without = []
    for question in answerable[::every]:
        evidence = remove_gold(retriever.retrieve([question.text], FOUND)[0], question.gold, READ_PASSAGES)
        without.append((question, answerer.answer_one(question.text, evidence)))
    return found, without


def answer_exchanged(
    index: indexes.Index, questions: Sequence[Question], name: str
) -> list[tuple[ExchangedQuestion, Answer]]:
    """Return the answers to the questions with exchanged names."""
    answerer = ExtractiveAnswerer()
    retriever = index.retriever(parse_retriever(name), 1)
    some = list(exchange_names(index, [question for question in questions if question.answers]))
    texts = [one.question.text for one in some]
    found = [answerer.answer_one(text, retriever.retrieve([text], READ_PASSAGES)[0]) for text in texts]
    return list(zip(some, found, strict=True))


def summarise_exchanged(name: str, answered: Sequence[tuple[ExchangedQuestion, Answer]]) -> list[str]:
    """Return the row of a set whose questions have exchanged names."""
    asserted = [(one, answer) for one, answer in answered if answer.text and not answer.weak]
    wrong = [(one, answer) for one, answer in asserted if one.is_wrong(answer)]
    old, further = (
        sum(says(*pair) for pair in wrong) for says in (ExchangedQuestion.is_old, ExchangedQuestion.is_one_step_on)
    )
    return [name, *map(str, (len(answered), len(asserted), len(wrong), old, further))]


def show_wrong(answered: Sequence[tuple[ExchangedQuestion, Answer]]) -> None:
    """Print each assertion of an exchanged name that is wrong, with the sentence that is quoted first."""
    for one, answer in answered:
        if answer.text and not answer.weak and one.is_wrong(answer):
            print(f"\n{one.question.text} {answer.text!r}; of the name before: {one.question.answers}")
            print(f"  {answer.citations[0].passage_id}: {answer.citations[0].quote}")


def summarise(name: str, pairs: Sequence[tuple[Question, Answer]], *, answerable: bool = True) -> list[str]:
    """Return the row of a set."""
    right = [answerable and bool(exact_match(answer.text, question.answers)) for question, answer in pairs]
    asserted = [bool(answer.text) and not answer.weak for _, answer in pairs]
    hedged = [bool(answer.text) and answer.weak for _, answer in pairs]
    correct = sum(a and r for a, r in zip(asserted, right, strict=True))
    share = f"{100 * correct / sum(asserted):.0f}" if any(asserted) else "-"
    likely = sum(h and r for h, r in zip(hedged, right, strict=True))
    withheld = len(pairs) - sum(asserted) - sum(hedged)
    counts = (len(pairs), sum(asserted), correct, sum(asserted) - correct, share, sum(hedged), likely, withheld)
    return [name, *map(str, counts)]


def decisions(name: str, pairs: Sequence[tuple[Question, Answer]]) -> list[list[str]]:
    """Return for each way that answers of a set are decided the number of those asserted, and of the right ones."""
    right: dict[str, list[bool]] = {}
    for question, answer in pairs:
        if answer.text and not answer.weak:
            decider = next((DECIDERS[note] for note in answer.notes if note in DECIDERS), "reader")
            right.setdefault(decider, []).append(bool(exact_match(answer.text, question.answers)))
    return [[name, decider, str(len(some)), str(sum(some))] for decider, some in sorted(right.items())]


def bins(answered: Sequence[tuple[Question | None, Answer]]) -> list[list[str]]:
    """Return right answers by bins of the probability; None stands for a question without its gold passages."""
    points = []
    for question, answer in answered:
        printed = _PROBABILITY.search(" ".join(answer.notes))
        if printed and answer.text:
            is_right = question is not None and exact_match(answer.text, question.answers)
            points.append((float(printed[1]), float(is_right)))
    rows = []
    for low, high in pairwise(BINS):
        some = np.array([p for p in points if low <= p[0] < high or p[0] == high == 1.0]).reshape(-1, 2)
        means = [f"{100 * mean:.0f}" for mean in some.mean(axis=0)] if len(some) else ["-", "-"]
        rows.append([f"{low:.2f}-{high:.2f}", str(len(some)), *means])
    return rows


if __name__ == "__main__":
    main()
