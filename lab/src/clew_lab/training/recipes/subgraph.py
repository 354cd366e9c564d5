"""Training of the network that selects subgraphs for a reader, on questions on textual graphs."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from clew.errors import InputError
from clew.models.encoders.memory import VectorMemory
from clew.nn.query_gnn import export_arrays
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import SubgraphSelector
from clew.retrievers.subgraph.gcn import TrainedScorer
from clew.training.checkpoint import ProcessGroup
from clew.training.hyperparameters import Recipe, TrainingResult
from clew.training.loop import SINGLE_PROCESS, train
from clew.types import Progress
from clew_lab.graph.reader_context import build_context
from clew_lab.graph_readers.choice_reader import ChoiceGraphReader
from clew_lab.graph_readers.path_reader import PathGraphReader
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.nn.subgraph_policy import build_scorer
from clew_lab.training.data.graph_questions import EncodedQuestion, digest_questions
from clew_lab.training.fitting.choice_reader import ChoiceReaderRecipe, train_choice_reader
from clew_lab.training.objectives.reader_tuning import ReaderExample, ReaderTuning
from clew_lab.training.objectives.subgraph_feedback import SubgraphFeedback
from clew_lab.training.recipes.selection_recipe import SelectionRecipe
from clew_lab.training.run_folder import own_run_folder
from clew_lab.training.trainable_parameters import ReaderParameters, as_trainable

TUNING_BATCH = 8
"""Examples per step of a reader on fixed selections: G-Retriever's batch of 8 graphs."""


def local_reader(
    encoder: Encoder, training: Sequence[EncodedQuestion], choices: tuple[str, ...], seed: int = 0
) -> GraphReader:
    """Return the reader that needs no language model: along paths, or trained to tell a few choices apart.

    It is trained on the first of the questions' answers, each of which must be one of the choices.
    """
    if not choices:
        return PathGraphReader(VectorMemory(encoder.encode))
    graphs, answers = [one.question_graph.graph for one in training], [one.question.answers[0] for one in training]
    return ChoiceGraphReader(train_choice_reader(graphs, answers, choices, ChoiceReaderRecipe(seed=seed)))


def train_selection(
    training: Sequence[EncodedQuestion],
    validation: Sequence[EncodedQuestion],
    reader: GraphReader,
    encoder: Encoder,
    recipe: SelectionRecipe,
    run: Path,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
) -> tuple[TrainedScorer, TrainingResult]:
    """Train a network that selects subgraphs; a run of the same inputs that was killed resumes in its folder.

    `validation` chooses the epoch. The reader gives the feedback; one with trainable parameters is trained too, and is
    on the device of `group`, a single process.
    """
    if not training:
        raise InputError("no question is left, so there is nothing to learn from: give others")
    network, feedback = recipe.network, recipe.feedback
    model = build_scorer(network, encoder.dimension, recipe.loop.seed)
    objective = SubgraphFeedback(training, validation, reader, network, feedback)
    trainable = objective.trainable_module(model)  # opens the reader, which may fail, before the folder is written
    identity = {"network": repr(network), "feedback": repr(feedback)}
    if feedback.choose_by != "reader":
        identity["choice of the epoch"] = feedback.choose_by
    with own_run_folder(run, identity | _run_identity(training, validation, reader, encoder)):
        result = train(trainable, objective, recipe.loop, run, progress, group)
    _move_parameters(reader, group)
    model.eval()
    about = {  # without seconds: the same run twice gives the same file
        "recipe": asdict(recipe.loop),
        "feedback": asdict(feedback),
        "reader": reader.name,
        "questions": len(training),
        "held": len(validation),
        "best": result.best_epoch,
        "figures": result.figures,
        "started_at": result.initial_figures,
    }
    scorer = TrainedScorer(
        network.network(export_arrays(model)), network, encoder.fingerprint, encoder.dimension, about
    )
    return scorer, replace(result, questions=len(training), held_out=len(validation))


def tune_reader(
    training: Sequence[EncodedQuestion],
    validation: Sequence[EncodedQuestion],
    reader: GraphReader,
    encoder: Encoder,
    selector: SubgraphSelector,
    selection: str,
    budget: int,
    recipe: Recipe,
    run: Path,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
) -> float:
    """Train a reader in place on fixed selections; return the seconds, 0 for one without trainable parameters.

    Questions are learned by the first of their answers; `validation` chooses the epoch. The selections have at most
    `budget` nodes; `selection` names the selector in the identity of the run. The reader is on the device of `group`, a
    single process.
    """
    trainable = as_trainable(reader)
    if trainable is None:
        return 0.0
    examples, others = (_examples(some, selector, budget) for some in (training, validation))
    objective = ReaderTuning(examples, others, trainable, TUNING_BATCH)
    identity = {"selection": f"{selection}, {budget} nodes"}
    with own_run_folder(run, identity | _run_identity(training, validation, reader, encoder)):
        seconds = train(objective.trainable_module(), objective, recipe, run, progress, group).seconds
    _move_parameters(reader, group)
    return seconds


def _move_parameters(reader: GraphReader, group: ProcessGroup) -> None:
    """Move the parameters of a reader, which training leaves on the processor, to the device of the rest of it."""
    if (trainable := as_trainable(reader)) is not None:
        ReaderParameters(trainable.parameters()).to(group.device)


def _run_identity(
    training: Sequence[EncodedQuestion], validation: Sequence[EncodedQuestion], reader: GraphReader, encoder: Encoder
) -> dict[str, str]:
    """Return what a result depends on besides the network and the recipe."""
    return {
        "questions to learn from": digest_questions(training),
        "questions that choose the epoch": digest_questions(validation),
        "reader": reader.fingerprint,
        "encoder": encoder.fingerprint,
    }


def _examples(questions: Sequence[EncodedQuestion], selector: SubgraphSelector, budget: int) -> list[ReaderExample]:
    parts = selector.select([one.question_graph for one in questions], budget) if questions else []
    return [
        ReaderExample(one.question.text, build_context(one.question_graph, part), one.question.answers[0])
        for one, part in zip(questions, parts, strict=True)
    ]
