"""A reader that asks a language model: for facts, whether they are enough, and for thoughts.

A reply that cannot be used leaves its question without what was asked, and says so in the notes; the search goes on
with what it has.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from clew.errors import BudgetError
from clew.models.llm.prompts import chain_of_thought as thought
from clew.models.llm.prompts import proximal_triples, sufficiency
from clew.models.llm.prompts.chain_of_thought import NextThought
from clew.models.llm.prompts.proximal_triples import ProximalTriples
from clew.models.llm.prompts.sufficiency import Sufficiency
from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reading, Reply, Sought, Thought, Verdict

T = TypeVar("T", Reading, Verdict, Thought)


class ModelReader:
    """Reads with a language model; all questions of a step are asked at once.

    Args:
        model: Any.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """That of the model."""
        return self._model.name

    @property
    def fingerprint(self) -> str:
        """The model and the hashes of its prompts."""
        prompts = (proximal_triples, sufficiency, thought)
        return ":".join([self._model.name, *(prompt.TEMPLATE.fingerprint for prompt in prompts)])

    def read(self, asked: Sequence[Sought]) -> list[Reading]:
        """Return the facts that the model takes from the passages; none where there are no passages."""

        def reading(reply: Reply) -> Reading:
            return Reading(proximal_triples.facts(cast("ProximalTriples", reply.value)), reply.usage)

        prompts = [proximal_triples.prompt(s.question, s.passages, s.gist) if s.passages else None for s in asked]
        return self._answers(prompts, reading, Reading)

    def judge(self, asked: Sequence[Sought]) -> list[Verdict]:
        """Return whether the noted facts answer the question, and if not, the next query."""

        def verdict(reply: Reply) -> Verdict:
            found = sufficiency.verdict(cast("Sufficiency", reply.value))
            return Verdict(found.enough, found.reasoning, found.query, reply.usage)

        prompts = [sufficiency.prompt(s.question, s.gist, s.queries) for s in asked]
        return self._answers(prompts, verdict, lambda **told: Verdict(enough=False, **told))

    def think(self, asked: Sequence[Sought]) -> list[Thought]:
        """Return the model's next sentence."""

        def next_thought(reply: Reply) -> Thought:
            found = thought.thought(cast("NextThought", reply.value))
            return Thought(found.text, found.answered, reply.usage)

        prompts = [thought.prompt(s.question, s.passages, s.thoughts) for s in asked]
        return self._answers(prompts, next_thought, lambda **told: Thought("", **told))

    def _answers(
        self, prompts: Sequence[Prompt | None], made: Callable[[Reply], T], empty: Callable[..., T]
    ) -> list[T]:
        """Ask for those that have a prompt; a question without a reply that can be used gets an empty one."""
        results = iter(self._model.complete([prompt for prompt in prompts if prompt is not None]))
        return [
            empty() if prompt is None else _answer(next(results), made, empty, f"{self._model.name}: ")
            for prompt in prompts
        ]


def _answer(result: Reply | Failure, made: Callable[[Reply], T], empty: Callable[..., T], who: str) -> T:
    if isinstance(result, Reply):
        return made(result)
    told: dict[str, Any] = {"usage": result.usage}
    if isinstance(result.because, BudgetError):
        return empty(stopped=str(result.because), **told)
    if result.because is not None:
        raise result.because
    return empty(notes=(f"{who}{result.reason}",), **told)
