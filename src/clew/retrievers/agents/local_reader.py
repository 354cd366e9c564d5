"""A reader without a language model: the passages' own triples, and the names that lead on.

Proximal triples are the triples that the passages state, ranked by their nearness to the question and that of the
passage. What was read is enough when the passages lead to no name that is new. The next query is the question with the
name that leads on: the subject of the best passage that the question does not name and no query before asked for.

Source: the parts that Shen et al., "GeAR" (2024), and Trivedi et al., "IRCoT" (2023), give to a language model.
Differs from the source: nothing is written that does not stand in the index.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.triple_embeddings import TripleVectors
from clew.query.linking import link
from clew.text.normalization import without_parentheses
from clew.types import Fact, Reading, Sought, Thought, Verdict

if TYPE_CHECKING:
    from clew.types import FloatArray

NOTE = "no language model was used: triples of the index stand in for what a reader would note"


class LocalReader:
    """Reads with the index alone.

    Args:
        snapshot: The index.
        vectors: Of its triples.
        encode: Texts to unit rows (n, d), as questions are encoded.
        context: 0 to 1, how much the passage that states a triple counts in its score.
        facts: Triples taken from the passages together, at most.
    """

    name = fingerprint = "local"

    def __init__(
        self,
        snapshot: Snapshot,
        vectors: TripleVectors,
        encode: "Callable[[Sequence[str]], FloatArray]",
        context: float,
        facts: int = 40,
    ) -> None:
        self._snapshot = snapshot
        self._vectors = vectors
        self._encode = encode
        self._context = context
        self._most = facts

    def read(self, asked: Sequence[Sought]) -> list[Reading]:
        """Return the triples of the passages that are nearest to the question, best first, but for those noted."""
        vectors = self._encode([sought.question for sought in asked]) if asked else ()
        return [
            Reading(self._near(sought, vector), notes=(NOTE,)) for sought, vector in zip(asked, vectors, strict=True)
        ]

    def judge(self, asked: Sequence[Sought]) -> list[Verdict]:
        """Return the question with the next name, or that there is none left to ask for."""
        return [self._verdict(sought) for sought in asked]

    def think(self, asked: Sequence[Sought]) -> list[Thought]:
        """Return the nearest triple that no thought before held, in words."""
        thoughts = []
        for sought, reading in zip(asked, self.read(asked), strict=True):
            fresh = (fact.text for fact in reading.facts if fact.text not in sought.thoughts)
            text = next(fresh, "")
            thoughts.append(Thought(text, answered=not text, notes=(NOTE,)))
        return thoughts

    def _near(self, sought: Sought, question: "FloatArray") -> tuple[Fact, ...]:
        triples = self._snapshot.triples_of(passage.id for passage in sought.passages)
        triples = triples[~np.isin(triples, [fact.triple for fact in sought.gist])]
        if not len(triples):
            return ()
        scores = self._vectors.path_scores(question, self._context)((), triples)
        best = triples[np.argsort(-scores, kind="stable")][: self._most]
        return tuple(self._fact(int(triple)) for triple in best)

    def _fact(self, triple: int) -> Fact:
        s = self._snapshot
        head, relation, tail = (int(i) for i in s.triples[triple])
        return Fact(s.entities[head], s.relations[relation], s.entities[tail], triple)

    def _verdict(self, sought: Sought) -> Verdict:
        s = self._snapshot
        known = {int(s.entity_nodes[e]) for query in sought.queries for n in link(s, query).known for e in n.entities}
        for passage in sought.passages:
            place = s.position(passage.id)
            subject = without_parentheses(passage.title)
            if not subject or place in known or any(subject in query for query in sought.queries):
                continue
            reasoning = f"{passage.title} is found and not yet followed"
            query = f"{sought.question} {passage.title}"
            return Verdict(enough=False, reasoning=reasoning, query=query, notes=(NOTE,))
        return Verdict(enough=True, reasoning="no passage leads to a name that is new", notes=(NOTE,))
