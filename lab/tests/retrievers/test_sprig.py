"""SPRIG's ranking against a slow oracle from its description."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.index import Index
from clew.query.graph_walk import NO_MATCH
from clew.query.linking import link_question
from clew.query.scope import Scope
from clew.retrievers.registry import parse_retriever
from clew.types import Document
from clew_lab.graph.mention_counts import count_mentions
from clew_lab.retrievers.sprig import Sprig, SprigRetriever
from lab.tests.oracles.sprig import Corpus, passage_mass
from tests.retrievers.random_corpora import (
    NAMES,
    RandomPassage,
    corpora,
    make_dense,
    make_snapshot,
    make_text,
    passage_id,
)
from tests.small_index import DOCUMENTS, QUESTIONS, make_index, result_ids

SETTINGS = st.builds(
    Sprig,
    seeds=st.sampled_from(["dense", "names"]),
    seed_passages=st.integers(1, 4),
    name_power=st.sampled_from([0.0, 0.5, 1.0]),
    hub_power=st.sampled_from([0.0, 0.5, 1.0]),
    restart=st.sampled_from([0.15, 0.5, 1.0]),
    walk=st.sampled_from(["push", "power"]),
    steps=st.integers(1, 6),
    epsilon=st.just(1e-9),
)


def expected_mass(corpus: Corpus, given_settings: Sprig) -> dict[str, float]:
    steps = given_settings.steps if given_settings.walk == "power" else None
    return passage_mass(corpus, given_settings.name_power, given_settings.hub_power, given_settings.restart, steps)


@settings(deadline=None, max_examples=150)
@given(corpora, st.lists(st.sampled_from(NAMES), max_size=3, unique=True), SETTINGS, st.booleans())
def test_random_corpora_are_ranked_as_described(
    corpus: list[RandomPassage], asked: list[str], given_settings: Sprig, filtered: bool
) -> None:
    snapshot = make_snapshot(corpus)
    scope = Scope(snapshot)
    base = make_dense(scope) if given_settings.seeds == "dense" else None
    retriever = SprigRetriever(scope, base, lambda: count_mentions(snapshot), given_settings)
    (evidence,) = retriever.retrieve(
        ["Who saw " + " or ".join(asked) if asked else "who was it"], 9, "keep = TRUE" if filtered else None
    )
    every = range(len(corpus))
    closed = [number for number in every if filtered and not corpus[number].keep]
    # Under a filter a name is known where an open passage writes it; one that no passage has is a graph's.
    unwritten = {name for passage in corpus for name in passage.mentions} if closed else set()
    unwritten -= {name for n in every if n not in closed for name in corpus[n].names}
    asked = [name for name in asked if name not in unwritten]
    ranked = sorted((n for n in every if n not in closed), key=lambda n: (-corpus[n].similarity, n))
    expected = Corpus(
        {passage_id(n): make_text(corpus[n]) for n in every},
        {passage_id(n): corpus[n].mentions for n in every},
        asked,
        [passage_id(n) for n in ranked[: given_settings.seed_passages]] if base else [],
        frozenset(map(passage_id, closed)),
    )
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    wanted = expected_mass(expected, given_settings) if asked or expected.first else {}
    # The push leaves what is below its limit where it is.
    assert actual == pytest.approx({id_: wanted[id_] for id_ in actual}, abs=1e-6)
    assert all(value < 1e-6 for id_, value in wanted.items() if id_ not in actual)
    assert (NO_MATCH in evidence.notes) is not bool(asked or expected.first)


def fuse(rankings: list[list[str]]) -> list[str]:
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda id_: (-scores[id_], id_))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("given_settings", [Sprig(epsilon=1e-8), Sprig(walk="power", name_power=1, seed_passages=5)])
def test_the_walk_restarts_at_the_first_passages_of_the_fused_ranking(
    small: Index, question: str, given_settings: Sprig
) -> None:
    s = small.snapshot
    entities = list(s.entities)
    named = {entities[e] for name in link_question(s, question).linked_names for e in name.entities}
    first = fuse([result_ids(small.search(question, 10, name)) for name in ("bm25", "dense")])
    corpus = Corpus(
        {id_: f"{t}\n{x}" for id_, t, x in zip(s.passage_ids, s.titles, s.texts, strict=True)},
        {id_: {entities[e] for e in s.mentions.row(p)} for p, id_ in enumerate(s.passage_ids)},
        sorted(named),
        first[: given_settings.seed_passages],
    )
    evidence = small.search(question, len(DOCUMENTS), given_settings)
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx(expected_mass(corpus, given_settings), abs=1e-5)


def test_without_vectors_other_seeds_do(tmp_path: Path) -> None:
    plain = make_index(tmp_path / "i", [Document("a", "Fram", "Fram left the harbour.")], encoder="none")
    with pytest.raises(InputError, match="made with --encoder none"):
        plain.search("Where did the Fram go?", 3, "sprig")
    for seeds in ("bm25", "names"):
        assert result_ids(plain.search("Where did the Fram go?", 3, Sprig(seeds=seeds))) == ["a"]
    assert not plain.search("who was it", 3, Sprig(seeds="names")).passages


@pytest.mark.parametrize("setting", ["restart", "epsilon"])
def test_a_walk_that_would_not_end_is_refused(setting: str) -> None:
    with pytest.raises(InputError, match=f"sprig: {setting} is '0'"):
        parse_retriever(f"sprig:{setting}=0")
