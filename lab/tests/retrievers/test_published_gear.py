"""`preset=paper` of `gear` and its relatives against the pseudocode, and a test for each fault that was found in it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError
from clew.index import Index
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.llm_reader import LLMReader
from clew.retrievers.agents.settings import Gear, build_expansion
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.types import ExtractedFacts, Fact, Passage, ReaderInput
from lab.tests.retrievers import published_gear as oracle
from tests.models.llm.scripted_model import COST, ScriptedModel
from tests.retrievers.agents.chain import FACTS, NEXT_QUERIES, QUERIES, QUESTION, make_gear_agent
from tests.retrievers.agents.scripted import ScriptedReader
from tests.small_index import result_ids


class ManyFacts(ScriptedReader):
    """A reader that names twelve facts in every reading: of the titles that it reads, or made up."""

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the facts of the passages."""
        self.calls += [("read", state) for state in inputs]
        return [
            ExtractedFacts(tuple(Fact(text, "is read", state.queries[-1]) for text in named_facts(state)))
            for state in inputs
        ]


def named_facts(state: ReaderInput) -> list[str]:
    titles = [passage.title for passage in state.passages]
    return [f"{title} {number}" for number in range(12) for title in titles][:12]


def test_the_gist_notes_all_facts_that_its_reader_names(polar: Index) -> None:
    reader = ManyFacts(FACTS, NEXT_QUERIES)
    (evidence,) = make_gear_agent(polar, reader, GearSettings()).retrieve([QUESTION], 5)
    (capped,) = make_gear_agent(
        polar, ManyFacts(FACTS, NEXT_QUERIES), GearSettings(max_facts=4, max_expanded_facts=2)
    ).retrieve([QUESTION], 5)
    assert [len(step.gist) for step in evidence.steps] == [24] * 4
    assert [len(step.gist) for step in capped.steps] == [6] * 4
    judged = [state for kind, state in reader.calls if kind == "judge"]
    assert [len(state.gist) for state in judged] == [24, 48, 72, 96]


@pytest.mark.parametrize("depth", [None, 3])
def test_later_steps_read_as_many_passages_as_the_first(polar: Index, depth: int | None) -> None:
    reader = ScriptedReader(FACTS, NEXT_QUERIES)
    make_gear_agent(polar, reader, GearSettings(later_read_depth=depth)).retrieve([QUESTION], 5)
    first_reads = [len(state.passages) for kind, state in reader.calls if kind == "read"][::2]
    found = [len(polar.search(query, 10, "bm25").passages) for query in QUERIES]
    assert first_reads == [10, *(min(count, depth or 10) for count in found[1:])]


def test_a_memory_fact_brings_the_passages_ranked_for_its_text(polar: Index) -> None:
    """Also a fact that the index does not hold, which has no triple to be forced to."""
    fact = Fact("Framnæs shipyard", "employed", "nobody whom the corpus knows")
    reader = ScriptedReader({QUESTION: (fact,)}, {})
    settings = GearSettings(steps=1, gist_weight=1e9, link_by_query=True)
    (evidence,) = make_gear_agent(polar, reader, settings).retrieve([QUESTION], 10)
    wanted = result_ids(polar.search(fact.text, 10, "bm25"))
    assert result_ids(evidence)[: len(wanted)] == wanted
    assert result_ids(evidence) != result_ids(
        make_gear_agent(polar, reader, GearSettings(steps=1, gist_weight=1e9)).retrieve([QUESTION], 10)[0]
    )


def test_the_agent_of_the_paper_equals_its_pseudocode(polar: Index) -> None:
    parts = polar.context.with_paths_per_passage(0)
    s = polar.snapshot
    settings = parse_retriever("gear:preset=paper")
    assert isinstance(settings, Gear)
    agent = open_retriever(settings, parts)
    assert isinstance(agent, GearAgent)
    scripted = ManyFacts(FACTS, NEXT_QUERIES)
    agent = GearAgent(agent.base, agent.expansion, scripted, agent.settings)
    (evidence,) = agent.retrieve([QUESTION], len(s.passage_ids))

    facts = [s.triple(t) for t in range(len(s.triples))]
    texts = [f"{t.entities[0]} {t.relation} {t.entities[1]}" for t in facts]
    vectors = polar.context.encoder.encode(texts)
    (question,) = polar.context.encode_questions([QUESTION])
    nodes = s.entity_nodes[s.triples[:, [0, 2]]].tolist()
    triples = [(str(head), text, str(tail)) for (head, tail), text in zip(nodes, texts, strict=True)]
    titles = dict(zip(s.passage_ids, s.titles, strict=True))
    base = open_retriever("bm25", parts)

    def rank(query: str) -> list[str]:
        return result_ids(base.retrieve([query], 100)[0])

    def read(query: str, passages: Sequence[str]) -> list[str]:
        named = [f"{titles[id_]} {number}" for number in range(12) for id_ in passages][:12]
        return [f"{name} is read {query}" for name in named]

    def score(path: Sequence[int]) -> float:
        total = vectors[list(path)].sum(axis=0)
        return (1 + float(total @ question) / float(np.linalg.norm(total))) / 2

    def expanded(facts: Sequence[str]) -> list[str]:
        nearest = (polar.context.encode_questions(list(facts)) @ vectors.T).argmax(axis=1)
        found = oracle.expand(nearest.tolist(), triples, score)
        return list(dict.fromkeys(s.passage_ids[p] for t in found for p in s.triple_passages.row(t)))

    ranking, gist = oracle.agent(QUESTION, NEXT_QUERIES, rank, read, expanded)
    assert [fact for step in evidence.steps for fact in step.gist] == gist
    assert result_ids(evidence)[:20] == ranking[:20]


def test_sync_ge_of_the_paper_fuses_with_equal_weights(polar: Index) -> None:
    base = result_ids(polar.search(QUESTION, 100, "bm25"))
    expansion = build_expansion(polar.context, parse_retriever("sync-ge:preset=paper"))  # type: ignore[arg-type]
    assert (expansion.settings.base_weight, expansion.settings.rank_constant) == (1.0, 60.0)
    assert (expansion.settings.beam.length, expansion.settings.beam.hub) == (2, None)
    everything = np.ones(len(polar.snapshot.passage_ids), dtype=bool)
    (vector,) = expansion.encode_questions([QUESTION])
    starts = polar.snapshot.passage_triple_positions(base[:10])
    more = [polar.snapshot.passage_ids[p] for p in expansion.expand(vector, starts, everything).passages]
    naive = polar.search(QUESTION, 20, parse_retriever("naive-ge:preset=paper"))
    assert result_ids(naive) == oracle.fuse([base, more])[:20]


def test_a_setting_beside_the_preset_counts() -> None:
    paper, mixed = (
        parse_retriever("gear:preset=paper"),
        parse_retriever("gear:preset=paper,width=3,notes=5,prompts=joint"),
    )
    assert (paper.width, paper.notes, paper.prompts, paper.facts) == (10, "all", "separate", None)  # type: ignore[attr-defined]
    assert (mixed.width, mixed.notes, mixed.prompts, mixed.length) == (3, 5, "joint", 2)  # type: ignore[attr-defined]
    model = parse_retriever("sync-ge:preset=paper,reader=openai:x")
    assert model.facts == "all"  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="preset is 'published'; wanted one of ours, paper"):
        parse_retriever("gear:preset=published")


def test_a_memory_of_expanded_passages_needs_an_expansion(polar: Index) -> None:
    with pytest.raises(InputError, match="leaves nothing to note; give notes_from=found"):
        open_retriever(parse_retriever("gear:preset=paper,expand=no"), polar.context)


def test_sufficiency_and_the_next_query_are_asked_for_apart() -> None:
    replies: Iterator[dict[str, Any]] = iter(
        [
            {"answerable": False, "reasoning": "The place is\nmissing."},
            {"answerable": True, "reasoning": "known"},
            {"next_query": " Where is\nVega's yard? "},
        ]
    )
    model = ScriptedModel(lambda _: next(replies))
    state = ReaderInput("Where was it built?", (), (Fact("Palander", "commanded", "Vega"),), ("Where?",))
    missing, known = LLMReader(model, separate=True).judge([state, state])
    assert (missing.enough, missing.reasoning, missing.query) == (
        False,
        "The place is missing.",
        "Where is Vega's yard?",
    )
    assert (known.enough, known.query) == (True, "")
    assert (missing.usage, known.usage) == (COST + COST, COST)
    assert model.batch_sizes == [2, 1]
    assert "The place is missing." in model.prompts[2].content
    assert "Palander | commanded | Vega" in model.prompts[2].content
    assert len({LLMReader(model).fingerprint, LLMReader(model, separate=True).fingerprint}) == 2


def test_the_number_of_facts_of_a_reply_is_a_setting() -> None:
    many = {"triples": [[f"a{n}", "b", "c"] for n in range(50)]}
    passage = ReaderInput("Who?", (Passage("p", "d", "", "A text.", 0, 7),))
    for limit, count in ((20, 20), (None, 50), (30, 30)):
        model = ScriptedModel(lambda _: many)
        (reading,) = LLMReader(model, limit).read([passage])
        assert len(reading.facts) == count
        asked = {20: "at most twenty", None: "most useful first. With", 30: "at most 30"}[limit]
        assert asked in " ".join(model.prompts[0].instructions.split())
