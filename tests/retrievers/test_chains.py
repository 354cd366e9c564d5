"""`chains` on passages that can be followed by hand: what joins them, what is quoted, filters and settings."""

from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.query.chain_search import NO_SENTENCE_VECTORS
from clew.retrievers.chains import Chains
from clew.types import Document, Evidence
from tests.small_index import make_index, result_ids

# The ship and the harbour share the rare word `hawser` and no name; the harbour names Gamma Town, which has a page.
FACTS = (
    Document(
        "ship", "Alpha Bay", "Nothing else is known of it. The Alpha Bay was towed by a patented hawser.", {"n": 1}
    ),
    Document("rope", "Rope works", "The hawser was made where Gamma Town has its harbour, by a rope works.", {"n": 2}),
    Document("town", "Gamma Town", "Gamma Town is a town whose mayor is elected for nine years.", {"n": 3}),
    Document("lake", "Epsilon Lake", "A lake of salt, which no river feeds.", {"n": 4}),
    Document("hill", "Delta Hill", "A hill of chalk with a lighthouse on it.", {"n": 5}),
)
QUESTION = "For how many years is the mayor elected of the town that towed Alpha Bay?"


@pytest.fixture(scope="module", params=["none", "hashing"])
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("facts") / "index", FACTS, encoder=request.param)


def search(index: Index, where: str | None = None, settings: Chains | None = None) -> Evidence:
    (evidence,) = index.retriever(settings or Chains()).retrieve([QUESTION], 5, where)
    return evidence


def test_the_chain_is_quoted_with_what_joins_it(facts: Index) -> None:
    chains = {tuple(quote.passage_id for quote in c.item.sentences): c.item for c in search(facts).chains}
    chain = chains["ship", "rope", "town"]
    assert [quote.quote for quote in chain.sentences] == [
        "The Alpha Bay was towed by a patented hawser.",
        FACTS[1].text,
        FACTS[2].text,
    ]
    assert chain.bridges == ("hawser", "Gamma Town")


def test_quotes_stand_where_they_say(facts: Index) -> None:
    texts = {document.id: document.text for document in FACTS}
    chains = search(facts).chains
    assert chains
    for chain in chains:
        for quote in chain.item.sentences:
            assert texts[quote.document_id][quote.start : quote.end] == quote.quote


@pytest.mark.parametrize(("shared", "is_quoted"), [("her", False), ("hawser", True)])
def test_no_chain_is_quoted_that_a_pronoun_joins(tmp_path: Path, shared: str, is_quoted: bool) -> None:
    pages = (
        Document("one", "Alpha Bay", f"The Alpha Bay was towed by a patented {shared}."),
        Document("two", "Works", f"The {shared} was made where a mayor is elected for nine years."),
        *(Document(f"n{number}", f"Page {number}", "Nothing stands on this page.") for number in range(8)),
    )
    index = make_index(tmp_path / "index", pages, encoder="none")
    joints = {joint for chain in search(index).chains for joint in chain.item.bridges}
    assert (shared in joints) == is_quoted


def test_the_passages_of_the_chain_come_first(facts: Index) -> None:
    assert set(result_ids(search(facts))[:3]) == {"ship", "rope", "town"}


def test_two_steps_end_before_the_town(facts: Index) -> None:
    chains = search(facts, settings=Chains(steps=2)).chains
    assert chains
    assert all(len(chain.item.sentences) == 2 for chain in chains)


def test_no_chain_passes_through_a_filtered_passage(facts: Index) -> None:
    evidence = search(facts, "n <> 2")
    assert "rope" not in result_ids(evidence)
    assert not any(quote.passage_id == "rope" for chain in evidence.chains for quote in chain.item.sentences)


def test_an_index_without_vectors_of_sentences_says_so(facts: Index) -> None:
    has_vectors = facts.snapshot.sentences.vectors is not None
    assert (NO_SENTENCE_VECTORS in search(facts).notes) is not has_vectors


def test_chains_are_distinct_and_best_first(small: Index) -> None:
    (evidence,) = small.retriever(Chains()).retrieve(["Where was the commander of the Vega born?"], 20)
    members = [tuple((q.passage_id, q.start) for q in chain.item.sentences) for chain in evidence.chains]
    assert len(set(members)) == len(members) > 0
    scores = [chain.score for chain in evidence.chains]
    assert scores == sorted(scores, reverse=True)
    assert all(len(chain.item.bridges) == len(chain.item.sentences) - 1 for chain in evidence.chains)
    assert all(all(chain.item.bridges) for chain in evidence.chains)


def test_where_no_path_is_wanted_none_is_quoted(small: Index) -> None:
    (evidence,) = small.retriever(Chains(), 0).retrieve(["Where was the commander of the Vega born?"], 20)
    assert evidence.passages
    assert not evidence.chains


def test_without_the_walk_passages_of_chains_alone_have_scores(facts: Index) -> None:
    scores = {scored.item.id: scored.score for scored in search(facts, settings=Chains(walk_weight=0)).passages}
    assert scores["ship"] == scores["rope"] == scores["town"] == 2.0


@pytest.mark.parametrize("settings", [{"steps": 4}, {"walk_weight": -1.0}])
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"chains: {next(iter(settings))} is"):
        Chains(**settings)


def test_bm25_and_vectors_alone_begin_chains_where_nothing_is_named(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", FACTS, encoder="none")
    (evidence,) = index.retriever(Chains()).retrieve(["which hawser was patented"], 5)
    assert result_ids(evidence)[:2] in (["ship", "rope"], ["rope", "ship"])
