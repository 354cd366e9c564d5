"""Contract of every `Reranker`; a new one is added to `RERANKERS`."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from zlib import crc32

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.models.text_scorers import BiEncoderScorer
from clew.protocols import Reranker
from clew.rerankers.registry import open_reranker
from clew.rerankers.text_scorer import LLMReranker, TextReranker
from clew.text.bm25 import BM25Scorer
from clew.types import AgentStep, Evidence, Failure, Passage, Path, Prompt, Scored, Triple, Usage
from tests.models.llm.scripted_model import COST, ScriptedModel
from tests.rerankers.g_rag.test_reranker import KINDS, graph_reranker
from tests.small_index import DOCUMENTS, QUESTIONS, result_ids

ENCODER = HashingEncoder(32)


def model(every: int = 0) -> ScriptedModel:
    """Return a model that scores by a hash of the prompt, in steps of ten, and fails at one prompt in `every`."""

    def reply(prompt: Prompt) -> dict[str, Any] | Failure:
        number = crc32(prompt.content.encode())
        failed = bool(every) and number % every == 0
        return Failure(prompt.name, "it was: nonsense", COST) if failed else {"score": number // 7 % 11 * 10}

    return ScriptedModel(reply)


RERANKERS: dict[str, Callable[[Index], Reranker]] = {
    "cosine": lambda _: TextReranker(BiEncoderScorer(ENCODER.encode, ENCODER.encode_queries)),
    "g-rag": lambda index: open_reranker("g-rag", index.context),
    **{f"g-rag of random weights, {kind}": partial(graph_reranker, kind=kind) for kind in KINDS},
    "llm": lambda _: LLMReranker(model()),
    "llm that always fails": lambda _: LLMReranker(model(1)),
    "llm that sometimes fails": lambda _: LLMReranker(model(3)),
    "words": lambda _: TextReranker(BM25Scorer()),
}

pytestmark = pytest.mark.parametrize("name", RERANKERS)


def evidence(count: int, first: int = 0) -> Evidence:
    """Return evidence of the first documents of the small corpus, some of them similar."""
    documents = [*DOCUMENTS[first:], *DOCUMENTS[:first]][:count]
    passages = [Passage(d.id, d.id, d.title, d.text, 0, len(d.text), d.metadata) for d in documents]
    scored = tuple(Scored(passage, 1.0 / rank) for rank, passage in enumerate(passages, 1))
    path: Path = (Triple("Vega", "left", "Karlskrona", ("vega",)),)
    return Evidence(
        scored, (Scored(path, 0.5),), ("a note",), Usage(1.0, 1, 2, 3, 4.0), (AgentStep("a query"),), ("Vega",)
    )


EVIDENCE = [evidence(len(DOCUMENTS) - place, place) for place in range(len(QUESTIONS))]


def untimed(evidence: Evidence) -> Evidence:
    """Return evidence without its seconds."""
    return replace(evidence, usage=replace(evidence.usage, seconds=0.0))


def test_the_same_passages_best_first(small: Index, name: str) -> None:
    for before, after in zip(EVIDENCE, RERANKERS[name](small).rerank(QUESTIONS, EVIDENCE), strict=True):
        assert sorted(result_ids(after)) == sorted(result_ids(before))
        assert {scored.item.id: scored.item for scored in after.passages} == {
            scored.item.id: scored.item for scored in before.passages
        }
        scores = [scored.score for scored in after.passages]
        assert scores == sorted(scores, reverse=True)
        assert all(isinstance(score, float) and math.isfinite(score) for score in scores)


def test_the_rest_of_the_evidence_stays_and_usage_never_falls(small: Index, name: str) -> None:
    for before, after in zip(EVIDENCE, RERANKERS[name](small).rerank(QUESTIONS, EVIDENCE), strict=True):
        assert (after.paths, after.steps, after.topics) == (before.paths, before.steps, before.topics)
        assert after.notes[:1] == before.notes
        spent, had = after.usage, before.usage
        assert (spent.calls >= had.calls, spent.input_tokens >= had.input_tokens, spent.cost >= had.cost) == (True,) * 3


def test_a_batch_equals_its_questions_one_by_one(small: Index, name: str) -> None:
    reranker = RERANKERS[name](small)
    batch = reranker.rerank(QUESTIONS, EVIDENCE)
    singles = [reranker.rerank([question], [result])[0] for question, result in zip(QUESTIONS, EVIDENCE, strict=True)]
    assert [untimed(result) for result in batch] == [untimed(result) for result in singles]
    assert reranker.rerank([], []) == []


def test_the_same_again(small: Index, name: str) -> None:
    first, second = (RERANKERS[name](small).rerank(QUESTIONS, EVIDENCE) for _ in range(2))
    assert [untimed(result) for result in first] == [untimed(result) for result in second]


def test_no_passages_are_no_error(small: Index, name: str) -> None:
    empty = Evidence(notes=("the question is empty",))
    for question in ("", QUESTIONS[0]):
        (result,) = RERANKERS[name](small).rerank([question], [empty])
        assert (result.passages, result.notes) == ((), empty.notes)


@pytest.mark.parametrize("question", ["", "?!...", "Vega \ud800\0", "卡尔斯克鲁纳 🚢", "Vega " * 1000])
def test_any_string_is_a_question(small: Index, name: str, question: str) -> None:
    (result,) = RERANKERS[name](small).rerank([question], [EVIDENCE[0]])
    assert sorted(result_ids(result)) == sorted(result_ids(EVIDENCE[0]))


def test_questions_and_evidence_must_pair(small: Index, name: str) -> None:
    with pytest.raises(InputError, match="questions: 2, pieces of evidence: 1; give one per question"):
        RERANKERS[name](small).rerank(["one", "two"], [EVIDENCE[0]])
