"""Selections for a language model made from nothing: `python bench/tiny_reader.py [--seeds 5]`.

A small Llama learns to answer questions that take two edges from parts of generated graphs that hold them. Then it is
frozen, and a network learns from its losses alone which nodes to show it; it is never told which nodes the answer
takes. The first table compares selections of as many nodes at most, the second what is tuned beside them. Everything
but the language model is made anew with each seed.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew.answering.graph_readers.causal_lm import CausalReader
from clew.answering.graph_readers.protocols import GraphReader
from clew.answering.graph_readers.soft_prompt import SoftPromptReader
from clew.evaluation.significance import compare_means, mean_interval
from clew.graph.subgraphs.textual_graph import GraphContext, GraphQuery, build_context
from clew.models.causal_lm.model import CausalModel
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import GraphEncoder
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.gcn_weights import ScorerSettings, TrainedScorer
from clew.retrievers.subgraph.selectors import (
    EgoGraph,
    RandomNodes,
    SteinerSelector,
    SubgraphSelector,
    TopNodes,
    WholeGraph,
)
from clew.training.loop import Recipe, train
from clew.training.objectives.reader_tuning import ReaderExample, ReaderTuning
from clew.training.objectives.subgraph_feedback import PAPER, POLICY, FeedbackExample, FeedbackRecipe, SubgraphFeedback
from graph_lessons import Lessons
from graph_task import Practice, Task, TaskSettings, prompt, task, write_doubled, write_model
from workbench import WORK, machine, print_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

STEINER, FILLED, GCN = "steiner", "steiner, filled up", "gcn, policy"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the language model's teaching: edges a question takes, steps, highest rate, whether it teaches to end.

    The end comes last: taught from the start beside the look-ups, it left 0.88 of the task right in place of 1.00.
    """

    hops: int
    steps: int
    rate: float
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of the experiment.

    Attributes:
        task: Of the graphs.
        width: Of the language model.
        layers: Of it in the first stage of its teaching; doubled where questions come to take more edges.
        heads: Of it.
        stages: Of its teaching.
        budget: Nodes of a selection at most.
        learned: Questions that selection and prompts learn from, each on a graph of its own.
        held: That choose the epoch.
        asked: That are measured.
        epochs: Of the selection's training.
        tuning: Epochs of prompt tuning.
        least: Of the questions that the language model must answer from parts that hold what they take.
        encoder: Of the graphs' texts.
    """

    task: TaskSettings = field(default_factory=TaskSettings)
    width: int = 64
    layers: int = 2
    heads: int = 2
    stages: tuple[Stage, ...] = (Stage(1, 400, 3e-3), Stage(2, 800, 2e-3), Stage(2, 200, 1e-3, ends=True))
    budget: int = 7
    learned: int = 300
    held: int = 60
    asked: int = 200
    epochs: int = 4
    tuning: int = 3
    least: float = 0.9
    encoder: str = DEFAULT_ENCODER


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A task with vectors: as the network sees it, and with the question's names left in it, as others do."""

    task: Task
    own: GraphQuery
    named: GraphQuery


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Questions of one seed."""

    learned: Sequence[Asked]
    held: Sequence[Asked]
    asked: Sequence[Asked]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a selection came to, one row a question.

    Attributes:
        right: (n,) whether the answer was right.
        whole: (n,) whether the selection held all three nodes that it takes.
        nodes: (n,) of the selection.
    """

    right: "NDArray[np.float64]"
    whole: "NDArray[np.float64]"
    nodes: "NDArray[np.float64]"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    print(machine())
    tables(Shape(), parser.parse_args().seeds, WORK / "tiny-reader", print)


def tables(shape: Shape, seeds: int, folder: Path, say: Callable[[str], None]) -> dict[str, Outcome]:
    """Print both tables and return what is in them, all seeds together."""
    model = CausalModel(str(taught(shape, folder, say)))
    reader = causal(model)
    encoder = open_encoder(shape.encoder)
    accuracy = reads(reader, Practice(shape.task, 200, 99, shape.budget))
    say(f"the language model answers {accuracy:.3f} of questions on parts that hold what they take\n")
    if accuracy < shape.least:
        say(f"wanted {shape.least} at least: such a reader says nothing of a selection, so there are no tables")
        return {}
    found: dict[str, list[Outcome]] = {}
    for seed in range(seeds):
        sets = drawn_sets(shape, encoder, seed)
        for name, outcome in {
            **selections(shape, reader, encoder, sets, seed),
            **tuned(shape, model, encoder, sets, seed),
        }.items():
            found.setdefault(name, []).append(outcome)
        say(f"seed {seed}: " + ", ".join(f"{name} {some[-1].right.mean():.3f}" for name, some in found.items()))
    every = {name: joined(some) for name, some in found.items()}
    of_tuning = [name for name in every if "+" in name or name == "graphtoken"]
    for names, best in (([name for name in every if name not in of_tuning], GCN), (of_tuning, of_tuning[-1])):
        print()
        print_table(
            ("selection", "accuracy", "95 %", "evidence", "nodes", f"less than {best}", "p"), told(every, names, best)
        )
    return every


def taught(shape: Shape, folder: Path, say: Callable[[str], None]) -> Path:
    """Return the folder of a language model that has learned to read graphs, taught where it is not there."""
    ready = folder / "reader"
    if ready.is_dir():
        return ready
    start = write_model(folder / "untaught", width=shape.width, layers=shape.layers, heads=shape.heads)
    for number, stage in enumerate(shape.stages):
        if number and stage.hops > shape.stages[number - 1].hops:
            start = write_doubled(start, folder / f"untaught-{number}")
        model = CausalModel(str(start), trainable=True)
        reader = causal(model)
        objective = Lessons(shape.task, stage.hops, shape.budget + 1, model, 64, stage.steps // 4, ends=stage.ends)
        recipe = Recipe(4, stage.rate, warmup=50, average=0.0, seed=number)
        done = train(objective.model(), objective, recipe, folder / f"stage-{number}", lambda *_: None)
        accuracy = reads(reader, Practice(shape.task, 200, 98, shape.budget))
        say(f"{stage.hops} edges at most: {accuracy:.3f} of the task right, {done.seconds:.0f} s")
        start = folder / f"taught-{number}"
        model.save(start)
    start.rename(ready)
    return ready


def causal(model: CausalModel, *, with_text: bool = True) -> CausalReader:
    """Return the reader of graphs with a model."""
    return CausalReader(model, prompt, batch_size=64, max_new_tokens=1, with_text=with_text)


def reads(reader: CausalReader, practice: Practice) -> float:
    """Return the share of questions that are answered rightly."""
    examples = [practice[place] for place in range(len(practice))]
    said = reader.generate([one.question for one in examples], [one.context for one in examples])
    return float(np.mean([word == one.answer for word, one in zip(said, examples, strict=True)]))


def drawn_sets(shape: Shape, encoder: Encoder, seed: int) -> Sets:
    """Return the questions of a seed, encoded together."""
    random = np.random.default_rng([2, seed])
    tasks = [task(shape.task, random) for _ in range(shape.learned + shape.held + shape.asked)]
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    graphs = [one.graph for one in tasks]
    topics = [(one.chain[0],) for one in tasks]
    vectors.preload(graphs, [(place, one.question, topics[place]) for place, one in enumerate(tasks)])
    questions = sorted({one.question for one in tasks})
    rows: dict[str, FloatArray] = dict(zip(questions, encoder.encode(questions), strict=True))
    asked = []
    for one, topic in zip(tasks, topics, strict=True):
        own = vectors.encode_query(vectors.encode_graph(one.graph), one.question, topic)
        asked.append(Asked(one, own, replace(own, question_vector=rows[one.question])))
    first, second = shape.learned, shape.learned + shape.held
    return Sets(asked[:first], asked[first:second], asked[second:])


def selections(shape: Shape, reader: GraphReader, encoder: Encoder, sets: Sets, seed: int) -> dict[str, Outcome]:
    """Return what each selection comes to with the language model as it is."""
    untrained = TrainedScorer(
        ScorerSettings().build_network(encoder.dimension, seed).eval(), ScorerSettings(), "", encoder.dimension
    )
    published = ScorerSettings(inputs="text", combination="product")
    trained = {
        GCN: selection(shape, reader, encoder, sets, seed, POLICY, ScorerSettings()),
        "gcn, paper": selection(shape, reader, encoder, sets, seed, PAPER, ScorerSettings()),
        "gcn as published": selection(shape, reader, encoder, sets, seed, PAPER, published),
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
    found = {name: measured(reader, sets.asked, parts(own, sets.asked, shape.budget)) for name, own in trained.items()}
    fixed_parts = {name: parts(one, sets.asked, shape.budget, named=True) for name, one in fixed.items()}
    return found | {name: measured(reader, sets.asked, some) for name, some in fixed_parts.items()}


def selection(
    shape: Shape,
    reader: GraphReader,
    encoder: Encoder,
    sets: Sets,
    seed: int,
    objective: str,
    settings: ScorerSettings,
    epochs: int = 0,
) -> GCNSelector:
    """Return a selection that was trained by a reader's losses; a reader that learns is trained with it."""
    recipe = FeedbackRecipe(objective, shape.budget, draws=4, batch=16)
    feedback = SubgraphFeedback(examples(sets.learned), examples(sets.held), reader, settings, recipe)
    scorer = settings.build_network(encoder.dimension, seed)
    own = Recipe(epochs or shape.epochs, rate=1e-3, average=0.9, warmup=10, seed=seed)
    with tempfile.TemporaryDirectory() as run:
        train(feedback.trainable_module(scorer), feedback, own, Path(run), lambda *_: None)
    return GCNSelector(TrainedScorer(scorer.eval(), settings, encoder.fingerprint, encoder.dimension))


def tuned(shape: Shape, model: CausalModel, encoder: Encoder, sets: Sets, seed: int) -> dict[str, Outcome]:
    """Return what prompt tuning comes to, on fixed selections and together with the network's."""
    reader = causal(model)
    graph_token = token(model, encoder, seed, "part")
    whole = token(model, encoder, seed, "whole")
    readers = {
        f"{FILLED} + soft prompt": SoftPromptReader(reader, num_virtual_tokens=4, seed=seed),
        f"{FILLED} + graph token (G-Retriever)": SoftPromptReader(
            reader, num_virtual_tokens=0, graph_token=graph_token
        ),
        "graphtoken": SoftPromptReader(causal(model, with_text=False), num_virtual_tokens=0, graph_token=whole),
    }
    found = {}
    filled = SteinerSelector(fill=True)
    learned, held, asked = (
        parts(filled, some, shape.budget, named=True) for some in (sets.learned, sets.held, sets.asked)
    )
    for name, one in readers.items():
        objective = ReaderTuning(readable(sets.learned, learned), readable(sets.held, held), one, 16)
        recipe = Recipe(shape.tuning, rate=1e-2, average=0.9, warmup=10, seed=seed)
        with tempfile.TemporaryDirectory() as run:
            train(objective.trainable_module(), objective, recipe, Path(run), lambda *_: None)
        found[name] = measured(one, sets.asked, asked)
    joint = SoftPromptReader(reader, num_virtual_tokens=4, seed=seed)
    chosen = selection(shape, joint, encoder, sets, seed, POLICY, ScorerSettings(), shape.tuning)
    found[f"{GCN} + joint soft prompt"] = measured(joint, sets.asked, parts(chosen, sets.asked, shape.budget))
    return found


def token(model: CausalModel, encoder: Encoder, seed: int, pool: str) -> GraphToken:
    """Return an untrained graph token."""
    settings = GraphTokenSettings(encoder.dimension, model.width, width=64, layers=2, tokens=1 if pool == "part" else 4)
    settings = replace(settings, pool="part" if pool == "part" else "whole")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphToken(settings)


def parts(
    selector: SubgraphSelector, asked: Sequence[Asked], budget: int, *, named: bool = False
) -> list[GraphContext]:
    """Return what is selected for each question, as its reader's context."""
    graphs = [one.named if named else one.own for one in asked]
    return [build_context(graph, part) for graph, part in zip(graphs, selector.select(graphs, budget), strict=True)]


def measured(reader: GraphReader, asked: Sequence[Asked], contexts: Sequence[GraphContext]) -> Outcome:
    """Return what a reader makes of parts."""
    said = reader.generate([one.task.question for one in asked], contexts)
    right = [word == one.task.answer for word, one in zip(said, asked, strict=True)]
    whole = [
        {*one.task.chain} <= {*context.subgraph.nodes.tolist()} for one, context in zip(asked, contexts, strict=True)
    ]
    nodes = [len(context.subgraph.nodes) for context in contexts]
    return Outcome(*(np.array(some, dtype=np.float64) for some in (right, whole, nodes)))


def examples(asked: Sequence[Asked]) -> list[FeedbackExample]:
    """Return questions for training a selection."""
    return [FeedbackExample(one.own, one.task.question, (one.task.answer,)) for one in asked]


def readable(asked: Sequence[Asked], contexts: Sequence[GraphContext]) -> list[ReaderExample]:
    """Return questions with their parts for training a reader."""
    return [ReaderExample(one.task.question, part, one.task.answer) for one, part in zip(asked, contexts, strict=True)]


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcomes of all seeds as one."""
    return Outcome(*(np.concatenate([getattr(one, name) for one in outcomes]) for name in ("right", "whole", "nodes")))


def told(every: dict[str, Outcome], names: Sequence[str], best: str) -> list[list[str]]:
    """Return the rows of a table: intervals and tests are over the questions of all seeds."""
    rows = []
    for name in names:
        one, random = every[name], np.random.default_rng(0)
        low, high = mean_interval(one.right, random)
        row = [
            name,
            f"{one.right.mean():.3f}",
            f"{low:.3f}-{high:.3f}",
            f"{one.whole.mean():.3f}",
            f"{one.nodes.mean():.1f}",
        ]
        if name != best:
            test = compare_means((best, name), "accuracy", every[best].right, one.right, random)
            row += [f"{test.difference:.3f} ({test.low:.3f} to {test.high:.3f})", f"{test.p:.4f}"]
        rows.append([*row, "", ""][:7])
    return rows


if __name__ == "__main__":
    main()
