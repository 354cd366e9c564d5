"""A language model that counts what its calls cost."""

from collections.abc import Callable, Sequence
from typing import final

from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reply, Usage


@final
class CountedModel:
    """Passes prompts on to a model, and adds up the usage of its replies until it is taken."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return one result a prompt (see `LanguageModel`)."""
        results = self._model.complete(prompts, on_text)
        self._usage = sum((result.usage for result in results), self._usage)
        return results

    def take_usage(self) -> Usage:
        """Return the usage since it was last taken."""
        usage, self._usage = self._usage, Usage()
        return usage
