"""What is known of a question once its walk is made: its words, its names, and how clear the walk's ranking is.

Every signal is a share, a count or a logarithm of one, never a score as it is, so that a choice learned on one corpus
can be made on another. Nothing is searched or encoded for them: the walk (`question_walk`) knows it all.

Source: query performance prediction: Cronen-Townsend et al., "Predicting Query Performance" (2002) and Shtok et al.,
"Predicting Query Performance by Query-Drift Estimation" (2012), for what the spread of the first scores says.
Differs from the source: shares of the best score and their entropy take the place of a corpus's language model and of
standard deviations; the agreement of walk and words, and the links of what is named, are ours.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot.snapshot import Snapshot
from clew.query.graph_walk import QuestionWalk
from clew.query.linking import LinkedQuestion
from clew.ranking import top_order
from clew.text.bm25 import STOP_WORDS
from clew.text.normalization import token_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

    DoubleArray = NDArray[np.float64]

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
"""All signals, in order, each with what a note calls it."""

SHORT_DEPTH, LONG_DEPTH = 5, 20
"""Passages that are looked at: as many as a user sees, and as many as a ranking by words may differ by."""

_JOINING_WORDS = frozenset({"by", "of", "s", "that", "where", "which", "who", "whom", "whose"})
_COMPARING_WORDS = frozenset(
    {"also", "between", "both", "common", "earlier", "first", "later", "more", "older", "or", "same", "younger"}
)
_VALUE_RANKS = {"second": 1, "third": 2, "fifth": 4, "sixth": 5, "tenth": 9}


def compute_signals(snapshot: Snapshot, asked: QuestionWalk) -> "FloatArray":
    """Return the signals (len(SIGNALS),) of a question's walk, in the order of `SIGNALS`; all are finite."""
    best = top_order(asked.scores, LONG_DEPTH) if len(asked.scores) else np.zeros(0, dtype=np.int64)
    first = [int(p) for p in asked.nodes[best[:SHORT_DEPTH]]]
    values = {**_word_signals(asked.linked_question), **_name_signals(snapshot, asked)}
    values |= {**_value_signals(asked.scores[best].astype(np.float64)), **_passage_signals(snapshot, asked, first)}
    values["reach"] = float(np.log1p(len(asked.nodes)))
    return np.array([values[name] for name in SIGNALS], dtype=np.float32)


def _word_signals(linked: LinkedQuestion) -> dict[str, float]:
    words = token_keys(linked.text)
    later = words[1:]  # the first word asks: `which` joins nothing there
    rest = [key for key in token_keys(linked.remainder) if key not in STOP_WORDS]
    counts = {
        "words": len(words),
        "asked": len(rest),
        "joints": sum(word in _JOINING_WORDS for word in later),
        "options": sum(word in _COMPARING_WORDS for word in later),
        "known": len(linked.linked_names),
        "unknown": len(linked.unlinked_names),
    }
    return {name: float(np.log1p(count)) for name, count in counts.items()}


def _name_signals(snapshot: Snapshot, asked: QuestionWalk) -> dict[str, float]:
    names = [len(name.entities) for name in asked.linked_question.linked_names]
    if not asked.named_nodes:
        return dict.fromkeys(("meanings", "titles", "degree", "rarest"), 0.0)
    nodes = np.fromiter(asked.named_nodes, dtype=np.int64, count=len(asked.named_nodes))
    links = np.log1p(snapshot.walk.indptr[nodes + 1] - snapshot.walk.indptr[nodes])
    return {
        "meanings": float(np.log(np.mean(names))),
        "titles": float((nodes < len(asked.bm25_full)).mean()),
        "degree": float(links.mean()),
        "rarest": float(links.min()),
    }


def _value_signals(values: "DoubleArray") -> dict[str, float]:
    shares = values / max(float(values.max(initial=0.0)), 1e-30)
    part = shares / max(float(shares.sum()), 1e-30)
    entropy = -float((part * np.log(np.maximum(part, 1e-30))).sum()) / float(np.log(LONG_DEPTH))
    return {name: float(shares[n]) if n < len(shares) else 0.0 for name, n in _VALUE_RANKS.items()} | {
        "entropy": entropy
    }


def _passage_signals(snapshot: Snapshot, asked: QuestionWalk, first: Sequence[int]) -> dict[str, float]:
    if not first:
        return dict.fromkeys(("agreeing", "near", "matching", "answering", "standing", "linked"), 0.0)
    words = top_order(asked.bm25_full, LONG_DEPTH).tolist()
    own = [node for node in asked.named_nodes if node < len(asked.bm25_full)]
    pairs = list(combinations(first, 2))
    around = {passage: set(snapshot.walk.row(passage).tolist()) for passage in first}
    return {
        "agreeing": len({*words[:SHORT_DEPTH]}.intersection(first)) / len(first),
        "near": len({*words}.intersection(first)) / len(first),
        "matching": float(asked.bm25_full[first].mean()),
        "answering": float(asked.bm25_remainder[first].max()),
        "standing": len({*own}.intersection(first)) / len(own) if own else 0.0,
        "linked": sum(b in around[a] for a, b in pairs) / len(pairs) if pairs else 0.0,
    }
