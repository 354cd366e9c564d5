"""What calls cost: by the user's table, then the public one of `genai-prices`; a model that runs here costs nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MILLION = 1_000_000
BYTES_PER_TOKEN = 3.0
"""Few enough that tokens of Latin letters are over- rather than underestimated (English has four to five)."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Looks prices up.

    Attributes:
        table: Money for a million tokens in and for a million tokens out, by `provider:model`.
    """

    table: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, custom_server: bool = False) -> float | None:
        """Return the price of a call; None where no price is known.

        Args:
            model: `provider:model`.
            input_tokens: As counted by the provider.
            output_tokens: As counted by the provider.
            custom_server: Whether another server than the provider's own is asked, whose prices no public table has.
        """
        if model in self.table:
            price_in, price_out = self.table[model]
            return (price_in * input_tokens + price_out * output_tokens) / MILLION
        provider, _, name = model.partition(":")
        if provider == "ollama":
            return 0.0
        return None if custom_server else _public_cost(provider, name, input_tokens, output_tokens)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return int(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN) + 1


def max_token_count(text: str) -> int:
    """Return how many tokens a text can have at most: no tokenizer in use makes more of them than bytes.

    Digits and letters of many scripts come to one token for one to two bytes, which `estimated_tokens` does not cover.
    """
    return len(text.encode("utf-8", "surrogatepass"))


def _public_cost(provider: str, name: str, input_tokens: int, output_tokens: int) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        found = calc_price(Tokens(input_tokens=input_tokens, output_tokens=output_tokens), name, provider_id=provider)
    except LookupError:
        return None
    return float(found.total_price)
