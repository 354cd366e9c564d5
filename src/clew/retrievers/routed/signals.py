"""Signals of a question and its walk: its words, its names, and how clear the walk's ranking is.

Every signal is a share, a count or a logarithm of one, never a raw score, so that a choice learned on one corpus
applies to another. Nothing is searched or encoded for them: they are computed from the walk (`query.graph_walk`).

Source: query performance prediction: Cronen-Townsend et al., "Predicting Query Performance" (2002) and Shtok et al.,
"Predicting Query Performance by Query-Drift Estimation" (2012), for the spread of the first scores.
Differs from the source: shares of the best score and their entropy replace a corpus's language model and standard
deviations; the agreement of walk and words, and the links of named entities, are ours.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from clew.arrays import DoubleArray, FloatArray, top_order
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.graph_walk import QuestionWalk
from clew.query.linking import LinkedQuestion
from clew.text.normalization import token_keys
from clew.text.terms import STOP_WORDS

SIGNALS = {
    "words": "words in the question",
    "asked": "words besides the names",
    "joints": "words that join steps (of, whose, that)",
    "options": "words that compare (or, both, older)",
    "known": "names that the index knows",
    "unknown": "names that it does not know",
    "meanings": "entities that a name may stand for",
    "titles": "names that a passage is called by",
    "degree": "links of the names",
    "rarest": "links of the rarest name",
    "reach": "passages near the walk",
    "second": "value of the second passage",
    "third": "value of the third passage",
    "fifth": "value of the fifth passage",
    "sixth": "value of the sixth passage",
    "tenth": "value of the tenth passage",
    "entropy": "how even the first values are",
    "agreeing": "first passages that are also first by words",
    "near": "first passages that are not far down by words",
    "matching": "how well the first passages match the question",
    "answering": "how well one of the first passages matches the question without its names",
    "standing": "names whose own passage is among the first",
    "linked": "links among the first passages",
}
"""All signals, in order, each with its name in notes."""

SHORT_DEPTH, LONG_DEPTH = 5, 20
"""Numbers of first passages that signals read: those shown to a user, and those compared with the ranking by words."""

_JOINING_WORDS = frozenset({"by", "of", "s", "that", "where", "which", "who", "whom", "whose"})
_COMPARING_WORDS = frozenset(
    {"also", "between", "both", "common", "earlier", "first", "later", "more", "older", "or", "same", "younger"}
)
_VALUE_RANKS = {"second": 1, "third": 2, "fifth": 4, "sixth": 5, "tenth": 9}


def compute_signals(snapshot: Snapshot, walk: QuestionWalk) -> FloatArray:
    """Return the signals (len(SIGNALS),) of a question's walk, in the order of `SIGNALS`, all finite."""
    best = top_order(walk.scores, LONG_DEPTH) if len(walk.scores) else np.zeros(0, dtype=np.int64)
    first_passages = [int(p) for p in walk.nodes[best[:SHORT_DEPTH]]]
    values = {**_word_signals(walk.linked_question), **_name_signals(snapshot, walk)}
    values |= {
        **_value_signals(walk.scores[best].astype(np.float64)),
        **_passage_signals(snapshot, walk, first_passages),
    }
    values["reach"] = float(np.log1p(len(walk.nodes)))
    return np.array([values[name] for name in SIGNALS], dtype=np.float32)


def _word_signals(linked: LinkedQuestion) -> dict[str, float]:
    words = token_keys(linked.text)
    later_words = words[1:]  # the first word is the question word: `which` joins no steps there
    remaining = [key for key in token_keys(linked.remainder) if key not in STOP_WORDS]
    counts = {
        "words": len(words),
        "asked": len(remaining),
        "joints": sum(word in _JOINING_WORDS for word in later_words),
        "options": sum(word in _COMPARING_WORDS for word in later_words),
        "known": len(linked.linked_names),
        "unknown": len(linked.unlinked_names),
    }
    return {name: float(np.log1p(count)) for name, count in counts.items()}


def _name_signals(snapshot: Snapshot, walk: QuestionWalk) -> dict[str, float]:
    counts = [len(name.entities) for name in walk.linked_question.linked_names]
    if not walk.named_nodes:
        return dict.fromkeys(("meanings", "titles", "degree", "rarest"), 0.0)
    nodes = np.fromiter(walk.named_nodes, dtype=np.int64, count=len(walk.named_nodes))
    links = np.log1p(snapshot.walk.indptr[nodes + 1] - snapshot.walk.indptr[nodes])
    return {
        "meanings": float(np.log(np.mean(counts))),
        "titles": float((nodes < len(snapshot.passage_ids)).mean()),
        "degree": float(links.mean()),
        "rarest": float(links.min()),
    }


def _value_signals(values: DoubleArray) -> dict[str, float]:
    shares = values / max(float(values.max(initial=0.0)), 1e-30)
    normalised = shares / max(float(shares.sum()), 1e-30)
    entropy = -float((normalised * np.log(np.maximum(normalised, 1e-30))).sum()) / float(np.log(LONG_DEPTH))
    return {key: float(shares[n]) if n < len(shares) else 0.0 for key, n in _VALUE_RANKS.items()} | {"entropy": entropy}


def _passage_signals(snapshot: Snapshot, walk: QuestionWalk, first_passages: Sequence[int]) -> dict[str, float]:
    if not first_passages:
        return dict.fromkeys(("agreeing", "near", "matching", "answering", "standing", "linked"), 0.0)
    by_words = walk.matches.top_positions[:LONG_DEPTH].tolist()
    titles = [node for node in walk.named_nodes if node < len(snapshot.passage_ids)]
    shares = walk.shares(np.array(first_passages, dtype=np.int32))
    pairs = list(combinations(first_passages, 2))
    neighbours = {passage: set(snapshot.walk.row(passage).tolist()) for passage in first_passages}
    return {
        "agreeing": len({*by_words[:SHORT_DEPTH]}.intersection(first_passages)) / len(first_passages),
        "near": len({*by_words}.intersection(first_passages)) / len(first_passages),
        "matching": float(shares[:, 0].mean()),
        "answering": float(shares[:, 1].max()),
        "standing": len({*titles}.intersection(first_passages)) / len(titles) if titles else 0.0,
        "linked": sum(b in neighbours[a] for a, b in pairs) / len(pairs) if pairs else 0.0,
    }
