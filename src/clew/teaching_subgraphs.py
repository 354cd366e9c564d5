"""`clew train subgraph`: from questions on textual graphs to a network that selects what a reader should see."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.evaluation.datasets import load_questions
from clew.evaluation.graph_sets import GraphQuestion, GraphSet, MadeGraphs, split
from clew.index import Index
from clew.protocols import Encoder, GraphReader
from clew.reading.graph_choices import ChoiceGraphReader
from clew.reading.graph_paths import PathGraphReader
from clew.retrievers.asked_graphs import GraphEncoder
from clew.retrievers.chain_features import VectorMemory
from clew.retrievers.question_subgraph import SubgraphRetriever, SubgraphSettings
from clew.retrievers.subgraph_selectors import WholeGraph
from clew.store.derived import atomic_file

if TYPE_CHECKING:
    from clew.graph.textual_graph import AskedGraph, EncodedGraph
    from clew.retrievers.subgraph_weights import ScorerSettings, TrainedScorer
    from clew.training.loop import Recipe
    from clew.training.subgraph_feedback import FeedbackExample, FeedbackRecipe

Progress = Callable[[str, int, int], None]
LOCAL = "local"


@dataclass(frozen=True, slots=True, eq=False)
class AskedQuestion:
    """A question of a set with the vectors of its graph."""

    question: GraphQuestion
    asked: "AskedGraph"


def asked_questions(graph_set: GraphSet, encoder: Encoder, progress: Progress) -> list[AskedQuestion]:
    """Return the questions of a set on encoded graphs; those on a graph without nodes are left out.

    Args:
        graph_set: Any; graphs that no question is on are not looked at.
        encoder: Of all texts.
        progress: Told the questions that were read.
    """
    # A reader compares paths with the question, and both are encoded alike for that.
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    count = len(graph_set.questions)
    progress("encoding", 0, count)
    place_of = {graph: place for place, graph in enumerate(sorted({q.graph for q in graph_set.questions}))}
    graphs = [graph_set.graphs[graph] for graph in place_of]
    vectors.remember(graphs, [(place_of[q.graph], q.text, q.topics) for q in graph_set.questions])
    encoded: dict[int, EncodedGraph] = {}
    found: list[AskedQuestion] = []
    for number, question in enumerate(graph_set.questions, 1):
        progress("reading questions", number, count)
        place = place_of[question.graph]
        if place not in encoded:
            encoded[place] = vectors.encoded(graphs[place])
        graph = encoded[place]
        if len(graph.graph.nodes):
            found.append(AskedQuestion(question, vectors.asked(graph, question.text, question.topics)))
    return found


def index_questions(index: Index, path: Path, progress: Progress, most: int | None = None) -> list[AskedQuestion]:
    """Return questions on an index, each on what `gcn-subgraph` and `steiner` look at for it.

    Args:
        index: With a graph, imported or made of documents.
        path: Questions in Clew's form; without `topic` the names in a question are linked.
        progress: Told the questions that were read.
        most: Questions at most, spread evenly over the file.

    Raises:
        InputError: The questions cannot be read, or none that has answers names an entity with facts.
    """
    parts = index.parts
    of = parts.graph_parts()
    near = SubgraphRetriever(
        of.scope, of.lexical, of.graph, parts.text_vectors, WholeGraph(), "", SubgraphSettings(), by_words=True
    )
    found: list[AskedQuestion] = []
    read = load_questions(path)
    asked = [read[place] for place in spread(len(read), most)]
    for number, question in enumerate(asked):
        progress("reading questions", number, len(asked))
        selected = near.select(question.text, question.topics)
        graph = selected.asked.graph.graph
        if not len(graph.edges) or not question.answers:
            continue
        place_of = {name: place for place, name in enumerate(graph.nodes)}
        chains = ([place_of.get(end, -1) for h, _, t in path for end in (h, t)] for path in question.paths)
        gold = tuple(tuple(dict.fromkeys(chain)) for chain in chains if -1 not in chain)
        topics = tuple(selected.asked.topics.tolist())
        group = " | ".join(sorted(graph.nodes[topic] for topic in topics))
        told = GraphQuestion(question.id, number, question.text, question.answers, topics, gold, group)
        found.append(AskedQuestion(told, selected.asked))
    if not found:
        raise InputError(
            f"none of {len(asked)} questions in {path} has answers and names an entity with facts: give others"
        )
    return found


def spread(count: int, most: int | None) -> list[int]:
    """Return positions of at most so many of `count` things, evenly over them; all for None."""
    return list(range(count)) if most is None or most >= count else [place * count // most for place in range(most)]


def parted(asked: Sequence[AskedQuestion], share: float, seed: int) -> tuple[list[AskedQuestion], list[AskedQuestion]]:
    """Part questions in two, by chance; those of one group stay together (see `graph_sets.split`)."""
    numbered = tuple(replace(one.question, graph=place) for place, one in enumerate(asked))
    graphs = MadeGraphs(len(asked), lambda place: asked[place].asked.graph.graph)
    first, second = split(GraphSet(graphs, numbered), share, seed)
    return [asked[q.graph] for q in first.questions], [asked[q.graph] for q in second.questions]


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
    from clew.training.graph_choices import ChoiceRecipe, teach_choices

    graphs, answers = [one.asked.graph for one in learned], [one.question.answers[0] for one in learned]
    return ChoiceGraphReader(teach_choices(graphs, answers, choices, ChoiceRecipe(seed=seed)))


def feedback_examples(questions: Sequence[AskedQuestion]) -> "list[FeedbackExample]":
    """Return questions as a reader's feedback on them is trained by."""
    from clew.training.subgraph_feedback import FeedbackExample

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
        InputError: There is nothing to learn from, or the folder holds the run of another recipe, network, reader or
            encoder.
    """
    from clew.retrievers.subgraph_weights import TrainedScorer
    from clew.training.loop import train
    from clew.training.subgraph_feedback import SubgraphFeedback

    if not learned:
        raise InputError("no question is on a graph with nodes, so there is nothing to learn from: give others")
    model = settings.made(encoder.dimension, recipe.seed)
    objective = SubgraphFeedback(feedback_examples(learned), feedback_examples(held), reader, settings, feedback)
    _claim(run, repr((settings, feedback, reader.name, encoder.fingerprint)))
    done = train(objective.model(model), objective, recipe, run, progress)
    model.eval()
    told = SubgraphTaught(len(learned), len(held), done.best, done.seconds, done.figures, done.started_at)
    about = {"recipe": asdict(recipe), "feedback": asdict(feedback), "reader": reader.name, **asdict(told)}
    del about["seconds"]  # the same run twice gives the same file
    return TrainedScorer(model, settings, encoder.fingerprint, encoder.dimension, about), told


def _claim(run: Path, told: str) -> None:
    """Say in a folder whose run it holds; refuse one that holds another, which would go on as if it were this one."""
    note = run / "selection.txt"
    if note.is_file() and (seen := note.read_text(encoding="utf-8")) != told:
        raise InputError(f"{run} holds another run ({seen}): give another folder, or remove it to begin anew")
    with atomic_file(note) as file:
        file.write_text(told, encoding="utf-8")
