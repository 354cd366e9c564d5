"""Reader that calls a language model to extract facts, to judge whether they suffice, and to generate thoughts.

A question whose reply cannot be used gets an empty result with a note; its search goes on with its evidence so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

from clew.errors import BudgetError
from clew.models.llm.prompts import chain_of_thought, proximal_triples, sufficiency
from clew.models.llm.prompts.chain_of_thought import NextThought
from clew.models.llm.prompts.proximal_triples import ProximalTriples
from clew.models.llm.prompts.sufficiency import Sufficiency
from clew.protocols import LanguageModel
from clew.types import ExtractedFacts, Failure, Prompt, ReaderInput, Reply, SufficiencyDecision, Thought

T = TypeVar("T", ExtractedFacts, SufficiencyDecision, Thought)


@dataclass(frozen=True, slots=True, eq=False)
class LLMReader:
    """Reads with a language model; the calls of a step are made concurrently."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """The model and the hashes of its prompts."""
        prompts = (proximal_triples, sufficiency, chain_of_thought)
        return ":".join([self.model.name, *(prompt.TEMPLATE.fingerprint for prompt in prompts)])

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the facts that the model extracts from the passages; none without passages."""

        def parse(reply: Reply) -> ExtractedFacts:
            return ExtractedFacts(proximal_triples.parse_facts(cast("ProximalTriples", reply.value)), reply.usage)

        prompts = [
            proximal_triples.build_prompt(i.question, i.passages, i.gist) if i.passages else None for i in inputs
        ]
        return self._complete(prompts, parse, ExtractedFacts)

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return whether the gist answers the question, and if not, the next query."""

        def parse(reply: Reply) -> SufficiencyDecision:
            return replace(sufficiency.parse_decision(cast("Sufficiency", reply.value)), usage=reply.usage)

        prompts = [sufficiency.build_prompt(i.question, i.gist, i.queries) for i in inputs]
        return self._complete(prompts, parse, partial(SufficiencyDecision, enough=False))

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Return the model's next sentence."""

        def parse(reply: Reply) -> Thought:
            return replace(chain_of_thought.parse_thought(cast("NextThought", reply.value)), usage=reply.usage)

        prompts = [chain_of_thought.build_prompt(i.question, i.passages, i.thoughts) for i in inputs]
        return self._complete(prompts, parse, partial(Thought, ""))

    def _complete(
        self, prompts: Sequence[Prompt | None], parse: Callable[[Reply], T], empty: Callable[..., T]
    ) -> list[T]:
        """Complete the prompts; a question without a prompt or a usable reply gets an empty result."""
        replies = iter(self.model.complete([prompt for prompt in prompts if prompt is not None]))
        return [empty() if prompt is None else self._parse_result(next(replies), parse, empty) for prompt in prompts]

    def _parse_result(self, result: Reply | Failure, parse: Callable[[Reply], T], empty: Callable[..., T]) -> T:
        if isinstance(result, Reply):
            return parse(result)
        if isinstance(result.run_error, BudgetError):
            return empty(stop_reason=str(result.run_error), usage=result.usage)
        if result.run_error is not None:
            raise result.run_error
        return empty(notes=(f"{self.model.name}: {result.reason}",), usage=result.usage)
