"""`clew train subgraph`: from questions on textual graphs to a network that selects what a reader should see."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.answering.graph_readers.choice_reader import ChoiceGraphReader
from clew.answering.graph_readers.path_reader import PathGraphReader
from clew.answering.graph_readers.protocols import GraphReader
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import build_context
from clew.models.encoders.memory import VectorMemory
from clew.protocols import Encoder
from clew.retrievers.subgraph.selectors import SubgraphSelector
from clew.training.data.graph_questions import EncodedQuestion, digest_questions
from clew.types import Progress

if TYPE_CHECKING:
    from clew.retrievers.subgraph.gcn_weights import ScorerSettings, TrainedScorer
    from clew.training.loop import Recipe
    from clew.training.objectives.reader_tuning import ReaderExample
    from clew.training.objectives.subgraph_feedback import FeedbackExample, FeedbackRecipe

LOCAL_READER = "local"
TUNING_BATCH = 8
"""Examples a step where a reader learns on parts that are given: G-Retriever's batch of 8 graphs."""


def local_reader(
    encoder: Encoder, training: Sequence[EncodedQuestion], choices: tuple[str, ...], seed: int = 0
) -> GraphReader:
    """Return the reader that needs no language model: along paths, or taught what relations say for each choice.

    Args:
        encoder: Of the graphs' texts.
        training: Questions that it may be taught on, by the first of their answers.
        choices: The possible answers, where they are few.
        seed: Of the teaching.

    Raises:
        InputError: There are choices, and no questions to be taught on, or one whose answer is none of them.
    """
    if not choices:
        return PathGraphReader(VectorMemory(encoder.encode))
    from clew.training.fitting.choice_reader import ChoiceReaderRecipe, train_choice_reader

    graphs, answers = [one.question_graph.graph for one in training], [one.question.answers[0] for one in training]
    return ChoiceGraphReader(train_choice_reader(graphs, answers, choices, ChoiceReaderRecipe(seed=seed)))


def feedback_examples(questions: Sequence[EncodedQuestion]) -> "list[FeedbackExample]":
    """Return questions as a reader's feedback on them is trained by."""
    from clew.training.objectives.subgraph_feedback import FeedbackExample

    return [FeedbackExample(one.question_graph, one.question.text, one.question.answers) for one in questions]


@dataclass(frozen=True, slots=True)
class SubgraphTaught:
    """What a training gave.

    Attributes:
        questions: That were learned from.
        held: That chose the epoch.
        best: The epoch, from 0; -1 when the untrained network was the best.
        seconds: Of the training.
        figures: On what was held out.
        started_at: The same before training.
    """

    questions: int
    held: int
    best: int
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)
    started_at: dict[str, float] = field(default_factory=dict)


def train_selection(
    training: Sequence[EncodedQuestion],
    validation: Sequence[EncodedQuestion],
    reader: GraphReader,
    encoder: Encoder,
    settings: "ScorerSettings",
    feedback: "FeedbackRecipe",
    recipe: "Recipe",
    run: Path,
    progress: Progress,
) -> "tuple[TrainedScorer, SubgraphTaught]":
    """Train a network that selects subgraphs; a run that was killed goes on where it was.

    Args:
        training: To learn from.
        validation: To choose the epoch by.
        reader: Gives the feedback; one that has weights to learn learns with the network.
        encoder: That made the vectors.
        settings: Of the network.
        feedback: How selections are drawn and judged.
        recipe: Of the loop.
        run: Folder of the run's state.
        progress: Told the steps.

    Raises:
        InputError: There is nothing to learn from, or the folder holds the run of other questions or of another
            recipe, network, reader or encoder.
        ProviderError: The reader or the disk cannot be used.
    """
    from clew.retrievers.subgraph.gcn_weights import TrainedScorer
    from clew.training.loop import train
    from clew.training.objectives.subgraph_feedback import SubgraphFeedback
    from clew.training.run_folder import own_run_folder

    if not training:
        raise InputError("no question is left, so there is nothing to learn from: give others")
    model = settings.build_network(encoder.dimension, recipe.seed)
    objective = SubgraphFeedback(feedback_examples(training), feedback_examples(validation), reader, settings, feedback)
    both = objective.trainable_module(
        model
    )  # loads the reader, so that one that cannot be opened leaves nothing behind
    claim = {"network": repr(settings), "feedback": repr(feedback)} | _run_identity(
        training, validation, reader, encoder
    )
    with own_run_folder(run, claim):
        done = train(both, objective, recipe, run, progress)
    model.eval()
    told = SubgraphTaught(
        len(training), len(validation), done.best_epoch, done.seconds, done.figures, done.initial_figures
    )
    about = {"recipe": asdict(recipe), "feedback": asdict(feedback), "reader": reader.name, **asdict(told)}
    del about["seconds"]  # the same run twice gives the same file
    return TrainedScorer(model, settings, encoder.fingerprint, encoder.dimension, about), told


def tune_reader(
    training: Sequence[EncodedQuestion],
    validation: Sequence[EncodedQuestion],
    reader: GraphReader,
    encoder: Encoder,
    selector: SubgraphSelector,
    selection: str,
    budget: int,
    recipe: "Recipe",
    run: Path,
    progress: Progress,
) -> float:
    """Let a reader learn what it can on a selection that does not learn; one without weights to learn stays as it is.

    Args:
        training: To learn from, each with the first of its answers.
        validation: To choose the epoch by.
        reader: Learns in place.
        encoder: That made the vectors.
        selector: Gives the parts that are read.
        selection: Tells the selector from others.
        budget: Nodes of a part at most.
        recipe: Of the loop.
        run: Folder of the run's state.
        progress: Told the steps.

    Returns:
        Seconds; 0 for a reader without weights to learn.

    Raises:
        InputError: There is nothing to learn from, or the folder holds the run of something else.
    """
    from clew.training.loop import train
    from clew.training.objectives.reader_tuning import ReaderTuning
    from clew.training.run_folder import own_run_folder
    from clew.training.trainable_parameters import as_trainable

    trainable = as_trainable(reader)
    if trainable is None:
        return 0.0
    examples, others = (_read_examples(some, selector, budget) for some in (training, validation))
    objective = ReaderTuning(examples, others, trainable, TUNING_BATCH)
    claim = {"selection": f"{selection}, {budget} nodes"} | _run_identity(training, validation, reader, encoder)
    with own_run_folder(run, claim):
        return train(objective.trainable_module(), objective, recipe, run, progress).seconds


def _run_identity(
    training: Sequence[EncodedQuestion], validation: Sequence[EncodedQuestion], reader: GraphReader, encoder: Encoder
) -> dict[str, str]:
    """Return what a result depends on beside the network and the recipe."""
    return {
        "questions to learn from": digest_questions(training),
        "questions that choose the epoch": digest_questions(validation),
        "reader": reader.fingerprint,
        "encoder": encoder.fingerprint,
    }


def _read_examples(
    questions: Sequence[EncodedQuestion], selector: SubgraphSelector, budget: int
) -> "list[ReaderExample]":
    from clew.training.objectives.reader_tuning import ReaderExample

    parts = selector.select([one.question_graph for one in questions], budget) if questions else []
    return [
        ReaderExample(one.question.text, build_context(one.question_graph, part), one.question.answers[0])
        for one, part in zip(questions, parts, strict=True)
    ]
