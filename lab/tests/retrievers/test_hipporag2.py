"""HippoRAG 2's ranking against a slow oracle from its description."""

from dataclasses import replace
from pathlib import Path

import pytest

from clew.errors import ProviderError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.protocols import LanguageModel
from clew.types import Document, Failure, Usage
from clew_lab.graph.synonyms import load_synonyms
from clew_lab.retrievers.hipporag2 import HippoRAG2Retriever
from lab.tests.oracles.hipporag2 import Corpus, passage_mass
from lab.tests.retrievers.test_baselines import open_unchecked
from tests.models.llm.scripted_model import COST, ScriptedModel
from tests.small_index import QUESTIONS, make_index, result_ids

ENCODER = HashingEncoder()


def described(index: Index, question: str) -> Corpus:
    """Return the corpus by names, with similarities computed from the texts."""
    s = index.snapshot
    entities = list(s.entities)
    assert len(set(entities)) == len(entities)
    query = ENCODER.encode_queries([question])[0]
    texts = [f"{title}\n{text}" if title else text for title, text in zip(s.titles, s.texts, strict=True)]
    stated = [s.triple(position) for position in range(len(s.triples))]
    phrases = [f"{t.entities[0]} {t.relation} {t.entities[1]}" for t in stated]
    found = load_synonyms(index.context)
    synonyms = {
        (entities[one], entities[int(other)]): float(found.weights[found.indptr[one] + place])
        for one in range(len(entities))
        for place, other in enumerate(found.row(one))
        if one < other
    }
    return Corpus(
        mentions={id_: {entities[e] for e in s.mentions.row(p)} for p, id_ in enumerate(s.passage_ids)},
        triples=[(*t.entities, t.passages) for t in stated],
        synonyms=synonyms,
        passages=dict(zip(s.passage_ids, (ENCODER.encode(texts) @ query).tolist(), strict=True)),
        similar=(ENCODER.encode(phrases) @ query).tolist() if phrases else [],
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_ranking_equals_the_description(small: Index, question: str) -> None:
    corpus = described(small, question)
    assert corpus.synonyms
    expected = passage_mass(corpus)
    evidence = small.search(question, len(expected), "hipporag2")
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx(expected, abs=1e-6)


def test_a_filtered_corpus_ranks_as_a_corpus_without_the_rest(tmp_path: Path, small: Index) -> None:
    """Exceptions, left out here: numbers of passages of a phrase, names spelt out elsewhere, and synonyms."""
    documents = [
        Document("a", "Alpha Bay", "Alpha Bay was mapped by Nils Berg in 1901.", {"keep": True}),
        Document("b", "Nils Berg", "Nils Berg came from Odda.", {"keep": True}),
        Document("c", "Odda", "Odda is a town in Norway.", {"keep": True}),
        Document("x", "Gamma Hill", "Gamma Hill was named by Queen Zita.", {"keep": False}),
    ]
    whole, part = make_index(tmp_path / "whole", documents), make_index(tmp_path / "part", documents[:3])
    filtered = whole.search("Who mapped Alpha Bay?", 9, "hipporag2", "keep = TRUE")
    alone = part.search("Who mapped Alpha Bay?", 9, "hipporag2")
    assert [s.item.id for s in filtered.passages] == [s.item.id for s in alone.passages]
    assert [s.score for s in filtered.passages] == pytest.approx([s.score for s in alone.passages], abs=1e-6)
    assert filtered.paths == alone.paths


def test_without_triples_it_is_the_dense_ranking(tmp_path: Path) -> None:
    plain = make_index(
        tmp_path / "i", [Document("a", "", "nothing here"), Document("b", "", "nor over there, my friend")]
    )
    assert len(plain.snapshot.triples) == 0
    actual, dense = (plain.search("over there", 5, name) for name in ("hipporag2", "dense"))
    assert actual.passages == dense.passages
    assert actual.notes == ("no triple to start from: dense ranking",)


def test_without_similarities_the_passages_are_still_ranked(tmp_path: Path) -> None:
    # One passage has one score, which spreads over nothing; the walk must have somewhere to start all the same.
    lone = make_index(tmp_path / "i", [Document("a", "Fram", "Fram left Oslo for Bergen.")])
    for question in ("q", "zzz", "Oslo", "?"):
        (scored,) = lone.search(question, 5, "hipporag2").passages
        assert scored.item.id == "a"


def test_paths_lead_from_the_nearest_triples(small: Index) -> None:
    question = "Who commanded the Vega?"
    evidence = small.search(question, 5, "hipporag2")
    corpus = described(small, question)
    nearest = sorted(range(len(corpus.triples)), key=lambda t: (-corpus.similar[t], t))[:5]
    assert [path.item[0] for path in evidence.paths] == [small.snapshot.triple(t) for t in nearest]
    assert [path.score for path in evidence.paths] == pytest.approx([corpus.similar[t] for t in nearest], abs=1e-6)


def filtered_retriever(index: Index, model: LanguageModel) -> HippoRAG2Retriever:
    return replace(open_unchecked(index, "hipporag2", HippoRAG2Retriever), model=model)


@pytest.mark.parametrize("kept", [[2, 4], [5, 1, 1, 99, 0]])
def test_triples_that_a_language_model_leaves_out_do_not_count(small: Index, kept: list[int]) -> None:
    question = QUESTIONS[0]
    model = ScriptedModel(lambda _: {"facts": kept})
    (evidence, empty) = filtered_retriever(small, model).retrieve([question, " "], len(small.snapshot.passage_ids))
    corpus = described(small, question)
    nearest = sorted(range(len(corpus.triples)), key=lambda t: (-corpus.similar[t], t))[:5]
    places = sorted({number - 1 for number in kept if 1 <= number <= 5})
    chosen = [nearest[place] for place in places]
    expected = passage_mass(corpus, chosen)
    assert {scored.item.id: scored.score for scored in evidence.passages} == pytest.approx(expected, abs=1e-6)
    assert evidence.notes[0] == f"scripted:model keeps {len(places)} of 5 triples"
    assert evidence.usage.calls == COST.calls
    assert model.batch_sizes == [1]
    assert not empty.passages
    stated = small.snapshot.triple(nearest[0])
    assert f"1. {stated.head} | {stated.relation} | {stated.tail}" in model.prompts[0].content


def test_no_triple_kept_is_the_dense_ranking_and_a_failure_keeps_all(small: Index) -> None:
    none = filtered_retriever(small, ScriptedModel(lambda _: {"facts": []})).retrieve([QUESTIONS[0]], 5)[0]
    assert result_ids(none) == result_ids(small.search(QUESTIONS[0], 5, "dense"))
    assert "no triple to start from: dense ranking" in none.notes
    failed = filtered_retriever(small, ScriptedModel(lambda p: Failure(p.name, "nonsense", COST)))
    (evidence,) = failed.retrieve([QUESTIONS[0]], 5)
    assert evidence.passages == small.search(QUESTIONS[0], 5, "hipporag2").passages
    assert evidence.notes[0] == "scripted:model: no triple is left out: nonsense"
    dead = ProviderError("the server cannot be reached")
    broken = filtered_retriever(small, ScriptedModel(lambda p: Failure(p.name, str(dead), Usage(), dead)))
    with pytest.raises(ProviderError, match="cannot be reached"):
        broken.retrieve([QUESTIONS[0]], 5)
