"""Chains of sentences by the formulas of docs/chains.md, in plain Python over all sentences.

Scores are summed and chains are counted in the order that `search_chains` documents, so that what is equal here is
equal there, and the same chain is the first of its equals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.graph.paths.sentence_chains import ChainWeights
from clew.graph.sentence_index import SentenceIndex

Bridge = tuple[str, int]
"""("entity", e) or ("term", t)."""


@dataclass(frozen=True)
class OracleChain:
    """A chain, its score, and the question's words that its sentences have."""

    score: float
    sentences: tuple[int, ...]
    bridges: tuple[Bridge, ...]
    words: frozenset[int]


@dataclass(frozen=True)
class OracleQuestion:
    """A question."""

    words: Mapping[int, float]  # terms and their weights
    cosines: Mapping[
        int, tuple[float, float]
    ]  # of each sentence with the question and the remainder; {} without vectors
    names: Mapping[int, frozenset[int]]  # entities that it names, and the words of their names
    allowed: frozenset[int]  # passages


class ChainOracle:
    """The sentences of an index as sets."""

    def __init__(self, index: SentenceIndex, titles: Sequence[int]) -> None:
        offsets = index.offsets.tolist()
        self.titles = titles
        self.passage = [p for p in range(len(offsets) - 1) for _ in range(offsets[p], offsets[p + 1])]
        self.entities = [set(index.entities.row(s).tolist()) for s in range(len(self.passage))]
        self.terms = [set(index.terms.row(s).tolist()) for s in range(len(self.passage))]
        self.joined: dict[Bridge, list[int]] = {}
        for kind, rows in (("entity", index.entity_sentences), ("term", index.term_sentences)):
            for value in range(rows.row_count):
                if len(rows.row(value)):
                    self.joined[kind, value] = rows.row(value).tolist()

    def words(self, sentence: int, question: OracleQuestion) -> frozenset[int]:
        """Return the words of the question that a sentence has, and those of the name that is its passage's title."""
        title = question.names.get(self.titles[self.passage[sentence]], frozenset())
        return frozenset(self.terms[sentence] & set(question.words)) | title

    def bridges(self, sentence: int, question: OracleQuestion) -> list[Bridge]:
        """Return the bridges of a sentence that the question does not name: entities, then terms."""
        entities: list[Bridge] = [("entity", e) for e in sorted(self.entities[sentence] - set(question.names))]
        terms: list[Bridge] = [("term", t) for t in sorted(self.terms[sentence] - set(question.words))]
        return [bridge for bridge in (*entities, *terms) if bridge in self.joined]

    def extend(self, chain: OracleChain, question: OracleQuestion, weights: ChainWeights) -> list[OracleChain]:
        """Return a chain with each sentence that may follow it."""
        around = {self.passage[sentence] for sentence in chain.sentences}
        longer = []
        for bridge in self.bridges(chain.sentences[-1], question):
            size = len({self.passage[sentence] for sentence in self.joined[bridge]})
            for sentence in self.joined[bridge]:
                passage = self.passage[sentence]
                if passage in around or passage not in question.allowed:
                    continue
                own = self.words(sentence, question)
                score = chain.score - weights.hub * float(np.log(size))
                if question.cosines:
                    with_question, with_remainder = question.cosines[sentence]
                    score += weights.remainder * with_remainder + weights.question * with_question
                score += weights.title * (bridge == ("entity", self.titles[passage]))
                for word in sorted(own - chain.words):
                    score += weights.novelty * question.words[word]
                members, joints = (*chain.sentences, sentence), (*chain.bridges, bridge)
                longer.append(OracleChain(score, members, joints, chain.words | own))
        return longer

    def places(self, starts: Sequence[int], question: OracleQuestion) -> dict[int, int]:
        """Return the sentences that the bridges of some sentences lead to, numbered in the order in which they come."""
        bridges = dict.fromkeys(bridge for start in starts for bridge in self.bridges(start, question))
        found = dict.fromkeys(sentence for bridge in bridges for sentence in self.joined[bridge])
        return {sentence: number for number, sentence in enumerate(found)}

    def search(
        self, first: Mapping[int, float], question: OracleQuestion, weights: ChainWeights
    ) -> dict[int, list[OracleChain]]:
        """Return for each passage all chains of the search that it stands in, best first; the first one counts."""
        alone = [OracleChain(first[s], (s,), (), self.words(s, question)) for s in first]
        found = [(self.passage[chain.sentences[0]], chain) for chain in alone]
        chains = sorted(alone, key=lambda chain: -chain.score)[: weights.first_sentences]
        for length in range(2, weights.sentences + 1):
            longer = [one for chain in chains for one in self.extend(chain, question, weights)]
            places = self.places([chain.sentences[-1] for chain in chains], question)
            by_place = sorted(longer, key=lambda chain: places[chain.sentences[-1]])
            found += [(self.passage[chain.sentences[-1]], chain) for chain in by_place]
            for back in range(2, length + 1):
                found += [(self.passage[chain.sentences[-back]], chain) for chain in longer]
            best: dict[int, OracleChain] = {}
            for chain in longer:
                last = chain.sentences[-1]
                if last not in best or chain.score > best[last].score:
                    best[last] = chain
            chains = sorted(best.values(), key=lambda chain: (-chain.score, chain.sentences[-1]))
            chains = [replace(one, score=one.score - weights.third_step) for one in chains[: weights.second_sentences]]
        by_passage: dict[int, list[OracleChain]] = {}
        for passage, chain in found:
            by_passage.setdefault(passage, []).append(chain)
        return {p: sorted(own, key=lambda chain: -chain.score) for p, own in by_passage.items()}
