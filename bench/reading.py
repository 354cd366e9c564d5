"""Answers of `clew ask` without a language model: `python bench/reading.py [SET ...] [--rules] [--squad] [--passages]`.

Exact match and F1 over all questions with the evidence of the default, where an answer that is withheld counts as
wrong; what is asserted, and how much of it is right; the same with the gold passages given; and a fifth of the
questions whose gold passages are taken out, where everything asserted is wrong. Milliseconds are those of a whole
question, search included, one after the other. `--squad` reads the held-out tenth of the titles of qa/squad, each
question with its own passage. `--languages` asks the questions of bench/desk/answers.jsonl in German, Russian and
Chinese, which the reader does not know: the answer is weak, and by rules. `--rules` prints for each rule the questions
that it decides, and how many of them it and the reader answer rightly: on the sets, on the training questions that the
reader did not see, and on those it did. `--passages` compares the reader's first answer, without rules and calibration,
where it reads the best five passages, the best two, and where both are averaged as `clew ask` does.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clew import index as indexes
from clew.answering.computed_dates import COMPUTED_NOTE, questions_of_dates
from clew.answering.extractive import (
    FIRST_PASSAGES,
    FIRST_WEIGHT,
    ExtractiveAnswerer,
    choose_answers,
    read_spans,
)
from clew.answering.question_analysis import analyze_question
from clew.answering.rules import RULES
from clew.datasets.questions import read_records
from clew.models.reader.reader import READER_FOLDER, Reader, average_readings
from clew.models.reader.windows import READ_PASSAGES, evidence_texts
from clew.text.answer_metrics import exact_match, token_f1
from clew.text.mentions import find_mentions
from clew.training.data.reader_examples import FOUND, is_held_out, is_held_out_of_index, read_examples
from clew.training.fitting.answer_confidence import remove_gold
from clew.types import Answer, Evidence, Passage, Question, Scored
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, WORK, describe_machine, print_table

DESK = Path(__file__).parent / "desk"
FOLDERS = {"de": "deutsch", "ru": "russkij", "zh": "zhongwen"}
SETS = ("hotpotqa", "musique-dev", "2wiki")
RULE_SETS = {  # files of questions on the indexes that rules are chosen on
    "hotpotqa": ("hotpotqa/dev.jsonl", "hotpotqa/train.jsonl"),
    "2wiki-train": ("2wiki-train/train.jsonl",),
    "musique-dev": ("musique-dev/dev.jsonl",),
}
COMPUTED_SETS = ("drop-contrast", "strategyqa", "squad", "hotpotqa-evidence", "hotpotqa-more")
PUBLISHED = {"hotpotqa": "60-73"}
"""Exact match of readers of 110 to 435 million parameters (ELECTRA, DeBERTa), gold passages among ten given."""
PASSAGE_SETS = {  # files of questions, and whether the held-back ones that compare nothing are asked alone
    "hotpotqa": ("hotpotqa/dev.jsonl", False),
    "musique-dev": ("musique-dev/dev.jsonl", False),
    "2wiki-train": ("2wiki-train/train.jsonl", True),
}
HEAD = ("set", "questions", "exact match", "F1", "asserted %", "right of them %", "with gold: EM", "F1 ",
        "published: EM", "gold taken out: asserted %", "ms p50")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer."""

    question: Question
    answer: Answer


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--squad", action="store_true")
    parser.add_argument("--languages", action="store_true")
    parser.add_argument("--passages", action="store_true")
    parser.add_argument("--reader", type=Path, default=READER_FOLDER, help="folder of the reader")
    parser.add_argument("--every", type=int, default=1, help="ask every so many questions")
    arguments = parser.parse_args()
    answerer = ExtractiveAnswerer(Reader(arguments.reader))
    print(describe_machine())
    if arguments.rules:
        print_table(*measure_rules(Reader(arguments.reader)))
        return
    if arguments.passages:
        head = ("set", "questions", *(f"{form}: {part}" for form in ("five", "two", "mean") for part in ("EM", "F1")))
        print_table(head, [measure_passages(name, Reader(arguments.reader)) for name in PASSAGE_SETS])
        return
    if arguments.squad:
        print_table(("qa/squad, held out", "questions", "exact match", "F1"), [measure_squad(Reader(arguments.reader))])
        return
    if arguments.languages:
        print_table(("language", "questions", "exact match", "F1"), measure_languages(answerer))
        return
    rows = [measure_set(name, answerer, arguments.every) for name in arguments.sets]
    print_table(HEAD, rows)


def open_set(name: str) -> indexes.Index:
    """Return the index of a set, made by bench/retrieval.py."""
    return indexes.open(next(WORK.glob(f"{name}-all-MiniLM-L6-v2-int8")))


def measure_set(name: str, answerer: ExtractiveAnswerer, every: int) -> list[str]:
    """Return a row of figures in percent."""
    index = open_set(name)
    questions = [q for q in load_questions(DATA / BENCHMARKS[name].questions) if q.answers][::every]
    index.search(questions[0].text)
    answered, seconds = [], []
    for question in questions:
        started = time.perf_counter()
        evidence = index.search(question.text, READ_PASSAGES)
        answered.append(Answered(question, answerer.answer_one(question.text, evidence)))
        seconds.append(time.perf_counter() - started)
    gold = [Answered(q, answerer.answer_one(q.text, gold_evidence(index, q))) for q in questions]
    without = [
        answerer.answer_one(q.text, remove_gold(index.search(q.text, FOUND), q.gold, READ_PASSAGES))
        for q in questions[::5]
    ]
    asserted = [one for one in answered if one.answer.text and not one.answer.weak]
    wrong = sum(bool(answer.text) and not answer.weak for answer in without)
    return [
        name, str(len(questions)), *_scores(answered), f"{100 * len(asserted) / len(answered):.1f}",
        f"{_scores(asserted)[0]}" if asserted else "-", *_scores(gold), PUBLISHED.get(name, "-"),
        f"{100 * wrong / len(without):.1f}", f"{1000 * statistics.median(seconds):.0f}",
    ]  # fmt: skip


def _scores(answered: Sequence[Answered]) -> tuple[str, str]:
    values = [
        100 * statistics.mean(measure(one.answer.text, one.question.answers) for one in answered)
        for measure in (exact_match, token_f1)
    ]
    return f"{values[0]:.1f}", f"{values[1]:.1f}"


def gold_evidence(index: indexes.Index, question: Question) -> Evidence:
    """Return the gold passages of a question as evidence."""
    documents = [document for one in question.gold if (document := index.get(one)) is not None]
    return Evidence(tuple(Scored(passage, 1.0) for document in documents for passage in document.passages))


def measure_passages(name: str, reader: Reader) -> list[str]:
    """Return exact match and F1 of the reader's first answer to the questions of a set, in percent."""
    index, (file, is_held_back) = open_set(name), PASSAGE_SETS[name]
    questions = [q for q in load_questions(DATA / file) if q.answers]
    if is_held_back:
        questions = [q for q in questions if is_held_out_of_index(q.text) and "comparison" not in q.kind]
    replies: list[list[str]] = [[], [], []]
    for question in questions:
        evidence = index.search(question.text, READ_PASSAGES)
        analysis = analyze_question(question.text, evidence, find_mentions)
        assert analysis is not None
        texts = evidence_texts(evidence)
        five, two = reader.read(question.text, texts), reader.read(question.text, texts[:FIRST_PASSAGES])
        for own, reading in zip(replies, (five, two, average_readings([five, two], [1, FIRST_WEIGHT])), strict=True):
            found = choose_answers(reading, analysis)
            own.append(found[0].text if found else "")
    values = [
        100 * statistics.mean(measure(text, q.answers) for text, q in zip(own, questions, strict=True))
        for own in replies
        for measure in (exact_match, token_f1)
    ]
    return [name, str(len(questions)), *(f"{value:.1f}" for value in values)]


def measure_squad(reader: Reader) -> list[str]:
    """Return the exact match and F1 of the likeliest words of each question's own passage, in percent."""
    examples = [one for one in read_examples(DATA / "qa" / "squad.jsonl.gz") if is_held_out(one)]
    scores = []
    for one in examples:
        spans = [span for span in reader.read(one.question, one.gold).spans if span.is_text]
        text = spans[0].text if spans else ""
        scores.append((exact_match(text, one.answers), token_f1(text, one.answers)))
    exact, f1 = (100 * statistics.mean(column) for column in zip(*scores, strict=True))
    return ["own passage", str(len(examples)), f"{exact:.1f}", f"{f1:.1f}"]


def measure_languages(answerer: ExtractiveAnswerer) -> list[list[str]]:
    """Return a row for each language: exact match and F1 of the weak answers, in percent."""
    asked = list(read_records(DESK / "answers.jsonl"))
    rows = []
    for language, folder in FOLDERS.items():
        own = [record for record in asked if record.text("language") == language]
        with tempfile.TemporaryDirectory() as place:
            index = indexes.create(Path(place) / "index")
            index.add([DESK / folder])
            answers = [
                answerer.answer_one(r.text("question"), index.search(r.text("question"), READ_PASSAGES)) for r in own
            ]
        scores = [
            (exact_match(a.text, r.items("answers")), token_f1(a.text, r.items("answers")))
            for a, r in zip(answers, own, strict=True)
        ]
        exact, f1 = (100 * statistics.mean(column) for column in zip(*scores, strict=True))
        rows.append([language, str(len(own)), f"{exact:.1f}", f"{f1:.1f}"])
    return rows


def measure_rules(reader: Reader) -> tuple[Sequence[str], list[list[str]]]:
    """Return a row for each rule and part: decided questions, right by the rule, right by the reader."""
    counts: dict[tuple[str, str], list[int]] = {}
    for name, files in RULE_SETS.items():
        index = open_set(name)
        for file in files:
            for question in load_questions(DATA / file):
                is_seen = file.endswith("train.jsonl") and not is_held_out_of_index(question.text)
                part = f"{name}, {'learned' if is_seen else 'not seen'}"
                evidence = index.search(question.text, READ_PASSAGES)
                analysis = analyze_question(question.text, evidence, find_mentions)
                decided = [(r.name, v) for r in RULES if analysis and (v := r.decide(analysis)) is not None]
                if not decided or analysis is None:
                    continue
                _, spans = read_spans(reader, analysis, evidence)
                by_reader = exact_match(spans[0].text, question.answers) if spans else 0.0
                for rule, verdict in decided:
                    row = counts.setdefault((rule, part), [0, 0, 0, 0, 0])
                    right = exact_match(verdict.text, question.answers)
                    for at, value in enumerate((1, right, by_reader, verdict.is_sure, verdict.is_sure * right)):
                        row[at] += int(value)
    counts |= _measure_computed(reader)
    head = ("rule", "part", "decided", "right", "right by the reader", "sure", "right of the sure")
    return head, [[rule, part, *map(str, row)] for (rule, part), row in sorted(counts.items())]


def _measure_computed(reader: Reader) -> dict[tuple[str, str], list[int]]:
    """Return the counts of what is computed from two dates, on questions with their own passages."""
    answerer, row = ExtractiveAnswerer(reader), [0, 0, 0, 0, 0]
    for name in COMPUTED_SETS:
        for record in read_records(DATA / "qa" / f"{name}.jsonl.gz"):
            question, answers = record.text("question"), [str(one) for one in record.items("answers")]
            if questions_of_dates(question) is None:
                continue
            texts = [one for at, one in enumerate(record.items("passages")) if at in record.items("gold")]
            passages = [
                Passage(str(at), str(at), one.get("title") or "", one["text"], 0, len(one["text"]))
                for at, one in enumerate(texts)
            ]
            evidence = Evidence(tuple(Scored(one, 1.0) for one in passages))
            answer = answerer.answer_one(question, evidence)
            if COMPUTED_NOTE not in answer.notes:
                continue
            spans = reader.read(question, evidence_texts(evidence)).spans
            right, is_sure = exact_match(answer.text, answers), not answer.weak
            by_reader = exact_match(spans[0].text, answers) if spans else 0.0
            for at, value in enumerate((1, right, by_reader, is_sure, is_sure * right)):
                row[at] += int(value)
    return {("computed from two dates", "qa, own passages"): row}


if __name__ == "__main__":
    main()
