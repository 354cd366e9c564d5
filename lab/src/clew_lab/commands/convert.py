"""`clew corpus` and `clew questions convert`: published data sets in the form that Clew reads."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.output import format_json
from clew_lab.datasets.loaders import load_corpus, load_questions


def corpus(
    path: Annotated[
        Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, HippoRAG or BEIR, or documents.json of gfmrag.")
    ],
) -> None:
    """Print the passages of a benchmark as JSON lines for `clew index -`; their ids fit its questions."""
    for document in load_corpus(path):
        print(format_json({"id": document.id, "title": document.title, "text": document.text}))


def questions(
    path: Annotated[
        Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, BEIR, gfmrag, DPR, WebQSP, CWQ, RoG or FRAG.")
    ],
) -> None:
    """Print the questions of a benchmark as JSON lines for `clew eval --questions`."""
    for question in load_questions(path):
        record = {
            "id": question.id,
            "question": question.text,
            "answers": list(question.answers),
            "gold": list(question.gold),
            "type": question.kind,
            "hops": question.hops,
            "topic": list(question.topics),
            "paths": [[list(step) for step in path] for path in question.paths],
        }
        print(format_json({key: value for key, value in record.items() if value or key in ("answers", "gold")}))
