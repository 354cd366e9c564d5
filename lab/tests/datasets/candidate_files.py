"""Small made files of candidates, in the layouts of DPR, of FiD, and of FiD with AMR graphs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.small_index import DOCUMENTS

QUESTIONS = (
    ("Where was the commander of the Vega born?", ["Karlskrona"]),
    ("Which ship did Louis Palander command?", ["Vega"]),
    ("Where was the Vega built?", ["Bremerhaven"]),
    ("Who commanded the Vega?", ["Louis Palander"]),
)


def pool_records(*, amr: bool = False, layout: str = "dpr") -> list[dict[str, Any]]:
    """Return one record a question; passages are in another order for each."""
    documents = [document for document in DOCUMENTS if document.text.strip()][:8]
    records = []
    for number, (question, answers) in enumerate(QUESTIONS):
        turned = documents[number:] + documents[:number]
        contexts = []
        for rank, document in enumerate(turned, 1):
            context: dict[str, Any] = {"id": document.id, "title": document.title, "text": document.text}
            if layout == "dpr":
                held = any(answer.lower() in document.text.lower() for answer in answers)
                context |= {"score": str(80.0 - rank), "has_answer": held}
            if amr:
                context |= amr_lists(question, document.text)
            contexts.append(context)
        record: dict[str, Any] = {"question": question, "answers": answers, "ctxs": contexts}
        records.append(record if layout == "dpr" else {"id": f"q{number}", **record})
    return records


def amr_lists(question: str, text: str) -> dict[str, Any]:
    """Return a graph that joins the word `question` with words of both texts, as the published sets hold graphs."""
    words = list(dict.fromkeys(word.strip("?.,").lower() for word in f"{question} {text}".split()))
    nodes = ["multi-sentence", "question", *words]
    edges: list[list[Any]] = [[0, "snt1", 1], *([1, f"ARG{place % 3}", place + 2] for place in range(len(words)))]
    return {"nodes": nodes, "edges": edges}


def write_candidates(path: Path, records: Sequence[Any]) -> Path:
    """Write a JSON list, or JSON lines for a name that ends so."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(list(records)), encoding="utf-8")
    return path
