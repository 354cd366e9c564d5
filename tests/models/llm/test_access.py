"""The clients of a run share a budget and a reply cache."""

from pathlib import Path

from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import Budget
from clew.models.llm.call_settings import CallSettings
from clew.types import Failure
from tests.faults.model_server import ServerReply, model_server
from tests.models.llm.model_calls import OSLO, complete_one, names


def test_models_of_one_run_share_the_budget_and_the_cache(tmp_path: Path) -> None:
    cache, budget = tmp_path / "calls.sqlite", Budget(max_tokens=5000)
    with model_server(lambda *_: ServerReply(OSLO, tokens=(4000, 500))) as server:
        clients = LLMClientFactory(CallSettings(server.url), budget=budget)
        assert names([complete_one(clients.open("openai:a", cache))]) == [["Oslo"]]
        failure = complete_one(clients.open("openai:b", cache))
        assert isinstance(failure, Failure)
        assert "the budget of 5,000 tokens is reached" in failure.reason
        assert complete_one(clients.open("openai:a", cache)).cached
        assert len(server.requests) == 1


def test_without_the_cache_nothing_is_stored(tmp_path: Path) -> None:
    with model_server(lambda *_: ServerReply(OSLO)) as server:
        clients = LLMClientFactory(CallSettings(server.url), use_cache=False)
        for _ in range(2):
            complete_one(clients.open("openai:a", tmp_path / "calls.sqlite"))
        assert len(server.requests) == 2
    assert list(tmp_path.iterdir()) == []
