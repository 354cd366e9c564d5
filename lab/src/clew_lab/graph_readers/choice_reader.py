"""Reader of textual graphs for questions with a small fixed set of answers, without a language model.

A trained bag-of-relations classifier: each edge's relation vector is projected to h numbers, these are summed over the
edges of the subgraph, and a linear layer scores the answers. Source: none; the sum over a set of edges is that of
Zaheer et al., "Deep Sets" (2017). Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.protocols import check_counts


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceWeights:
    """Weights of `ChoiceGraphReader` for c `choices` and h hidden numbers."""

    choices: tuple[str, ...]
    # (h, d) projection of a relation vector, before the hyperbolic tangent; `edge_bias` (h,) is its bias
    edge: FloatArray
    edge_bias: FloatArray
    choice: FloatArray  # (c, h) weights of the sums over edges for each answer; `choice_bias` (c,) are their biases
    choice_bias: FloatArray


@final
class ChoiceGraphReader:
    """Scores the possible answers by the relations of a subgraph."""

    name = "local"

    def __init__(self, weights: ChoiceWeights) -> None:
        self._weights = weights

    @property
    def fingerprint(self) -> str:
        """Hash of the weights."""
        weights = self._weights
        digest = blake2b(repr(weights.choices).encode(errors="surrogatepass"), digest_size=8)
        for array in (weights.edge, weights.edge_bias, weights.choice, weights.choice_bias):
            digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return f"choices-{digest.hexdigest()}"

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> FloatArray:
        """Return losses (n,) in nats (see `GraphReader`); raises InputError if an answer is not among the choices."""
        check_counts(questions, contexts, answers)
        columns = {choice: column for column, choice in enumerate(self._weights.choices)}
        if unknown := [answer for answer in answers if answer not in columns]:
            raise InputError(
                f"the answer {unknown[0]!r} is none of {', '.join(columns)}: train a reader with this choice"
            )
        logs = self._log_probabilities(contexts)
        return np.asarray(-logs[np.arange(len(answers)), [columns[answer] for answer in answers]], dtype=np.float32)

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        """Return the most likely choice for each question, the first one on ties (see `GraphReader`)."""
        check_counts(questions, contexts)
        return [self._weights.choices[place] for place in self._log_probabilities(contexts).argmax(axis=1)]

    def _log_probabilities(self, contexts: Sequence[GraphContext]) -> FloatArray:
        sums = np.zeros((len(contexts), len(self._weights.edge_bias)), dtype=np.float32)
        for row, context in enumerate(contexts):
            graph = context.query.graph
            each = np.tanh(graph.relation_vectors @ self._weights.edge.T + self._weights.edge_bias)
            sums[row] = each[graph.edge_relations[context.subgraph.edges]].sum(axis=0)
        scores = sums @ self._weights.choice.T + self._weights.choice_bias
        scores -= scores.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), dtype=np.float32)
