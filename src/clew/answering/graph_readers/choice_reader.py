"""A reader of textual graphs for questions whose possible answers are few and known, without a language model.

It was taught what the relations of a part say for each answer: every edge's relation, as the encoder has it, is brought
to a few numbers, these are summed over the part's edges, and each answer is a weighing of the sums.

Source: none; the sum over a set of edges is that of Zaheer et al., "Deep Sets" (2017).
Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, final

import numpy as np

from clew.answering.graph_readers.path_reader import check_counts
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphContext

if TYPE_CHECKING:
    from clew.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceWeights:
    """What was learned.

    Attributes:
        choices: The c possible answers.
        edge: (h, d) what makes a relation's vector h numbers, of which the hyperbolic tangent is taken.
        edge_bias: (h,) is added before the tangent.
        choice: (c, h) what the sums over edges say for each answer.
        choice_bias: (c,) what speaks for each answer without an edge.
    """

    choices: tuple[str, ...]
    edge: "FloatArray"
    edge_bias: "FloatArray"
    choice: "FloatArray"
    choice_bias: "FloatArray"


@final
class ChoiceGraphReader:
    """Reads the relations of a part.

    Args:
        weights: Taught on parts of other graphs.
    """

    def __init__(self, weights: ChoiceWeights) -> None:
        self._weights = weights

    @property
    def name(self) -> str:
        """As a user asks for it."""
        return "local"

    @property
    def fingerprint(self) -> str:
        """What it was taught."""
        told = self._weights
        digest = blake2b(repr(told.choices).encode(errors="surrogatepass"), digest_size=8)
        for array in (told.edge, told.edge_bias, told.choice, told.choice_bias):
            digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return f"choices-{digest.hexdigest()}"

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> "FloatArray":
        """Return losses (n,) in nats (see `GraphReader`).

        Raises:
            InputError: An answer is none of the choices, or there are not as many of each.
        """
        check_counts(questions, contexts, answers)
        known = {choice: place for place, choice in enumerate(self._weights.choices)}
        if unknown := [answer for answer in answers if answer not in known]:
            raise InputError(f"the answer {unknown[0]!r} is none of {', '.join(known)}: teach a reader that knows it")
        logs = self._log_probabilities(contexts)
        return np.asarray(-logs[np.arange(len(answers)), [known[answer] for answer in answers]], dtype=np.float32)

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        """Return the likeliest choice for each, the first of equal ones (see `GraphReader`).

        Raises:
            InputError: There are not as many contexts as questions.
        """
        check_counts(questions, contexts)
        return [self._weights.choices[place] for place in self._log_probabilities(contexts).argmax(axis=1)]

    def _log_probabilities(self, contexts: Sequence[GraphContext]) -> "FloatArray":
        sums = np.zeros((len(contexts), len(self._weights.edge_bias)), dtype=np.float32)
        for row, context in enumerate(contexts):
            graph = context.query.graph
            each = np.tanh(graph.relation_vectors @ self._weights.edge.T + self._weights.edge_bias)
            sums[row] = each[graph.edge_relations[context.subgraph.edges]].sum(axis=0)
        scores = sums @ self._weights.choice.T + self._weights.choice_bias
        scores -= scores.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), dtype=np.float32)
