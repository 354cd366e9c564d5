"""Factory for LLM clients that share call settings, a budget and a reply cache within one run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.models.llm.budget import Budget
from clew.models.llm.pricing import Prices
from clew.models.llm.reply_cache import ReplyCache

if TYPE_CHECKING:
    from clew.models.llm.call_settings import CallSettings
    from clew.models.llm.provider_model import ProviderModel


@dataclass(slots=True)
class LLMClientFactory:
    """Opens language models by name.

    Attributes:
        call_settings: Limits and options of calls; None for the defaults.
        use_cache: Whether replies are stored, and stored replies are used.
        budget: Shared by all models of the run.
        prices: Prices of calls.
    """

    call_settings: "CallSettings | None" = None
    use_cache: bool = True
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)

    def open(self, name: str, cache: Path) -> "ProviderModel":
        """Return the model of a name.

        Args:
            name: `provider:model`.
            cache: File of the reply cache.

        Raises:
            InputError: The provider is unknown, or a package or its key is missing.
        """
        from clew.models.llm.provider_model import ProviderModel

        replies = ReplyCache(cache) if self.use_cache else None
        return ProviderModel(name, self.call_settings, replies, self.budget, self.prices)
