"""Evidence made of passages, paths, quoted chains and notes; what retrievers share: checks, the loop of questions."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.errors import InputError
from clew.graph.paths.sentence_chains import SentenceChains
from clew.graph.sentence_index import SentenceIndex
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, find_spelling
from clew.plugins.arguments import check_count, check_strings
from clew.query.scope import Scope
from clew.text.bm25 import BM25Index
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import fold, key_hash, terms_of_words, tokens
from clew.text.sentences import without_headings
from clew.types import Citation, Evidence, Filter, Passage, Path, Scored, SentenceChain, Usage

EMPTY_QUESTION = "the question is empty: nothing was searched"
NO_TOPIC = "the question names no entity of the graph; name one in [brackets], or give --topic"


class PassageRetriever(ABC):
    """A `Retriever` whose evidence of one question does not depend on the others."""

    __slots__ = ()
    scope: Scope

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question (see `Retriever`)."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        return [
            self.retrieve_one(question, k, allowed) if question.strip() else empty_question_evidence()
            for question in questions
        ]

    @abstractmethod
    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` of the allowed passages (P,) for a question that is not empty."""


def check_k(k: int, questions: Sequence[str] = ()) -> None:
    """Check the number of passages, and questions; raises InputError where `k` is below 1, or a question no string."""
    check_count(k, "k")
    check_strings(questions, "questions")
    if k < 1:
        raise InputError(f"k is {k}: ask for at least 1 passage")


def make_evidence(
    passages: Sequence[Scored[Passage]], paths: Sequence[Scored[Path]], notes: Sequence[str], started: float
) -> Evidence:
    """Return evidence with the seconds since `started` (a `time.perf_counter`).

    A path over an entity that no allowed passage names is left out.
    """
    usage = Usage(seconds=time.perf_counter() - started)
    return Evidence(tuple(passages), keep_named(paths), tuple(notes), usage)


def keep_named(paths: Sequence[Scored[Path]]) -> tuple[Scored[Path], ...]:
    """Return the paths whose ends all have names; without a filter all have."""
    return tuple(path for path in paths if all(triple.head and triple.tail for triple in path.item))


def empty_question_evidence(started: float | None = None) -> Evidence:
    """Return the evidence of an empty question."""
    return make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter() if started is None else started)


def insert_empty_questions(questions: Sequence[str], evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence of all questions, given that of those that are not empty, in order."""
    results = iter(evidence)
    return [next(results) if question.strip() else empty_question_evidence() for question in questions]


class _Quote(NamedTuple):
    passage: int
    citation: Citation


@dataclass(frozen=True, slots=True, eq=False)
class ChainQuoter:
    """Quotes the chains of one index."""

    snapshot: Snapshot
    lexical: BM25Index
    sentences: SentenceIndex

    def quote(
        self, chains: SentenceChains, passages: IntArray, allowed: BoolArray
    ) -> tuple[Scored[SentenceChain], ...]:
        """Return the distinct chains of at least two sentences that some passages (n,) stand in, best first.

        The names that join them are as the later passage writes them. Under a filter, whose allowed passages are (P,),
        a chain over a name that it does not write is left out; one over a function word is always.
        """
        if not len(chains.passages):
            return ()
        at = np.minimum(chains.passages.searchsorted(passages), len(chains.passages) - 1)
        at = at[chains.passages[at] == passages]
        at = at[np.argsort(-chains.scores[at], kind="stable")]
        sentences, bridges = chains.rows(at)
        quotes = self._cite(np.unique(sentences[sentences >= 0]))
        found: dict[tuple[int, ...], Scored[SentenceChain]] = {}
        for row, joined, score in zip(sentences.tolist(), bridges.tolist(), chains.scores[at].tolist(), strict=True):
            members = tuple(sentence for sentence in row if sentence >= 0)
            if len(members) > 1 and members not in found:
                own = [quotes[sentence] for sentence in members]
                names = [
                    self._name(bridge, before, quote, allowed)
                    for bridge, (before, quote) in zip(joined, pairwise(own), strict=False)
                ]
                joints = tuple(name for name in names if name is not None)
                if len(joints) == len(names):
                    found[members] = Scored(SentenceChain(tuple(quote.citation for quote in own), joints), score)
        return tuple(found.values())

    def _cite(self, sentences: IntArray) -> dict[int, _Quote]:
        passages = np.searchsorted(self.sentences.offsets, sentences, "right") - 1
        spans = self.sentences.spans[sentences]
        read = {passage: self.snapshot.passage(passage) for passage in set(passages.tolist())}
        rows = zip(sentences.tolist(), passages.tolist(), spans.tolist(), strict=True)
        return {
            sentence: _Quote(passage, read[passage].cite(*without_headings(read[passage].text, start, end)))
            for sentence, passage, (start, end) in rows
        }

    def _name(self, bridge: int, before: _Quote, quote: _Quote, allowed: BoolArray) -> str | None:
        """Return the name of an entity, or the word that a term is of, as a sentence has it.

        None for a pronoun or another word that says nothing of what it joins, and where only passages beside the
        allowed ones say that the entity has a name of this passage, or that it and the name in the sentence before are
        of one.
        """
        if bridge >= 0:
            found = find_spelling(self.snapshot, quote.passage, bridge, allowed)
            if allowed.all():
                return found or self.snapshot.entities[bridge]
            other = find_spelling(self.snapshot, before.passage, bridge, allowed)
            return found if found and are_tied(self.snapshot, bridge, found, other, allowed) else None
        wanted, sentence = int(self.lexical.terms[-1 - bridge]), quote.citation.quote
        words = tokens(sentence)
        spans = [
            (term, word.start, word.end) for term, word in zip(terms_of_words(w.key for w in words), words, strict=True)
        ]
        # In a script without spaces two neighbouring letters are a term, too.
        spans += [
            (one.key + other.key, one.start, other.end) for one, other in pairwise(words) if one.end == other.start
        ]
        word = next((sentence[start:end] for term, start, end in spans if term and key_hash(term) == wanted), "")
        return None if not word or fold(word) in COMMON_WORDS else word  # no word: a part of an identifier
