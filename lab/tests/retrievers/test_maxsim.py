"""Late interaction against loops over tokens; its pool, its stored tokens and its limits."""

from copy import copy
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.retrievers.registry import open_retriever, parse_retriever
from clew_lab.retrievers import maxsim
from clew_lab.retrievers.maxsim import MaxSimRetriever, PassageTokens
from lab.tests.retrievers.test_baselines import open_unchecked
from tests.small_index import DOCUMENTS, QUESTIONS, make_index, result_ids

ENCODER = HashingEncoder()


class OneVector:
    """An encoder of whole texts alone."""

    name = fingerprint = "one-vector"
    dimension = 2


def slow_scores(index: Index, question: str, ids: list[str]) -> dict[str, float]:
    """Return the score of each passage, token by token."""
    s = index.snapshot
    words = ENCODER.encode(question.split())
    scores = {}
    for id_ in ids:
        position = s.position(id_)
        text = f"{s.titles[position]}\n{s.texts[position]}" if s.titles[position] else s.texts[position]
        tokens = ENCODER.encode(text.split()).astype(np.float16).astype(np.float32)
        scores[id_] = sum(max(float(word @ token) for token in tokens) for word in words)
    return scores


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_passage_is_scored_token_by_token(small: Index, question: str) -> None:
    ids = list(small.snapshot.passage_ids)
    expected = slow_scores(small, question, ids)
    evidence = small.search(question, len(ids), parse_retriever("maxsim:pool=all"))
    assert {scored.item.id: scored.score for scored in evidence.passages} == pytest.approx(expected, abs=1e-5)
    scores = [scored.score for scored in evidence.passages]
    assert scores == sorted(scores, reverse=True)


def test_only_the_pool_is_scored(small: Index) -> None:
    pool = result_ids(small.search(QUESTIONS[0], 4, "bm25"))
    evidence = small.search(QUESTIONS[0], 4, parse_retriever("maxsim:base=bm25,pool=4"))
    expected = slow_scores(small, QUESTIONS[0], pool)
    assert result_ids(evidence) == sorted(expected, key=lambda id_: (-round(expected[id_], 5), id_))
    filtered = small.search(QUESTIONS[0], 9, parse_retriever("maxsim:pool=all"), "lang = 'en'")
    assert filtered.passages
    assert all(scored.item.metadata.get("lang") == "en" for scored in filtered.passages)


def test_tokens_of_the_latest_passages_alone_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxsim, "_CACHED_PASSAGES", 3)
    monkeypatch.setattr(maxsim, "TEXTS_AT_ONCE", 2)
    encoded: list[str] = []

    def encode(texts: list[str]) -> list[np.ndarray]:
        encoded.extend(texts)
        return [np.full((1, 2), float(text), dtype=np.float32) for text in texts]

    tokens = PassageTokens(encode, str)  # type: ignore[arg-type]
    assert [rows[0, 0] for rows in tokens.rows([1, 2, 3, 4, 5])] == [1, 2, 3, 4, 5]
    assert [rows[0, 0] for rows in tokens.rows([5, 1])] == [5, 1]
    assert encoded == ["1", "2", "3", "4", "5", "1"]


def test_stored_tokens_are_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:3])
    first = index.search(QUESTIONS[0], 3, parse_retriever("maxsim:pool=all"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("encoded again")

    retriever = open_unchecked(index, "maxsim:pool=all", MaxSimRetriever)
    monkeypatch.setattr(maxsim.PassageTokens, "rows", refuse)
    assert retriever.retrieve([QUESTIONS[0]], 3)[0].passages == first.passages


def test_a_large_index_and_an_encoder_without_tokens_are_refused(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxsim, "MAX_STORED_PASSAGES", 2)
    with pytest.raises(InputError, match=r"wanted at most 2: give a number, such as pool=100"):
        open_retriever(parse_retriever("maxsim:pool=all"), small.context)
    context = copy(small.context)
    monkeypatch.setattr(context, "_open_encoder", OneVector)
    with pytest.raises(InputError, match="the encoder one-vector gives no vectors of tokens"):
        open_retriever("maxsim", context)


def test_states_of_the_bundled_encoder_average_to_its_row() -> None:
    encoder = Int8MiniLM()
    text = "The Endurance was built at Framnæs shipyard."
    (rows,) = encoder.encode_tokens([text])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    (spans,) = encoder.encode_spans([text], [[(0, 3), (4, 13)]]).spans
    np.testing.assert_allclose(rows[0], spans[0], atol=1e-5)  # "The" is one token
    again = encoder.encode_tokens(["Another text.", text, ""])
    np.testing.assert_array_equal(again[1], rows)
    assert again[2].shape == (0, 384)
