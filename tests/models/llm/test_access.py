"""How the models of one run are opened: one budget and one place for all of them."""

from pathlib import Path

import pytest

from clew.errors import InputError
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import Budget
from clew.models.llm.call_settings import CallSettings
from clew.types import Failure
from tests.faults.model_server import ServerReply, model_server
from tests.models.llm.asked import OSLO, complete_one, names


def test_models_of_one_run_share_the_budget_and_the_cache(tmp_path: Path) -> None:
    place, budget = tmp_path / "calls.sqlite", Budget(max_tokens=5000)
    with model_server(lambda *_: ServerReply(OSLO, tokens=(4000, 500))) as server:
        asking = LLMClientFactory(CallSettings(server.url), budget=budget)
        assert names([complete_one(asking.open("openai:a", place))]) == [["Oslo"]]
        failure = complete_one(asking.open("openai:b", place))
        assert isinstance(failure, Failure)
        assert "the budget of 5,000 tokens is reached" in failure.reason
        assert complete_one(asking.open("openai:a", place)).cached
        assert len(server.requests) == 1


def test_nothing_is_kept_where_nothing_is_to_be(tmp_path: Path) -> None:
    with model_server(lambda *_: ServerReply(OSLO)) as server:
        asking = LLMClientFactory(CallSettings(server.url), use_cache=False)
        for _ in range(2):
            complete_one(asking.open("openai:a", tmp_path / "calls.sqlite"))
        assert len(server.requests) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_none_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted PROVIDER:NAME"):
        LLMClientFactory().open("nobody", tmp_path / "calls.sqlite")
