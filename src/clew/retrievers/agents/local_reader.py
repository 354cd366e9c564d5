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
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.query.linking import link_question
from clew.text.normalization import strip_parentheses
from clew.types import ExtractedFacts, Fact, ReaderInput, SufficiencyDecision, Thought

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
        max_facts: Triples taken from the passages together, at most.
    """

    name = fingerprint = "local"

    def __init__(
        self,
        snapshot: Snapshot,
        vectors: TripleEmbeddings,
        encode: "Callable[[Sequence[str]], FloatArray]",
        context: float,
        max_facts: int = 40,
    ) -> None:
        self._snapshot = snapshot
        self._vectors = vectors
        self._encode = encode
        self._context = context
        self._max_facts = max_facts

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the triples of the passages that are nearest to the question, best first, but for those noted."""
        vectors = self._encode([sought.question for sought in inputs]) if inputs else ()
        return [
            ExtractedFacts(self._nearest_facts(sought, vector), notes=(NOTE,))
            for sought, vector in zip(inputs, vectors, strict=True)
        ]

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return the question with the next name, or that there is none left to ask for."""
        return [self._decide(sought) for sought in inputs]

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Return the nearest triple that no thought before held, in words."""
        thoughts = []
        for sought, reading in zip(inputs, self.read(inputs), strict=True):
            fresh = (fact.text for fact in reading.facts if fact.text not in sought.thoughts)
            text = next(fresh, "")
            thoughts.append(Thought(text, answered=not text, notes=(NOTE,)))
        return thoughts

    def _nearest_facts(self, sought: ReaderInput, question: "FloatArray") -> tuple[Fact, ...]:
        triples = self._snapshot.passage_triple_positions(passage.id for passage in sought.passages)
        triples = triples[~np.isin(triples, [fact.triple for fact in sought.gist])]
        if not len(triples):
            return ()
        scores = self._vectors.path_scorer(question, self._context)((), triples)
        best = triples[np.argsort(-scores, kind="stable")][: self._max_facts]
        return tuple(self._fact(int(triple)) for triple in best)

    def _fact(self, triple: int) -> Fact:
        s = self._snapshot
        head, relation, tail = (int(i) for i in s.triples[triple])
        return Fact(s.entities[head], s.relations[relation], s.entities[tail], triple)

    def _decide(self, sought: ReaderInput) -> SufficiencyDecision:
        s = self._snapshot
        known = {
            int(s.entity_nodes[e])
            for query in sought.queries
            for n in link_question(s, query).linked_names
            for e in n.entities
        }
        for passage in sought.passages:
            place = s.position(passage.id)
            subject = strip_parentheses(passage.title)
            if not subject or place in known or any(subject in query for query in sought.queries):
                continue
            reasoning = f"{passage.title} is found and not yet followed"
            query = f"{sought.question} {passage.title}"
            return SufficiencyDecision(enough=False, reasoning=reasoning, query=query, notes=(NOTE,))
        return SufficiencyDecision(enough=True, reasoning="no passage leads to a name that is new", notes=(NOTE,))
