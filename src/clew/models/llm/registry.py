"""Registry of language models that installed packages add by entry points of the group `clew.models`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.plugins.registry import Registry

if TYPE_CHECKING:
    from clew.protocols import LanguageModel


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A language model that an installed package adds by an entry point of the group `clew.models`.

    Attributes:
        summary: One line for listings.
        build: Opens the model from the text after the colon of its name, "" for none.
    """

    summary: str
    build: "Callable[[str], LanguageModel]"


MODELS = Registry[ModelEntry]("language model", "clew.models", {}, ModelEntry)
"""Installed language models of other packages; the names of `clew.models.llm.providers` take precedence."""
