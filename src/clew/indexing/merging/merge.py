"""The arrays of a snapshot from those of its segments, in an order that does not depend on how passages are divided.

Passages ascend by id, entities by the hash of their key, relations by the hash of their text. Every step is an array
operation or a compiled loop; only the words around new matches of titles are read in Python (`match_texts`).
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.graph.csr import Adjacency, run_starts
from clew.graph.segments.segment import Ragged, Segment, Vocabulary
from clew.graph.sentence_index import SentenceRows
from clew.graph.snapshot.imported_graph import ImportedGraph, empty_graph
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph
from clew.graph.string_array import StringArray, StringWriter, mix_strings, take_strings
from clew.indexing.extraction.rule_based import DEFAULT_RELATION
from clew.indexing.merging.known_matches import StoredMatches, find_matches
from clew.indexing.merging.match_texts import MatchTexts, read_match_texts
from clew.indexing.merging.passage_facts import (
    LINK_RELATION,
    DistinctTriples,
    NamedKeys,
    PassageFacts,
    Scratch,
    SegmentNumbers,
    distinct_triples,
    find_facts,
    name_entities,
)
from clew.indexing.merging.passage_rows import (
    PassageOrder,
    merge_sentences,
    name_sentences,
    order_mentions,
    order_passages,
    order_triples,
)
from clew.indexing.merging.title_matches import TitleMatches, make_name_table, without_own_titles
from clew.indexing.merging.title_names import TitleNames, name_titles
from clew.indexing.merging.vocabularies import (
    JoinedVocabulary,
    check_texts,
    find_hashes,
    join_vocabularies,
    positions_of_hashes,
    union_of_hashes,
)
from clew.indexing.merging.workspace import Workspace
from clew.indexing.segments.store import chain_parts, read_parts
from clew.indexing.segments.vocabularies import make_vocabulary, take
from clew.models.threads import map_in_threads

MatchTextSource = Callable[[Sequence[Segment], Sequence[TitleMatches], int], Sequence[MatchTexts]]
"""A function of segments, their matches and the salt that returns the texts of the matches."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class MergedArrays:
    """The arrays of a snapshot beside those that stay in its segments; the fields are those of `Snapshot`."""

    places: LongArray  # (P,) number of the segment << 32 | row in it
    positions: Sequence[IntArray]  # for each segment the position of each of its rows among the P
    passage_ids: StringArray
    title_entities: IntArray
    entities: StringArray
    name_hashes: HashArray
    name_entities: IntArray
    relations: StringArray
    triples: IntArray
    imported: BoolArray
    triple_passages: Adjacency
    passage_triples: Adjacency
    mentions: Adjacency
    mentioned_in: Adjacency
    entity_nodes: IntArray
    walk: Adjacency
    sentence_rows: SentenceRows


def merge_segments(
    segments: Sequence[Segment],
    graph: ImportedGraph | None = None,
    salt: int = 0,
    texts: MatchTextSource | None = None,
    agreeing: AbstractSet[int] = frozenset(),
    memory: StoredMatches | None = None,
    workspace: Workspace | None = None,
) -> MergedArrays:
    """Return the arrays of the snapshot of segments and imported graphs, all hashed with the same salt.

    `texts` gives what stands around the matches of titles, read again if it is left out; `agreeing` are the numbers of
    segments that were merged with one another before, whose names and words are not compared again; `memory` keeps
    the matches of titles from one merge to the next; `workspace` keeps what is finished, in memory if it is left out.
    Two texts with one hash are a CollisionError: hash everything with the next salt.
    """
    graph = graph or empty_graph()
    space = workspace or Workspace()
    order = space.keep(order_passages(segments))
    linked = _link_titles(segments, salt, texts or _read_all_texts, memory, agreeing, space)
    entities, entity_of_key = space.keep(_number_entities(linked, graph))
    relations, relation_numbers = space.keep(_number_relations(linked, graph))
    mentions = space.keep(order_mentions(linked.facts, order.positions, entity_of_key, len(order.ids)))
    title_entities = _title_entities(linked, order, entity_of_key)
    name_hashes, numbers = space.keep(_name_table(linked, entity_of_key, entities, graph))
    linked = linked.without_names()
    with ThreadPoolExecutor(1, thread_name_prefix="clew-merge") as pool:
        numbered = entities, relations, entity_of_key, relation_numbers
        stated = pool.submit(_merge_triples, linked.facts, order, *numbered, graph, space)
        transposed = pool.submit(_transpose, mentions, len(entities), space)
        if space.threads == 1:
            stated.result()
            transposed.result()
        entity_passages = np.bincount(mentions.indices, minlength=len(entities))
        sentence_rows = _merge_sentences(segments, linked, order, entity_of_key, entity_passages, space)
    triples, mentioned_in = stated.result(), transposed.result()
    del linked, stated, transposed, numbered, entity_of_key, relation_numbers, entity_passages
    space.release()
    nodes = entity_nodes(title_entities, mentioned_in)
    passage_triples = _transpose(triples.passages, len(order.ids), space)
    return MergedArrays(
        places=order.places,
        positions=order.positions,
        passage_ids=order.ids,
        title_entities=title_entities,
        entities=entities.texts,
        name_hashes=name_hashes,
        name_entities=numbers,
        relations=relations.texts,
        triples=triples.triples,
        imported=triples.imported,
        triple_passages=triples.passages,
        passage_triples=passage_triples,
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=space.keep(walk_graph(nodes, mentions)),
        sentence_rows=sentence_rows,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _LinkedSegments:
    """The facts that the passages of all segments state, with names as keys."""

    keys: JoinedVocabulary
    titles: TitleNames
    own_titles: Sequence[IntArray]  # for each segment the keys of its passages' titles
    form_keys: Sequence[IntArray]
    matches: Sequence[TitleMatches]
    targets: Ragged  # the titles of the names in matches
    facts: Sequence[PassageFacts]
    named: NamedKeys
    relations: JoinedVocabulary

    def without_names(self) -> "_LinkedSegments":
        """Return the same without the texts of names and relations, which are numbered by now."""
        no_texts = JoinedVocabulary(np.zeros(0, dtype=np.uint64), StringArray.pack(()), ())
        named = NamedKeys(self.named.used, StringArray.pack(()))
        return replace(self, keys=no_texts, named=named, relations=no_texts)


def _link_titles(
    segments: Sequence[Segment],
    salt: int,
    texts: MatchTextSource,
    memory: StoredMatches | None,
    agreeing: AbstractSet[int],
    space: Workspace,
) -> _LinkedSegments:
    vocabularies = (
        read_parts(segments, lambda segment: segment.names.keys),
        read_parts(segments, lambda segment: segment.tokens.vocabulary),
    )
    keys, tokens = map_in_threads(
        lambda i: space.keep(join_vocabularies(vocabularies[i], agreeing, space.threads)), 2, space.threads
    )
    own_titles = [take(n, segment.titles.keys) for segment, n in zip(segments, keys.numbers, strict=True)]
    titles, matches, targets = _match_titles(segments, keys, tokens, own_titles, salt, memory, space)
    del tokens
    match_texts = space.keep_each(space.keep(texts(segments, matches, salt)))
    constants, (link, _) = make_vocabulary([LINK_RELATION, DEFAULT_RELATION], salt)
    stated_relations = read_parts(segments, lambda segment: segment.facts.relations)
    match_relations = read_parts(match_texts, lambda own: own.relation_texts)
    relations = space.keep(
        join_vocabularies(chain_parts(stated_relations, match_relations, [constants]), agreeing, space.threads)
    )
    link_relation = int(relations.numbers[-1][link])
    form_keys = space.keep(
        [take(n, segment.names.form_keys) for segment, n in zip(segments, keys.numbers, strict=True)]
    )
    links = space.keep(_resolve_links(segments, keys, own_titles, titles))

    def find_run(first: int, end: int) -> list[PassageFacts]:
        scratch, found = Scratch(titles), []
        for number in range(first, end):
            match_relations = relations.numbers[len(segments) + number][match_texts[number].relations]
            numbers = SegmentNumbers(
                own_titles[number], form_keys[number], relations.numbers[number], match_relations, links[number],
                link_relation,
            )  # fmt: skip
            found.append(space.keep(find_facts(segments[number], numbers, matches[number], targets, titles, scratch)))
        return found

    bounds = np.linspace(0, len(segments), min(space.threads, len(segments)) + 1).astype(int).tolist()
    runs = map_in_threads(lambda i: find_run(bounds[i], bounds[i + 1]), len(bounds) - 1)
    facts = space.keep_each([found for run in runs for found in run])
    segment_forms = read_parts(segments, lambda segment: segment.names.forms)
    match_forms = read_parts(match_texts, lambda own: own.form_texts)
    forms = space.keep(join_vocabularies(chain_parts(segment_forms, match_forms), agreeing, space.threads))
    named = space.keep(name_entities(segments, facts, match_texts, forms, form_keys, titles.single))
    return _LinkedSegments(keys, titles, own_titles, form_keys, matches, targets, facts, named, relations)


def _match_titles(
    segments: Sequence[Segment],
    keys: JoinedVocabulary,
    tokens: JoinedVocabulary,
    own_titles: Sequence[IntArray],
    salt: int,
    memory: StoredMatches | None,
    space: Workspace,
) -> tuple[TitleNames, Sequence[TitleMatches], Ragged]:
    """Return the names of titles, their matches in each segment, and the titles that each matched name may mean."""
    titles = space.keep(name_titles(segments, keys, tokens, salt))
    table = make_name_table(segments, keys, tokens, titles)
    names = keys.hashes[titles.matched], mix_strings(keys.texts, titles.matched)
    found = find_matches(segments, tokens.numbers, table, names, memory, space)
    matches = [
        space.keep(without_own_titles(own, titles_of_rows, table.targets))
        for own, titles_of_rows in zip(found, own_titles, strict=True)
    ]
    return titles, space.keep_each(matches), table.targets


def _read_all_texts(segments: Sequence[Segment], matches: Sequence[TitleMatches], salt: int) -> list[MatchTexts]:
    return [read_match_texts(segment, own, None, salt) for segment, own in zip(segments, matches, strict=True)]


def _resolve_links(
    segments: Sequence[Segment], keys: JoinedVocabulary, own_titles: Sequence[IntArray], titles: TitleNames
) -> list[Ragged]:
    """Return for each passage of each segment the keys that its links lead to: a document's title, or a known name."""
    if not any(len(segment.titles.links.values) for segment in segments):
        return [Ragged(np.zeros(len(s) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)) for s in segments]
    documents, document_titles = _titles_of_documents(segments, own_titles)
    known = np.where(titles.is_known, np.arange(len(keys), dtype=np.int32), np.int32(-1))
    results: list[Ragged] = []
    for segment in segments:
        links = segment.titles.links
        hashes = links.values.reshape(-1, 5).astype(np.uint64, copy=False)
        found = np.full(len(hashes), -1, dtype=np.int32)
        for column in reversed(range(5)):
            if column < 2:
                position = find_hashes(documents, hashes[:, column])
                target = take(document_titles, position)
            else:
                target = take(known, find_hashes(keys.hashes, hashes[:, column]))
            found = np.where((target >= 0) & (hashes[:, column] != 0), target, found)
        rows = np.repeat(np.arange(len(segment)), np.diff(links.indptr))[found >= 0]
        sizes = np.bincount(rows, minlength=len(segment))
        results.append(Ragged(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), found[found >= 0]))
    return results


def _titles_of_documents(segments: Sequence[Segment], own_titles: Sequence[IntArray]) -> tuple[HashArray, IntArray]:
    """Return the hashes of the ids of documents with a title, ascending, and the title of the last passage of each."""
    hashes = np.concatenate([segment.passages.document_id_hashes for segment in segments])
    ordinals = np.concatenate([segment.passages.ordinals for segment in segments])
    titles = np.concatenate(own_titles)
    titled = np.flatnonzero(titles >= 0)
    order = titled[np.lexsort((ordinals[titled], hashes[titled]))]
    last = np.append(run_starts(hashes[order])[1:], True) if len(order) else np.zeros(0, dtype=bool)
    return hashes[order][last], titles[order][last]


def _number_entities(linked: _LinkedSegments, graph: ImportedGraph) -> tuple[Vocabulary, IntArray]:
    """Return the hashes and displayed names of all entities, and the entity of each key, -1 for none."""
    used = np.flatnonzero(linked.named.used)
    own = linked.keys.hashes[used]
    hashes = union_of_hashes([own, graph.keys.hashes]) if len(graph.keys) else own
    numbers = positions_of_hashes(hashes, own)
    entity_of_key = np.full(len(linked.keys), -1, dtype=np.int32)
    entity_of_key[used] = numbers
    if not len(graph.keys):
        return Vocabulary(hashes, linked.named.names), entity_of_key
    _check_shared_texts(take_strings(linked.keys.texts, used), own, graph.keys)
    writer = StringWriter(len(hashes))
    writer.add(linked.named.names, np.arange(len(own)), numbers)
    writer.add(graph.labels, np.arange(len(graph.keys)), positions_of_hashes(hashes, graph.keys.hashes))
    return Vocabulary(hashes, writer.finish()), entity_of_key


def _number_relations(linked: _LinkedSegments, graph: ImportedGraph) -> tuple[Vocabulary, IntArray]:
    """Return the relations of all triples, and the number of each joined relation of the segments, -1 for none."""
    is_used = np.zeros(len(linked.relations), dtype=bool)
    for own in linked.facts:
        is_used[own.triples[:, 1]] = True
    used = np.flatnonzero(is_used)
    texts = take_strings(linked.relations.texts, used)
    joined = join_vocabularies([Vocabulary(linked.relations.hashes[used], texts), graph.relations])
    numbers = np.full(len(linked.relations), -1, dtype=np.int32)
    numbers[used] = joined.numbers[0]
    return Vocabulary(joined.hashes, joined.texts), numbers


def _check_shared_texts(texts: StringArray, hashes: HashArray, others: Vocabulary) -> None:
    """Raise a CollisionError where the text of a hash is not the one that the other vocabulary has for it."""
    position = find_hashes(others.hashes, hashes)
    shared = np.flatnonzero(position >= 0)
    check_texts(take_strings(texts, shared), others.texts, position[shared])


def _merge_triples(
    facts: Sequence[PassageFacts],
    order: PassageOrder,
    entities: Vocabulary,
    relations: Vocabulary,
    entity_of_key: IntArray,
    relation_numbers: IntArray,
    graph: ImportedGraph,
    space: Workspace,
) -> DistinctTriples:
    count = len(graph.triples)
    triples, passages = order_triples(facts, order.positions, entity_of_key, relation_numbers, count, len(order.ids))
    if count:
        entity = positions_of_hashes(entities.hashes, graph.keys.hashes)
        relation = positions_of_hashes(relations.hashes, graph.relations.hashes)
        for column, numbers in enumerate((entity, relation, entity)):
            triples[-count:, column] = numbers[graph.triples[:, column]]
        del entity, relation, numbers
    return space.keep(distinct_triples(triples, passages, len(entities)))


def _transpose(rows: Adjacency, count: int, space: Workspace) -> Adjacency:
    return space.keep(rows.transpose(count))


def _merge_sentences(
    segments: Sequence[Segment],
    linked: _LinkedSegments,
    order: PassageOrder,
    entity_of_key: IntArray,
    entity_passages: LongArray,
    space: Workspace,
) -> SentenceRows:
    titles, meanings = linked.titles, linked.titles.count_meanings()

    def name(number: int) -> Ragged:
        own = linked.own_titles[number], linked.form_keys[number], linked.matches[number]
        return space.keep(name_sentences(segments[number], *own, linked.targets, titles, meanings, entity_of_key))

    entities = space.keep_each(map_in_threads(name, len(segments), space.threads))
    return merge_sentences(segments, order.positions, entities, entity_passages, space)


def _title_entities(linked: _LinkedSegments, order: PassageOrder, entity_of_key: IntArray) -> IntArray:
    titles = np.full(len(order.ids), -1, dtype=np.int32)
    for own, position in zip(linked.own_titles, order.positions, strict=True):
        titles[position] = take(entity_of_key, own)
    return titles


def _name_table(
    linked: _LinkedSegments, entity_of_key: IntArray, entities: Vocabulary, graph: ImportedGraph
) -> tuple[HashArray, IntArray]:
    """Return the hashes of all names, ascending, and the entities of each, ascending."""
    single, several = linked.titles.single, linked.titles.ambiguous
    names = np.flatnonzero(linked.named.used | linked.titles.is_known)
    usual = names[single[names] >= 0]
    ambiguous = np.repeat(np.arange(len(single)), np.diff(several.indptr))
    is_listed = linked.titles.is_known[ambiguous]
    hashes = [linked.keys.hashes[usual], linked.keys.hashes[ambiguous[is_listed]], graph.name_hashes]
    graph_entities = positions_of_hashes(entities.hashes, graph.keys.hashes)[graph.name_entities]
    numbers = [entity_of_key[single[usual]], entity_of_key[several.values[is_listed]], graph_entities]
    hash_, entity = np.concatenate(hashes), np.concatenate(numbers).astype(np.int32)
    order = np.lexsort((entity, hash_))
    hash_, entity = hash_[order], entity[order]
    first = run_starts(hash_, entity) if len(hash_) else np.zeros(0, dtype=bool)
    return hash_[first], entity[first]
