"""Subgraph selection for a language model trained from scratch: `python bench/tiny_reader.py [--seeds 5]`.

A small Llama learns to answer two-edge questions from subgraphs of generated graphs that contain the edges. It is then
frozen, and a network learns from its losses alone which nodes to select, without supervision of the nodes. The first
table compares selections with the same budget of nodes, the second prompt tuning on them. Everything but the language
model is different for each seed.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew.evaluation.significance import compare_means, mean_interval
from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.nn.query_gnn import export_arrays
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import SubgraphSelector
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.hyperparameters import Recipe
from clew.training.loop import train
from clew_lab.datasets.graph_datasets import GraphQuestion
from clew_lab.graph.graph_encoder import GraphEncoder
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from clew_lab.nn.subgraph_policy import build_scorer
from clew_lab.retrievers.selectors import EgoGraph, RandomNodes, SteinerSelector, TopNodes, WholeGraph
from clew_lab.training.data.graph_questions import EncodedQuestion
from clew_lab.training.hyperparameters import FeedbackObjective, FeedbackRecipe
from clew_lab.training.objectives.reader_tuning import ReaderExample, ReaderTuning
from clew_lab.training.objectives.subgraph_feedback import PAPER, POLICY, SubgraphFeedback
from graph_lessons import Lessons
from graph_task import Practice, Task, TaskSettings, build_prompt, make_task, write_doubled_model, write_model
from workbench import WORK, describe_machine, print_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

STEINER, FILLED, GCN = "steiner", "steiner, filled up", "gcn, policy"


@dataclass(frozen=True, slots=True)
class Stage:
    """Training stage of the language model: edges per question, steps, peak learning rate, whether the end is trained.

    The end comes last: trained from the start together with the look-ups, it led to 0.88 correct instead of 1.00.
    """

    hops: int
    steps: int
    rate: float
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the experiment.

    Attributes:
        task: Settings of the graphs.
        width: Width of the language model.
        layers: Its layers in the first stage; doubled when questions begin to take more edges.
        heads: Its attention heads.
        stages: Its training stages.
        budget: Maximum number of nodes in a selection.
        train: Training questions of selections and prompts, each on a graph of its own.
        validation: Questions that select the epoch.
        test: Test questions.
        epochs: Epochs of training the selection.
        tuning: Epochs of prompt tuning.
        min_accuracy: Required accuracy of the language model on subgraphs that contain the needed edges.
        encoder: Encoder of the graphs' texts.
    """

    task: TaskSettings = field(default_factory=TaskSettings)
    width: int = 64
    layers: int = 2
    heads: int = 2
    stages: tuple[Stage, ...] = (Stage(1, 400, 3e-3), Stage(2, 800, 2e-3), Stage(2, 200, 1e-3, ends=True))
    budget: int = 7
    train: int = 300
    validation: int = 60
    test: int = 200
    epochs: int = 4
    tuning: int = 3
    min_accuracy: float = 0.9
    encoder: str = DEFAULT_ENCODER


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTask:
    """A task with vectors: with the question masked for the network, and with its names for other selectors."""

    task: Task
    masked: GraphQuery
    named: GraphQuery


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Questions of one seed."""

    train: Sequence[EncodedTask]
    validation: Sequence[EncodedTask]
    test: Sequence[EncodedTask]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Results of a selection, one row per question.

    Attributes:
        correct: (n,) whether the answer was correct.
        complete: (n,) whether the selection contained all three needed nodes.
        nodes: (n,) number of selected nodes.
    """

    correct: "NDArray[np.float64]"
    complete: "NDArray[np.float64]"
    nodes: "NDArray[np.float64]"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    print(describe_machine())
    tables(Shape(), parser.parse_args().seeds, WORK / "tiny-reader", print)


def tables(shape: Shape, seeds: int, folder: Path, say: Callable[[str], None]) -> dict[str, Outcome]:
    """Print both tables and return their outcomes, all seeds together."""
    model = CausalModel(str(train_language_model(shape, folder, say)))
    reader = make_reader(model)
    encoder = open_encoder(shape.encoder)
    accuracy = reader_accuracy(reader, Practice(shape.task, 200, 99, shape.budget))
    say(f"the language model answers {accuracy:.3f} of questions on subgraphs with the needed edges\n")
    if accuracy < shape.min_accuracy:
        say(f"wanted at least {shape.min_accuracy}: such a reader cannot judge a selection, so there are no tables")
        return {}
    by_selection: dict[str, list[Outcome]] = {}
    for seed in range(seeds):
        sets = make_sets(shape, encoder, seed)
        for name, outcome in {
            **measure_selections(shape, reader, encoder, sets, seed),
            **measure_tuning(shape, model, encoder, sets, seed),
        }.items():
            by_selection.setdefault(name, []).append(outcome)
        say(
            f"seed {seed}: " + ", ".join(f"{name} {some[-1].correct.mean():.3f}" for name, some in by_selection.items())
        )
    every = {name: concatenate(some) for name, some in by_selection.items()}
    of_tuning = [name for name in every if "+" in name or name == "graphtoken"]
    for names, best in (([name for name in every if name not in of_tuning], GCN), (of_tuning, of_tuning[-1])):
        print()
        print_table(
            ("selection", "accuracy", "95 %", "evidence", "nodes", f"less than {best}", "p"),
            format_rows(every, names, best),
        )
    return every


def train_language_model(shape: Shape, folder: Path, say: Callable[[str], None]) -> Path:
    """Return the folder of a language model that can read graphs, trained if necessary."""
    ready = folder / "reader"
    if ready.is_dir():
        return ready
    start = write_model(folder / "untrained", width=shape.width, layers=shape.layers, heads=shape.heads)
    for number, stage in enumerate(shape.stages):
        if number and stage.hops > shape.stages[number - 1].hops:
            start = write_doubled_model(start, folder / f"untrained-{number}")
        model = CausalModel(str(start), trainable=True)
        reader = make_reader(model)
        objective = Lessons(shape.task, stage.hops, shape.budget + 1, model, 64, stage.steps // 4, ends=stage.ends)
        recipe = Recipe(4, stage.rate, warmup=50, average=0.0, seed=number)
        done = train(objective.trainable_module(), objective, recipe, folder / f"stage-{number}", lambda *_: None)
        accuracy = reader_accuracy(reader, Practice(shape.task, 200, 98, shape.budget))
        say(f"{stage.hops} edges at most: {accuracy:.3f} of the task correct, {done.seconds:.0f} s")
        start = folder / f"trained-{number}"
        model.save(start)
    start.rename(ready)
    return ready


def make_reader(model: CausalModel, *, with_text: bool = True) -> CausalReader:
    """Return a graph reader with a model."""
    return CausalReader(model, build_prompt, batch_size=64, max_new_tokens=1, with_text=with_text)


def reader_accuracy(reader: CausalReader, practice: Practice) -> float:
    """Return the share of questions that are answered correctly."""
    examples = [practice[position] for position in range(len(practice))]
    answers = reader.generate([one.question for one in examples], [one.context for one in examples])
    return float(np.mean([answer == one.answer for answer, one in zip(answers, examples, strict=True)]))


def make_sets(shape: Shape, encoder: Encoder, seed: int) -> Sets:
    """Return the encoded questions of a seed."""
    random = np.random.default_rng([2, seed])
    tasks = [make_task(shape.task, random) for _ in range(shape.train + shape.validation + shape.test)]
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    graphs = [one.graph for one in tasks]
    topics = [(one.chain[0],) for one in tasks]
    vectors.preload(graphs, [(number, one.question, topics[number]) for number, one in enumerate(tasks)])
    questions = sorted({one.question for one in tasks})
    rows: dict[str, FloatArray] = dict(zip(questions, encoder.encode(questions), strict=True))
    encoded = []
    for one, topic in zip(tasks, topics, strict=True):
        masked = vectors.encode_query(vectors.encode_graph(one.graph), one.question, topic)
        encoded.append(EncodedTask(one, masked, replace(masked, question_vector=rows[one.question])))
    first, second = shape.train, shape.train + shape.validation
    return Sets(encoded[:first], encoded[first:second], encoded[second:])


def measure_selections(
    shape: Shape, reader: GraphReader, encoder: Encoder, sets: Sets, seed: int
) -> dict[str, Outcome]:
    """Return the outcome of each selection with the frozen language model."""
    settings = ScorerSettings()
    initial = settings.network(export_arrays(build_scorer(settings, encoder.dimension, seed)))
    untrained = TrainedScorer(initial, settings, "", encoder.dimension)
    published = ScorerSettings(inputs="text", combination="product")
    trained = {
        GCN: train_selection(shape, reader, encoder, sets, seed, POLICY, ScorerSettings()),
        "gcn, paper": train_selection(shape, reader, encoder, sets, seed, PAPER, ScorerSettings()),
        "gcn as published": train_selection(shape, reader, encoder, sets, seed, PAPER, published),
        "gcn, untrained": GCNSelector(untrained),
    }
    fixed: dict[str, SubgraphSelector] = {
        STEINER: SteinerSelector(),
        FILLED: SteinerSelector(fill=True),
        "top-nodes": TopNodes(),
        "ego": EgoGraph(),
        "random": RandomNodes(seed),
        "whole": WholeGraph(),
    }
    contexts = {name: select_contexts(own, sets.test, shape.budget) for name, own in trained.items()}
    contexts |= {name: select_contexts(one, sets.test, shape.budget, named=True) for name, one in fixed.items()}
    return {name: measure(reader, sets.test, some) for name, some in contexts.items()}


def train_selection(
    shape: Shape,
    reader: GraphReader,
    encoder: Encoder,
    sets: Sets,
    seed: int,
    objective: FeedbackObjective,
    settings: ScorerSettings,
    epochs: int = 0,
) -> GCNSelector:
    """Return a selector trained on a reader's losses; a trainable reader is trained with it."""
    recipe = FeedbackRecipe(objective, shape.budget, draws=4, batch=16)
    feedback = SubgraphFeedback(
        feedback_examples(sets.train), feedback_examples(sets.validation), reader, settings, recipe
    )
    scorer = build_scorer(settings, encoder.dimension, seed)
    own = Recipe(epochs or shape.epochs, rate=1e-3, average=0.9, warmup=10, seed=seed)
    with tempfile.TemporaryDirectory() as run:
        train(feedback.trainable_module(scorer), feedback, own, Path(run), lambda *_: None)
    return GCNSelector(
        TrainedScorer(settings.network(export_arrays(scorer)), settings, encoder.fingerprint, encoder.dimension)
    )


def measure_tuning(shape: Shape, model: CausalModel, encoder: Encoder, sets: Sets, seed: int) -> dict[str, Outcome]:
    """Return the outcome of prompt tuning, on fixed selections and jointly with the network."""
    reader = make_reader(model)
    graph_token = make_graph_token(model, encoder, seed, "part")
    whole = make_graph_token(model, encoder, seed, "whole")
    readers = {
        f"{FILLED} + soft prompt": SoftPromptReader(reader, num_virtual_tokens=4, seed=seed),
        f"{FILLED} + graph token (G-Retriever)": SoftPromptReader(
            reader, num_virtual_tokens=0, graph_token=graph_token
        ),
        "graphtoken": SoftPromptReader(make_reader(model, with_text=False), num_virtual_tokens=0, graph_token=whole),
    }
    outcomes = {}
    filled = SteinerSelector(fill=True)
    train_contexts, validation, test = (
        select_contexts(filled, some, shape.budget, named=True) for some in (sets.train, sets.validation, sets.test)
    )
    for name, one in readers.items():
        objective = ReaderTuning(
            reader_examples(sets.train, train_contexts), reader_examples(sets.validation, validation), one, 16
        )
        recipe = Recipe(shape.tuning, rate=1e-2, average=0.9, warmup=10, seed=seed)
        with tempfile.TemporaryDirectory() as run:
            train(objective.trainable_module(), objective, recipe, Path(run), lambda *_: None)
        outcomes[name] = measure(one, sets.test, test)
    joint = SoftPromptReader(reader, num_virtual_tokens=4, seed=seed)
    selector = train_selection(shape, joint, encoder, sets, seed, POLICY, ScorerSettings(), shape.tuning)
    outcomes[f"{GCN} + joint soft prompt"] = measure(
        joint, sets.test, select_contexts(selector, sets.test, shape.budget)
    )
    return outcomes


def make_graph_token(model: CausalModel, encoder: Encoder, seed: int, pool: str) -> GraphToken:
    """Return an untrained graph token."""
    settings = GraphTokenSettings(encoder.dimension, model.width, width=64, layers=2, tokens=1 if pool == "part" else 4)
    settings = replace(settings, pool="part" if pool == "part" else "whole")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphToken(settings)


def select_contexts(
    selector: SubgraphSelector, tasks: Sequence[EncodedTask], budget: int, *, named: bool = False
) -> list[GraphContext]:
    """Return the reader's context of the selection for each question."""
    graphs = [one.named if named else one.masked for one in tasks]
    return [build_context(graph, part) for graph, part in zip(graphs, selector.select(graphs, budget), strict=True)]


def measure(reader: GraphReader, tasks: Sequence[EncodedTask], contexts: Sequence[GraphContext]) -> Outcome:
    """Return the outcome of a reader on contexts."""
    answers = reader.generate([one.task.question for one in tasks], contexts)
    correct = [answer == one.task.answer for answer, one in zip(answers, tasks, strict=True)]
    complete = [
        {*one.task.chain} <= {*context.subgraph.nodes.tolist()} for one, context in zip(tasks, contexts, strict=True)
    ]
    nodes = [len(context.subgraph.nodes) for context in contexts]
    return Outcome(*(np.array(some, dtype=np.float64) for some in (correct, complete, nodes)))


def feedback_examples(tasks: Sequence[EncodedTask]) -> list[EncodedQuestion]:
    """Return examples for training a selection."""
    return [EncodedQuestion(GraphQuestion("", 0, t.task.question, (t.task.answer,)), t.masked) for t in tasks]


def reader_examples(tasks: Sequence[EncodedTask], contexts: Sequence[GraphContext]) -> list[ReaderExample]:
    """Return examples for training a reader."""
    return [ReaderExample(one.task.question, part, one.task.answer) for one, part in zip(tasks, contexts, strict=True)]


def concatenate(outcomes: Sequence[Outcome]) -> Outcome:
    """Concatenate the outcomes of all seeds."""
    return Outcome(
        *(np.concatenate([getattr(one, name) for one in outcomes]) for name in ("correct", "complete", "nodes"))
    )


def format_rows(every: dict[str, Outcome], names: Sequence[str], best: str) -> list[list[str]]:
    """Return the rows of a table, with intervals and tests over the questions of all seeds."""
    rows = []
    for name in names:
        one, random = every[name], np.random.default_rng(0)
        low, high = mean_interval(one.correct, random)
        row = [
            name,
            f"{one.correct.mean():.3f}",
            f"{low:.3f}-{high:.3f}",
            f"{one.complete.mean():.3f}",
            f"{one.nodes.mean():.1f}",
        ]
        if name != best:
            test = compare_means((best, name), "accuracy", every[best].correct, one.correct, random)
            row += [f"{test.difference:.3f} ({test.low:.3f} to {test.high:.3f})", f"{test.p:.4f}"]
        rows.append([*row, "", ""][:7])
    return rows


if __name__ == "__main__":
    main()
