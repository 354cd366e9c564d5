"""A small graph of a family, with questions of 1 to 3 hops on it; indexes of other triples."""

import json
from collections.abc import Sequence
from pathlib import Path

import clew
from clew.graph.paths.simple_paths import path_entities
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.settings import Settings
from clew.types import Evidence

TRIPLES = (
    ("Ada Lind", "spouse", "Bo Lind"),
    ("Ada Lind", "place of birth", "Vardø"),
    ("Ada Lind", "mother", "Eva Holm"),
    ("Bo Lind", "father", "Carl Lind"),
    ("Bo Lind", "profession", "carpenter"),
    ("Carl Lind", "place of birth", "Tromsø"),
    ("Carl Lind", "profession", "fisher"),
    ("Carl Lind", "spouse", "Dora Lind"),
    ("Dora Lind", "place of birth", "Bodø"),
    ("Eva Holm", "profession", "teacher"),
    ("Eva Holm", "Eva's self", "Eva Holm"),
    ("Vardø", "country", "Norway"),
    ("Tromsø", "country", "Norway"),
    ("Alone", "is", "Alone"),
)
QUESTIONS = (
    ("what is the profession of Eva Holm", ("Eva Holm",), ("teacher",), 1),
    ("what is the place of birth of Ada Lind", ("Ada Lind",), ("Vardø",), 1),
    ("what is the profession of the spouse of Ada Lind", ("Ada Lind",), ("carpenter",), 2),
    ("what is the profession of the mother of Ada Lind", ("Ada Lind",), ("teacher",), 2),
    ("what is the place of birth of the father of the spouse of Ada Lind", ("Ada Lind",), ("Tromsø",), 3),
    ("what is the profession of the father of the spouse of Ada Lind", ("Ada Lind",), ("fisher",), 3),
)


def write_graph(folder: Path) -> Path:
    """Write the graph as a table of triples."""
    path = folder / "kinship.tsv"
    path.write_text("".join("\t".join(triple) + "\n" for triple in TRIPLES), encoding="utf-8")
    return path


def write_questions(folder: Path) -> Path:
    """Write the questions as JSON lines."""
    path = folder / "questions.jsonl"
    records = [
        {"id": f"q{i}", "question": text, "topic": list(topics), "answers": list(answers), "hops": hops}
        for i, (text, topics, answers, hops) in enumerate(QUESTIONS)
    ]
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def make_kinship_index(folder: Path, encoder: str = DEFAULT_ENCODER) -> Index:
    """Return an index of the graph."""
    index = clew.create(folder / "index", Settings(encoder=encoder))
    index.import_graph(write_graph(folder))
    return index


def graph_of(folder: Path, triples: Sequence[tuple[str, str, str]], encoder: str = "hashing") -> Index:
    """Return an index of triples alone."""
    path = folder / "graph.tsv"
    path.write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    index = clew.create(folder / "index", Settings(encoder=encoder))
    index.import_graph(path)
    return index


def path_ends(evidence: Evidence) -> list[str]:
    """Return the entity at the end of each path."""
    return [path_entities(path.item, evidence.topics)[-1] for path in evidence.paths]
