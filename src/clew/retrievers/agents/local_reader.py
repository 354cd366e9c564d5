"""Reader without a language model: the passages' own triples, and the names that lead on.

Proximal triples are the triples that the passages state, ranked by their similarity to the question and that of the
passage. The evidence is sufficient when the passages lead to no new name. The next query is the question with the next
name: the title of the best passage that the question does not name and no earlier query contains.

Source: the parts that Shen et al., "GeAR" (2024), and Trivedi et al., "IRCoT" (2023), give to a language model.
Differs from the source: only triples of the index are used, and no text is generated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew.arrays import FloatArray
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.query.scope import Scope
from clew.text.normalization import strip_parentheses
from clew.types import ExtractedFacts, Fact, ReaderInput, SufficiencyDecision, Thought

MAX_FACTS = 40
NOTE = "no language model was used: triples of the index stand in for what a reader would note"


@dataclass(frozen=True, slots=True, eq=False)
class LocalReader:
    """Reads with the index alone."""

    scope: Scope
    vectors: TripleEmbeddings  # vectors of its triples
    encode: Callable[[Sequence[str]], FloatArray]  # encodes texts as queries, to unit rows (n, d)
    context: float  # 0 to 1, the weight of the passage that states a triple in the triple's score
    max_facts: int | None = MAX_FACTS  # maximum number of triples taken from all passages of a question; None for all
    name: ClassVar[str] = "local"
    fingerprint: ClassVar[str] = "local"

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the triples of the passages most similar to the question, best first, without those in the gist."""
        vectors = self.encode([reader_input.question for reader_input in inputs]) if inputs else ()
        return [
            ExtractedFacts(self._nearest_facts(reader_input, vector), notes=(NOTE,))
            for reader_input, vector in zip(inputs, vectors, strict=True)
        ]

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return the question with the next name as the next query; enough when there is no further name."""
        return [self._decide(reader_input) for reader_input in inputs]

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Return the most similar triple that is in no earlier thought, as a phrase."""
        thoughts = []
        for reader_input, reading in zip(inputs, self.read(inputs), strict=True):
            new_texts = (fact.text for fact in reading.facts if fact.text not in reader_input.thoughts)
            text = next(new_texts, "")
            thoughts.append(Thought(text, answered=not text, notes=(NOTE,)))
        return thoughts

    def _nearest_facts(self, reader_input: ReaderInput, question: FloatArray) -> tuple[Fact, ...]:
        triples = self.scope.snapshot.passage_triple_positions(passage.id for passage in reader_input.passages)
        triples = triples[~np.isin(triples, [fact.triple for fact in reader_input.gist])]
        if not len(triples):
            return ()
        scores = self.vectors.path_scorer(question, self.context)((), triples)
        best = triples[np.argsort(-scores, kind="stable")][: self.max_facts]
        return tuple(self._fact(int(triple)) for triple in best)

    def _fact(self, triple: int) -> Fact:
        s = self.scope.snapshot
        head, relation, tail = (int(i) for i in s.triples[triple])
        return Fact(s.entities[head], s.relations[relation], s.entities[tail], triple)

    def _decide(self, reader_input: ReaderInput) -> SufficiencyDecision:
        s = self.scope.snapshot
        named = {
            int(s.entity_nodes[e])
            for query in reader_input.queries
            for n in self.scope.linker.link(query).linked_names
            for e in n.entities
        }
        for passage in reader_input.passages:
            subject = strip_parentheses(passage.title)
            if (
                not subject
                or s.position(passage.id) in named
                or any(subject in query for query in reader_input.queries)
            ):
                continue
            reasoning = f"{passage.title} is found and not yet followed"
            query = f"{reader_input.question} {passage.title}"
            return SufficiencyDecision(enough=False, reasoning=reasoning, query=query, notes=(NOTE,))
        return SufficiencyDecision(enough=True, reasoning="no passage leads to a name that is new", notes=(NOTE,))
