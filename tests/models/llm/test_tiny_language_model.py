"""The client with a real causal model behind the protocol: an untrained one, and one overfitted to a reply."""

from typing import Any

import pytest

from clew.models.llm.budget import Budget
from clew.types import Failure, Reply
from tests.faults.model_server import Request, ServerReply, model_server
from tests.models.llm.model_calls import Names, complete_one, open_model, prompt
from tests.models.tiny_llama import overfit, prompt_tokens, serve_model, tiny_llama, tiny_tokenizer

MAX_REPLY_TOKENS = 48
REPLY = '{"names": ["Oslo", "Tromsø"]}'
QUESTION = prompt("From Tromsø to Oslo.")


@pytest.fixture(scope="module")
def request_sent() -> Request:
    """The question as the client sends it."""
    with model_server(lambda *_: ServerReply(REPLY)) as server:
        complete_one(open_model(server, reply_tokens=MAX_REPLY_TOKENS), QUESTION)
        return server.requests[0]


@pytest.fixture(scope="module")
def tokenizer(request_sent: Request) -> Any:
    return tiny_tokenizer([*(message["content"] for message in request_sent["messages"]), REPLY])


@pytest.fixture(scope="module")
def reply_tokens(tokenizer: Any) -> list[int]:
    """Tokens of the reply and its end token."""
    return [*tokenizer(REPLY, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]


@pytest.fixture(scope="module")
def trained_model(tokenizer: Any, request_sent: Request, reply_tokens: list[int]) -> Any:
    model = tiny_llama(tokenizer)
    assert overfit(model, prompt_tokens(tokenizer, request_sent), reply_tokens) < 0.05
    return model.eval()


def test_an_untrained_model_is_a_failure_that_quotes_its_reply(tokenizer: Any) -> None:
    with serve_model(tiny_llama(tokenizer), tokenizer) as server:
        failure = complete_one(open_model(server, reply_tokens=MAX_REPLY_TOKENS, repairs=1), QUESTION)
        tokens_in = [len(prompt_tokens(tokenizer, request)) for request in server.requests]
    assert isinstance(failure, Failure)
    assert "; it was: " in failure.reason
    assert len(failure.reason.partition("; it was: ")[2]) > MAX_REPLY_TOKENS // 4
    assert (failure.usage.calls, failure.usage.input_tokens) == (2, sum(tokens_in))
    assert MAX_REPLY_TOKENS < failure.usage.output_tokens + MAX_REPLY_TOKENS <= 3 * MAX_REPLY_TOKENS


@pytest.mark.parametrize("streamed", [False, True])
def test_a_trained_model_gives_its_reply_and_its_own_token_counts(
    trained_model: Any, tokenizer: Any, request_sent: Request, reply_tokens: list[int], streamed: bool
) -> None:
    seen: list[str] = []
    with serve_model(trained_model, tokenizer) as server:
        reply = complete_one(
            open_model(server, reply_tokens=MAX_REPLY_TOKENS), QUESTION, seen.append if streamed else None
        )
    assert isinstance(reply, Reply)
    assert reply.value == Names(names=["Oslo", "Tromsø"])
    assert (reply.usage.calls, reply.usage.input_tokens) == (1, len(prompt_tokens(tokenizer, request_sent)))
    assert reply.usage.output_tokens == len(reply_tokens) < len(REPLY)
    assert seen[-1:] == ([REPLY] if streamed else [])


def test_a_budget_holds_by_the_models_own_token_counts(trained_model: Any, tokenizer: Any) -> None:
    budget = Budget(max_tokens=2000)
    with serve_model(trained_model, tokenizer) as server:
        results = open_model(server, None, budget, reply_tokens=MAX_REPLY_TOKENS, repairs=0).complete(
            [prompt(f"From Tromsø to Oslo {number}.") for number in range(20)]
        )
        counted = [least_cost(tokenizer, request) for request in server.requests]
    used = budget.spent.input_tokens + budget.spent.output_tokens
    assert sum(counted) <= used <= 2000
    assert 0 < len(counted) < 20
    failures = [result for result in results if isinstance(result, Failure)]
    assert len(failures) == 20 - len(counted)
    assert all("the budget of 2,000 tokens is reached" in failure.reason for failure in failures)


def least_cost(tokenizer: Any, request: Request) -> int:
    """Lower bound on the tokens of a request and its reply."""
    return len(prompt_tokens(tokenizer, request)) + 1
