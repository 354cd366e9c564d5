"""How language models are asked in one run: the same settings, one budget and one cache for all of them."""

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
    """What opening a model needs besides its name.

    Attributes:
        call_settings: How calls are made; None for the defaults.
        use_cache: Whether replies are kept, and those kept are used.
        budget: Of the run.
        prices: What calls cost.
    """

    call_settings: "CallSettings | None" = None
    use_cache: bool = True
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)

    def open(self, name: str, cache: Path) -> "ProviderModel":
        """Return the model of a name.

        Args:
            name: `provider:model`.
            cache: The file of kept replies.

        Raises:
            InputError: The provider is not known, or a package or its key is missing.
        """
        from clew.models.llm.provider_model import ProviderModel

        kept = ReplyCache(cache) if self.use_cache else None
        return ProviderModel(name, self.call_settings, kept, self.budget, self.prices)
