"""A memory of conversations: `python bench/conversations.py [--sets evaluation,development] [--misses]`.

`bench/conversations/` has the sessions of one user with an assistant over two years and questions to them, which were
written before anything was searched; the questions are for evaluation alone. The turns are remembered, and each
question is asked on its day: the share of questions whose turns are all among the first ten passages, by the default
and by the baselines; and what `answer` says: the answer right in the headline or asserted, the former answer named
beside the present one, and what is asserted although nobody said it.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import clew
from clew.evaluation.significance import compare_means
from clew.text.normalization import name_key
from clew.types import Answer
from workbench import describe_machine, load_records, print_table

FOLDER = Path(__file__).parent / "conversations"
KINDS = ("single", "several", "time", "changed", "never")
RETRIEVERS = ("auto", "bm25", "dense", "fused", "pagerank")
DEPTH = 10


@dataclass(frozen=True, slots=True)
class ConversationQuestion:
    """A question about sessions."""

    text: str
    kind: str
    day: str  # on which it is asked
    answers: tuple[str, ...]
    gold: tuple[str, ...]  # turns
    others: tuple[str, ...]  # answers of other times, for a changed fact


def main() -> None:
    """Remember the sessions, ask the questions, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="print the questions that the default misses")
    parser.add_argument("--sessions", type=Path, default=FOLDER, help="another folder of sessions and questions")
    arguments = parser.parse_args()
    print(describe_machine())
    turns = load_records(arguments.sessions / "sessions.jsonl")
    questions = [_read_question(row) for row in load_records(arguments.sessions / "questions.jsonl")]
    with TemporaryDirectory() as folder, clew.Memory(Path(folder) / "index") as memory:
        for turn in turns:
            memory.remember(
                turn["text"],
                user="user",
                session=turn["session"],
                speaker=turn["speaker"],
                time=turn["time"],
                id=turn["id"],
            )
        memory.merge()
        print_retrieval(memory, questions)
        print_answers(memory, questions, misses=arguments.misses)


def _read_question(row: dict[str, Any]) -> ConversationQuestion:
    others = row.get("old") or ()
    return ConversationQuestion(
        row["question"], row["kind"], row["asked_on"], tuple(row["answers"]), tuple(row["gold"]), tuple(others)
    )


def print_retrieval(memory: clew.Memory, questions: Sequence[ConversationQuestion]) -> None:
    """Print the share of questions of each kind whose turns are all found, by retriever."""
    asked = [question for question in questions if question.gold]
    kinds = np.array([question.kind for question in asked])
    rows, hits = [], {}
    for name in RETRIEVERS:
        found = [
            {scored.item.id for scored in memory.recall(q.text, user="user", as_of=q.day, k=DEPTH, retriever=name)}
            for q in asked
        ]
        hits[name] = np.array([found_ids.issuperset(q.gold) for found_ids, q in zip(found, asked, strict=True)], float)
        shares = [100 * hits[name][kinds == kind].mean() for kind in KINDS[:-1]]
        rows.append([name, f"{100 * hits[name].mean():.1f}", *(f"{share:.1f}" for share in shares)])
    print_table(
        [f"all turns among the first {DEPTH}, %", "all", *KINDS[:-1]], rows, f"{len(asked)} questions of conversations"
    )
    for name in RETRIEVERS[1:]:
        compared = compare_means(("auto", name), "complete", hits["auto"], hits[name], np.random.default_rng(0))
        print(f"auto - {name}: {100 * compared.difference:+.1f} points, p = {compared.p:.4f}")


def print_answers(memory: clew.Memory, questions: Sequence[ConversationQuestion], *, misses: bool) -> None:
    """Print what is answered, by kind of question."""
    rows = []
    for kind in KINDS:
        own = [question for question in questions if question.kind == kind]
        answers = [memory.answer(question.text, user="user", as_of=question.day) for question in own]
        pairs = list(zip(own, answers, strict=True))
        right = [_has(answer.text, question.answers) for question, answer in pairs]
        asserted = [bool(answer.text) and not answer.weak for answer in answers]
        shown = [_has(answer.headline, question.answers) for question, answer in pairs]
        named = [_names_others(question, answer) for question, answer in pairs]
        correct = [a and r for a, r in zip(asserted, right, strict=True)]
        wrong = [a and not r for a, r in zip(asserted, right, strict=True)]
        both = [r and n for r, n in zip(right, named, strict=True)]
        figures = (right, shown, correct, wrong, both)
        rows.append([kind, str(len(own)), *(f"{100 * sum(each) / len(own):.1f}" for each in figures)])
        for (question, answer), is_right in zip(pairs, right, strict=True) if misses else ():
            if not is_right:
                print(json.dumps([kind, question.text, question.answers[:1], answer.headline], ensure_ascii=False))
    head = ["answers, %", "questions", "first", "in the headline", "asserted and right", "asserted and wrong"]
    print_table([*head, "first, and another time's named"], rows, "Answers to questions of conversations")


def _names_others(question: ConversationQuestion, answer: Answer) -> bool:
    return any(_has(other.text, question.others) for other in answer.others)


def _has(text: str, answers: Sequence[str]) -> bool:
    return any(f" {name_key(one)} " in f" {name_key(text)} " for one in answers)


if __name__ == "__main__":
    main()
