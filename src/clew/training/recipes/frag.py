"""`clew train router` and `clew train paths`: what is learned from questions on imported graphs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.graph.paths.relation_paths import ChainLevel, first_level, next_level, relation_codes
from clew.graph.subgraphs.fact_graph import FactGraph
from clew.graph.subgraphs.induced import explored_graph
from clew.graph.subgraphs.k_hop import neighbourhood
from clew.index import Index
from clew.indexing.snapshot_builder import Progress
from clew.query.linking import Topics, question_topics
from clew.query.masking import masked
from clew.retrievers.frag.chain_features import Chain, RelationTexts, chain_features, compared
from clew.retrievers.frag.factory import GraphParts
from clew.retrievers.frag.hop_predictor import TERMS, HopRouter, load_router, save_router
from clew.retrievers.frag.path_ranking import PathWeights, save_paths
from clew.training.fitting.hop_predictor import Counted, HopRecipe, accuracy, train_router
from clew.training.fitting.path_ranker import ChainExample, PathRecipe, train_path_ranker
from clew.types import Question

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

FARTHEST = 4
"""Hops that answers are looked for."""
_EDGES = 300_000
_ENDS = 3_000
_VOCABULARY = 4_000
_HELD_OUT = 10


@dataclass(frozen=True, slots=True)
class Taught:
    """What a training gave.

    Attributes:
        questions: That were learned from.
        left_out: Questions without a topic in the graph or without a path to an answer.
        figures: Measures by name; of a router on what was held out.
    """

    questions: int
    left_out: int
    figures: dict[str, float]


def train_hop_router(
    graphs: Sequence[tuple[Index, Path]],
    out: Path,
    recipe: HopRecipe,
    progress: Progress,
    start: Path | None = None,
    feedback: Sequence[Path] = (),
) -> Taught:
    """Train a router and write its weights.

    Args:
        graphs: Indexes and questions on them; every tenth question is held out, to tell how good the router is.
        out: Folder of the weights.
        recipe: How.
        progress: Told the questions read.
        start: Weights to go on from.
        feedback: Logs of answers that name the path they used (see `feedback_examples`).

    Raises:
        InputError: There is nothing to learn from, or the start does not fit.
    """
    examples: list[Counted] = []
    left_out = 0
    for index, path in graphs:
        found, without = hop_examples(index, load_questions(path), progress)
        examples += found
        left_out += without
    for log in feedback:
        examples += feedback_examples(log)
    held = examples[_HELD_OUT - 1 :: _HELD_OUT] if graphs else []
    learned = [e for i, e in enumerate(examples) if i % _HELD_OUT != _HELD_OUT - 1] if graphs else examples
    encode, encoder, vocabulary = _words_of(graphs, recipe)
    begin = load_router(start) if start is not None else None
    weights = train_router(learned, recipe, encode, encoder, vocabulary, begin)
    figures = {"accuracy": accuracy(HopRouter(weights, encode), held)} if held else {}
    save_router(out, replace(weights, about={**weights.about, "questions": len(learned), "figures": figures}))
    return Taught(len(learned), left_out, figures)


def hop_examples(index: Index, questions: Sequence[Question], progress: Progress) -> tuple[list[Counted], int]:
    """Return how many hops each question takes, and how many questions were left out.

    That is what the data set says; where it does not, the length of the shortest path from a topic to an answer.
    """
    graph = index.parts.graph_parts().graph()
    found: list[Counted] = []
    for number, question in enumerate(questions):
        progress("reading questions", number, len(questions))
        topics = question_topics(index.snapshot, question.text, question.topics)
        hops = question.hops
        if not hops and topics.entities:
            near = neighbourhood(graph, np.array(topics.entities, dtype=np.int32), FARTHEST, _EDGES)
            ends = np.isin(near.nodes, _entities(index, question.answers))
            hops = max(1, int(near.hops[ends].min())) if ends.any() else 0
        if hops:
            found.append(Counted(masked(topics.text, topics.places), hops))
    return found, len(questions) - len(found)


def feedback_examples(log: Path) -> list[Counted]:
    """Return the questions of a log of feedback: lines of {question, topics, hops}, as `clew ask --feedback` adds them.

    Raises:
        InputError: The log cannot be read, or a line has another form.
    """
    found: list[Counted] = []
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the feedback {log} cannot be read ({error}): give a log of clew ask --feedback") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text, hops = str(record["question"]), int(record["hops"])
            names = [str(name) for name in record["topics"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f'{log}:{number}: {line[:80]!r} is no feedback; wanted {{"question", "topics", "hops"}}'
            ) from error
        folded = text.casefold() if len(text.casefold()) == len(text) else text
        starts = [(folded.find(name.casefold()), len(name)) for name in names if name]
        places = [(start, start + length) for start, length in starts if start >= 0]
        if hops > 0:
            found.append(Counted(masked(text, places), hops))
    if not found:
        raise InputError(f"{log} holds no answer that names its path: ask with a model first")
    return found


def train_chain_ranker(
    graphs: Sequence[tuple[Index, Path]], out: Path, recipe: PathRecipe, progress: Progress, hops: int = 3
) -> Taught:
    """Train a ranker of paths and write its weights.

    Args:
        graphs: Indexes, all of one encoder, and questions on them.
        out: Folder of the weights.
        recipe: How.
        progress: Told the questions read.
        hops: Of the paths, at most.

    Raises:
        InputError: No question has a path to its answers, or an index has no vectors.
    """
    examples: list[ChainExample] = []
    tables: list[FloatArray] = []
    fingerprint = ""
    rows = asked = 0
    for index, path in graphs:
        parts = index.parts.graph_parts()
        texts, graph = parts.relation_texts(), parts.graph()
        _same_encoder(fingerprint, parts)
        fingerprint = parts.encoder.fingerprint if parts.encoder else ""
        codes: dict[int, int] = {}
        questions = load_questions(path)
        for number, question in enumerate(questions):
            progress("reading questions", number, len(questions))
            if (example := _chain_example(index, graph, texts, question, hops, codes, rows)) is not None:
                examples.append(example)
        if codes:
            tables.append(texts.directed(np.array(list(codes), dtype=np.int32)))
        rows += len(codes)
        asked += len(questions)
    table = np.concatenate(tables) if tables else np.zeros((1, 1), dtype=np.float32)
    trained = train_path_ranker(examples, table, recipe, fingerprint)
    figures = {"worth of the best chain, on the questions learned from": _worth(trained, examples, table)}
    save_paths(out, replace(trained, about={**trained.about, "figures": figures}))
    return Taught(len(examples), asked - len(examples), figures)


def _same_encoder(before: str, parts: GraphParts) -> None:
    if before and parts.encoder is not None and parts.encoder.fingerprint != before:
        raise InputError("the indexes were made with different encoders: train on indexes of one encoder")


def _chain_example(
    index: Index,
    graph: FactGraph,
    texts: RelationTexts,
    question: Question,
    hops: int,
    numbers: dict[int, int],
    before: int,
) -> ChainExample | None:
    """Return a question's chains; rows of their relation codes are given out as they come, after those before."""
    topics = question_topics(index.snapshot, question.text, question.topics)
    answers = _entities(index, question.answers)
    if not topics.entities or not len(answers):
        return None
    chains, worth, codes = _chains(index, graph, topics, answers, hops)
    if not chains or max(worth) == 0:
        return None
    beside = compared(masked(topics.text, topics.places), codes, texts)
    for code in codes.tolist():
        numbers.setdefault(code, before + len(numbers))
    relations = np.full((len(chains), hops), -1, dtype=np.int64)
    for row, chain in enumerate(chains):
        relations[row, : len(chain)] = [numbers[code] for code in chain]
    return ChainExample(
        chain_features(beside, chains),
        relations,
        beside.vector,
        np.array(worth, dtype=np.float32),
    )


def _chains(
    index: Index, graph: FactGraph, topics: Topics, answers: "IntArray", hops: int
) -> "tuple[list[Chain], list[float], IntArray]":
    """Return all chains up to some hops, the F1 of their ends against the answers, and their relation codes."""
    starts = np.array(topics.entities, dtype=np.int32)
    near = neighbourhood(graph, starts, hops, _EDGES)
    local = explored_graph(graph, near)
    codes = relation_codes(local, index.snapshot.triples)
    levels: list[ChainLevel] = [first_level(local.positions(starts))]
    wanted = np.isin(local.nodes, answers)
    chains: list[Chain] = []
    worth: list[float] = []
    for _ in range(hops):
        level = next_level(local, codes, levels, np.arange(len(levels[-1].chains)), _ENDS)
        levels.append(level)
        for place, row in enumerate(level.chains.tolist()):
            ends = level.positions[level.ends(place)]
            hit = int(wanted[ends].sum())
            chains.append(tuple(row))
            worth.append(2 * hit / (len(ends) + len(answers)))
    return chains, worth, np.unique(codes)


def _entities(index: Index, names: Sequence[str]) -> "IntArray":
    found = [index.snapshot.entities_called(name) for name in names]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int32)


def _worth(trained: PathWeights, examples: Sequence[ChainExample], table: "FloatArray") -> float:
    best = []
    for e in examples:
        worth = table @ trained.relation_side.T @ (trained.question_side @ e.question)
        there = e.relations >= 0
        means = (worth[np.maximum(e.relations, 0)] * there).sum(axis=1) / there.sum(axis=1)
        best.append(float(e.worth[int(np.argmax(e.features @ trained.weights + means))]))
    return float(np.mean(best))


def _words_of(
    graphs: Sequence[tuple[Index, Path]], recipe: HopRecipe
) -> "tuple[Callable[[Sequence[str]], FloatArray], str, list[str]]":
    """Return what encodes words, its fingerprint, and words to make up questions with."""
    if recipe.kind == TERMS:
        return (lambda texts: np.zeros((len(texts), 1), dtype=np.float32)), "", []
    from clew.models.encoders.registry import DEFAULT, open_encoder

    encoder = open_encoder(str(graphs[0][0].table.settings["encoder"]) if graphs else DEFAULT)
    if not encoder.dimension:
        raise InputError("the index was made with --encoder none: train --kind tf-idf, or import with an encoder")
    words = vocabulary_of(encoder.name) if recipe.made_up else []
    return encoder.encode, encoder.fingerprint, words


def vocabulary_of(encoder: str) -> list[str]:
    """Return ordinary words of the default encoder's vocabulary, a fixed draw of them; none of another encoder."""
    from clew.models.encoders.registry import DEFAULT, default_weights

    if encoder != DEFAULT:
        return []
    vocabulary = json.loads((default_weights() / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(w for w in vocabulary if w.isalpha() and w.isascii() and w.islower() and 3 <= len(w) <= 10)
    drawn = np.random.default_rng(1).permutation(len(words))[:_VOCABULARY]
    return [words[int(i)] for i in np.sort(drawn)]
