"""Training on a reader's feedback: the direction of each objective, and its gradient against the exact one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph, TextualGraph, induced_subgraph
from clew.retrievers.subgraph.gcn import make_node_batch
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.hyperparameters import Recipe
from clew.training.loop import train
from clew_lab.datasets.graph_datasets import GraphQuestion
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from clew_lab.nn.subgraph_policy import NodeBatch, build_scorer, sample_without_replacement, selection_log_probability
from clew_lab.training.data.graph_questions import EncodedQuestion
from clew_lab.training.hyperparameters import FeedbackObjective, FeedbackRecipe
from clew_lab.training.objectives.subgraph_feedback import (
    PAPER,
    POLICY,
    SubgraphFeedback,
    paper_loss,
    reinforce_loss,
)
from clew_lab.training.recipes.selection_recipe import published_selection_recipe
from clew_lab.training.trainable_parameters import SelectorAndReader
from tests.answering.graph_readers.graph_contexts import WIDTH, unit_vectors
from tests.models.tiny_llama import write_tiny_llama

if TYPE_CHECKING:
    from clew.types import FloatArray

NAMES = ("start", "left", "right", "treasure", "well", "barn")
EDGES = ((0, "path", 1), (0, "road", 2), (2, "gate", 3), (1, "lane", 4), (4, "lane", 5))
HELPS = (0, 1)
SETTINGS = ScorerSettings(width=8)


def make_question_graph(
    names: Sequence[str] = NAMES, topics: Sequence[int] = (0,), question: str = "question"
) -> GraphQuery:
    ends = np.array([(source, target) for source, _, target in EDGES], dtype=np.int32)
    relations = [relation for _, relation, _ in EDGES]
    distinct = list(dict.fromkeys(relations))
    rows = np.array([distinct.index(relation) for relation in relations], dtype=np.int32)
    graph = EncodedGraph(TextualGraph(names, ends, relations), unit_vectors(names), unit_vectors(distinct), rows)
    even = np.zeros(len(distinct), dtype=np.float32)  # so that the untrained walk goes either way
    return GraphQuery(graph, unit_vectors([question])[0], np.array(topics, dtype=np.int32), even)


class EdgeReader:
    """Has a low loss if the context contains the wanted nodes, and a high one otherwise."""

    name = "edge"
    fingerprint = "edge"

    def __init__(self, wanted: tuple[int, ...] = HELPS) -> None:
        self.wanted = wanted
        self.calls = 0

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> "FloatArray":
        self.calls += 1
        worse = {"worse": 2.0}
        found = [
            worse.get(answer, 0.0) + (0.1 if set(self.wanted) <= set(context.subgraph.nodes.tolist()) else 3.0)
            for context, answer in zip(contexts, answers, strict=True)
        ]
        return np.array(found, dtype=np.float32)

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        return ["" for _ in contexts]


def make_example(graph: GraphQuery, text: str, answers: tuple[str, ...]) -> EncodedQuestion:
    return EncodedQuestion(GraphQuestion(text, 0, text, answers), graph)


EXAMPLE = make_example(make_question_graph(), "What is right?", ("right",))


def make_objective(reader: EdgeReader, objective: FeedbackObjective = POLICY, budget: int = 2) -> SubgraphFeedback:
    recipe = FeedbackRecipe(objective=objective, budget=budget, batch=2, draws=16)
    return SubgraphFeedback([EXAMPLE] * 6, [EXAMPLE], reader, SETTINGS, recipe)


def selection_probability(model: torch.nn.Module, nodes: Sequence[int], budget: int = 2) -> float:
    """Return the probability of sampling some nodes, in any order."""
    with torch.no_grad():
        scores, ends = model(NodeBatch.from_input(make_node_batch([EXAMPLE.question_graph], SETTINGS)))
        some = [
            selection_log_probability(scores, ends[0], torch.tensor(order), budget).exp()
            for order in permutations(nodes)
        ]
        return float(torch.stack(some).sum())


def silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def take_steps(model: torch.nn.Module, objective: SubgraphFeedback, count: int, rate: float) -> None:
    """Take optimizer steps; the loop would stop once all samples have equal costs."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for seed in range(count):
        loss = objective.loss(model, (seed, [EXAMPLE] * 4))
        if loss is not None:
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


# Direction.


def test_policy_raises_the_probability_of_the_selection_that_helps() -> None:
    model, objective = build_scorer(SETTINGS, WIDTH, 0), make_objective(EdgeReader())
    before = selection_probability(model, HELPS), objective.validate(model)["minus loss"]
    assert before[0] == pytest.approx(0.132, abs=0.01)
    assert before[1] == pytest.approx(-3.0)
    take_steps(model, objective, 60, 0.05)
    assert selection_probability(model, HELPS) > 0.9
    assert objective.validate(model)["minus loss"] == pytest.approx(-0.1)


def test_paper_raises_the_probability_of_an_unhelpful_selection(tmp_path: Path) -> None:
    """With the published loss, the first selection becomes ever likelier, and the helpful one never is selected."""
    reader = EdgeReader((1, 4))
    model = build_scorer(SETTINGS, WIDTH, 0)
    with torch.no_grad():
        scores, ends = model(NodeBatch.from_input(make_node_batch([EXAMPLE.question_graph], SETTINGS)))
    selected = sample_without_replacement(scores, ends[0], 2, None).tolist()
    assert set(selected) != set(reader.wanted)
    before, helping = selection_probability(model, selected), selection_probability(model, reader.wanted)
    objective = make_objective(reader, PAPER)
    take_steps(model, objective, 10, 0.02)
    assert selection_probability(model, selected) > before + 0.05
    assert selection_probability(model, reader.wanted) < helping
    done = train(model, objective, Recipe(epochs=3, rate=0.01, warmup=1), tmp_path, silent)
    assert done.figures["minus loss"] == pytest.approx(-3.0)


# The gradient, against the sum over all selections.


def cost(order: Sequence[int]) -> float:
    """Return the cost of a selection, an arbitrary function of its nodes."""
    return float(sum((node + 1) ** 2 for node in order) % 5) + 0.3 * len(order)


@pytest.mark.parametrize("draws", [2, 4])
def test_policy_has_the_gradient_of_the_expected_cost(draws: int) -> None:
    scores, end = torch.tensor([0.5, -0.7, 0.2, 0.0], requires_grad=True), torch.tensor(-torch.inf)
    every = [torch.tensor(order) for order in permutations(range(4), 2)]
    expected = torch.stack(
        [selection_log_probability(scores, end, one, 2).exp() * cost(one.tolist()) for one in every]
    ).sum()
    (exact,) = torch.autograd.grad(expected, scores)
    generator = torch.Generator().manual_seed(1)
    gradients = []
    for _ in range(1200 // draws):
        orders = [sample_without_replacement(scores, end, 2, generator) for _ in range(draws)]
        costs = torch.tensor([[cost(order.tolist()) for order in orders]])
        loss = reinforce_loss([scores], end[None], [orders], costs, 2)
        (gradient,) = (torch.zeros(4),) if loss is None else torch.autograd.grad(loss, scores)
        gradients.append(gradient.numpy())
    table = np.stack(gradients)
    error = table.std(axis=0, ddof=1) / np.sqrt(len(table))
    assert float(np.abs(exact.numpy()).max()) > 5 * float(error.max())
    assert bool((np.abs(table.mean(axis=0) - exact.numpy()) < 4 * error).all())


def test_equal_costs_leave_nothing_to_learn() -> None:
    scores = torch.zeros(4, requires_grad=True)
    orders = [[torch.tensor([0, 1]), torch.tensor([2, 3])]]
    assert reinforce_loss([scores], torch.tensor([-torch.inf]), orders, torch.ones(1, 2), 2) is None
    # The mean of seven times 0.1 is not 0.1 in these numbers.
    assert reinforce_loss([scores], torch.tensor([-torch.inf]), [orders[0] * 4], torch.full((1, 8), 0.1), 2) is None


def test_the_paper_loss_is_the_published_formula() -> None:
    rows = [[0.4, 0.1, -0.2, 0.3, 0.0, 0.2], [1.0, -1.0, 0.5, 0.0, 0.2, -0.3], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]]
    graph = EXAMPLE.question_graph.graph.graph
    parts = [induced_subgraph(graph, nodes) for nodes in ([0, 2, 3], [0, 1, 4, 5], [1, 3])]
    losses = [0.7, 2.5, 1.5]
    wanted = 0.0
    for row, part, own in zip(rows, parts, losses, strict=True):
        shares = np.exp(row) / np.exp(row).sum()
        pairs = np.array([shares[source] * shares[target] for source, _, target in EDGES])
        pairs /= pairs.sum()
        nodes = sum(np.log(shares[node] + 1e-8) for node in part.nodes)
        wanted -= (nodes + sum(np.log(pairs[edge] + 1e-8) for edge in part.edges)) * own
    loss = paper_loss([torch.tensor(row) for row in rows], parts, [graph] * 3, torch.tensor(losses))
    assert float(loss) == pytest.approx(wanted / 3, rel=1e-5)
    assert [len(part.edges) for part in parts] == [2, 3, 0]


def test_a_graph_without_edges_has_a_paper_loss() -> None:
    graph = TextualGraph(("a", "b"), np.zeros((0, 2), dtype=np.int32), ())
    part = Subgraph(np.array([1], dtype=np.int32), np.zeros(0, dtype=np.int32))
    loss = paper_loss([torch.zeros(2)], [part], [graph], torch.tensor([2.0]))
    assert float(loss) == pytest.approx(2 * np.log(2), rel=1e-5)


# The cost of a selection.


def test_a_price_alone_makes_selections_smaller() -> None:
    """All selections have the same reader loss, so that only the price of nodes has a gradient."""
    settings, growth = ScorerSettings(width=8, stops=True), {}
    for price in (0.0, 0.5):
        model = build_scorer(settings, WIDTH, 0)
        with torch.no_grad():
            model.end.fill_(-1.0)
        recipe = FeedbackRecipe(budget=5, batch=2, price=price, draws=8)
        objective = SubgraphFeedback([EXAMPLE] * 6, [EXAMPLE], EdgeReader(()), settings, recipe)
        before = objective.validate(model)
        assert before["minus loss"] == pytest.approx(-0.1 - price * before["nodes"])
        take_steps(model, objective, 10, 0.2)
        growth[price] = objective.validate(model)["nodes"] - before["nodes"]
    assert growth[0.5] < 0.0 == growth[0.0]


def test_the_easiest_answer_counts() -> None:
    easy = make_example(EXAMPLE.question_graph, "What?", ("worse", "right", "worse"))
    settings = build_scorer(SETTINGS, WIDTH, 0)
    objective = SubgraphFeedback([easy], [easy, EXAMPLE], EdgeReader(), SETTINGS, FeedbackRecipe(budget=6))
    assert objective.validate(settings)["minus loss"] == pytest.approx(-0.1)


def test_the_loss_of_a_batch_is_the_mean_of_its_questions() -> None:
    model = build_scorer(SETTINGS, WIDTH, 0)
    others = [make_example(make_question_graph(question=text), text, ("right",)) for text in ("one", "two", "three")]
    objective = make_objective(EdgeReader((1, 4)), PAPER)
    with torch.no_grad():
        together, *alone = (objective.loss(model, (0, some)) for some in (others, *([one] for one in others)))
    assert together is not None
    assert float(together) == pytest.approx(np.mean([float(one) for one in alone if one is not None]), rel=1e-5)


def test_equal_seeds_sample_equal_selections_and_one_call_reads_a_batch() -> None:
    model, reader = build_scorer(SETTINGS, WIDTH, 0), EdgeReader()
    objective = make_objective(reader)
    values = [objective.loss(model, (seed, [EXAMPLE] * 4)) for seed in (7, 7, 8)]
    assert values[0] is not None
    assert values[1] is not None
    assert reader.calls == 3
    assert float(values[0].detach()) == float(values[1].detach())
    assert values[2] is None or float(values[2].detach()) != float(values[0].detach())


def test_batches_have_every_question_once_in_the_order_of_the_epoch() -> None:
    some = [make_example(EXAMPLE.question_graph, str(number), ("right",)) for number in range(7)]
    objective = SubgraphFeedback(some, [], EdgeReader(), SETTINGS, FeedbackRecipe(batch=3))
    first, again, other = (
        [[one.question.text for one in batch] for _, batch in objective.batches(seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(first) == len(objective) == 3
    assert sorted(question for batch in first for question in batch) == sorted(str(number) for number in range(7))
    assert objective.validate(build_scorer(SETTINGS, WIDTH, 0)) == {}
    assert objective.halve((4, some[:1])) is None
    assert objective.halve((4, some[:3])) == ((4, some[:1]), (5, some[1:3]))


@pytest.mark.parametrize("wrong", [{"objective": "best"}, {"budget": 0}, {"draws": 1}, {"batch": 0}, {"price": -1.0}])
def test_recipes_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .*wanted"):
        FeedbackRecipe(**wrong)  # type: ignore[arg-type]


# A trainable reader.


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"), NAMES, gain=4.0)


def make_soft_prompt_reader(llama: Path) -> SoftPromptReader:
    return SoftPromptReader(CausalReader(CausalModel(str(llama)), build_prompt, batch_size=8), num_virtual_tokens=3)


def make_joint_objective(
    reader: SoftPromptReader, objective: FeedbackObjective = POLICY, count: int = 4
) -> SubgraphFeedback:
    recipe = FeedbackRecipe(objective=objective, budget=2, batch=2, draws=2)
    return SubgraphFeedback([EXAMPLE] * count, [EXAMPLE], reader, SETTINGS, recipe)


def copy_tensors(tensors: Iterator[torch.Tensor] | Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in tensors]


@pytest.mark.slow
@pytest.mark.parametrize("objective", [POLICY, PAPER])
def test_network_and_soft_prompt_are_trained_and_the_language_model_is_not(
    tmp_path: Path, llama: Path, objective: FeedbackObjective
) -> None:
    reader, scorer = make_soft_prompt_reader(llama), build_scorer(SETTINGS, WIDTH, 0)
    feedback_of = make_joint_objective(reader, objective)
    model = feedback_of.trainable_module(scorer)
    base = [
        weight for weight in reader.reader.model.load().network.parameters() if weight is not reader.parameters()[0]
    ]
    before = copy_tensors(scorer.parameters()), copy_tensors(reader.parameters()), copy_tensors(base)
    done = train(model, feedback_of, Recipe(epochs=6, rate=0.05, warmup=1, average=0.3), tmp_path, silent)
    assert done.figures["minus loss"] > done.initial_figures["minus loss"]
    assert any(not torch.equal(a, b) for a, b in zip(before[0], scorer.parameters(), strict=True))
    assert not torch.equal(before[1][0], reader.parameters()[0])
    assert all(torch.equal(a, b) for a, b in zip(before[2], base, strict=True))
    # The reader now holds the weights of the best epoch.
    assert feedback_of.validate(model) == pytest.approx(done.figures)


def test_a_trainable_reader_adds_its_mean_loss_without_a_gradient_to_the_network(llama: Path) -> None:
    reader, scorer = make_soft_prompt_reader(llama), build_scorer(SETTINGS, WIDTH, 0)
    objective, batch = make_joint_objective(reader), (3, [EXAMPLE] * 2)
    model = objective.trainable_module(scorer)
    loss = objective.loss(model, batch)
    assert loss is not None
    of_reader = torch.autograd.grad(loss, reader.parameters(), retain_graph=True)
    of_network = torch.autograd.grad(loss, list(scorer.parameters()), allow_unused=True)
    # With the same samples and a frozen reader, the gradient of the network is the same.
    frozen = make_joint_objective(reader).loss(scorer, batch)
    assert frozen is not None
    alone = torch.autograd.grad(frozen, list(scorer.parameters()), allow_unused=True)
    for one, other in zip(of_network, alone, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            torch.testing.assert_close(one, other)
    # The gradient of the reader is that of its mean loss on the sampled selections.
    generator = torch.Generator().manual_seed(batch[0])
    scores, ends = scorer(NodeBatch.from_input(make_node_batch([EXAMPLE.question_graph], SETTINGS)))
    contexts = [
        build_context(
            EXAMPLE.question_graph,
            induced_subgraph(
                EXAMPLE.question_graph.graph.graph, sample_without_replacement(scores, ends[0], 2, generator).tolist()
            ),
        )
        for _ in range(4)
    ]
    mean = reader.losses([EXAMPLE.question.text] * 4, contexts, ["right"] * 4).mean()
    torch.testing.assert_close(of_reader[0], torch.autograd.grad(mean, reader.parameters())[0])


@pytest.mark.slow
def test_a_killed_joint_run_resumes_to_the_same_weights(tmp_path: Path, llama: Path) -> None:
    recipe = Recipe(epochs=3, rate=0.05, warmup=1, average=0.3, seed=2)
    readers, scorers = (
        [make_soft_prompt_reader(llama) for _ in range(3)],
        [build_scorer(SETTINGS, WIDTH, 0) for _ in range(3)],
    )
    models = [
        make_joint_objective(reader).trainable_module(scorer) for reader, scorer in zip(readers, scorers, strict=True)
    ]
    train(models[0], make_joint_objective(readers[0]), recipe, tmp_path / "whole", silent)

    def killed(stage: str, done: int, total: int) -> None:
        del total
        if stage.startswith("epoch 2") and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(models[1], make_joint_objective(readers[1]), recipe, tmp_path / "cut", killed)
    train(models[2], make_joint_objective(readers[2]), recipe, tmp_path / "cut", silent)
    assert isinstance(models[0], SelectorAndReader)
    for one, other in zip(models[0].parameters(), models[2].parameters(), strict=True):
        assert torch.equal(one, other)
    assert torch.equal(readers[0].parameters()[0], readers[2].parameters()[0])


def test_with_a_frozen_reader_only_the_network_is_trained(llama: Path) -> None:
    scorer = build_scorer(SETTINGS, WIDTH, 0)
    assert make_objective(EdgeReader()).trainable_module(scorer) is scorer
    frozen = CausalReader(CausalModel(str(llama)), build_prompt)
    objective = SubgraphFeedback([EXAMPLE], [], frozen, SETTINGS, FeedbackRecipe(budget=2))
    assert objective.trainable_module(scorer) is scorer


def test_questions_without_answers_and_untrained_stopping_are_refused() -> None:
    unanswered = make_example(EXAMPLE.question_graph, EXAMPLE.question.text, ())
    for training, validation in (([unanswered], []), ([EXAMPLE], [unanswered])):
        with pytest.raises(InputError, match=r"the question 'What is right\?' has no answer"):
            SubgraphFeedback(training, validation, EdgeReader(), SETTINGS, FeedbackRecipe())
    ending = ScorerSettings(width=8, stops=True)
    paper = FeedbackRecipe(objective=PAPER, budget=2)
    with pytest.raises(InputError, match="wanted the objective policy, or no stops"):
        SubgraphFeedback([EXAMPLE], [], EdgeReader(), ending, paper)
    SubgraphFeedback([EXAMPLE], [], EdgeReader(), ending, FeedbackRecipe(budget=2))


def test_the_published_recipe_takes_plain_adam_steps_and_chooses_by_equation_5(tmp_path: Path) -> None:
    """Against dense matrices, Adam written out, and the published loss written out."""
    recipe = published_selection_recipe()
    settings = replace(recipe.network, width=4)
    examples = [EXAMPLE, make_example(make_question_graph(topics=(2,), question="other"), "Other?", ("well",))]
    feedback = replace(recipe.feedback, budget=2, batch=2)
    model = build_scorer(settings, WIDTH, 3)
    start = model.state_dict()
    weights = [start[f"gcn.layers.{number}.lin.weight"].double().clone() for number in range(2)]
    objective = SubgraphFeedback(examples, examples, EdgeReader(), settings, feedback)
    result = train(model, objective, replace(recipe.loop, epochs=3, rate=0.05), tmp_path, silent)

    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    losses = [float(published_loss_by_hand(weights, examples))]
    states = [weights]
    for step in range(1, 4):
        leaves = [weight.clone().requires_grad_() for weight in states[-1]]
        gradients = torch.autograd.grad(published_loss_by_hand(leaves, examples), leaves)
        moments = [
            (0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2)
            for (first, second), gradient in zip(moments, gradients, strict=True)
        ]
        states.append(
            [
                weight - 0.05 * (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
                for weight, (first, second) in zip(states[-1], moments, strict=True)
            ]
        )
        losses.append(float(published_loss_by_hand(states[-1], examples)))
    best = int(np.argmin(losses))
    assert best > 0, "the steps lower the loss"
    assert result.best_epoch == best - 1
    assert result.figures["minus published loss"] == pytest.approx(-losses[best], rel=1e-4)
    assert result.initial_figures["minus published loss"] == pytest.approx(-losses[0], rel=1e-4)
    for number, weight in enumerate(states[best]):
        trained = model.state_dict()[f"gcn.layers.{number}.lin.weight"]
        assert torch.allclose(trained.double(), weight, atol=1e-4)


def published_loss_by_hand(weights: Sequence[torch.Tensor], examples: Sequence[EncodedQuestion]) -> torch.Tensor:
    """Return equations 1 to 5 on dense matrices, the mean over questions, for two nodes of each."""
    total = torch.zeros((), dtype=torch.float64)
    for one in examples:
        graph = one.question_graph.graph
        nodes = torch.from_numpy(graph.node_vectors).double()
        adjacency = torch.eye(len(nodes), dtype=torch.float64)
        for source, target in graph.graph.edges.tolist():
            adjacency[source, target] = adjacency[target, source] = 1.0
        root = adjacency.sum(1).rsqrt()
        adjacency = root[:, None] * adjacency * root
        hidden = (adjacency @ nodes @ weights[0].T).relu()
        importance = (adjacency @ hidden @ weights[1].T)[:, 0]
        cosines = nodes @ torch.from_numpy(one.question_graph.question_vector).double()
        shares = torch.softmax(cosines * importance, 0)
        chosen = set(torch.argsort(shares.detach(), descending=True, stable=True)[:2].tolist())
        ends = torch.tensor(graph.graph.edges.tolist())
        edges = shares[ends].prod(1)
        edges = edges / edges.sum()
        selected = [place for place, pair in enumerate(ends.tolist()) if set(pair) <= chosen]
        logs = sum((shares[node] + 1e-8).log() for node in chosen) + sum((edges[e] + 1e-8).log() for e in selected)
        total = total - logs * (0.1 if set(HELPS) <= chosen else 3.0)
    return total / len(examples)
