"""Training of the hop predictor and of the path ranking of `frag`, on questions on imported graphs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.errors import InputError
from clew.graph.paths.relation_paths import RelationPathLevel, first_level, next_level, relation_codes
from clew.graph.subgraphs.k_hop import explored_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import FactGraph
from clew.index import Index
from clew.models.encoders.int8_minilm import BUNDLED_FOLDER
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.query.linking import TopicEntities, find_topic_entities, mask_names
from clew.query.relation_matching import RelationPath, RelationTexts, match_relations
from clew.retrievers.frag.hop_predictor import (
    CLASSIFIER,
    TERMS,
    TUNED_FOLDER,
    HopPredictor,
    HopPredictorWeights,
    load_hop_predictor,
    save_hop_predictor,
)
from clew.retrievers.frag.path_ranking import PathRankerWeights, relation_path_features
from clew.training.fitting.hop_predictor import (
    FEEDBACK_RECIPE,
    HopExample,
    HopRecipe,
    accuracy,
    train_hop_predictor,
)
from clew.training.hyperparameters import TrainingResult
from clew.training.recipes.router import read_feedback_log
from clew.types import Progress, Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.training.fitting.hop_classifier import adapt_hop_classifier, train_hop_classifier
from clew_lab.training.fitting.path_ranker import PathExample, PathRecipe, train_path_ranker
from clew_lab.training.saved_weights import save_path_ranker

MAX_HOPS = 4
"""Farthest answers, in hops from a topic entity."""
_MAX_EDGES = 300_000
_MAX_ENDS = 3_000
_VOCABULARY_SIZE = 4_000
_HOLD_OUT_EVERY = 10


def train_frag_hops(
    graphs: Sequence[tuple[Index, Path]],
    out: Path,
    recipe: HopRecipe,
    progress: Progress,
    start: Path | None = None,
    feedback: Sequence[Path] = (),
    encoder_name: str = DEFAULT_ENCODER,
) -> TrainingResult:
    """Train a hop predictor on indexes and questions on them, and write its weights.

    `encoder_name` is that of the kind `classifier`, which is tuned if it is a model of sentence-transformers.
    Every tenth question is held out for the accuracy. `start` are weights to begin with, `feedback` are logs of answers
    that name the path they used (see `read_feedback_log`).
    """
    examples: list[HopExample] = []
    left_out = 0
    for index, path in graphs:
        some, without_path = hop_examples(index, load_questions(path), progress)
        examples += some
        left_out += without_path
    for log in feedback:
        examples += read_feedback_log(log)
    held_out = examples[_HOLD_OUT_EVERY - 1 :: _HOLD_OUT_EVERY] if graphs else []
    training = [e for i, e in enumerate(examples, 1) if i % _HOLD_OUT_EVERY or not graphs]
    if recipe.kind == CLASSIFIER:
        if start is not None:
            raise InputError(
                "a classifier starts from its encoder: leave --start out, or give --encoder FOLDER/encoder"
            )
        weights = train_hop_classifier(training, recipe, encoder_name, out)
        classifier_encoder = open_encoder(str(weights.about["encoder"] or out / TUNED_FOLDER))
        return _save_hops(out, weights, classifier_encoder.encode, (len(training), held_out, left_out))
    encode, encoder, vocabulary = _word_encoder(graphs, recipe)
    initial = load_hop_predictor(start) if start is not None else None
    weights = train_hop_predictor(training, recipe, encode, encoder, vocabulary, initial)
    return _save_hops(out, weights, encode, (len(training), held_out, left_out))


def adapt_hop_predictor(
    predictor: HopPredictor, examples: Sequence[HopExample], recipe: HopRecipe = FEEDBACK_RECIPE
) -> HopPredictor:
    """Return a predictor adapted to questions that were answered (FRAG-F); raises InputError for the kind `tf-idf`.

    Of a classifier the linear layer is adapted, and its encoder stays as it is.
    """
    start, encode = predictor.weights, predictor.encode
    if start.kind == TERMS or encode is None:
        raise InputError(f"a router of the kind {start.kind} cannot be adapted: choose router=words, or a classifier")
    if start.kind == CLASSIFIER:
        return HopPredictor(adapt_hop_classifier(examples, recipe, start, encode), encode)
    return HopPredictor(train_hop_predictor(examples, recipe, encode, start.encoder, (), start), encode)


def hop_examples(index: Index, questions: Sequence[Question], progress: Progress) -> tuple[list[HopExample], int]:
    """Return the questions with their numbers of hops, and how many questions were left out.

    The number is that of the data set or, if it has none, the length of the shortest path from a topic to an answer;
    questions without topic entities in the graph, or without such a path, are left out.
    """
    graph = index.context.load_fact_graph()
    examples: list[HopExample] = []
    for number, question in enumerate(questions):
        progress("reading questions", number, len(questions))
        topics = find_topic_entities(index.snapshot, question.text, question.topics)
        if hops := question.hops or _shortest_hops(index, graph, topics, question.answers):
            examples.append(HopExample(mask_names(topics.text, topics.spans), hops))
    return examples, len(questions) - len(examples)


def hops_to_answers(index: Index, questions: Sequence[Question], progress: Progress) -> list[int]:
    """Return for each question the length of the shortest path from a topic to an answer, at least 1; 0 for none."""
    graph = index.context.load_fact_graph()
    hops: list[int] = []
    for question in questions:
        progress("reading questions", len(hops), len(questions))
        topics = find_topic_entities(index.snapshot, question.text, question.topics)
        hops.append(_shortest_hops(index, graph, topics, question.answers))
    return hops


def _shortest_hops(index: Index, graph: FactGraph, topics: TopicEntities, answers: Sequence[str]) -> int:
    if not topics.entities:
        return 0
    nearby = neighbourhood(graph, np.array(topics.entities, dtype=np.int32), MAX_HOPS, _MAX_EDGES)
    ends = np.isin(nearby.nodes, _find_entities(index, answers))
    return max(1, int(nearby.hops[ends].min())) if ends.any() else 0


def train_frag_paths(
    graphs: Sequence[tuple[Index, Path]], out: Path, recipe: PathRecipe, progress: Progress, hops: int = 3
) -> TrainingResult:
    """Train a path ranker on indexes of one encoder with questions, on paths of some hops, and write its weights.

    Raises InputError if no question has a path to its answers, or an index has no vectors.
    """
    examples: list[PathExample] = []
    tables: list[FloatArray] = []
    fingerprint = ""
    rows = count = 0
    for index, path in graphs:
        context, encoder = index.context, index.context.index_encoder
        texts, graph = context.relation_texts(), context.load_fact_graph()
        own = encoder.fingerprint if encoder else ""
        if fingerprint and encoder is not None and own != fingerprint:
            raise InputError("the indexes were made with different encoders: train on indexes of one encoder")
        fingerprint = own
        codes: dict[int, int] = {}
        questions = load_questions(path)
        for number, question in enumerate(questions):
            progress("reading questions", number, len(questions))
            if (example := _path_example(index, graph, texts, question, hops, codes, rows)) is not None:
                examples.append(example)
        if codes:
            tables.append(texts.step_vectors(np.array(list(codes), dtype=np.int32)))
        rows += len(codes)
        count += len(questions)
    table = np.concatenate(tables) if tables else np.zeros((1, 1), dtype=np.float32)
    trained = train_path_ranker(examples, table, recipe, fingerprint)
    figures = {"worth of the best chain, on the questions learned from": _mean_best_path_f1(trained, examples, table)}
    save_path_ranker(out, replace(trained, about={**trained.about, "figures": figures}))
    return TrainingResult(figures=figures, questions=len(examples), left_out=count - len(examples))


def _path_example(
    index: Index,
    graph: FactGraph,
    texts: RelationTexts,
    question: Question,
    hops: int,
    row_of_code: dict[int, int],
    first_row: int,
) -> PathExample | None:
    """Return a question's relation paths; None if it has none to an answer.

    New relation codes get the next rows of the table of vectors, from `first_row` on, in `row_of_code`.
    """
    topics = find_topic_entities(index.snapshot, question.text, question.topics)
    answers = _find_entities(index, question.answers)
    if not topics.entities or not len(answers):
        return None
    paths, f1_scores, codes = _find_relation_paths(index, graph, topics, answers, hops)
    if not paths or max(f1_scores) == 0:
        return None
    match = match_relations(mask_names(topics.text, topics.spans), codes, texts)
    for code in codes.tolist():
        row_of_code.setdefault(code, first_row + len(row_of_code))
    relations = np.full((len(paths), hops), -1, dtype=np.int64)
    for row, path in enumerate(paths):
        relations[row, : len(path)] = [row_of_code[code] for code in path]
    features = relation_path_features(match, paths)
    return PathExample(features, relations, match.question_vector, np.array(f1_scores, dtype=np.float32))


def _find_relation_paths(
    index: Index, graph: FactGraph, topics: TopicEntities, answers: IntArray, hops: int
) -> tuple[list[RelationPath], list[float], IntArray]:
    """Return all relation paths up to some hops, the F1 of their ends against the answers, and their relation codes."""
    starts = np.array(topics.entities, dtype=np.int32)
    local = explored_graph(graph, neighbourhood(graph, starts, hops, _MAX_EDGES))
    codes = relation_codes(local, index.snapshot.triples)
    levels: list[RelationPathLevel] = [first_level(local.positions(starts))]
    is_answer = np.isin(local.nodes, answers)
    paths: list[RelationPath] = []
    f1_scores: list[float] = []
    for _ in range(hops):
        level = next_level(local, codes, levels, np.arange(len(levels[-1].relation_paths)), _MAX_ENDS)
        levels.append(level)
        for place, row in enumerate(level.relation_paths.tolist()):
            ends = level.positions[level.ends(place)]
            hits = int(is_answer[ends].sum())
            paths.append(tuple(row))
            f1_scores.append(2 * hits / (len(ends) + len(answers)))
    return paths, f1_scores, np.unique(codes)


def _find_entities(index: Index, names: Sequence[str]) -> IntArray:
    by_name = [index.snapshot.entities_with_name(name) for name in names]
    return np.unique(np.concatenate(by_name)) if by_name else np.zeros(0, dtype=np.int32)


def _mean_best_path_f1(trained: PathRankerWeights, examples: Sequence[PathExample], table: FloatArray) -> float:
    best = []
    for e in examples:
        relation_scores = table @ trained.relation_side.T @ (trained.question_side @ e.question)
        present = e.relations >= 0
        means = (relation_scores[np.maximum(e.relations, 0)] * present).sum(axis=1) / present.sum(axis=1)
        best.append(float(e.f1_scores[int(np.argmax(e.features @ trained.weights + means))]))
    return float(np.mean(best))


def _word_encoder(
    graphs: Sequence[tuple[Index, Path]], recipe: HopRecipe
) -> tuple[Callable[[Sequence[str]], FloatArray], str, list[str]]:
    """Return an encoder of texts, its fingerprint, and words for made-up questions."""
    if recipe.kind == TERMS:
        return (lambda texts: np.zeros((len(texts), 1), dtype=np.float32)), "", []
    encoder = graphs[0][0].context.index_encoder if graphs else open_encoder(DEFAULT_ENCODER)
    if encoder is None:
        raise InputError("the index was made with --encoder none: train --kind tf-idf, or import with an encoder")
    words = encoder_vocabulary(encoder.name) if recipe.made_up else []
    return encoder.encode, encoder.fingerprint, words


def encoder_vocabulary(encoder: str) -> list[str]:
    """Return a fixed sample of ordinary words from the default encoder's vocabulary; none for another encoder."""
    if encoder != DEFAULT_ENCODER:
        return []
    vocabulary = json.loads((BUNDLED_FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(w for w in vocabulary if w.isalpha() and w.isascii() and w.islower() and 3 <= len(w) <= 10)
    chosen = np.random.default_rng(1).permutation(len(words))[:_VOCABULARY_SIZE]
    return [words[int(i)] for i in np.sort(chosen)]


def _save_hops(
    out: Path,
    weights: HopPredictorWeights,
    encode: Callable[[Sequence[str]], FloatArray],
    questions: tuple[int, Sequence[HopExample], int],
) -> TrainingResult:
    """Write weights with their accuracy; `questions` are a number learned from, held-out ones, a number left out."""
    count, held_out, left_out = questions
    figures = {"accuracy": accuracy(HopPredictor(weights, encode), held_out)} if held_out else {}
    save_hop_predictor(out, replace(weights, about={**weights.about, "questions": count, "figures": figures}))
    return TrainingResult(figures=figures, questions=count, held_out=len(held_out), left_out=left_out)
