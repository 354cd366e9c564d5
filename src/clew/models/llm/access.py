"""Factory for LLM clients that share call settings, a budget and a reply cache within one run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.models.llm.budget import Budget, Prices
from clew.models.llm.reply_cache import ReplyCache

if TYPE_CHECKING:
    from clew.models.llm.call_settings import CallSettings
    from clew.protocols import LanguageModel


@dataclass(slots=True)
class LLMClientFactory:
    """Opens language models by name."""

    call_settings: "CallSettings | None" = None  # limits and options of calls; None for the defaults
    use_cache: bool = True  # whether replies are stored, and stored replies are used
    budget: Budget = field(default_factory=Budget)  # shared by all models of the run
    prices: Prices = field(default_factory=Prices)  # prices of calls

    def open(self, name: str, cache: Path) -> "LanguageModel":
        """Return the model `provider:model`; an unknown provider or a missing package or key is an InputError.

        One that an installed package adds counts its own cost, and keeps its own replies.
        """
        from clew.models.llm.object_model import accept_model
        from clew.models.llm.provider_model import ProviderModel
        from clew.models.llm.providers import KEY_VARIABLES, MODELS

        kind, _, argument = name.partition(":")
        if kind not in KEY_VARIABLES and kind in MODELS:
            return accept_model(MODELS.build(kind, argument), MODELS.origin(kind))
        replies = ReplyCache(cache) if self.use_cache else None
        return ProviderModel(name, self.call_settings, replies, self.budget, self.prices)
