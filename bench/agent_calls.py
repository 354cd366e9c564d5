"""`gear` beside `ircot` with the same reader: `python bench/agent_calls.py [SET ...] [--bases bm25,pagerank]`.

Both agents run with the local reader. Each time it is asked, the prompt that a language model would be asked in its
place is made and its tokens are estimated, with those of a reply that says what the local reader said; so calls and
tokens are those of the same steps with a model, and recall is that of the local reader.
"""

import argparse
import json
from collections.abc import Sequence

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.models.llm.pricing import estimate_tokens
from clew.models.llm.prompts import chain_of_thought as thought
from clew.models.llm.prompts import proximal_triples, sufficiency
from clew.protocols import AgentReader, Retriever
from clew.retrievers.agents.factory import GRAPH_BASES, build_expansion, open_reader
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.ircot import IRCoTAgent
from clew.retrievers.agents.settings import LOCAL_READER, Gear
from clew.retrievers.registry import open_retriever
from clew.types import Evidence, ExtractedFacts, Prompt, Question, ReaderInput, SufficiencyDecision, Thought
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

CUTOFFS = (5, 10)


class Counting:
    """A reader that counts what a language model in its place would be asked, and would say."""

    def __init__(self, reader: AgentReader) -> None:
        self.calls = self.tokens = 0
        self.name, self.fingerprint = reader.name, reader.fingerprint
        self._reader = reader

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Count one call for each question with passages; a model names twenty facts at most."""
        found = self._reader.read(inputs)
        for sought, reading in zip(inputs, found, strict=True):
            if sought.passages:
                said = [[fact.head, fact.relation, fact.tail] for fact in reading.facts[:20]]
                self._count(
                    proximal_triples.build_prompt(sought.question, sought.passages, sought.gist), {"triples": said}
                )
        return found

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Count one call a question."""
        found = self._reader.judge(inputs)
        for sought, verdict in zip(inputs, found, strict=True):
            said = {"answerable": verdict.enough, "reasoning": verdict.reasoning, "next_query": verdict.query}
            self._count(sufficiency.build_prompt(sought.question, sought.gist, sought.queries), said)
        return found

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Count one call a question."""
        found = self._reader.think(inputs)
        for sought, next_thought in zip(inputs, found, strict=True):
            said = {"thought": next_thought.text, "answered": next_thought.answered}
            self._count(thought.build_prompt(sought.question, sought.passages, sought.thoughts), said)
        return found

    def _count(self, prompt: Prompt, said: object) -> None:
        told = f"{prompt.instructions}{json.dumps(prompt.reply.model_json_schema())}{prompt.content}"
        self.calls += 1
        self.tokens += estimate_tokens(told) + estimate_tokens(json.dumps(said))


def main() -> None:
    """Print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--bases", default="bm25,pagerank")
    arguments = parser.parse_args()
    print(machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
        questions = load_questions(DATA / benchmark.questions)
        rows = []
        for base in arguments.bases.split(","):
            parts = index.context.with_paths_per_passage(0)
            below = open_retriever(base, parts)
            expansion = build_expansion(parts, Gear(base=base))
            later = 1.0 if base in GRAPH_BASES else 0.5
            for label in ("gear", "ircot"):
                reader = Counting(open_reader(parts, LOCAL_READER, Gear().context))
                agent: Retriever = IRCoTAgent(below, reader)
                if label == "gear":
                    agent = GearAgent(below, expansion, reader, GearSettings(later_weight=later))
                found = agent.retrieve([question.text for question in questions], max(CUTOFFS))
                rows.append([f"{label} over {base}", *figures(questions, found), *spent(reader, len(questions))])
        print()
        print_table((name, *(f"R@{k}" for k in CUTOFFS), "steps", "calls", "tokens a question"), rows)


def figures(questions: Sequence[Question], found: Sequence[Evidence]) -> list[str]:
    """Return recall at each cut-off, and steps."""
    shares = []
    for question, evidence in zip(questions, found, strict=True):
        ids = [{scored.item.id, scored.item.document_id} for scored in evidence.passages]
        shares.append([len(set(question.gold) & set().union(*ids[:k])) / len(question.gold) for k in CUTOFFS])
    steps = np.mean([len(evidence.steps) for evidence in found])
    return [*(f"{100 * share:.1f}" for share in np.mean(shares, axis=0)), f"{steps:.1f}"]


def spent(reader: Counting, questions: int) -> list[str]:
    """Return calls and tokens a question."""
    return [f"{reader.calls / questions:.1f}", f"{reader.tokens / questions:,.0f}"]


if __name__ == "__main__":
    main()
