"""Chains of sentences as people read them: quoted sentences, and the names and words that join them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clew.arrays import IntArray
from clew.graph.paths.sentence_chains import NO_BRIDGE, SentenceChains
from clew.graph.sentences.sentence_index import SentenceIndex
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.bm25 import BM25Index, terms_of_words
from clew.text.normalization import key_hash, tokens
from clew.types import Citation, Scored, SentenceChain


@dataclass(frozen=True, slots=True, eq=False)
class ChainQuoter:
    """Quotes the chains of one index."""

    snapshot: Snapshot
    lexical: BM25Index
    sentences: SentenceIndex

    def quote(self, chains: SentenceChains, passages: IntArray) -> tuple[Scored[SentenceChain], ...]:
        """Return the distinct chains of at least two sentences that some passages (n,) stand in, best first."""
        if not len(chains.passages):
            return ()
        at = np.minimum(chains.passages.searchsorted(passages), len(chains.passages) - 1)
        at = at[chains.passages[at] == passages]
        at = at[np.argsort(-chains.scores[at], kind="stable")]
        rows = zip(*(part.tolist() for part in chains.rows(at)), chains.scores[at].tolist(), strict=True)
        found: dict[tuple[int, ...], Scored[SentenceChain]] = {}
        for sentences, bridges, score in rows:
            members = tuple(sentence for sentence in sentences if sentence >= 0)
            if len(members) > 1 and members not in found:
                joined = [bridge for bridge in bridges if bridge != NO_BRIDGE]
                found[members] = Scored(self._quote_chain(members, joined), score)
        return tuple(found.values())

    def _quote_chain(self, members: tuple[int, ...], bridges: list[int]) -> SentenceChain:
        quotes = tuple(self._cite(sentence) for sentence in members)
        names = [self._name(bridge, quote.quote) for bridge, quote in zip(bridges, quotes[1:], strict=True)]
        return SentenceChain(quotes, tuple(names))

    def _cite(self, sentence: int) -> Citation:
        passage = int(self.sentences.offsets.searchsorted(sentence, "right")) - 1
        start, end = (int(place) for place in self.sentences.spans[np.array([sentence])][0])
        snapshot, shift = self.snapshot, self.snapshot.starts[passage]
        place = snapshot.document_ids[passage], snapshot.passage_ids[passage], snapshot.titles[passage]
        return Citation(*place, shift + start, shift + end, snapshot.texts[passage][start:end])

    def _name(self, bridge: int, sentence: str) -> str:
        """Return the name of an entity, or the word that a term is of, as a sentence has it."""
        if bridge >= 0:
            return self.snapshot.entities[bridge]
        wanted = int(self.lexical.terms[-1 - bridge])
        words = tokens(sentence)
        spans = [
            (term, word.start, word.end) for term, word in zip(terms_of_words(w.key for w in words), words, strict=True)
        ]
        # In a script without spaces two neighbouring letters are a term, too.
        spans += [
            (one.key + other.key, one.start, other.end) for one, other in pairwise(words) if one.end == other.start
        ]
        return next((sentence[start:end] for term, start, end in spans if term and key_hash(term) == wanted), "")
