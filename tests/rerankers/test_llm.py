"""A language model that scores passages: its order and ties, what it is shown, and what failures leave."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BudgetError, ProviderError
from clew.models.llm.budget import Budget
from clew.rerankers.llm import LLMReranker
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
    return Evidence(scored, (), ("found",), BASE)


def letter(prompt: Prompt) -> str:
    return prompt.content.split("text of ")[1][0]


def scored_by(scores: dict[str, float | None]) -> ScriptedModel:
    """Return a model with a score for each passage; None for a reply that cannot be used."""

    def said(prompt: Prompt) -> dict[str, float] | Failure:
        score = scores[letter(prompt)]
        return Failure(prompt.name, "it was: nonsense", COST) if score is None else {"score": score}

    return ScriptedModel(said)


def reranked(model: ScriptedModel, letters: str = "abcdef") -> Evidence:
    (found,) = LLMReranker(model).rerank([QUESTION], [evidence(letters)])
    return found


def told(found: Evidence) -> dict[str, float]:
    return {scored.item.id: scored.score for scored in found.passages}


def test_best_first_and_ties_as_they_came() -> None:
    found = reranked(scored_by({"a": 10, "b": 80, "c": 80, "d": 0, "e": 100, "f": 80}), "fdcbae")
    assert result_ids(found) == ["e", "f", "c", "b", "a", "d"]
    assert told(found) == {"e": 100, "f": 80, "c": 80, "b": 80, "a": 10, "d": 0}
    assert found.notes == ("found",)
    assert found.usage == sum([COST] * 6, BASE)


def test_all_passages_of_all_questions_are_asked_at_once() -> None:
    model = scored_by(dict.fromkeys("abcdef", 50))
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
    found = reranked(scored_by({"a": None, "b": 10, "c": None, "d": 30, "e": 20, "f": None}))
    assert result_ids(found) == ["a", "d", "c", "e", "b", "f"]
    assert [scored.score for scored in found.passages] == [30, 30, 30, 20, 10, 10]
    assert found.notes == (
        "found",
        "scripted:model: 3 of 6 passages have no score and keep their places: it was: nonsense",
    )
    assert found.usage == sum([COST] * 6, BASE)


def test_without_any_score_nothing_moves() -> None:
    found = reranked(scored_by(dict.fromkeys("abcdef")))
    assert found.passages == evidence().passages
    assert "6 of 6" in found.notes[-1]


@given(st.lists(st.none() | st.integers(0, 3), min_size=5, max_size=5))
def test_places_equal_a_plain_loop(scores: list[int | None]) -> None:
    found = reranked(scored_by(dict(zip("abcde", scores, strict=True))), "abcde")
    free = [place for place in range(5) if scores[place] is not None]
    best = [place for value in (3, 2, 1, 0) for place in range(5) if scores[place] == value]
    wanted = list("abcde")
    for place, item in zip(free, best, strict=True):
        wanted[place] = "abcde"[item]
    assert result_ids(found) == wanted
    numbers = [scored.score for scored in found.passages]
    assert numbers == sorted(numbers, reverse=True)
    assert all(told(found)["abcde"[place]] == scores[place] for place in free)


def test_the_end_of_the_budget_is_a_failure_and_a_dead_provider_is_raised() -> None:
    over, dead = BudgetError("the budget of 5 tokens is reached"), ProviderError("the server cannot be reached")

    def ended(error: Exception) -> ScriptedModel:
        def said(prompt: Prompt) -> dict[str, float] | Failure:
            known = letter(prompt) == "b"
            return {"score": 7} if known else Failure(prompt.name, str(error), Usage(), error)

        return ScriptedModel(said)

    found = reranked(ended(over))
    assert result_ids(found) == list("abcdef")
    assert "5 of 6 passages have no score and keep their places: the budget of 5 tokens" in found.notes[-1]
    with pytest.raises(ProviderError, match="cannot be reached"):
        reranked(ended(dead))


def test_the_fingerprint_changes_with_model_and_words() -> None:
    model = scored_by({})
    name, _, prompt = LLMReranker(model).fingerprint.rpartition(":")
    assert name == "scripted:model"
    assert prompt.startswith("relevance@")


def playing(request: Request, _: int) -> ServerReply:
    """Score by the letter, but for what a server may send in the place of a score."""
    content = request["messages"][-1]["content"] if len(request["messages"]) < 3 else request["messages"][1]["content"]
    said = {
        "a": '{"score": 5}',
        "b": "I would say ninety.",
        "c": '{"score": 300}',
        "d": '```json\n{"score": 70}\n```',
        "e": '{"score": NaN}',
        "f": '{"score": 40.5}',
    }
    return ServerReply(said[str(content).split("text of ")[1][0]])


def test_a_server_that_misbehaves() -> None:
    with model_server(playing) as server:
        (found,) = LLMReranker(open_model(server)).rerank([QUESTION], [evidence()])
    assert result_ids(found) == ["d", "b", "c", "f", "e", "a"]
    assert "3 of 6 passages have no score" in found.notes[-1]
    assert found.usage.calls == BASE.calls + 3 + 3 * 3  # three replies are sent back twice each
    assert "text of" not in json.dumps([request["messages"][0] for request in server.requests])


def test_what_fits_into_a_budget_is_scored() -> None:
    with model_server(lambda *_: ServerReply('{"score": 50}', tokens=(1500, 10))) as server:
        model = open_model(server, budget=Budget(max_tokens=6500), max_concurrency=1)
        (found,) = LLMReranker(model).rerank([QUESTION], [evidence()])
    assert result_ids(found) == list("abcdef")
    assert "4 of 6 passages have no score and keep their places: the budget of 6,500 tokens" in found.notes[-1]
    assert (found.usage.calls, found.usage.input_tokens) == (BASE.calls + 2, BASE.input_tokens + 3000)
