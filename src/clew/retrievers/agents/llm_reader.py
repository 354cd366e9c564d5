"""Reader that calls a language model to extract facts, to judge whether they suffice, and to generate thoughts.

A question whose reply cannot be used gets an empty result with a note; its search goes on with its evidence so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

from clew.errors import BudgetError
from clew.models.llm.prompts import chain_of_thought, proximal_triples, separate_reasoning, sufficiency
from clew.models.llm.prompts.chain_of_thought import NextThought
from clew.models.llm.prompts.proximal_triples import ProximalTriples
from clew.models.llm.prompts.separate_reasoning import Answerability, NextQuery, clean_sentence
from clew.models.llm.prompts.sufficiency import Sufficiency
from clew.protocols import LanguageModel
from clew.types import ExtractedFacts, Failure, Prompt, ReaderInput, Reply, SufficiencyDecision, Thought

T = TypeVar("T", ExtractedFacts, SufficiencyDecision, Thought)


@dataclass(frozen=True, slots=True, eq=False)
class LLMReader:
    """Reads with a language model; the calls of a step are made concurrently."""

    model: LanguageModel
    max_facts: int | None = proximal_triples.MAX_FACTS  # maximum number of facts of one reading; None for all
    separate: bool = False  # whether sufficiency and the next query have a prompt each, as GeAR has them

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """The model and the hashes of its prompts."""
        templates = [proximal_triples.limited_template(self.max_facts), sufficiency.TEMPLATE, chain_of_thought.TEMPLATE]
        if self.separate:
            templates[1:2] = [separate_reasoning.REASON, separate_reasoning.REWRITE]
        return ":".join([self.model.name, *(template.fingerprint for template in templates)])

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the facts that the model extracts from the passages; none without passages."""

        def parse(reply: Reply) -> ExtractedFacts:
            value = cast("ProximalTriples", reply.value)
            return ExtractedFacts(proximal_triples.parse_facts(value, self.max_facts), reply.usage)

        prompts = [
            proximal_triples.build_prompt(i.question, i.passages, i.gist, self.max_facts) if i.passages else None
            for i in inputs
        ]
        return self._complete(prompts, parse, ExtractedFacts)

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return whether the gist answers the question, and if not, the next query."""
        if self.separate:
            return self._add_queries(inputs, self._reason(inputs))

        def parse(reply: Reply) -> SufficiencyDecision:
            return replace(sufficiency.parse_decision(cast("Sufficiency", reply.value)), usage=reply.usage)

        prompts = [sufficiency.build_prompt(i.question, i.gist, i.queries) for i in inputs]
        return self._complete(prompts, parse, partial(SufficiencyDecision, enough=False))

    def _reason(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return whether the gist answers the question, without a next query."""

        def parse(reply: Reply) -> SufficiencyDecision:
            value = cast("Answerability", reply.value)
            return SufficiencyDecision(value.answerable, clean_sentence(value.reasoning), usage=reply.usage)

        prompts = [separate_reasoning.build_reason_prompt(i.question, i.gist) for i in inputs]
        return self._complete(prompts, parse, partial(SufficiencyDecision, enough=False))

    def _add_queries(
        self, inputs: Sequence[ReaderInput], decisions: Sequence[SufficiencyDecision]
    ) -> list[SufficiencyDecision]:
        """Return the decisions with the next query of each that was made and is not enough."""

        def parse(reply: Reply) -> SufficiencyDecision:
            query = clean_sentence(cast("NextQuery", reply.value).next_query)
            return SufficiencyDecision(enough=False, query=query, usage=reply.usage)

        prompts = [
            None
            if decision.enough or decision.stop_reason
            else separate_reasoning.build_rewrite_prompt(i.question, i.gist, decision.reasoning, i.queries)
            for i, decision in zip(inputs, decisions, strict=True)
        ]
        rewritten = self._complete(prompts, parse, partial(SufficiencyDecision, enough=False))
        return [
            replace(
                decision,
                query=more.query,
                usage=decision.usage + more.usage,
                notes=decision.notes + more.notes,
                stop_reason=decision.stop_reason or more.stop_reason,
            )
            for decision, more in zip(decisions, rewritten, strict=True)
        ]

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
