"""The names in passages: those of mentions and of the ends of triples, titles, aliases, headings and links.

The names of passages that are aliases, taken for the full names that they stand for in their document.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import IntArray
from clew.graph.segments.segment import Ragged, SegmentTitles, Vocabulary
from clew.indexing.segments.vocabularies import Numbering, make_ragged, make_vocabulary, mark_used, take
from clew.store.schema import ALIAS_RELATION
from clew.text.normalization import key_hash, name_key, strip_parentheses

_EXTENSION = re.compile(r"\.\w{1,5}$")
_NO_TARGETS = (0, 0, 0, 0, 0)


def link_hashes(link: str, document_id: str, salt: int) -> tuple[int, ...]:
    """Return hashes of the two ids of documents and the three keys of names that a link may mean; 0 for none.

    The ids are its path as written, and relative to the folder of the document it stands in; the names are its path,
    its file name, and that without an extension. A link without a path gives zeros.
    """
    path = unquote(link.split("#")[0].split("?")[0]).strip()
    if not path:
        return _NO_TARGETS
    file_name = path.rstrip("/").rsplit("/", 1)[-1]
    stem = file_name.rsplit(".", 1)[0] if _EXTENSION.search(file_name) else file_name
    keys = [name_key(name.replace("_", " ")) for name in (path, file_name, stem)]
    documents = path, join_path(PurePosixPath(document_id).parent, path)
    return tuple(key_hash(text, salt) if text else 0 for text in (*documents, *keys))


def join_path(folder: PurePosixPath, path: str) -> str:
    """Join a relative path to a folder, resolving `..`."""
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(path).parts):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def use_full_names(rows: pa.Table) -> pa.Table:
    """Return rows whose mentions and facts have full names in place of aliases; without aliases, the same rows.

    Each passage's aliases hold for it alone. What is left is written like any other passage: places in the text, order
    and facts stay.
    """
    relations = rows["triples"].combine_chunks().flatten().field("relation")
    if not pc.any(pc.equal(relations, ALIAS_RELATION)).as_py():
        return rows
    mentions, triples = rows["mentions"].to_pylist(), rows["triples"].to_pylist()
    for row, stated in enumerate(triples):
        full = {t["head"]: t["tail"] for t in stated if t["relation"] == ALIAS_RELATION}
        if full:
            mentions[row] = [_with_full_names(mention, full) for mention in mentions[row]]
            facts = [t for t in stated if t["relation"] != ALIAS_RELATION]
            triples[row] = [_with_full_names(fact, full) for fact in facts]
    return set_columns(rows, {"mentions": mentions, "triples": triples})


def set_columns(rows: pa.Table, cells: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return rows with other values in some columns."""
    for name, values in cells.items():
        place = rows.schema.get_field_index(name)
        column = rows.schema.field(place)
        rows = rows.set_column(place, column, pa.array(values, type=column.type))
    return rows


def _with_full_names(cell: Mapping[str, Any], full: Mapping[str, str]) -> dict[str, Any]:
    return {key: full.get(value, value) if key in ("name", "head", "tail") else value for key, value in cell.items()}


HEADING = re.compile(r"^ {0,3}#{2,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class PassageNames:
    """The names of p passages, m mentions and t triples."""

    forms: Vocabulary
    form_keys: IntArray  # (f,) positions in `keys`, -1 for a form without a key
    keys: Vocabulary
    mentions: IntArray  # (m,) forms
    heads: IntArray  # (t,) forms
    tails: IntArray  # (t,) forms
    titles: SegmentTitles


def read_names(rows: pa.Table, mentions: pa.StructArray, triples: pa.StructArray, salt: int) -> PassageNames:
    """Return the names in rows, whose mentions and triples are given flat; a collision is a CollisionError."""
    columns = mentions.field("name"), triples.field("head"), triples.field("tail"), rows["title"].combine_chunks()
    encoded = pa.concat_arrays(columns).dictionary_encode()
    bounds = np.cumsum([len(column) for column in columns])[:-1]
    mentioned, heads, tails, titles = np.split(encoded.indices.to_numpy(), bounds)
    texts = encoded.dictionary.to_pylist()
    numbers = Numbering()
    key_of_text = np.array([numbers[name] if (name := name_key(text)) else -1 for text in texts], dtype=np.int32)
    titles = np.where(key_of_text[titles] >= 0, titles, -1).astype(np.int32)
    document_names = _document_names(rows["aliases"], titles, texts, numbers)
    headings = _headings(rows["text"].to_pylist(), titles, numbers)
    forms, form_of_text = make_vocabulary(texts, salt, mark_used(len(texts), mentioned, heads, tails, titles))
    used = np.flatnonzero(form_of_text >= 0)
    form_keys = np.empty(len(used), dtype=np.int32)
    form_keys[form_of_text[used]] = key_of_text[used]
    keys, key_positions = make_vocabulary(
        list(numbers), salt, mark_used(len(numbers), form_keys, document_names.values, headings.values)
    )
    return PassageNames(
        forms=forms,
        form_keys=take(key_positions, form_keys),
        keys=keys,
        mentions=form_of_text[mentioned],
        heads=form_of_text[heads],
        tails=form_of_text[tails],
        titles=SegmentTitles(
            keys=take(key_positions, take(key_of_text, titles)),
            forms=take(form_of_text, titles),
            names=Ragged(document_names.indptr, key_positions[document_names.values]),
            headings=Ragged(headings.indptr, key_positions[headings.values]),
            links=_links(rows, salt),
        ),
    )


def _document_names(aliases: pa.ChunkedArray, titles: IntArray, texts: Sequence[str], numbers: Numbering) -> Ragged:
    """Return the keys of a title, of the title without its parentheses, and of aliases; none without a title."""

    def number_names(names: Iterable[str]) -> list[int]:
        return [numbers[key] for key in dict.fromkeys(map(name_key, names)) if key]

    of_title = {
        title: number_names((texts[title], strip_parentheses(texts[title])))
        for title in np.unique(titles[titles >= 0]).tolist()
    }
    rows = [of_title.get(title, []) for title in titles.tolist()]
    for row in np.flatnonzero((titles >= 0) & (list_lengths(aliases) > 0)).tolist():
        rows[row] = list(dict.fromkeys([*rows[row], *number_names(aliases[row].as_py())]))
    return make_ragged(rows)


def _headings(passages: Sequence[str], titles: IntArray, numbers: Numbering) -> Ragged:
    rows: list[list[int]] = []
    for text, title in zip(passages, titles.tolist(), strict=True):
        found = HEADING.findall(text) if title >= 0 and "##" in text else ()
        rows.append([numbers[key] for key in dict.fromkeys(map(name_key, found)) if key])
    return make_ragged(rows)


def _links(rows: pa.Table, salt: int) -> Ragged:
    """Return the links that stand in a passage's text; the first passage of a document has all others too."""
    found: list[list[tuple[int, ...]]] = [[] for _ in range(rows.num_rows)]
    for row in np.flatnonzero(list_lengths(rows["links"])).tolist():
        text, document, is_first = (rows[name][row].as_py() for name in ("text", "document_id", "ordinal"))
        links = [link for link in dict.fromkeys(rows["links"][row].as_py()) if is_first == 0 or link in text]
        found[row] = [hashes for link in links if any(hashes := link_hashes(link, document, salt))]
    values = np.array([hashes for links in found for hashes in links], dtype=np.uint64).reshape(-1, 5)
    return Ragged(np.concatenate([[0], np.cumsum([len(links) for links in found])]).astype(np.int64), values)


def list_lengths(column: pa.ChunkedArray) -> IntArray:
    """Return the length (n,) of each of n lists of a column, 0 for null."""
    lengths: IntArray = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    return lengths
