"""What every `Reranker` promises, whatever its method; another one is added to `RERANKERS`."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.models.text_scorers import BiEncoderScorer
from clew.protocols import Reranker
from clew.rerankers.amr.local_parser import LocalAMRParser
from clew.rerankers.g_rag.amr_document_graph import AMRDocumentGraphs
from clew.rerankers.g_rag.reranker import DocumentGraphReranker
from clew.rerankers.llm import LLMReranker
from clew.rerankers.registry import open_reranker
from clew.rerankers.text_scorer import TextReranker
from clew.text.bm25 import BM25Scorer
from clew.types import AgentStep, Evidence, Failure, Passage, Path, Prompt, Scored, Triple, Usage
from tests.models.llm.scripted_model import COST, ScriptedModel
from tests.rerankers.g_rag.test_reranker import make_trained_gnn
from tests.small_index import DOCUMENTS, QUESTIONS, result_ids

ENCODER = HashingEncoder(32)


def model(every: int = 0) -> ScriptedModel:
    """Return a model that scores by a hash of what it is asked, in steps of ten, and fails at one prompt in `every`."""

    def said(prompt: Prompt) -> dict[str, Any] | Failure:
        drawn = crc32(prompt.content.encode())
        failed = bool(every) and drawn % every == 0
        return Failure(prompt.name, "it was: nonsense", COST) if failed else {"score": drawn // 7 % 11 * 10}

    return ScriptedModel(said)


RERANKERS: dict[str, Callable[[Index], Reranker]] = {
    "cosine": lambda _: TextReranker(BiEncoderScorer(ENCODER.encode, ENCODER.encode_queries)),
    "g-rag": lambda index: open_reranker("g-rag", index.context),
    "g-rag on amr": lambda _: DocumentGraphReranker(
        AMRDocumentGraphs(LocalAMRParser(), ENCODER.encode), make_trained_gnn("amr")
    ),
    "llm": lambda _: LLMReranker(model()),
    "llm that fails at all": lambda _: LLMReranker(model(1)),
    "llm that fails at some": lambda _: LLMReranker(model(3)),
    "words": lambda _: TextReranker(BM25Scorer()),
}

pytestmark = pytest.mark.parametrize("name", RERANKERS)


def evidence(count: int, first: int = 0) -> Evidence:
    """Return the first documents of the small corpus as they were found; some of them are alike."""
    found = [*DOCUMENTS[first:], *DOCUMENTS[:first]][:count]
    passages = [Passage(d.id, d.id, d.title, d.text, 0, len(d.text), d.metadata) for d in found]
    scored = tuple(Scored(passage, 1.0 / rank) for rank, passage in enumerate(passages, 1))
    chain: Path = (Triple("Vega", "left", "Karlskrona", ("vega",)),)
    return Evidence(
        scored, (Scored(chain, 0.5),), ("found",), Usage(1.0, 1, 2, 3, 4.0), (AgentStep("a query"),), ("Vega",)
    )


FOUND = [evidence(len(DOCUMENTS) - place, place) for place in range(len(QUESTIONS))]


def told(found: Evidence) -> Evidence:
    """Return evidence without the seconds that a run took."""
    return replace(found, usage=replace(found.usage, seconds=0.0))


def test_the_same_passages_best_first(small: Index, name: str) -> None:
    for before, after in zip(FOUND, RERANKERS[name](small).rerank(QUESTIONS, FOUND), strict=True):
        assert sorted(result_ids(after)) == sorted(result_ids(before))
        assert {scored.item.id: scored.item for scored in after.passages} == {
            scored.item.id: scored.item for scored in before.passages
        }
        scores = [scored.score for scored in after.passages]
        assert scores == sorted(scores, reverse=True)
        assert all(isinstance(score, float) and math.isfinite(score) for score in scores)


def test_what_else_was_found_is_kept_and_nothing_costs_less(small: Index, name: str) -> None:
    for before, after in zip(FOUND, RERANKERS[name](small).rerank(QUESTIONS, FOUND), strict=True):
        assert (after.paths, after.steps, after.topics) == (before.paths, before.steps, before.topics)
        assert after.notes[:1] == before.notes
        spent, had = after.usage, before.usage
        assert (spent.calls >= had.calls, spent.input_tokens >= had.input_tokens, spent.cost >= had.cost) == (True,) * 3


def test_a_batch_equals_its_questions_one_by_one(small: Index, name: str) -> None:
    reranker = RERANKERS[name](small)
    batch = reranker.rerank(QUESTIONS, FOUND)
    alone = [reranker.rerank([question], [found])[0] for question, found in zip(QUESTIONS, FOUND, strict=True)]
    assert [told(found) for found in batch] == [told(found) for found in alone]
    assert reranker.rerank([], []) == []


def test_the_same_again(small: Index, name: str) -> None:
    first, second = (RERANKERS[name](small).rerank(QUESTIONS, FOUND) for _ in range(2))
    assert [told(found) for found in first] == [told(found) for found in second]


def test_no_passages_are_no_error(small: Index, name: str) -> None:
    nothing = Evidence(notes=("the question is empty",))
    for question in ("", QUESTIONS[0]):
        (found,) = RERANKERS[name](small).rerank([question], [nothing])
        assert (found.passages, found.notes) == ((), nothing.notes)


@pytest.mark.parametrize("question", ["", "?!...", "Vega \ud800\0", "卡尔斯克鲁纳 🚢", "Vega " * 5000])
def test_any_string_is_a_question(small: Index, name: str, question: str) -> None:
    (found,) = RERANKERS[name](small).rerank([question], [FOUND[0]])
    assert sorted(result_ids(found)) == sorted(result_ids(FOUND[0]))


def test_questions_and_evidence_that_do_not_go_together(small: Index, name: str) -> None:
    with pytest.raises(InputError, match="2 questions, 1 pieces of evidence"):
        RERANKERS[name](small).rerank(["one", "two"], [FOUND[0]])
