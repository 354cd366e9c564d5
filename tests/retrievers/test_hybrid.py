"""`hybrid`: with the index's words they decide, without them vectors alone; a word that no passage has lowers all."""

from pathlib import Path

import numpy as np
import pytest

from clew.index import Index, create
from clew.models.encoders.int4_e5 import Int4E5
from clew.retrievers.hybrid import Hybrid, HybridWeights, build_hybrid
from clew.text.normalization import find_terms
from clew.types import Document
from tests.small_index import DOCUMENTS


def test_a_score_is_the_best_cosine_and_the_share_of_the_words(small: Index) -> None:
    question = "Where was the designer of Fram born? zzyzx"
    found = small.search(question, 3, Hybrid(words=0.5, chains=0)).passages
    context, s = small.context, small.snapshot
    vector = context.encode_questions([question])[0]
    count = len(s.passage_ids)
    terms = [set(find_terms(f"{s.titles[row]} {s.texts[row]}")) for row in range(count)]
    most = 0.0
    for word in find_terms(question):
        holders = sum(word in own for own in terms)
        most += np.log(1 + (count - holders + 0.5) / (holders + 0.5))
    query = context.lexical.query(question)
    covered = np.zeros(len(query.terms), dtype=bool)
    for scored in found:
        row = list(s.passage_ids).index(scored.item.id)
        sentences = np.arange(*s.sentences.offsets[row : row + 2], dtype=np.int32)
        assert s.sentences.vectors is not None
        cosines = [
            *s.sentences.vectors.similarities(sentences, vector[None])[:, 0],
            s.vectors.rows(np.array([row]))[0] @ vector,
        ]
        words = context.lexical.scores_at(query, np.array([row], dtype=np.int32))[0]
        own = np.isin(query.terms, context.lexical.passage_terms(row))
        new = query.weights[own & ~covered].sum() / query.weights.sum()
        covered |= own
        assert scored.score == pytest.approx(max(cosines) + 0.5 * words / most + 0.5 * new, abs=1e-5)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_without_words_it_ranks_by_vectors_alone(small: Index) -> None:
    assert (
        len(small.search("zzyzx qwxy", 100, "hybrid").passages)
        == len(small.snapshot.passage_ids)
        <= 10 * len(DOCUMENTS)
    )


def test_it_is_the_default_where_documents_are_long(tmp_path: Path) -> None:
    said = "The Heron sailed for Lund in spring. Rui Tavares of Porto built the Heron at his yard by the river. "
    index = create(tmp_path / "i")
    index.add([Document("short", "Heron", said), Document("gull", "Gull", "The Gull was built in Oslo by Ada Holm.")])
    assert index.resolve_retriever() == "gfm"
    index.add([Document("long", "A long tale", said * 120)])
    assert index.resolve_retriever() == "hybrid"
    evidence = index.search("Who built the Heron that sailed for Lund?", 3)
    assert evidence.notes == ("retriever hybrid, since most passages are parts of long documents",)
    ids = {scored.item.id for scored in evidence.passages}
    assert evidence.chains
    assert {quote.passage_id for chain in evidence.chains for quote in chain.item.sentences} & ids
    assert not index.retriever("hybrid", 0).retrieve(["Who built the Heron?"], 3)[0].chains


def test_the_best_chain_of_a_passage_counts(small: Index) -> None:
    question = "Where was the designer of Fram born?"
    without, found = (
        {one.item.id: one.score for one in small.search(question, 100, Hybrid(chains=weight)).passages}
        for weight in (0, 1)
    )
    walked = small.context.chain_search().search(question, small.context.scope.mask(None))
    shares = {small.snapshot.passage_ids[p]: s for p, s in zip(walked.passages, walked.chain_shares, strict=True)}
    assert max(shares.values()) == pytest.approx(1)
    for id_, score in found.items():
        assert score == pytest.approx(without[id_] + shares.get(id_, 0), abs=1e-6)


def test_chains_count_where_words_are_of_one_language(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_hybrid(small.context, Hybrid()).weights == HybridWeights()
    monkeypatch.setattr(Int4E5, "fingerprint", small.context.encoder.fingerprint)
    assert build_hybrid(small.context, Hybrid()).weights == HybridWeights(0.5, 0, 0)
    assert build_hybrid(small.context, Hybrid(chains=1)).weights == HybridWeights(0.5, 1, 0)
