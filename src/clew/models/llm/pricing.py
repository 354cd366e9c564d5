"""Prices of calls: from the user's table, then the public one of `genai-prices`; local models cost nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MILLION = 1_000_000
# Low, so that token counts of Latin text are over- rather than underestimated (English has four to five).
BYTES_PER_TOKEN = 3.0


@dataclass(frozen=True, slots=True)
class Prices:
    """Price lookup."""

    table: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # input, output price of a million, by model

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, custom_server: bool = False) -> float | None:
        """Return the price of a call to `provider:model`, None where unknown; the public table has no custom server."""
        if model in self.table:
            price_in, price_out = self.table[model]
            return (price_in * input_tokens + price_out * output_tokens) / MILLION
        provider, _, name = model.partition(":")
        if provider == "ollama":
            return 0.0
        return None if custom_server else _public_cost(provider, name, input_tokens, output_tokens)


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens of a text, rather too high than too low."""
    return int(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN) + 1


def max_token_count(text: str) -> int:
    """Return an upper bound on a text's tokens, its bytes: digits and many scripts take a token per byte or two."""
    return len(text.encode("utf-8", "surrogatepass"))


def _public_cost(provider: str, name: str, input_tokens: int, output_tokens: int) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        price = calc_price(Tokens(input_tokens=input_tokens, output_tokens=output_tokens), name, provider_id=provider)
    except LookupError:
        return None
    return float(price.total_price)
