"""Facts as questions: the queried fact is removed, true answers are no negatives, and the objective can be learned."""

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.graph.snapshot.relational_edges import passage_graph, relation_texts
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.gfm.passage_graphs import FEATURES, PassageGraphBuilder, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew.training.data.gfm_examples import GraphView
from clew.training.hyperparameters import RetrievalLoss
from clew_lab.gfm.entity_graphs import EntityGraphBuilder, EntityRanker
from clew_lab.graph.node_graphs import both_relation_texts, entity_graph, inverse_text
from clew_lab.graph.synonyms import load_synonyms
from clew_lab.training.hyperparameters import CompletionRecipe
from clew_lab.training.objectives.kg_completion import CompletionFacts, KGCompletion


def make_facts(index: Index, entities: bool, nodes: int = 60) -> CompletionFacts:
    parts, s = index.context, index.snapshot
    graphs: QuestionGraphBuilder
    if entities:
        graphs = EntityGraphBuilder(entity_graph(s, load_synonyms(parts)), s, nodes)
    else:
        graphs = PassageGraphBuilder(passage_graph(s), GraphWalk(parts.scope, parts.lexical, GraphWalkConfig()), nodes)
    texts = relation_texts(s)
    relations = parts.encode_texts(both_relation_texts(s) if entities else relation_texts(s))
    ranker = EntityRanker(s, weighted=True) if entities else PassageRanker()
    ground = GraphView(s, graphs, ranker, parts.encoder, relations, parts.encode_texts, entities)
    return CompletionFacts(ground, parts.encode_texts([*texts, *map(inverse_text, texts)]), nodes)


@pytest.fixture(scope="module", params=[True, False], ids=["entities", "passages"])
def facts(request: pytest.FixtureRequest, polar: Index) -> CompletionFacts:
    return make_facts(polar, request.param)


def test_the_queried_fact_is_not_in_the_graph(facts: CompletionFacts) -> None:
    edges = facts.edges
    receivers = np.repeat(np.arange(edges.node_count), np.diff(edges.indptr))
    for edge in facts.queryable_edges[:: len(facts.queryable_edges) // 40].tolist():
        graph = facts.question_graph(edge)
        start, target = int(edges.senders[edge]), facts.target(edge)
        back = (int(edges.relations[edge]) + edges.relation_count) % (2 * edges.relation_count)
        seen = {
            (int(graph.nodes[s]), int(edges.relations[e]), int(graph.nodes[r]))
            for s, r, e in zip(graph.senders, graph.receivers, graph.edges, strict=True)
        }
        assert (start, int(edges.relations[edge]), target) not in seen
        assert (target, back, start) not in seen
        assert {start, target} <= set(graph.nodes.tolist())
        assert graph.nodes[graph.seeds > 0].tolist() == [start]
        whole = {
            (int(edges.senders[e]), int(edges.relations[e]), int(receivers[e]))
            for e in np.flatnonzero(np.isin(edges.senders, graph.nodes) & np.isin(receivers, graph.nodes))
        }
        assert whole - seen == {(start, int(edges.relations[edge]), target), (target, back, start)}


def test_true_answers_are_all_that_the_graph_states(facts: CompletionFacts) -> None:
    edges = facts.edges
    receivers = np.repeat(np.arange(edges.node_count), np.diff(edges.indptr))
    for edge in facts.queryable_edges[:: len(facts.queryable_edges) // 40].tolist():
        same = (edges.senders == edges.senders[edge]) & (edges.relations == edges.relations[edge])
        assert facts.true_answers(edge).tolist() == sorted(set(receivers[same].tolist()))
        graph = facts.question_graph(edge)
        others = graph.nodes[KGCompletion._negative_nodes(facts, edge, graph)]
        assert not set(others.tolist()) & {*facts.true_answers(edge).tolist(), int(edges.senders[edge])}


def test_tails_are_queried_by_the_relation_and_heads_by_its_inverse(polar: Index, facts: CompletionFacts) -> None:
    s, edges = polar.snapshot, facts.edges
    texts = relation_texts(s)
    for edge in facts.queryable_edges[:: len(facts.queryable_edges) // 20].tolist():
        relation = int(edges.relations[edge])
        tail = relation >= edges.relation_count
        text = texts[relation - edges.relation_count] if tail else inverse_text(texts[relation])
        np.testing.assert_array_equal(facts.question_vector(edge), polar.context.encode_texts([text])[0])


@pytest.mark.slow
def test_training_reduces_the_loss(facts: CompletionFacts) -> None:
    torch.manual_seed(0)
    own = not facts._view.targets_entities
    shape = QueryGNNSettings(
        16, facts.relations.shape[1], 2, len(FEATURES) if own else 0, prior=own, learned_inverse=own
    )
    recipe = CompletionRecipe(steps=30, batch=4, negatives=8, held_out=12, nodes=60)
    objective = KGCompletion([facts], RetrievalLoss(0.5, "listwise" if own else "code"), recipe)
    model = QueryGNN(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses: list[float] = []
    for _ in range(3):
        for batch in objective.batches(0):
            loss = objective.loss(model, batch)
            if loss is not None:
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                losses.append(float(loss.detach()))
    assert np.mean(losses[-20:]) < np.mean(losses[:20])
    figures = objective.validate(model)
    assert list(figures) == ["reciprocal rank", "hits@10"]
    assert all(0 <= value <= 1 for value in figures.values())


def test_batches_depend_on_the_seed_and_exclude_held_out_facts(facts: CompletionFacts) -> None:
    objective = KGCompletion([facts], RetrievalLoss(1.0), CompletionRecipe(steps=20, batch=4, held_out=30, nodes=60))
    one, same, other = (list(objective.batches(seed)) for seed in (1, 1, 2))
    assert [b.edges for b in one] == [b.edges for b in same] != [b.edges for b in other]
    held_out = {b.edges[0] for b in objective._held_out}
    assert held_out
    assert not held_out & {edge for b in one for edge in b.edges}
    first, second = objective.halve(one[0]) or (one[0], one[0])
    assert first.edges + second.edges == one[0].edges
    assert objective.halve(objective._held_out[0]) is None


def test_an_index_without_facts_is_refused(empty_index: Index) -> None:
    facts = make_facts(empty_index, entities=True)
    with pytest.raises(InputError, match="no facts to learn from"):
        KGCompletion([facts], RetrievalLoss(1.0), CompletionRecipe())


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"negatives": 0}, {"held_out": -1}])
def test_recipes_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .*: wanted at least [01]"):
        CompletionRecipe(**wrong)


def test_validation_facts_are_never_queried_from_either_end(facts: CompletionFacts) -> None:
    objective = KGCompletion([facts], RetrievalLoss(1.0), CompletionRecipe(held_out=50))
    held_out = {edge for masked in objective._held_out for edge in masked.edges}
    ((_, training),) = objective._training
    assert len(held_out) == 50
    assert not set(facts.fact_ids[list(held_out)].tolist()) & set(facts.fact_ids[training].tolist())
    edges, receivers = facts.edges, np.repeat(np.arange(facts.edges.node_count), np.diff(facts.edges.indptr))
    for edge in list(held_out)[:20]:
        back = (int(edges.relations[edge]) + edges.relation_count) % (2 * edges.relation_count)
        other = (edges.senders == receivers[edge]) & (receivers == edges.senders[edge]) & (edges.relations == back)
        assert facts.fact_ids[np.flatnonzero(other)].tolist() == [facts.fact_ids[edge]]
