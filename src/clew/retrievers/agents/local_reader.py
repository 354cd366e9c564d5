"""Reader without a language model: the passages' own triples, and the names that lead on.

Proximal triples are the triples that the passages state, ranked by their similarity to the question and that of the
passage. The evidence is sufficient when the passages lead to no new name, or when it covers all that the question names
and no new name would gain enough: the gain of a passage is the share of the question's words, by rarity, which it adds
to those of the passages followed so far. The next query is the question with the next name: the title of the best
passage that the question does not name and no earlier query contains.

Source: the parts that Shen et al., "GeAR" (2024), and Trivedi et al., "IRCoT" (2023), give to a language model.
Differs from the source: only triples of the index are used, and no text is generated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.query.linking import LinkedName
from clew.query.scope import Scope
from clew.text.bm25 import BM25Index
from clew.text.normalization import strip_parentheses
from clew.types import ExtractedFacts, Fact, Passage, ReaderInput, SufficiencyDecision, Thought

MAX_FACTS = 40
NOTE = "no language model was used: triples of the index stand in for what a reader would note"


@dataclass(frozen=True, slots=True, eq=False)
class LocalReader:
    """Reads with the index alone."""

    scope: Scope
    vectors: TripleEmbeddings  # vectors of its triples
    encode: Callable[[Sequence[str]], FloatArray]  # encodes texts as queries, to unit rows (n, d)
    context: float  # 0 to 1, the weight of the passage that states a triple in the triple's score
    lexical: BM25Index | None = None  # words of the same passages; None to stop only where there is no new name
    min_gain: float = 0.0  # 0 to 1, the gain below which a name is not followed; 0 follows every name
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
        allowed = self.scope.restriction(self.scope.mask(reader_input.where))
        return tuple(self._fact(int(triple), allowed) for triple in best)

    def _fact(self, triple: int, allowed: BoolArray | None) -> Fact:
        s = self.scope.snapshot
        if allowed is not None:
            written = s.triple(triple, allowed)
            return Fact(written.head, written.relation, written.tail, triple)
        head, relation, tail = (int(i) for i in s.triples[triple])
        return Fact(s.entities[head], s.relations[relation], s.entities[tail], triple)

    def _decide(self, reader_input: ReaderInput) -> SufficiencyDecision:
        s = self.scope.snapshot
        linker = self.scope.linker_among(self.scope.mask(reader_input.where))
        links = [linker.link(query).linked_names for query in reader_input.queries]
        named = {int(s.entity_nodes[e]) for names in links for name in names for e in name.entities}
        new: list[Passage] = []
        followed: list[Passage] = []
        for passage in reader_input.passages:
            subject = strip_parentheses(passage.title)
            is_named = s.position(passage.id) in named or any(subject in query for query in reader_input.queries)
            (followed if is_named or not subject else new).append(passage)
        gains = self._gains(reader_input.question, followed, new)
        is_covered = self._covers_names(links[0] if links else (), reader_input)
        for passage, gain in zip(new, gains, strict=True):
            if is_covered and gain < self.min_gain:
                continue
            reasoning = f"{passage.title} is found and not yet followed"
            query = f"{reader_input.question} {passage.title}"
            return SufficiencyDecision(enough=False, reasoning=reasoning, query=query, notes=(NOTE,))
        reasoning = "no passage adds to what the question asks" if new else "no passage leads to a name that is new"
        return SufficiencyDecision(enough=True, reasoning=reasoning, notes=(NOTE,))

    def _gains(self, question: str, followed: Sequence[Passage], new: Sequence[Passage]) -> list[float]:
        """Return for each new passage the share of the question's words that it adds to those followed."""
        if self.lexical is None or self.min_gain <= 0.0:
            return [1.0] * len(new)
        terms, weights, _ = self.lexical.query(question).arrays
        total = float(weights.sum())
        if not total:
            return [0.0] * len(new)
        position = self.scope.snapshot.position
        missing = np.ones(len(terms), dtype=bool)
        for passage in followed:
            missing &= ~np.isin(terms, self.lexical.passage_terms(position(passage.id)))
        found = (np.isin(terms, self.lexical.passage_terms(position(passage.id))) for passage in new)
        return [float(weights[missing & one].sum()) / total for one in found]

    def _covers_names(self, names: Sequence[LinkedName], reader_input: ReaderInput) -> bool:
        """Return whether a passage about each name of the question was found, or a fact of the gist has it."""
        s = self.scope.snapshot
        covered = {s.position(passage.id) for passage in reader_input.passages}
        ends = s.triples[[fact.triple for fact in reader_input.gist if fact.triple >= 0]][:, [0, 2]]
        covered |= set(s.entity_nodes[ends.ravel()].tolist())
        return all(any(int(s.entity_nodes[e]) in covered for e in name.entities) for name in names)
