"""IRCoT's loop: thoughts become queries, and the search ends without a new thought."""

import pytest

from clew.index import Index
from clew_lab.retrievers.ircot import IRCoTAgent
from tests.retrievers.agents.chain import GOLD, NEXT_QUERIES, QUERIES, QUESTION
from tests.retrievers.agents.scripted import COST, ScriptedReader
from tests.small_index import result_ids


def agent(index: Index, reader: ScriptedReader, steps: int = 4) -> IRCoTAgent:
    return IRCoTAgent(index.retriever("bm25", paths=0), reader, steps)


def test_each_thought_is_the_next_query(polar: Index) -> None:
    reader = ScriptedReader({}, NEXT_QUERIES)
    (evidence,) = agent(polar, reader).retrieve([QUESTION], 10)
    assert [step.query for step in evidence.steps] == list(QUERIES)
    assert [step.verdict for step in evidence.steps] == ["go on", "go on", "go on", "enough"]
    assert set(GOLD) <= set(result_ids(evidence))
    assert evidence.usage.calls == 4 * COST.calls
    assert [reader_input.thoughts for _, reader_input in reader.calls] == [QUERIES[1:n] for n in (1, 2, 3, 4)]
    assert [reader_input.queries for _, reader_input in reader.calls] == [QUERIES[:n] for n in (0, 1, 2, 3)]


def test_a_repeated_or_answering_thought_ends_the_search(polar: Index) -> None:
    (evidence,) = agent(polar, ScriptedReader({}, NEXT_QUERIES), 2).retrieve([QUESTION], 5)
    assert len(evidence.steps) == 2
    (evidence,) = agent(polar, ScriptedReader({}, {QUESTION: QUESTION + " ", QUESTION + " ": "again"})).retrieve(
        [QUESTION], 5
    )
    assert evidence.steps[-1].verdict == "stopped: the step added nothing"


@pytest.mark.parametrize("calls", [0, 2])
def test_a_spent_budget_ends_the_search_with_its_evidence_so_far(polar: Index, calls: int) -> None:
    (evidence,) = agent(polar, ScriptedReader({}, NEXT_QUERIES, calls)).retrieve([QUESTION], 5)
    assert len(evidence.passages) == 5
    assert evidence.steps[-1].verdict.startswith("stopped: the budget")
    assert len(evidence.steps) == calls + 1
