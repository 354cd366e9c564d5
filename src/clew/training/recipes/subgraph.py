"""`clew train subgraph`: from questions on textual graphs to a network that selects what a reader should see."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.answering.graph_readers.choice_reader import ChoiceGraphReader
from clew.answering.graph_readers.path_reader import PathGraphReader
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import context_of
from clew.protocols import Encoder, GraphReader, SubgraphSelector
from clew.retrievers.frag.chain_features import VectorMemory
from clew.training.data.graph_questions import AskedQuestion, Progress, questions_digest

if TYPE_CHECKING:
    from clew.retrievers.subgraph.gcn_weights import ScorerSettings, TrainedScorer
    from clew.training.loop import Recipe
    from clew.training.objectives.reader_tuning import ReadExample
    from clew.training.objectives.subgraph_feedback import FeedbackExample, FeedbackRecipe

LOCAL = "local"
TUNED_TOGETHER = 8
"""Examples a step where a reader learns on parts that are given: G-Retriever's batch of 8 graphs."""


def local_reader(
    encoder: Encoder, learned: Sequence[AskedQuestion], choices: tuple[str, ...], seed: int = 0
) -> GraphReader:
    """Return the reader that needs no language model: along paths, or taught what relations say for each choice.

    Args:
        encoder: Of the graphs' texts.
        learned: Questions that it may be taught on, by the first of their answers.
        choices: The possible answers, where they are few.
        seed: Of the teaching.

    Raises:
        InputError: There are choices, and no questions to be taught on, or one whose answer is none of them.
    """
    if not choices:
        return PathGraphReader(VectorMemory(encoder.encode))
    from clew.training.fitting.choice_reader import ChoiceRecipe, teach_choices

    graphs, answers = [one.asked.graph for one in learned], [one.question.answers[0] for one in learned]
    return ChoiceGraphReader(teach_choices(graphs, answers, choices, ChoiceRecipe(seed=seed)))


def feedback_examples(questions: Sequence[AskedQuestion]) -> "list[FeedbackExample]":
    """Return questions as a reader's feedback on them is trained by."""
    from clew.training.objectives.subgraph_feedback import FeedbackExample

    return [FeedbackExample(one.asked, one.question.text, one.question.answers) for one in questions]


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
    learned: Sequence[AskedQuestion],
    held: Sequence[AskedQuestion],
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
        learned: To learn from.
        held: To choose the epoch by.
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
    from clew.training.run_folder import claimed

    if not learned:
        raise InputError("no question is left, so there is nothing to learn from: give others")
    model = settings.made(encoder.dimension, recipe.seed)
    objective = SubgraphFeedback(feedback_examples(learned), feedback_examples(held), reader, settings, feedback)
    both = objective.model(model)  # loads the reader, so that one that cannot be opened leaves nothing behind
    claim = {"network": repr(settings), "feedback": repr(feedback)} | _about(learned, held, reader, encoder)
    with claimed(run, claim):
        done = train(both, objective, recipe, run, progress)
    model.eval()
    told = SubgraphTaught(len(learned), len(held), done.best, done.seconds, done.figures, done.started_at)
    about = {"recipe": asdict(recipe), "feedback": asdict(feedback), "reader": reader.name, **asdict(told)}
    del about["seconds"]  # the same run twice gives the same file
    return TrainedScorer(model, settings, encoder.fingerprint, encoder.dimension, about), told


def tune_reader(
    learned: Sequence[AskedQuestion],
    held: Sequence[AskedQuestion],
    reader: GraphReader,
    encoder: Encoder,
    selector: SubgraphSelector,
    about: str,
    budget: int,
    recipe: "Recipe",
    run: Path,
    progress: Progress,
) -> float:
    """Let a reader learn what it can on a selection that does not learn; one without weights to learn stays as it is.

    Args:
        learned: To learn from, each with the first of its answers.
        held: To choose the epoch by.
        reader: Learns in place.
        encoder: That made the vectors.
        selector: Gives the parts that are read.
        about: Tells the selector from others.
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
    from clew.training.run_folder import claimed
    from clew.training.trainable_parameters import learning

    trainable = learning(reader)
    if trainable is None:
        return 0.0
    examples, others = (_read_examples(some, selector, budget) for some in (learned, held))
    objective = ReaderTuning(examples, others, trainable, TUNED_TOGETHER)
    claim = {"selection": f"{about}, {budget} nodes"} | _about(learned, held, reader, encoder)
    with claimed(run, claim):
        return train(objective.model(), objective, recipe, run, progress).seconds


def _about(
    learned: Sequence[AskedQuestion], held: Sequence[AskedQuestion], reader: GraphReader, encoder: Encoder
) -> dict[str, str]:
    """Return what a result depends on beside the network and the recipe."""
    return {
        "questions to learn from": questions_digest(learned),
        "questions that choose the epoch": questions_digest(held),
        "reader": reader.fingerprint,
        "encoder": encoder.fingerprint,
    }


def _read_examples(asked: Sequence[AskedQuestion], selector: SubgraphSelector, budget: int) -> "list[ReadExample]":
    from clew.training.objectives.reader_tuning import ReadExample

    parts = selector.select([one.asked for one in asked], budget) if asked else []
    return [
        ReadExample(one.question.text, context_of(one.asked, part), one.question.answers[0])
        for one, part in zip(asked, parts, strict=True)
    ]
