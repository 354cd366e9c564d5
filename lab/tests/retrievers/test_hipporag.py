"""HippoRAG's ranking against a slow oracle from its description."""

import numpy as np
import pytest

from clew.index import Index
from clew.query.linking import link_question
from clew.retrievers.registry import parse_retriever
from clew_lab.graph.nearest_entities import NO_NAME
from clew_lab.graph.synonyms import load_synonyms
from lab.tests.oracles.hipporag import Corpus, passage_scores
from tests.small_index import QUESTIONS, result_ids


def describe(index: Index, ids: set[str]) -> Corpus:
    """Return the corpus by names, of some passages only."""
    s = index.snapshot
    entities = list(s.entities)
    stated = [(s.triple(position), position) for position in range(len(s.triples))]
    found = load_synonyms(index.context)
    synonyms = {
        (entities[one], entities[int(other)]): float(found.weights[found.indptr[one] + place])
        for one in range(len(entities))
        for place, other in enumerate(found.row(one))
        if one < other
    }
    mentions = {id_: {entities[e] for e in s.mentions.row(p)} for p, id_ in enumerate(s.passage_ids) if id_ in ids}
    texts = {id_: f"{s.titles[p]}\n{s.texts[p]}" for p, id_ in enumerate(s.passage_ids)}
    triples = [(*t.entities, len(ids.intersection(t.passages))) for t, _ in stated]
    return Corpus(texts, mentions, [triple for triple in triples if triple[2]], synonyms)


def nearest_names(index: Index, question: str, corpus: Corpus) -> list[str]:
    """Return for each name of a question the phrase of highest cosine among those that a passage has."""
    linked = link_question(index.snapshot, question)
    mentioned = [name for name in index.snapshot.entities if any(name in own for own in corpus.mentions.values())]
    vectors = index.context.encoder.encode(mentioned)
    names = [linked.text[name.start : name.end].lower() for name in linked.names]
    return list(dict.fromkeys(mentioned[int(np.argmax(vectors @ index.context.encoder.encode([n])[0]))] for n in names))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("settings", ["", ":damping=0.8", ":specificity=no"])
def test_the_ranking_equals_the_description(small: Index, question: str, settings: str) -> None:
    corpus = describe(small, set(small.snapshot.passage_ids))
    starts = nearest_names(small, question, corpus)
    evidence = small.search(question, len(small.snapshot.passage_ids), parse_retriever(f"hipporag{settings}"))
    if not starts:
        assert NO_NAME in evidence.notes
        assert result_ids(evidence) == result_ids(small.search(question, 99, "dense"))
        return
    assert evidence.notes == (f"starts from {', '.join(starts)}",)
    damping = 0.8 if "damping" in settings else 0.5
    expected = passage_scores(corpus, starts, damping, specificity="specificity" not in settings)
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx({id_: score for id_, score in expected.items() if score > 0}, abs=1e-6)


def test_only_allowed_passages_state_triples(small: Index) -> None:
    ids = {id_ for id_ in small.snapshot.passage_ids if id_ not in {"vega", "karlskrona"}}
    corpus = describe(small, ids)
    question = "Where was Louis Palander born?"
    starts = nearest_names(small, question, corpus)
    evidence = small.search(question, 99, "hipporag", "id NOT IN ('vega', 'karlskrona')")
    df = {
        name: sum(name in own for own in describe(small, set(small.snapshot.passage_ids)).mentions.values())
        for name in starts
    }
    assert len(df) == 1  # the specificity of a single start does not matter
    expected = passage_scores(corpus, starts, 0.5, specificity=True)
    assert {scored.item.id: scored.score for scored in evidence.passages} == pytest.approx(
        {id_: score for id_, score in expected.items() if score > 0}, abs=1e-6
    )
