"""Looking at a graph, against plain loops over its triples and mentions."""

import pytest

from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.index import Index
from clew.query.graph_browsing import GraphBrowser
from clew.text.normalization import name_key
from clew.types import Filter

FILTERS: tuple[Filter | None, ...] = (None, "lang = 'en'", "year IS NULL", "id = 'palander'", "lang = 'none'")


@pytest.fixture
def browser(small: Index) -> GraphBrowser:
    return GraphBrowser(small.context.scope)


def visible(index: Index, where: Filter | None) -> dict[int, int]:
    """Return the entities that are seen, and how many allowed passages mention each."""
    s, allowed = index.snapshot, index.context.scope.mask(where)
    counts: dict[int, int] = {}
    for passage in range(len(s.passage_ids)):
        for entity in s.mentions.row(passage).tolist():
            counts[entity] = counts.get(entity, 0) + int(allowed[passage])
    stated = {t for p in range(len(s.passage_ids)) if allowed[p] for t in s.passage_triples.row(p).tolist()}
    ends = {int(end) for t in stated for end in s.triples[t][[0, 2]]}
    return {entity: counts.get(entity, 0) for entity in range(len(s.entities)) if counts.get(entity) or entity in ends}


@pytest.mark.parametrize("where", FILTERS)
def test_a_search_lists_the_entities_that_the_filter_shows(
    small: Index, browser: GraphBrowser, where: Filter | None
) -> None:
    expected = visible(small, where)
    found, more = browser.search("", 1_000, where)
    assert {match.position: match.passages for match in found} == expected
    assert not more
    assert browser.count_visible(where) == len(expected)
    assert [match.passages for match in found] == sorted((match.passages for match in found), reverse=True)


@pytest.mark.parametrize("where", FILTERS)
def test_an_entity_is_found_by_name_and_by_id(small: Index, browser: GraphBrowser, where: Filter | None) -> None:
    seen = visible(small, where)
    for position, name in enumerate(small.snapshot.entities):
        expected = position if position in seen else None
        assert browser.find(browser.entity_id(position), where) == expected
        by_name = browser.find(name.upper(), where)
        assert by_name in seen if expected is not None else by_name is None or by_name in seen


def test_ids_are_different(small: Index, browser: GraphBrowser) -> None:
    ids = {browser.entity_id(position) for position in range(len(small.snapshot.entities))}
    assert len(ids) == len(small.snapshot.entities)


def test_names_come_by_closeness(small: Index, browser: GraphBrowser) -> None:
    names = [match.name for match in browser.search("station 1", 1_000)[0]]
    assert name_key(names[0]) == "station 1"
    assert all("station 1" in name_key(name) for name in names)
    first, more = browser.search("station 1", 2)
    assert ([match.name for match in first], more) == (names[:2], True)


@pytest.mark.parametrize("where", FILTERS)
def test_the_facts_of_an_entity_are_those_that_allowed_passages_state(
    small: Index, browser: GraphBrowser, where: Filter | None
) -> None:
    s, allowed = small.snapshot, small.context.scope.mask(where)
    for entity in range(len(s.entities)):
        expected = []
        for triple in range(len(s.triples)):
            stating = [int(p) for p in s.triple_passages.row(triple) if allowed[p]]
            if stating and entity in s.triples[triple][[0, 2]]:
                expected.append((s.relations[int(s.triples[triple][1])], tuple(s.passage_ids[p] for p in stating)))
        facts = browser.facts(entity, where, quotes=True)
        assert [(fact.relation, fact.passages) for fact in facts] == expected
        assert browser.count_facts(entity, where) == len(expected)
        assert [f.relation for f in browser.facts(entity, where, 1)] == [relation for relation, _ in expected[:1]]
        for quote in (quote for fact in facts for quote in fact.quotes):
            passage = s.passage(s.position(quote.passage_id))
            assert passage.text[quote.start - passage.start : quote.end - passage.start] == quote.quote
            assert allowed[s.position(quote.passage_id)]
        assert browser.mentioning(entity, where) == [
            s.passage_ids[p] for p in range(len(s.passage_ids)) if allowed[p] and entity in s.mentions.row(p)
        ]


@pytest.mark.parametrize("where", FILTERS)
def test_each_step_of_a_path_is_stated_by_an_allowed_passage(
    small: Index, browser: GraphBrowser, where: Filter | None
) -> None:
    s, allowed = small.snapshot, small.context.scope.mask(where)
    start, end = browser.find("Vega (ship)"), browser.find("Karlskrona")
    assert start is not None
    assert end is not None
    paths, _ = browser.paths(start, end, where, 4, 10)
    assert bool(paths) == (where in (None, "lang = 'en'"))
    for path in paths:
        assert (path.entities[0], path.entities[-1]) == (start, end)
        steps = {frozenset(pair) for pair in zip(path.entities, path.entities[1:], strict=False)}
        assert {frozenset((edge.head, edge.tail)) for edge in path.edges} == steps
        for edge in path.edges:
            assert edge.passages
            assert all(allowed[s.position(id_)] for id_ in edge.passages)
            assert edge.quotes
            if edge.relation == MENTIONS_RELATION:
                passage = s.position(edge.passages[0])
                assert {edge.head, edge.tail} <= {int(s.title_entities[passage]), *s.mentions.row(passage).tolist()}


def test_a_quote_is_the_sentence_that_says_it(polar: Index) -> None:
    browser, s = GraphBrowser(polar.context.scope), polar.snapshot
    passage = s.position("royal-geographical-society.md")
    quote = browser.quote(passage, ["Royal Geographical Society", "Fridtjof Nansen"])
    assert "Nansen" in quote.quote  # and not the heading, which repeats the title
