"""GeAR's loop: a chain of four articles step by step, its gist, its ends, and budgets."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from clew.index import Index
from clew.protocols import Retriever
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.settings import build_expansion
from clew.retrievers.registry import open_retriever
from clew.types import Evidence, Filter, Usage
from clew_lab.retrievers.graph_expansion import NaiveGE
from tests.retrievers.agents.chain import FACTS, GOLD, NEXT_QUERIES, QUERIES, QUESTION, make_gear_agent
from tests.retrievers.agents.scripted import COST, ScriptedReader
from tests.small_index import result_ids


def test_a_chain_of_four_articles_is_followed_step_by_step(polar: Index) -> None:
    reader = ScriptedReader(FACTS, NEXT_QUERIES)
    (evidence,) = make_gear_agent(polar, reader).retrieve([QUESTION], 10)
    assert set(GOLD) <= set(result_ids(evidence))
    steps = evidence.steps
    assert [step.query for step in steps] == list(QUERIES)
    assert [step.verdict for step in steps] == ["go on", "go on", "go on", "enough"]
    assert [step.read for step in steps] == [tuple(f.text for f in FACTS[query]) for query in QUERIES]
    assert [step.gist for step in steps] == [tuple(f.text for f in FACTS[query]) for query in QUERIES]
    assert [step.reasoning for step in steps] == [*(f"then {query}" for query in QUERIES[1:]), "known"]
    assert all(len(step.linked) == 1 for step in steps)
    assert "Perce Blackborow" in steps[0].linked[0]
    actual: set[str] = set()
    for step in steps:
        assert not actual & set(step.new)
        actual |= set(step.new)
    assert evidence.notes[-4:] == tuple(note for note in evidence.notes if note.startswith("step "))
    paths, scores = [path.item for path in evidence.paths], [path.score for path in evidence.paths]
    assert 0 < len(paths) == len(set(paths)) <= 10
    assert scores == sorted(scores, reverse=True)
    tokens = Usage(0.0, 3 * COST.calls, 3 * COST.input_tokens, 3 * COST.output_tokens)
    assert [replace(step.usage, seconds=0.0) for step in steps] == [tokens] * 4
    assert evidence.usage.calls == 12


def test_the_reader_gets_the_question_the_queries_and_the_gist(polar: Index) -> None:
    reader = ScriptedReader(FACTS, NEXT_QUERIES)
    make_gear_agent(polar, reader).retrieve([QUESTION], 5)
    assert [what for what, _ in reader.calls] == ["read", "read", "judge"] * 4
    for number in range(4):
        first, second, judged = (reader_input for _, reader_input in reader.calls[3 * number : 3 * number + 3])
        assert first.question == second.question == judged.question == QUESTION
        assert first.queries == QUERIES[: number + 1]
        known_ids = [fact.text for query in QUERIES[:number] for fact in FACTS[query]]
        assert [fact.text for fact in first.gist] == [fact.text for fact in second.gist] == known_ids
        assert [fact.text for fact in judged.gist] == [*known_ids, *(fact.text for fact in FACTS[QUERIES[number]])]
        assert all(fact.triple >= 0 for fact in judged.gist)
        assert not {passage.id for passage in first.passages} & {passage.id for passage in second.passages}
        assert 0 < len(first.passages) <= 10


def test_a_step_that_adds_nothing_ends_the_search(polar: Index) -> None:
    circle = {QUERIES[0]: QUERIES[0] + " ", QUERIES[0] + " ": QUERIES[0] + "  "}
    reader = ScriptedReader(dict.fromkeys(circle, FACTS[QUERIES[0]]), circle)
    (evidence,) = make_gear_agent(polar, reader).retrieve([QUESTION], 5)
    assert [step.verdict for step in evidence.steps] == ["go on", "stopped: the step added nothing"]


def test_a_repeated_query_ends_the_search(polar: Index) -> None:
    (evidence,) = make_gear_agent(polar, ScriptedReader(FACTS, {QUESTION: QUESTION})).retrieve([QUESTION], 5)
    assert [step.verdict for step in evidence.steps] == ["stopped: no new query"]


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 4])
def test_a_spent_budget_ends_the_search_with_its_evidence_so_far(polar: Index, calls: int) -> None:
    (evidence,) = make_gear_agent(polar, ScriptedReader(FACTS, NEXT_QUERIES, calls)).retrieve([QUESTION], 5)
    assert len(evidence.passages) == 5
    assert evidence.steps[-1].verdict == "stopped: the budget of 3 calls is spent"
    assert len(evidence.steps) == 1 + calls // 3
    assert "perce-blackborow.md" in result_ids(evidence)


def test_questions_take_steps_together_and_end_separately(polar: Index) -> None:
    other = "Where was Robert Bartlett born?"
    reader = ScriptedReader(FACTS, NEXT_QUERIES)
    batch = make_gear_agent(polar, reader).retrieve([QUESTION, "", other], 5)
    alone = [make_gear_agent(polar, ScriptedReader(FACTS, NEXT_QUERIES)).retrieve([q], 5)[0] for q in (QUESTION, other)]
    assert [result_ids(batch[0]), result_ids(batch[2])] == [result_ids(e) for e in alone]
    assert [len(evidence.steps) for evidence in batch] == [4, 0, 1]


def test_the_gists_passages_count_in_the_final_ranking(polar: Index) -> None:
    """The town's article states the last fact of the gist, and its rank rises with the weight of the gist."""
    positions = []
    for weight in (0.0, 0.1, 5.0):
        agent = make_gear_agent(polar, ScriptedReader(FACTS, NEXT_QUERIES), GearSettings(gist_weight=weight))
        positions.append(
            [scored.score for scored in agent.retrieve([QUESTION], 10)[0].passages if scored.item.id in GOLD]
        )
    assert sum(positions[0]) < sum(positions[1]) < sum(positions[2])


def test_the_usage_of_the_base_is_part_of_a_step(polar: Index) -> None:
    class Dear:
        def __init__(self, base: Retriever) -> None:
            self.base = base

        def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
            return [replace(e, usage=COST) for e in self.base.retrieve(questions, k, where)]

    parts = polar.context.with_paths_per_passage(0)
    base = Dear(open_retriever("bm25", parts))
    agent = GearAgent(
        base, build_expansion(parts, NaiveGE()), ScriptedReader(FACTS, NEXT_QUERIES), GearSettings(steps=1)
    )
    (evidence,) = agent.retrieve([QUESTION], 5)
    assert evidence.usage.calls == 4


def test_expansion_and_gist_can_be_switched_off(polar: Index) -> None:
    for settings in (GearSettings(expand=False), GearSettings(gist=False), GearSettings(gist_weight=1.0)):
        (evidence,) = make_gear_agent(polar, ScriptedReader(FACTS, NEXT_QUERIES), settings).retrieve([QUESTION], 10)
        assert {"perce-blackborow.md", "sandefjord.md"} <= set(result_ids(evidence))
        assert bool(evidence.paths) == settings.expand
