"""Reranking by a language model: order, ties, prompts, and passages without a score."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BudgetError, ProviderError
from clew.models.llm.budget import Budget
from clew.rerankers.text_scorer import LLMReranker
from clew.types import Evidence, Failure, Passage, Prompt, Scored, Usage
from tests.faults.model_server import Request, ServerReply, model_server
from tests.models.llm.model_calls import open_model
from tests.models.llm.scripted_model import COST, ScriptedModel
from tests.small_index import result_ids

QUESTION = "Where was it built?"
BASE = Usage(2.0, 1, 5, 5, 0.5)


def evidence(letters: str = "abcdef") -> Evidence:
    passages = [Passage(id_, id_, "", f"text of {id_}", 0, 9) for id_ in letters]
    scored = tuple(Scored(passage, 1.0 / n) for n, passage in enumerate(passages, 1))
    return Evidence(scored, (), ("a note",), BASE)


def letter(prompt: Prompt) -> str:
    return prompt.content.split("text of ")[1][0]


def scoring_model(scores: dict[str, float | None]) -> ScriptedModel:
    """Return a model with a score for each passage; None for a reply that cannot be used."""

    def reply(prompt: Prompt) -> dict[str, float] | Failure:
        score = scores[letter(prompt)]
        return Failure(prompt.name, "it was: nonsense", COST) if score is None else {"score": score}

    return ScriptedModel(reply)


def rerank(model: ScriptedModel, letters: str = "abcdef") -> Evidence:
    (result,) = LLMReranker(model).rerank([QUESTION], [evidence(letters)])
    return result


def scores_by_id(evidence: Evidence) -> dict[str, float]:
    return {scored.item.id: scored.score for scored in evidence.passages}


def test_descending_scores_with_stable_ties() -> None:
    result = rerank(scoring_model({"a": 10, "b": 80, "c": 80, "d": 0, "e": 100, "f": 80}), "fdcbae")
    assert result_ids(result) == ["e", "f", "c", "b", "a", "d"]
    assert scores_by_id(result) == {"e": 100, "f": 80, "c": 80, "b": 80, "a": 10, "d": 0}
    assert result.notes == ("a note",)
    assert result.usage == sum([COST] * 6, BASE)


def test_all_passages_of_all_questions_are_asked_at_once() -> None:
    model = scoring_model(dict.fromkeys("abcdef", 50))
    reranker = LLMReranker(model)
    first, none, second = reranker.rerank(
        ["one?", "", "two?"], [evidence("ab"), Evidence(notes=("empty",)), evidence()]
    )
    assert model.batch_sizes == [8]
    assert [prompt.content.count("one?") for prompt in model.prompts] == [1, 1, *[0] * 6]
    assert (result_ids(first), result_ids(second), none) == (["a", "b"], list("abcdef"), Evidence(notes=("empty",)))
    assert reranker.rerank(["", ""], [Evidence()] * 2) == [Evidence()] * 2
    assert model.batch_sizes == [8]


def test_a_passage_without_a_score_keeps_its_place_and_is_counted() -> None:
    result = rerank(scoring_model({"a": None, "b": 10, "c": None, "d": 30, "e": 20, "f": None}))
    assert result_ids(result) == ["a", "d", "c", "e", "b", "f"]
    assert [scored.score for scored in result.passages] == [30, 30, 30, 20, 10, 10]
    assert result.notes == (
        "a note",
        "scripted:model: 3 of 6 passages have no score and keep their places: it was: nonsense",
    )
    assert result.usage == sum([COST] * 6, BASE)


def test_without_any_score_nothing_moves() -> None:
    result = rerank(scoring_model(dict.fromkeys("abcdef")))
    assert result.passages == evidence().passages
    assert "6 of 6" in result.notes[-1]


@given(st.lists(st.none() | st.integers(0, 3), min_size=5, max_size=5))
def test_places_equal_a_plain_loop(scores: list[int | None]) -> None:
    result = rerank(scoring_model(dict(zip("abcde", scores, strict=True))), "abcde")
    free = [place for place in range(5) if scores[place] is not None]
    best = [place for value in (3, 2, 1, 0) for place in range(5) if scores[place] == value]
    wanted = list("abcde")
    for place, item in zip(free, best, strict=True):
        wanted[place] = "abcde"[item]
    assert result_ids(result) == wanted
    numbers = [scored.score for scored in result.passages]
    assert numbers == sorted(numbers, reverse=True)
    assert all(scores_by_id(result)["abcde"[place]] == scores[place] for place in free)


def test_the_end_of_the_budget_is_a_failure_and_a_dead_provider_is_raised() -> None:
    over, dead = BudgetError("the budget of 5 tokens is reached"), ProviderError("the server cannot be reached")

    def failing_model(error: Exception) -> ScriptedModel:
        def reply(prompt: Prompt) -> dict[str, float] | Failure:
            return {"score": 7} if letter(prompt) == "b" else Failure(prompt.name, str(error), Usage(), error)

        return ScriptedModel(reply)

    result = rerank(failing_model(over))
    assert result_ids(result) == list("abcdef")
    assert "5 of 6 passages have no score and keep their places: the budget of 5 tokens" in result.notes[-1]
    with pytest.raises(ProviderError, match="cannot be reached"):
        rerank(failing_model(dead))


def test_the_fingerprint_changes_with_model_and_words() -> None:
    model = scoring_model({})
    name, _, prompt = LLMReranker(model).fingerprint.rpartition(":")
    assert name == "scripted:model"
    assert prompt.startswith("relevance@")


def server_reply(request: Request, _: int) -> ServerReply:
    """Reply with scores by letter, and with some invalid replies."""
    content = request["messages"][-1]["content"] if len(request["messages"]) < 3 else request["messages"][1]["content"]
    reply = {
        "a": '{"score": 5}',
        "b": "I would say ninety.",
        "c": '{"score": 300}',
        "d": '```json\n{"score": 70}\n```',
        "e": '{"score": NaN}',
        "f": '{"score": 40.5}',
    }
    return ServerReply(reply[str(content).split("text of ")[1][0]])


def test_a_server_that_misbehaves() -> None:
    with model_server(server_reply) as server:
        (result,) = LLMReranker(open_model(server)).rerank([QUESTION], [evidence()])
    assert result_ids(result) == ["d", "b", "c", "f", "e", "a"]
    assert "3 of 6 passages have no score" in result.notes[-1]
    assert result.usage.calls == BASE.calls + 3 + 3 * 3  # three replies are sent back twice each
    assert "text of" not in json.dumps([request["messages"][0] for request in server.requests])


def test_passages_within_the_budget_are_scored() -> None:
    with model_server(lambda *_: ServerReply('{"score": 50}', tokens=(1500, 10))) as server:
        model = open_model(server, budget=Budget(max_tokens=6500), max_concurrency=1)
        (result,) = LLMReranker(model).rerank([QUESTION], [evidence()])
    assert result_ids(result) == list("abcdef")
    assert "4 of 6 passages have no score and keep their places: the budget of 6,500 tokens" in result.notes[-1]
    assert (result.usage.calls, result.usage.input_tokens) == (BASE.calls + 2, BASE.input_tokens + 3000)
