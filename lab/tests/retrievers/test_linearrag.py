"""LinearRAG's ranking against a slow oracle from its description."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.query.linking import link_question
from clew.query.scope import Scope
from clew.settings import Settings
from clew.types import Document
from clew_lab.graph.mention_counts import count_mentions
from clew_lab.graph.nearest_entities import NO_NAME
from clew_lab.retrievers.hipporag import NamedPhrases
from clew_lab.retrievers.linearrag import NO_START, LinearRAG, LinearRAGRetriever, build_occurrence_graph
from lab.tests.oracles.linearrag import Corpus, Weights, activate, passage_mass
from tests.retrievers.random_corpora import (
    NAMES,
    RandomPassage,
    corpora,
    make_dense,
    make_sentences,
    make_snapshot,
    make_text,
    passage_id,
    similarities,
)
from tests.small_index import QUESTIONS, make_index

ENCODER = HashingEncoder()
SETTINGS = st.builds(
    LinearRAG,
    rounds=st.integers(1, 4),
    sentences=st.integers(1, 3),
    threshold=st.sampled_from([0.0, 0.25, 0.5]),
    dense_weight=st.sampled_from([0.05, 1.5]),
    passage_weight=st.sampled_from([0.0, 0.05]),
    neighbours=st.sampled_from(["document", "corpus", "none"]),
)


def weights_of(used: LinearRAG) -> Weights:
    return Weights(used.rounds, used.sentences, used.threshold, used.dense_weight, used.passage_weight)


def neighbour_pairs(corpus: list[RandomPassage], neighbours: str) -> list[tuple[int, int]]:
    every = list(range(len(corpus)))
    documents = [[number for number in every if corpus[number].document == document] for document in "ab"]
    lists = {"none": list[list[int]](), "corpus": [every], "document": documents}
    return [pair for numbers in lists[neighbours] for pair in pairwise(numbers)]


@settings(deadline=None, max_examples=150)
@given(corpora, st.lists(st.lists(similarities, min_size=5, max_size=5), max_size=3), SETTINGS, st.booleans())
def test_random_corpora_are_ranked_as_described(
    corpus: list[RandomPassage], cosines: list[list[float]], given_settings: LinearRAG, filtered: bool
) -> None:
    snapshot = make_snapshot(corpus)
    scope, sentences = Scope(snapshot), make_sentences(corpus, snapshot)
    assert sentences.vectors is not None
    retriever = LinearRAGRetriever(
        scope,
        NamedPhrases(
            scope,
            make_dense(scope),
            lambda: np.eye(len(NAMES), dtype=np.float32),
            lambda names: np.array(cosines[: len(names)], dtype=np.float32),
            lambda: count_mentions(snapshot),
        ),
        sentences,
        sentences.vectors,
        given_settings,
    )
    # Names of the question that the index does not have are compared with its entities, too.
    question = "Who saw " + " or ".join(["Zeta", "Eta", "Theta"][: len(cosines)]) if cosines else "who was it"
    (evidence,) = retriever.retrieve([question], 9, "keep = TRUE" if filtered else None)
    open_ = [number for number, passage in enumerate(corpus) if passage.keep or not filtered]
    mentioned = [any(name in corpus[n].mentions for n in open_) for name in snapshot.entities]
    starts: dict[str, float] = {}
    for row in cosines:
        candidates = [(similarity, -e) for e, similarity in enumerate(row) if mentioned[e]]
        if candidates:
            similarity, place = max(candidates)
            name = snapshot.entities[-place]
            starts[name] = max(similarity, starts.get(name, -1.0))
    expected = Corpus(
        {passage_id(n): "\n" + make_text(corpus[n]) for n in open_},
        {passage_id(n): corpus[n].mentions for n in open_},
        [
            (passage_id(n), sorted(names, key=list(snapshot.entities).index), s)
            for n in open_
            for names, s in corpus[n].sentences
        ],
        {passage_id(n): corpus[n].similarity for n in open_},
        starts,
        [
            (passage_id(one), passage_id(other))
            for one, other in neighbour_pairs(corpus, given_settings.neighbours)
            if one in open_ and other in open_
        ],
    )
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx(passage_mass(expected, weights_of(given_settings)) if open_ else {}, abs=1e-6)
    assert (NO_NAME in evidence.notes) is not bool(starts)
    nowhere = not given_settings.passage_weight and all(similarity <= 0.0 for similarity in starts.values())
    assert (NO_START in evidence.notes) is (bool(starts) and nowhere)


def describe(index: Index, question: str) -> Corpus:
    """Return the corpus by names, with similarities of passages and names computed from the texts."""
    s = index.snapshot
    entities, sentences, query = list(s.entities), s.sentences, ENCODER.encode_queries([question])
    assert sentences.vectors is not None
    whole = {id_: f"{t}\n{x}" if t else x for id_, t, x in zip(s.passage_ids, s.titles, s.texts, strict=True)}
    passages = np.searchsorted(sentences.offsets, np.arange(len(sentences)), "right") - 1
    similar = sentences.vectors.similarities(np.arange(len(sentences), dtype=np.int32), query)[:, 0]
    starts: dict[str, float] = {}
    for name in link_question(s, question).names:
        cosines = ENCODER.encode(entities) @ ENCODER.encode([question[name.start : name.end].lower()])[0]
        best = int(cosines.argmax())
        starts[entities[best]] = max(float(cosines[best]), starts.get(entities[best], -1.0))
    return Corpus(
        dict(zip(s.passage_ids, (f"{t}\n{x}" for t, x in zip(s.titles, s.texts, strict=True)), strict=True)),
        {id_: {entities[e] for e in s.mentions.row(p)} for p, id_ in enumerate(s.passage_ids)},
        [
            (s.passage_ids[int(p)], [entities[e] for e in sentences.entities.row(n)], float(similar[n]))
            for n, p in enumerate(passages)
        ],
        dict(zip(s.passage_ids, (ENCODER.encode(list(whole.values())) @ query[0]).tolist(), strict=True)),
        starts,
    )


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "given_settings", [LinearRAG(), LinearRAG(rounds=5, threshold=0.1, dense_weight=2, sentences=4)]
)
def test_the_ranking_of_an_index_equals_the_description(small: Index, question: str, given_settings: LinearRAG) -> None:
    corpus = describe(small, question)
    evidence = small.search(question, len(corpus.passages), given_settings)
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx(passage_mass(corpus, weights_of(given_settings)), abs=1e-6)
    if corpus.starts:
        active, _ = activate(corpus, weights_of(given_settings))
        assert evidence.notes == (f"starts from {', '.join(corpus.starts)}; active entities: {len(active)}",)


def test_an_index_without_vectors_is_refused_in_one_line(tmp_path: Path) -> None:
    plain = make_index(tmp_path / "plain", [Document("a", "Fram", "Fram left Oslo.")], encoder="none")
    with pytest.raises(InputError, match="made with --encoder none"):
        plain.search("Who left Oslo?", 3, "linearrag")
    index = clew.create(tmp_path / "index", Settings(encoder="hashing", sentences="none"))
    index.add([Document("a", "Fram", "Fram left Oslo.")])
    with pytest.raises(InputError, match="no vectors of sentences; add them with `clew reencode --sentences vectors`"):
        index.search("Who left Oslo?", 3, "linearrag")


def test_passages_that_follow_each_other_in_a_document_are_linked(tmp_path: Path) -> None:
    text = "\n\n".join(
        f"Paragraph about the lighthouse number {n}. " + "It burns oil at night. " * 60 for n in range(12)
    )
    index = make_index(tmp_path / "index", [Document("long", "Lamp", text), Document("other", "Sea", "Salt water.")])
    snapshot = index.snapshot
    count = len(snapshot.passage_ids)
    by_start = sorted((p for p in range(count) if snapshot.document_ids[p] == "long"), key=snapshot.starts.__getitem__)
    assert len(by_start) > 2
    allowed = np.ones(count, dtype=bool)
    graph = build_occurrence_graph(snapshot, count_mentions(snapshot), allowed, "document")
    linked = {(p, int(q)) for p in range(count) for q in graph.row(p) if p < q < count}
    assert linked == {tuple(sorted(pair)) for pair in pairwise(by_start)}
