"""The baselines `rog`, `tog` and `gnn-rag`, each held to its definition in plain Python on small random graphs."""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from clew.errors import InputError
from clew.index import Index
from clew.query.linking import mask_names
from clew.retrievers.frag.text_rankers import LanguageModelScorer, path_text
from clew.retrievers.registry import parse_retriever
from clew.text.bm25 import BM25Scorer
from clew.types import Evidence
from clew_lab.retrievers.gnn_rag import GNNRAGRetriever
from clew_lab.retrievers.rog import RoGRetriever
from clew_lab.retrievers.tog import CountedModel, ToGRetriever
from lab.tests.retrievers.test_published_frag import hops_from, random_triples, steps_from
from tests.kinship import graph_of
from tests.models.llm.scripted_model import ScriptedModel

Triple = tuple[str, str, str]
Steps = tuple[tuple[str, bool], ...]
"""Relations, and whether each is walked from tail to head."""
START = "Person A"
QUESTION = "what is the profession of the father of [Person A]"
_T = TypeVar("_T")


def open_unchecked(index: Index, text: str, kind: type[_T]) -> _T:
    """Open a retriever without the checks of a package that is not Clew."""
    checked = index.retriever(parse_retriever(text))
    retriever = getattr(checked, "retriever", checked)
    assert isinstance(retriever, kind)
    return retriever


def paths_of(evidence: Evidence) -> list[tuple[Triple, ...]]:
    return [tuple((t.head, t.relation, t.tail) for t in path.item) for path in evidence.paths]


def simple_walks(triples: Sequence[Triple], hops: int) -> dict[Steps, list[tuple[str, ...]]]:
    """Return the entities of all simple paths from the start, by their relations."""
    found: dict[Steps, list[tuple[str, ...]]] = defaultdict(list)
    stack: list[tuple[tuple[str, ...], Steps]] = [((START,), ())]
    while stack:
        nodes, steps = stack.pop()
        if steps:
            found[steps].append(nodes)
        if len(steps) < hops:
            stack += [
                ((*nodes, other), (*steps, (relation, back)))
                for other, relation, back in steps_from(triples, nodes[-1], directed=False)
                if other not in nodes
            ]
    return found


def as_triples(nodes: Sequence[str], steps: Steps) -> tuple[Triple, ...]:
    return tuple(
        (b, relation, a) if back else (a, relation, b)
        for a, b, (relation, back) in zip(nodes, nodes[1:], steps, strict=False)
    )


@pytest.mark.parametrize("seed", range(6))
def test_rog_returns_all_paths_of_the_best_relation_paths(tmp_path: Path, seed: int) -> None:
    triples = random_triples(seed)
    index = graph_of(tmp_path, triples)
    rog = open_unchecked(index, "rog:ranker=bi-encoder,hops=3,beam=1000,plans=2,paths=1000", RoGRetriever)
    topics = index.context.scope.linker.find_topics(QUESTION, ())
    walks = simple_walks(triples, 3)
    number = {name: place for place, name in enumerate(index.snapshot.relations)}
    code_of = {steps: tuple(2 * number[relation] + back for relation, back in steps) for steps in walks}
    everyone = np.unique([code for codes in code_of.values() for code in codes])
    score = rog.planner.make_scorer(mask_names(topics.text, topics.spans), everyone.astype(np.int32))
    ranked = sorted(walks, key=lambda steps: (-float(score([code_of[steps]])[0]), len(steps), code_of[steps]))
    evidence, plans = rog.retrieve_with_trace([QUESTION], [()], 5)[0]
    assert [plan.relation_path for plan in plans] == [code_of[steps] for steps in ranked[:2]]
    wanted = [sorted(as_triples(nodes, steps) for nodes in walks[steps]) for steps in ranked[:2]]
    got = paths_of(evidence)
    assert sorted(got[: len(wanted[0])]) == wanted[0]
    assert sorted(got[len(wanted[0]) :]) == wanted[1]


def shares(scores: Sequence[float]) -> list[float]:
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def think_on_graph(triples: Sequence[Triple], relations: list[str], question: str) -> dict[tuple[Triple, ...], float]:
    """Return the beams of three depths of width 3, with the geometric means of their steps' scores."""
    scorer = BM25Scorer()
    beam: list[tuple[tuple[str, ...], Steps, float]] = [((START,), (), 1.0)]
    found: dict[tuple[Triple, ...], float] = {}
    for _ in range(3):
        ways: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
        for number, (nodes, _, _) in enumerate(beam):
            for other, relation, back in steps_from(triples, nodes[-1], directed=False):
                if other not in nodes:
                    ways[number, relations.index(relation), back].append(other)
        if not ways:
            break
        pairs = sorted(ways)
        names = list(dict.fromkeys(relations[relation] for _, relation, _ in pairs))
        by_name = dict(zip(names, scorer.score(question, names).tolist(), strict=True))
        by_pair = shares([by_name[relations[relation]] for _, relation, _ in pairs])
        scored = [(beam[pair[0]][2] * share, pair) for share, pair in zip(by_pair, pairs, strict=True)]
        best = sorted(scored, key=lambda item: (-round(item[0], 12), item[1]))[:3]
        ends = [
            ((*beam[n][0], other), (*beam[n][1], (relations[relation], back)), score)
            for score, (n, relation, back) in best
            for other in ways[n, relation, back]
        ]
        texts = [path_text(nodes, [r for r, _ in steps], [b for _, b in steps]) for nodes, steps, _ in ends]
        distinct = list(dict.fromkeys(texts))
        by_text = dict(zip(distinct, scorer.score(question, distinct).tolist(), strict=True))
        by_end = shares([by_text[text] for text in texts])
        beam = [(nodes, steps, score * share) for (nodes, steps, score), share in zip(ends, by_end, strict=True)]
        order = {triple: place for place, triple in enumerate(triples)}
        beam.sort(
            key=lambda item: (
                -round(item[2], 12),
                [2 * order[t] + b for t, (_, b) in zip(as_triples(*item[:2]), item[1], strict=True)],
            )
        )
        beam = beam[:3]
        for nodes, steps, score in beam:
            found[as_triples(nodes, steps)] = score ** (1 / len(steps))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_tog_is_the_beam_of_its_definition(tmp_path: Path, seed: int) -> None:
    triples = random_triples(seed)
    index = graph_of(tmp_path, triples)
    s = index.snapshot
    stored = [(s.entities[h], s.relations[r], s.entities[t]) for h, r, t in s.triples.tolist()]  # by their numbers
    tog = open_unchecked(index, "tog:ranker=bm25", ToGRetriever)
    evidence, _ = tog.retrieve_with_trace([QUESTION], [()], 5)[0]
    question = index.context.scope.linker.find_topics(QUESTION, ()).text
    wanted = think_on_graph(stored, list(s.relations), question)
    assert dict(zip(paths_of(evidence), [path.score for path in evidence.paths], strict=True)) == pytest.approx(wanted)
    assert len(evidence.paths) <= tog.path_limit == 9


@pytest.mark.parametrize("seed", range(6))
def test_gnn_rag_leads_by_shortest_paths_to_the_likeliest_entities(tmp_path: Path, seed: int) -> None:
    triples = random_triples(seed)
    index = graph_of(tmp_path, triples)
    gnn = open_unchecked(index, "gnn-rag:candidates=4,hops=3", GNNRAGRetriever)
    evidence, selection = gnn.retrieve_with_trace([QUESTION], [()], 5)[0]
    assert selection is not None
    names = [index.snapshot.entities[int(entity)] for entity in selection.local.nodes]
    logits = gnn.network.node_scores(selection.query).astype(np.float64).tolist()
    by_name = dict(zip(names, shares(logits), strict=True))
    likeliest = sorted((name for name in names if name != START), key=lambda n: (-by_name[n], names.index(n)))[:4]
    distance = hops_from(triples, START, 3)
    ends = []
    for path in paths_of(evidence):
        place = START
        for head, _, tail in path:
            assert place in (head, tail)
            place = tail if head == place else head
        assert len(path) == distance[place]
        ends.append(place)
    assert ends == [name for name in likeliest if name in distance]
    assert [path.score for path in evidence.paths] == pytest.approx([by_name[name] for name in ends])


def test_a_language_model_picks_and_its_calls_are_counted(tmp_path: Path) -> None:
    index = graph_of(tmp_path, [(START, "father", "Person B"), (START, "spouse", "Person C")])
    model = ScriptedModel(lambda prompt: {"score": 90 if "father" in prompt.content else 5})
    plain = open_unchecked(index, "tog:ranker=bm25", ToGRetriever)
    counted = CountedModel(model)
    tog = ToGRetriever(
        plain.scope, plain.lexical, plain.graph, LanguageModelScorer(counted), 10.0, plain.settings, counted
    )
    first, second = tog.retrieve(["who is it, [Person A]?"] * 2, 5)
    assert paths_of(first)[0] == ((START, "father", "Person B"),)
    assert first.usage.calls == second.usage.calls == len(model.prompts) // 2 > 0
    assert counted.take_usage().calls == 0


@pytest.mark.parametrize("name", ["rog", "tog", "gnn-rag"])
def test_a_question_about_nothing_and_an_entity_without_facts(tmp_path: Path, name: str) -> None:
    index: Index = graph_of(tmp_path, [(START, "father", "Person B")])
    retriever = index.retriever(name)
    (nothing,) = retriever.retrieve(["who is who?"], 5)
    assert nothing.paths == ()
    assert any("names no entity" in note for note in nothing.notes)
    (found,) = retriever.retrieve(["who is the father of [Person A]?"], 5)
    assert paths_of(found) == [((START, "father", "Person B"),)]


@pytest.mark.parametrize("text", ["tog:ranker=trained", "tog:ranker=llm:", "tog:width=0", "rog:plans=0"])
def test_settings_that_mean_nothing_are_refused(tmp_path: Path, text: str) -> None:
    index = graph_of(tmp_path, [(START, "father", "Person B")])
    with pytest.raises(InputError, match=r"tog|rog"):
        index.retriever(parse_retriever(text))
