"""From a set of questions to a network that selects: what its questions ask for, their words do not say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.inference.subgraph_network import NodeInput
from clew.models.encoders.hashing import HashingEncoder
from clew.nn.query_gnn import export_arrays
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.checkpoint import single_process
from clew.training.hyperparameters import Recipe, TrainingResult
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion, LazyGraphs, split_dataset
from clew_lab.graph.reader_context import build_context, full_subgraph
from clew_lab.graph_readers.choice_reader import ChoiceGraphReader
from clew_lab.graph_readers.path_reader import PathGraphReader
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.nn.subgraph_policy import NodeBatch, build_scorer
from clew_lab.training.data.graph_questions import EncodedQuestion, encode_questions
from clew_lab.training.hyperparameters import FeedbackRecipe
from clew_lab.training.objectives.subgraph_feedback import SubgraphFeedback
from clew_lab.training.recipes.selection_recipe import SelectionRecipe
from clew_lab.training.recipes.subgraph import (
    local_reader,
    train_selection,
)
from clew_lab.training.saved_weights import save_scorer
from tests.devices import DEVICES

ENCODER = HashingEncoder(48)
DECOYS = ("met with", "drove with", "sang to")
SETTINGS = ScorerSettings(width=8)
FEEDBACK = FeedbackRecipe(budget=2, draws=6, batch=8)
RECIPE = Recipe(epochs=6, rate=0.03, warmup=1, average=0.0)


Sets = tuple[list[EncodedQuestion], list[EncodedQuestion]]


class StoppedError(Exception):
    """Stands for a kill."""


def silent(stage: str, done: int, total: int) -> None:
    assert stage
    assert 0 <= done <= total


def meeting(number: int) -> TextualGraph:
    """Return a person with four others around, of whom one is bound to them by what no question says."""
    chance = np.random.default_rng(number)
    relations = [*DECOYS, "quartz"]
    order = chance.permutation(4)
    names = [f"person {number}", *(f"guest {i} of {number}" for i in chance.permutation(100)[:4])]
    ends = np.array([(0, i + 1) if chance.integers(2) else (i + 1, 0) for i in range(4)], dtype=np.int32)
    return TextualGraph(names, ends, [relations[i] for i in order])


def meetings(count: int) -> GraphDataset:
    questions = []
    for number in range(count):
        graph = meeting(number)
        answer = graph.nodes[graph.relations.index("quartz") + 1]
        questions.append(GraphQuestion(f"q{number}", number, f"whom did person {number} help ?", (answer, "x"), (0,)))
    return GraphDataset([meeting(number) for number in range(count)], tuple(questions))


def opinions(count: int) -> GraphDataset:
    """Questions whose answer is whether one relation is there."""
    graphs, questions = [], []
    for number in range(count):
        names = ["claim", *(f"thing {i} of {number}" for i in range(4))]
        relations = ["is a", "used for", "opposes" if number % 2 else "part of", "causes"]
        graphs.append(TextualGraph(names, np.array([(0, i) for i in range(1, 5)], dtype=np.int32), relations))
        questions.append(GraphQuestion(f"q{number}", number, "so ?", (("for", "against")[number % 2],), (0,)))
    return GraphDataset(graphs, tuple(questions), ("for", "against"))


@pytest.fixture(scope="module")
def question_sets() -> Sets:
    """Questions to learn from, and others."""
    learned, held = split_dataset(meetings(48), 2 / 3, 0)
    return encode_questions(learned, ENCODER, silent), encode_questions(held, ENCODER, silent)


def train_network(question_sets: Sets, run: Path, recipe: Recipe = RECIPE) -> tuple[TrainedScorer, TrainingResult]:
    reader = local_reader(ENCODER, question_sets[0], ())
    return train_selection(*question_sets, reader, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, recipe), run, silent)


@pytest.fixture(scope="module")
def first(
    question_sets: Sets, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TrainedScorer, TrainingResult, list[bytes]]:
    """A whole run, and the files of its weights."""
    found, result = train_network(question_sets, tmp_path_factory.mktemp("run"))
    return found, result, saved_bytes(tmp_path_factory.mktemp("weights"), found)


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_trains_a_selection(question_sets: Sets, tmp_path: Path, device: str) -> None:
    reader, short = local_reader(ENCODER, question_sets[0], ()), replace(RECIPE, epochs=1)
    selection = SelectionRecipe(SETTINGS, FEEDBACK, short)
    on_processor, on_device = (
        train_selection(*question_sets, reader, ENCODER, selection, tmp_path / str(run), silent, single_process(place))
        for run, place in enumerate(("cpu", device))
    )
    assert on_device[1].questions == on_processor[1].questions
    for name, array in on_processor[0].model.arrays.items():
        tolerance = 0 if device == "cpu" else 1e-2
        np.testing.assert_allclose(on_device[0].model.arrays[name], array, rtol=0, atol=tolerance)


def test_a_selection_runs_on_the_device_and_is_sampled_on_the_processor(
    question_sets: Sets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    make = NodeBatch.from_input

    def record(nodes: NodeInput, device: torch.device | str = "cpu") -> NodeBatch:
        seen.append(str(device))
        return make(nodes, device)

    monkeypatch.setattr(NodeBatch, "from_input", record)
    model = build_scorer(SETTINGS, ENCODER.dimension, 0).to("meta")
    objective = SubgraphFeedback(question_sets[0], [], local_reader(ENCODER, question_sets[0], ()), SETTINGS, FEEDBACK)
    with pytest.raises(NotImplementedError, match="meta"):  # a device without memory, from which nothing is copied
        objective.loss(model, (0, question_sets[0][:2]))
    assert seen == ["meta"]


def gold_share(scorer: TrainedScorer, questions: list[EncodedQuestion]) -> float:
    """Return the share of questions whose answer is selected."""
    parts = GCNSelector(scorer).select([one.question_graph for one in questions], FEEDBACK.budget)
    names = [
        {one.question_graph.graph.graph.nodes[node] for node in part.nodes}
        for one, part in zip(questions, parts, strict=True)
    ]
    return float(np.mean([one.question.answers[0] in some for one, some in zip(questions, names, strict=True)]))


def saved_bytes(folder: Path, scorer: TrainedScorer) -> list[bytes]:
    save_scorer(folder, scorer)
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_questions_share_their_graphs_and_those_without_nodes_are_left_out() -> None:
    made: list[int] = []

    def make(place: int) -> TextualGraph:
        made.append(place)
        return TextualGraph((), np.zeros((0, 2), dtype=np.int32), ()) if place == 1 else meeting(place)

    questions = [GraphQuestion(f"q{i}", graph, "whom ?", ("x",), ()) for i, graph in enumerate([5, 1, 2, 5])]
    stages: list[tuple[str, int, int]] = []
    graph_set = GraphDataset(LazyGraphs(9, make, cache_size=1), tuple(questions))
    found = encode_questions(graph_set, ENCODER, lambda *now: stages.append(now))
    assert [one.question.id for one in found] == ["q0", "q2", "q3"]
    assert found[0].question_graph.graph is found[2].question_graph.graph
    assert found[1].question_graph.graph.graph.nodes == meeting(2).nodes
    assert sorted(made) == [1, 2, 5]
    assert stages[0][:2] == ("encoding texts", 0)
    assert stages[-1] == ("reading questions", 4, 4)


def test_questions_have_their_own_topics_and_vectors() -> None:
    (found, *_) = encode_questions(meetings(2), ENCODER, silent)
    assert found.question_graph.topics.tolist() == [0]
    assert found.question_graph.question_vector.tolist() == ENCODER.encode(["whom did it help"])[0].tolist()
    assert found.question.text == "whom did person 0 help ?"


def test_the_local_reader_follows_paths_or_reads_for_the_choices(
    question_sets: Sets,
) -> None:
    assert isinstance(local_reader(ENCODER, [], ()), PathGraphReader)
    some = encode_questions(opinions(40), ENCODER, silent)
    reader = local_reader(ENCODER, some, ("for", "against"))
    assert isinstance(reader, ChoiceGraphReader)
    assert {reader.name, local_reader(ENCODER, [], ()).name} == {"local"}
    others = [local_reader(ENCODER, some, ("for", "against"), seed) for seed in (0, 1)]
    wholes = [build_context(one.question_graph, full_subgraph(one.question_graph.graph.graph)) for one in some]
    answers = [one.question.answers[0] for one in some]
    losses = [one.loss([""] * 40, wholes, answers) for one in (reader, *others)]
    assert losses[0].tolist() == losses[1].tolist() != losses[2].tolist()
    assert losses[0].mean() < np.log(2) - 0.1
    with pytest.raises(InputError, match="0 graphs"):
        local_reader(ENCODER, [], ("for", "against"))


def test_feedback_teaches_what_the_untrained_network_misses(
    question_sets: Sets, first: tuple[TrainedScorer, TrainingResult, list[bytes]]
) -> None:
    untrained = TrainedScorer(SETTINGS.network(export_arrays(build_scorer(SETTINGS, 48, 0))), SETTINGS, "", 48)
    assert gold_share(untrained, question_sets[1]) < 0.3
    found, result, _ = first
    assert gold_share(found, question_sets[1]) > 0.9
    assert (result.questions, result.held_out) == (len(question_sets[0]), len(question_sets[1]))
    assert result.best_epoch >= 0
    assert result.figures["minus loss"] > result.initial_figures["minus loss"] + 1.0
    assert result.seconds > 0
    assert (found.encoder, found.dimension, found.settings) == (ENCODER.fingerprint, 48, SETTINGS)
    assert found.about["reader"] == "local"
    assert found.about["figures"] == result.figures
    assert {name: array.shape for name, array in found.model.arrays.items()} == SETTINGS.shapes(48)


def test_another_seed_gives_other_weights(question_sets: Sets, tmp_path: Path) -> None:
    prints = [
        train_network(question_sets, tmp_path / str(s), replace(RECIPE, epochs=1, seed=s))[0].fingerprint
        for s in (0, 1)
    ]
    assert prints[0] != prints[1]


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_files(
    question_sets: Sets, first: tuple[TrainedScorer, TrainingResult, list[bytes]], tmp_path: Path
) -> None:
    def killed(stage: str, done: int, total: int) -> None:
        if stage.startswith("epoch 3 ") and done == 2:
            raise StoppedError

    torch.manual_seed(7)  # what others drew does not count
    reader = local_reader(ENCODER, question_sets[0], ())
    with pytest.raises(StoppedError):
        train_selection(
            *question_sets, reader, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, RECIPE), tmp_path / "cut", killed
        )
    assert saved_bytes(tmp_path / "resumed", train_network(question_sets, tmp_path / "cut")[0]) == first[2]


def test_a_reader_for_choices_teaches_selection(tmp_path: Path) -> None:
    questions = encode_questions(opinions(32), ENCODER, silent)
    reader = local_reader(ENCODER, questions, ("for", "against"))
    feedback = replace(FEEDBACK, budget=3)
    recipe = replace(RECIPE, epochs=2)
    _, result = train_selection(
        questions, questions[:8], reader, ENCODER, SelectionRecipe(SETTINGS, feedback, recipe), tmp_path, silent
    )
    assert result.figures["minus loss"] >= result.initial_figures["minus loss"]


def test_nothing_to_learn_from_is_told(tmp_path: Path) -> None:
    reader = local_reader(ENCODER, [], ())
    with pytest.raises(InputError, match="nothing to learn from"):
        train_selection([], [], reader, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, RECIPE), tmp_path, silent)


def test_the_run_on_other_questions_or_by_another_reader_is_refused(question_sets: Sets, tmp_path: Path) -> None:
    learned, held = question_sets
    reader, short, run = local_reader(ENCODER, learned, ()), replace(RECIPE, epochs=1), tmp_path / "run"
    train_selection(learned, held, reader, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, short), run, silent)
    others: tuple[tuple[list[EncodedQuestion], list[EncodedQuestion], GraphReader, str], ...] = (
        (learned[1:], held, reader, "questions to learn from"),
        (learned[::-1], held, reader, "questions to learn from"),
        (learned, held[1:], reader, "questions that choose the epoch"),
        (learned, held, PathGraphReader(ENCODER.encode, hops=2), "reader"),
    )
    for some, rest, judge, message in others:
        with pytest.raises(InputError, match=f"another run, with {message}"):
            train_selection(some, rest, judge, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, short), run, silent)


def test_the_run_of_another_network_or_recipe_is_refused(question_sets: Sets, tmp_path: Path) -> None:
    some, reader = question_sets[0], local_reader(ENCODER, question_sets[0], ())
    short = replace(RECIPE, epochs=1)
    train_selection(some, some, reader, ENCODER, SelectionRecipe(SETTINGS, FEEDBACK, short), tmp_path, silent)
    for settings, recipe in ((ScorerSettings(width=4), short), (SETTINGS, RECIPE)):
        with pytest.raises(InputError, match=r"another (folder|one)"):
            train_selection(some, some, reader, ENCODER, SelectionRecipe(settings, FEEDBACK, recipe), tmp_path, silent)
    with pytest.raises(InputError, match=r"another (folder|one)"):
        train_selection(
            some,
            some,
            reader,
            ENCODER,
            SelectionRecipe(SETTINGS, replace(FEEDBACK, price=0.5), short),
            tmp_path,
            silent,
        )
