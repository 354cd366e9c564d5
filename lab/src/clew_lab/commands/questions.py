"""`clew questions`: samples and statistics of question sets."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from clew.commands.options import JsonFlag
from clew.commands.output import format_json, print_json, print_line
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.index import open as open_index
from clew.text.display import format_count
from clew.types import Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.datasets.question_sets import count_questions, question_json, sample_by_hops

FilesArgument = Annotated[list[Path], typer.Argument(help="Question sets, in any form that clew eval reads.")]
GraphOption = Annotated[
    str | None,
    typer.Option("--index", help="Count the hops of the shortest path to an answer in its graph, not the set's own."),
]


def sample(
    files: FilesArgument,
    hops: Annotated[str, typer.Option(help="Numbers of hops, separated by commas.")] = "1,2,3,4",
    each: Annotated[int, typer.Option(min=1, help="Questions of each number of hops.")] = 250,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    index: GraphOption = None,
) -> None:
    """Print as many questions of each number of hops, as JSON lines for --questions; after FRAG's KG-1000."""
    wanted = _parse_hops(hops)
    questions = _load(files, index)
    if index is None and questions and not any(question.hops for question in questions):
        raise InputError(
            f"none of {format_count(len(questions), 'question')} says its number of hops: give --index, whose graph "
            "counts them"
        )
    for question in sample_by_hops(questions, wanted, each, np.random.default_rng(seed)):
        print(format_json(question_json(question)))


def stats(files: FilesArgument, index: GraphOption = None, json_: JsonFlag = False) -> None:
    """Print the numbers of hops and of answers of question sets."""
    figures = count_questions(_load(files, index))
    if json_:
        print_json(asdict(figures))
        return
    parts = f"{figures.topics:,} with a topic, {figures.paths:,} with a gold path"
    print_line(f"{format_count(figures.questions, 'question')}, {parts}")
    for hops, count in figures.hops.items():
        name = format_count(hops, "hop") if hops else "unknown hops"
        print_line(f"{name:18} {count:8,} {_share(count, figures.questions)}")
    for number, count in figures.answers.items():
        print_line(
            f"{number + (' answer' if number == '1' else ' answers'):18} {count:8,} {_share(count, figures.questions)}"
        )


def _load(files: list[Path], index: str | None) -> list[Question]:
    """Return the questions of all files; with an index, with the hops that its graph says."""
    questions = [question for file in files for question in load_questions(file)]
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise InputError(f"the id {question.id!r} is in two files: give each file once, and ids that differ")
        seen.add(question.id)
    if index is None:
        return questions
    from clew_lab.training.recipes.frag import hops_to_answers

    with progress_on_stderr() as progress:
        hops = hops_to_answers(open_index(index, progress), questions, progress)
    return [replace(question, hops=own) for question, own in zip(questions, hops, strict=True)]


def _parse_hops(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts) or len(set(parts)) < len(parts):
        raise InputError(f"--hops is {text!r}: give different whole numbers from 1 on, by commas, such as 1,2,3")
    return sorted(map(int, parts))


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:5.1f} %"
