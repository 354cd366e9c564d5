"""Prices: the user's table first, then the public one, else none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from clew.models.llm.budget import Prices, estimate_tokens, max_token_count

TABLE = Prices({"openai:gpt-4o-mini": (1.0, 10.0), "ollama:big": (0.5, 0.5)})


def test_the_users_table_comes_first() -> None:
    assert TABLE.cost("openai:gpt-4o-mini", 2_000_000, 100_000) == 3.0
    assert TABLE.cost("openai:gpt-4o-mini", 2_000_000, 100_000, custom_server=True) == 3.0
    assert TABLE.cost("ollama:big", 1_000_000, 0) == 0.5


@pytest.mark.parametrize(
    "model", ["openai:gpt-4o-mini", "anthropic:claude-3-haiku-20240307", "google:gemini-2.5-flash"]
)
def test_public_prices_apply_to_the_providers_own_servers(model: str) -> None:
    cost = Prices().cost(model, 1_000_000, 100_000)
    assert cost is not None
    assert 0.01 < cost < 10
    assert Prices().cost(model, 1_000_000, 100_000, custom_server=True) is None
    assert Prices().cost(model, 0, 0) == 0.0


@pytest.mark.parametrize("model", ["openai:nobody-knows-it", "google:", "nobody:x", "openai:claude-3-haiku-20240307"])
def test_unknown_models_have_no_price(model: str) -> None:
    assert Prices().cost(model, 10, 10) is None


def test_local_models_cost_nothing() -> None:
    assert Prices().cost("ollama:anything", 10**9, 10**9) == 0.0


@given(st.text())
def test_no_tokenizer_makes_more_tokens_than_bytes(text: str) -> None:
    by_bytes = Tokenizer(models.BPE())  # without merges: the maximum number of tokens
    by_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = [piece for piece, _ in by_bytes.pre_tokenizer.pre_tokenize_str(text)]
    assert sum(map(len, letters)) <= max_token_count(text)
    assert estimate_tokens(text) <= max_token_count(text) + 1


def test_surrogates_are_counted() -> None:
    assert max_token_count("\ud800") == 3
    assert estimate_tokens("\ud800") == 2
