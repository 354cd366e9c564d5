"""Compare `gear` and `ircot` with the same reader: `python bench/agent_calls.py [SET ...] [--bases bm25,pagerank]`.

Both agents run with the local reader. At each of its calls, the prompt for a language model in its place is built, and
the tokens of the prompt and of an equivalent reply are estimated. Calls and tokens are thus those of the same steps
with a model, while recall is that of the local reader.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.models.llm.pricing import estimate_tokens
from clew.models.llm.prompts import chain_of_thought, proximal_triples, sufficiency
from clew.protocols import AgentReader
from clew.retrievers.agents.gear import GearAgent
from clew.retrievers.agents.ircot import IRCoTAgent
from clew.retrievers.agents.settings import Gear, IRCoT
from clew.retrievers.registry import open_retriever
from clew.types import Evidence, ExtractedFacts, Prompt, Question, ReaderInput, SufficiencyDecision, Thought
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

CUTOFFS = (5, 10)


class CountingReader:
    """Wrapper that counts the calls and tokens of a language model in the place of a reader."""

    def __init__(self, reader: AgentReader) -> None:
        self.calls = self.tokens = 0
        self.name, self.fingerprint = reader.name, reader.fingerprint
        self._reader = reader

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Count one call for each question with passages; a model lists at most twenty facts."""
        results = self._reader.read(inputs)
        for state, extracted in zip(inputs, results, strict=True):
            if state.passages:
                triples = [[fact.head, fact.relation, fact.tail] for fact in extracted.facts[:20]]
                prompt = proximal_triples.build_prompt(state.question, state.passages, state.gist)
                self._count(prompt, {"triples": triples})
        return results

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Count one call per question."""
        results = self._reader.judge(inputs)
        for state, decision in zip(inputs, results, strict=True):
            reply = {"answerable": decision.enough, "reasoning": decision.reasoning, "next_query": decision.query}
            self._count(sufficiency.build_prompt(state.question, state.gist, state.queries), reply)
        return results

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Count one call per question."""
        results = self._reader.think(inputs)
        for state, thought in zip(inputs, results, strict=True):
            reply = {"thought": thought.text, "answered": thought.answered}
            self._count(chain_of_thought.build_prompt(state.question, state.passages, state.thoughts), reply)
        return results

    def _count(self, prompt: Prompt, reply: Mapping[str, object]) -> None:
        text = f"{prompt.instructions}{json.dumps(prompt.reply.model_json_schema())}{prompt.content}"
        self.calls += 1
        self.tokens += estimate_tokens(text) + estimate_tokens(json.dumps(reply))


def main() -> None:
    """Print one table per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--bases", default="bm25,pagerank")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = load_questions(DATA / benchmark.questions)
        rows = []
        for base in arguments.bases.split(","):
            context = index.context.with_paths_per_passage(0)
            for record in (Gear(base=base), IRCoT(base=base)):
                opened = open_retriever(record, context)
                assert isinstance(opened, GearAgent | IRCoTAgent)
                reader = CountingReader(opened.reader)
                agent = replace(opened, reader=reader)
                evidence = agent.retrieve([question.text for question in questions], max(CUTOFFS))
                calls, tokens = reader.calls / len(questions), reader.tokens / len(questions)
                figures = format_figures(questions, evidence)
                rows.append([f"{record.label} over {base}", *figures, f"{calls:.1f}", f"{tokens:,.0f}"])
        print()
        print_table((name, *(f"R@{k}" for k in CUTOFFS), "steps", "calls", "tokens per question"), rows)


def format_figures(questions: Sequence[Question], evidence: Sequence[Evidence]) -> list[str]:
    """Return mean recall at each cut-off and the mean number of steps."""
    pairs = list(zip(evidence, questions, strict=True))
    recalls = [float(np.mean([gold_recall(one, question, k) for one, question in pairs])) for k in CUTOFFS]
    return [*(f"{100 * recall:.1f}" for recall in recalls), f"{np.mean([len(one.steps) for one in evidence]):.1f}"]


if __name__ == "__main__":
    main()
