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
from clew.types import ExtractedFacts, Failure, Prompt, ReaderInput, Reply, SufficiencyDecision, Thought

T = TypeVar("T", ExtractedFacts, SufficiencyDecision, Thought)


class LLMReader:
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

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the facts that the model takes from the passages; none where there are no passages."""

        def reading(reply: Reply) -> ExtractedFacts:
            return ExtractedFacts(proximal_triples.parse_facts(cast("ProximalTriples", reply.value)), reply.usage)

        prompts = [
            proximal_triples.build_prompt(s.question, s.passages, s.gist) if s.passages else None for s in inputs
        ]
        return self._complete(prompts, reading, ExtractedFacts)

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return whether the noted facts answer the question, and if not, the next query."""

        def verdict(reply: Reply) -> SufficiencyDecision:
            found = sufficiency.parse_decision(cast("Sufficiency", reply.value))
            return SufficiencyDecision(found.enough, found.reasoning, found.query, reply.usage)

        prompts = [sufficiency.build_prompt(s.question, s.gist, s.queries) for s in inputs]
        return self._complete(prompts, verdict, lambda **told: SufficiencyDecision(enough=False, **told))

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Return the model's next sentence."""

        def next_thought(reply: Reply) -> Thought:
            found = thought.parse_thought(cast("NextThought", reply.value))
            return Thought(found.text, found.answered, reply.usage)

        prompts = [thought.build_prompt(s.question, s.passages, s.thoughts) for s in inputs]
        return self._complete(prompts, next_thought, lambda **told: Thought("", **told))

    def _complete(
        self, prompts: Sequence[Prompt | None], made: Callable[[Reply], T], empty: Callable[..., T]
    ) -> list[T]:
        """Ask for those that have a prompt; a question without a reply that can be used gets an empty one."""
        results = iter(self._model.complete([prompt for prompt in prompts if prompt is not None]))
        return [
            empty() if prompt is None else _parse_result(next(results), made, empty, f"{self._model.name}: ")
            for prompt in prompts
        ]


def _parse_result(result: Reply | Failure, made: Callable[[Reply], T], empty: Callable[..., T], who: str) -> T:
    if isinstance(result, Reply):
        return made(result)
    told: dict[str, Any] = {"usage": result.usage}
    if isinstance(result.run_error, BudgetError):
        return empty(stop_reason=str(result.run_error), **told)
    if result.run_error is not None:
        raise result.run_error
    return empty(notes=(f"{who}{result.reason}",), **told)
