"""Chains of sentences by the formulas of docs/chains.md, in plain Python over all sentences.

Scores are summed in the order that `search_chains` documents, so that what is equal here is equal there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.graph.paths.sentence_chains import ChainWeights
from clew.graph.sentences.sentence_index import SentenceIndex

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

    def search(
        self, first: Mapping[int, float], question: OracleQuestion, weights: ChainWeights
    ) -> dict[int, list[OracleChain]]:
        """Return for each passage all chains of the search that it stands in, best first."""
        starts = sorted(first, key=lambda s: (-first[s], s))
        alone = [OracleChain(first[s], (s,), (), self.words(s, question)) for s in starts]
        pairs = [pair for chain in alone[: weights.first_sentences] for pair in self.extend(chain, question, weights)]
        found = [*alone, *pairs]
        if weights.sentences > 2:
            best: dict[int, OracleChain] = {}
            for pair in pairs:
                last = pair.sentences[-1]
                if last not in best or pair.score > best[last].score:
                    best[last] = pair
            seconds = sorted(best.values(), key=lambda pair: (-pair.score, pair.sentences[-1]))
            for pair in seconds[: weights.second_sentences]:
                found += self.extend(replace(pair, score=pair.score - weights.third_step), question, weights)
        by_passage: dict[int, list[OracleChain]] = {}
        for chain in found:
            for passage in {self.passage[sentence] for sentence in chain.sentences}:
                by_passage.setdefault(passage, []).append(chain)
        return {p: sorted(chains, key=lambda chain: -chain.score) for p, chains in by_passage.items()}
