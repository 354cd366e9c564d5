"""Export of extractions as files that `published:FILE` and other programs read.

    layout     an entry                                                                     source
    lines      {id, entities: [name], triples: [[head, relation, tail]]}                    this project
    gfmrag-lines  a line for each document: {idx, title, passage, extracted_entities,       gfmrag
                  extracted_triples}
    hipporag   {docs: [{idx, passage, extracted_entities, extracted_triples}], averages}    HippoRAG's result files

Source: the result files of HippoRAG (Gutiérrez et al., 2024) and HippoRAG 2 (2025).
For gfmrag the authors' code, which takes a document's results up again by its passage: its name, a line end and its
text. Differs from the source: a passage with a title is written as `title`, a line end and the text, as in its data
sets.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import md5
from typing import NamedTuple

import pyarrow as pa

from clew.errors import InputError
from clew.store.schema import ALIAS_RELATION
from clew.types import Extraction, Mention


class ExtractedPassage(NamedTuple):
    """A passage and its extraction."""

    id: str
    title: str
    text: str
    extraction: Extraction


def read_extractions(rows: pa.Table) -> list[Extraction]:
    """Return the extraction of each passage of a table, an empty one where the extraction failed."""
    columns = rows["mentions"].to_pylist(), rows["triples"].to_pylist()
    return [
        Extraction(
            tuple(Mention(m["name"], m["kind"], m["start"], m["end"]) for m in mentions or ()),
            tuple((t["head"], t["relation"], t["tail"]) for t in triples or () if t["relation"] != ALIAS_RELATION),
            tuple((t["head"], t["tail"]) for t in triples or () if t["relation"] == ALIAS_RELATION),
        )
        for mentions, triples in zip(*columns, strict=True)
    ]


def format_extractions(layout: str, passages: Iterable[ExtractedPassage]) -> Iterator[str]:
    """Yield the lines of a result file in one of the `LAYOUTS`, else raise an InputError; leave failed passages out."""
    if layout not in LAYOUTS:
        raise InputError(f"no layout is called {layout!r}; choose {' or '.join(LAYOUTS)}")
    return LAYOUTS[layout](passages)


def _format_lines(passages: Iterable[ExtractedPassage]) -> Iterator[str]:
    for passage in passages:
        entry = {"id": passage.id, "entities": _mention_names(passage), "triples": passage.extraction.triples}
        yield f"{json.dumps(entry, ensure_ascii=False)}\n"


def _format_text_lines(passages: Iterable[ExtractedPassage]) -> Iterator[str]:
    for passage in passages:
        entry = {
            "idx": passage.id,
            "title": passage.id,
            "passage": f"{passage.id}\n{passage.text}",
            "extracted_entities": _mention_names(passage),
            "extracted_triples": passage.extraction.triples,
        }
        yield f"{json.dumps(entry, ensure_ascii=False)}\n"


def _format_hipporag(passages: Iterable[ExtractedPassage]) -> Iterator[str]:
    names = characters = words = 0
    prefix = '{"docs": [\n'
    for passage in passages:
        text = f"{passage.title}\n{passage.text}" if passage.title else passage.text
        entities = _mention_names(passage)
        entry = {
            # HippoRAG's id of a text; it is not used for security.
            "idx": f"chunk-{md5(text.encode(), usedforsecurity=False).hexdigest()}",
            "passage": text,
            "extracted_entities": entities,
            "extracted_triples": passage.extraction.triples,
        }
        yield f"{prefix}{json.dumps(entry, ensure_ascii=False)}"
        prefix = ",\n"
        names += len(entities)
        characters += sum(map(len, entities))
        words += sum(len(name.split()) for name in entities)
    start = '{"docs": [' if not prefix.startswith(",") else "\n"
    averages = [round(total / names, 4) if names else 0.0 for total in (characters, words)]
    yield f'{start}], "avg_ent_chars": {averages[0]}, "avg_ent_words": {averages[1]}}}\n'


def _mention_names(passage: ExtractedPassage) -> list[str]:
    return list(dict.fromkeys(mention.name for mention in passage.extraction.mentions))


GFMRAG_LINES = "gfmrag-lines"
"""The extractions alone, one passage a line, found again by its text."""

LAYOUTS: dict[str, Callable[[Iterable[ExtractedPassage]], Iterator[str]]] = {
    "lines": _format_lines,
    "hipporag": _format_hipporag,
    GFMRAG_LINES: _format_text_lines,
}
