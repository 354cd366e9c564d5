"""Names of entities and facts as passages write them.

The label of an entity is its most frequent form in the whole index, or the title of a document that gives it another
name by a heading or an alias; a passage need not write it. A fact is shown as a passage of it writes it, so that no
other document changes what it says.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, expand_ranges
from clew.text.normalization import Token, is_word_character, key_hash, name_key, tokens, word_runs
from clew.text.token_arrays import key_hashes
from clew.types import Triple

if TYPE_CHECKING:
    from clew.graph.snapshot.snapshot import Snapshot

_MAX_NAME_WORDS = 16
_LISTED_PASSAGES = 2_000  # of an entity, whose lists of names are read; an entity may be in very many
_READ_PASSAGES = 64  # of those, whose texts are read where the lists do not have the name


def find_spelling(snapshot: "Snapshot", passage: int, entity: int, allowed: BoolArray | None = None) -> str:
    """Return the name of an entity as a passage writes it: its title, a form in its text; "" where it writes none.

    Of the names that documents about the entity give it by aliases and headings, those of `allowed` passages (P,)
    count, None for all.
    """
    if snapshot.title_entities[passage] == entity:
        return snapshot.titles[passage]
    label, text = snapshot.entities[entity], snapshot.texts[passage]
    if _stands_in(label, text):
        return label
    found = _find_form(snapshot, passage, entity) or _find_run(snapshot, text, entity)
    return found or _find_run(snapshot, text, entity, _document_names(snapshot, entity, allowed))


def writes_name(snapshot: "Snapshot", passage: int, name: str) -> bool:
    """Return whether a name stands in a passage: as its id or title, in its text, or in a fact extracted from it."""
    if name in (snapshot.passage_ids[passage], snapshot.titles[passage]) or _stands_in(name, snapshot.texts[passage]):
        return True
    names, _ = snapshot.columns.names_at(passage)
    return names is not None and any(names.forms[int(form)] == name for form in _forms(snapshot, passage))


def find_label(
    snapshot: "Snapshot",
    passages: NDArray[np.integer],
    entity: int,
    allowed: BoolArray | None = None,
    separated: AbstractSet[int] = frozenset(),
) -> str:
    """Return the name of an entity as some of the passages that mention it (n,) write it, "" where they write none.

    `allowed` is as of `find_spelling`; `separated` are hashes of the keys of names that are not taken. A title comes
    first, then the label of the whole index, then the form of the first passage.
    """
    titled = passages[snapshot.title_entities[passages] == entity]
    if len(titled):
        return snapshot.titles[int(titled[0])]
    found = [find_spelling(snapshot, int(passage), entity, allowed) for passage in passages[:_READ_PASSAGES]]
    if separated:
        found = [name for name in found if key_hash(name_key(name), snapshot.salt) not in separated]
    label = snapshot.entities[entity]
    return label if label in found else next(filter(None, found), "")


def is_name_in(snapshot: "Snapshot", passages: NDArray[np.integer], entity: int, name_hash: int) -> bool:
    """Return whether some of the passages that mention an entity (n,) have a name of it, by the hash of its key.

    They write it, or it is the title, an alias or a heading of a document that is about the entity.
    """
    titled = snapshot.title_entities[passages] == entity
    for passage in np.concatenate([passages[titled], passages[~titled]])[:_LISTED_PASSAGES].tolist():
        names, row = snapshot.columns.names_at(passage)
        if names is None:
            if snapshot.title_entities[passage] == entity and name_hash == _title_hash(snapshot, passage):
                return True
            continue
        of_document = names.hashes_of_document(row) if snapshot.title_entities[passage] == entity else ()
        if name_hash in of_document or name_hash in names.hashes_of_forms(_forms(snapshot, passage)):
            return True
    return any(
        np.uint64(name_hash) in _hash_runs(snapshot.texts[passage], snapshot.salt)[2]
        for passage in passages[:_READ_PASSAGES].tolist()
    )


def write_ends(snapshot: "Snapshot", passage: int, position: int, allowed: BoolArray | None) -> tuple[str, str]:
    """Return the ends of a triple as a passage writes them: as in its own triple, else wherever it names them.

    `allowed` (P,) are the passages whose names are known, None for all.
    """
    head, relation, tail = (int(i) for i in snapshot.triples[position])
    names, row = snapshot.columns.names_at(passage)
    if names is not None:
        own, wanted = names.triples.row(row), snapshot.relations[relation]
        own = own[[names.relations[code] == wanted for code in own[:, 1].tolist()]]
        is_head = _are_names(snapshot, names.hashes_of_forms(own[:, 0]), head)
        is_tail = _are_names(snapshot, names.hashes_of_forms(own[:, 2]), tail)
        for head_form, _, tail_form in own[is_head & is_tail].tolist():
            return names.forms[head_form], names.forms[tail_form]
    return find_spelling(snapshot, passage, head, allowed), find_spelling(snapshot, passage, tail, allowed)


def is_tied(snapshot: "Snapshot", entity: int, one: int, other: int, allowed: BoolArray | None) -> bool:
    """Return whether two names of an entity, by the hashes of their keys, are one without what hidden documents say.

    Documents about an entity give it names: their title, aliases and headings. Names that hidden ones alone give are
    tied to no other; what an imported graph or a decision gives is. Documents of `allowed` passages (P,) are
    not hidden; None for all.
    """
    if one == other or allowed is None or allowed.all():
        return True
    given, hidden = names_given(snapshot, entity, allowed), names_given(snapshot, entity, ~allowed)
    return {one, other} <= given or {one, other}.isdisjoint(hidden - given)


def names_given(snapshot: "Snapshot", entity: int, allowed: BoolArray) -> set[int]:
    """Return the hashes of the names that `allowed` passages (P,) of documents about an entity give it."""
    passages = snapshot.mentioned_in.row(entity)
    passages = passages[(snapshot.title_entities[passages] == entity) & allowed[passages]]
    given: set[int] = set()
    for passage in passages[:_LISTED_PASSAGES].tolist():
        names, row = snapshot.columns.names_at(passage)
        given.add(_title_hash(snapshot, passage))
        given.update(() if names is None else names.hashes_of_document(row).tolist())
    return given


def write_triple(snapshot: "Snapshot", position: int, allowed: BoolArray | None = None) -> Triple:
    """Return the triple at a position (0 to T - 1), as one of the `allowed` passages (P,) that state it writes it.

    Only passages that write both ends are cited, if any does; one that links to a document need not name it. The ends
    of a triple of an imported graph are as in the graph; a name that a decision gave is shown where all are allowed.
    """
    head, relation, tail = (int(i) for i in snapshot.triples[position])
    labels, text = (snapshot.entities[head], snapshot.entities[tail]), snapshot.relations[relation]
    passages = [int(p) for p in snapshot.triple_passages.row(position) if allowed is None or allowed[p]]
    cited = tuple(snapshot.passage_ids[passage] for passage in passages)
    if snapshot.imported[position] or (not passages and allowed is None):
        if allowed is not None and not allowed.all():
            head_label, tail_label = (
                label_among(snapshot, entity, allowed) if snapshot.given.has(label) else label
                for entity, label in zip((head, tail), labels, strict=True)
            )
            labels = head_label, tail_label
        return Triple(labels[0], text, labels[1], cited)
    written = [(passage, *write_ends(snapshot, passage, position, allowed)) for passage in passages]
    whole = [ends for ends in written if ends[1] and ends[2]]
    if whole:
        whole = [
            one
            for one in whole
            if are_tied(snapshot, head, one[1], whole[0][1], allowed)
            and are_tied(snapshot, tail, one[2], whole[0][2], allowed)
        ]
        cited = tuple(snapshot.passage_ids[passage] for passage, _, _ in whole)
        ends = whole[0][1], whole[0][2]
    else:
        first_head = next((one for _, one, _ in written if one), "") or label_among(snapshot, head, allowed)
        first_tail = next((one for _, _, one in written if one), "") or label_among(snapshot, tail, allowed)
        ends = first_head, first_tail
    if allowed is not None and not allowed.all():
        labels = label_among(snapshot, head, allowed), label_among(snapshot, tail, allowed)
    shown = (
        label if label != end and are_tied(snapshot, entity, label, end, allowed) else ""
        for entity, label, end in zip((head, tail), labels, ends, strict=True)
    )
    return Triple(ends[0], text, ends[1], cited, *shown)


def are_tied(snapshot: "Snapshot", entity: int, one: str, other: str, allowed: BoolArray | None) -> bool:
    """Return as `is_tied` for two names as written, with `allowed` (P,) as there; a name "" is tied to every other."""
    if not one or not other or one == other:
        return True
    first, second = (key_hash(name_key(name), snapshot.salt) for name in (one, other))
    return is_tied(snapshot, entity, first, second, allowed)


def label_among(snapshot: "Snapshot", entity: int, allowed: BoolArray | None) -> str:
    """Return the name of an entity in the `allowed` passages (P,), None for all; "" where none of them writes it."""
    if allowed is None or allowed.all():
        return snapshot.entities[entity]
    passages = snapshot.mentioned_in.row(entity)
    return find_label(snapshot, passages[allowed[passages]], entity, allowed)


def _stands_in(name: str, text: str) -> bool:
    """Return whether a text has a name as whole words."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        cuts_before = start and is_word_character(text[start - 1]) and is_word_character(name[0])
        cuts_after = end < len(text) and is_word_character(text[end]) and is_word_character(name[-1])
        if not cuts_before and not cuts_after:
            return True
        start = text.find(name, start + 1)
    return False


def _title_hash(snapshot: "Snapshot", passage: int) -> int:
    return key_hash(name_key(snapshot.titles[passage]), snapshot.salt)


def _forms(snapshot: "Snapshot", passage: int) -> NDArray[np.integer]:
    """Return the forms of a passage's mentions, then those of the ends of its triples."""
    names, row = snapshot.columns.names_at(passage)
    assert names is not None
    triples = names.triples.row(row)
    return np.concatenate([names.mentions.row(row), triples[:, [0, 2]].ravel()])


def _find_form(snapshot: "Snapshot", passage: int, entity: int) -> str:
    """Return the first form among a passage's mentions and triples that is a name of an entity, "" for none."""
    names, _ = snapshot.columns.names_at(passage)
    if names is None:
        return ""
    forms = _forms(snapshot, passage)
    found = forms[_are_names(snapshot, names.hashes_of_forms(forms), entity)]
    return names.forms[int(found[0])] if len(found) else ""


def _document_names(snapshot: "Snapshot", entity: int, allowed: BoolArray | None) -> NDArray[np.uint64]:
    """Return the hashes of the names that documents about an entity give it, those of allowed passages (P,) alone.

    Where another document has such a name as its title, it is not among the names that the entity is found by.
    """
    passages = snapshot.mentioned_in.row(entity)
    passages = passages[snapshot.title_entities[passages] == entity]
    passages = passages if allowed is None else passages[allowed[passages]]
    hashes = [np.zeros(0, dtype=np.uint64)]
    for passage in passages[:_READ_PASSAGES].tolist():
        names, row = snapshot.columns.names_at(passage)
        hashes += [] if names is None else [names.hashes_of_document(row)]
    return np.concatenate(hashes)


def _find_run(snapshot: "Snapshot", text: str, entity: int, names: NDArray[np.uint64] | None = None) -> str:
    """Return the longest run of words that is a name of an entity, the first of several, "" for none.

    `names` are hashes of keys; None for those that the snapshot finds the entity by.
    """
    if names is not None and not len(names):
        return ""
    words, runs, hashes = _hash_runs(text, snapshot.salt)
    are_names = _are_names(snapshot, hashes, entity) if names is None else np.isin(hashes, names)
    bounds = [runs[number] for number in np.flatnonzero(are_names).tolist()]
    found = [(words[first].start, words[last - 1].end) for first, last in bounds]
    start, end = max(found, key=lambda span: (span[1] - span[0], -span[0]), default=(0, 0))
    return text[start:end]


@lru_cache(maxsize=16)  # the paths of a question cross the same passages
def _hash_runs(text: str, salt: int) -> tuple[Sequence[Token], Sequence[tuple[int, int]], NDArray[np.uint64]]:
    """Return the words of a text, their runs as of `word_runs`, and the hashes (n,) of the runs' keys."""
    words = tokens(text)
    runs, keys = word_runs(words, _MAX_NAME_WORDS)
    return words, runs, key_hashes(keys, salt)


def _are_names(snapshot: "Snapshot", hashes: NDArray[np.uint64], entity: int) -> BoolArray:
    """Return which hashes of keys (n,) are those of names of an entity."""
    known, entities = snapshot.name_hashes, snapshot.name_entities
    found = np.zeros(len(hashes), dtype=np.bool_)
    if not len(known):
        return found
    first, last = known.searchsorted(hashes, side="left"), known.searchsorted(hashes, side="right")
    entries, rows = expand_ranges(first, last - first)
    found[rows[entities[entries] == entity]] = True
    return found


def prefer_displayed(entities: IntArray, labels: Sequence[str], name: str) -> IntArray:
    """Return the entities (n,) that are displayed exactly as a name; all of them if there is no such entity."""
    exact = [entity for entity in entities if labels[int(entity)] == name.strip()]
    return np.array(exact, dtype=np.int32) if exact else entities
