"""Late interaction: passages by the sum over the question's tokens of the highest cosine with a token of theirs.

The tokens' vectors are the states of the index's encoder. Either the first passages of another retriever are scored,
and only their tokens are encoded, or all passages of a small index, whose tokens' vectors are encoded once and stored.

Source: Khattab and Zaharia, "ColBERT" (2020), section 3.3, MaxSim.
Differs from the source: as `query/late_interaction.py` does, and a pool comes from another retriever in place of an
index over tokens.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, top_order
from clew.errors import InputError
from clew.models.validation import replace_surrogates
from clew.plugins.records import CountOrAll, SettingsRecord, setting
from clew.protocols import Retriever, TokenEncoder, fingerprint_of
from clew.query.context import IndexContext
from clew.query.late_interaction import TEXTS_AT_ONCE, StoredTokens, Tokens, max_similarity, store_tokens
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.retrievers.reranked import strictly_decreasing
from clew.retrievers.spec import OpenRetriever
from clew.types import Evidence, Filter, Passage, Scored

MAX_STORED_PASSAGES = 10_000
"""Passages whose tokens may all be stored: about 100 kB each, of memory while they are made and on disk after that."""
_CACHED_PASSAGES = 2_000  # latest passages of pools whose tokens stay in memory: about 200 MB


class MaxSim(SettingsRecord):
    """Settings of `maxsim`."""

    label: ClassVar[str] = "maxsim"

    base: SettingsRecord | str = setting("fused", "retriever whose first passages are scored")
    pool: CountOrAll = setting(
        100, "number of those passages; all: every passage of the index, whose tokens are stored, for small ones"
    )


@dataclass(slots=True)
class PassageTokens:
    """Tokens of passages, encoded when they are asked for; those of the latest stay in memory."""

    encode: Callable[[Sequence[str]], list[FloatArray]]  # returns unit rows (t, d) of each text
    text: Callable[[int], str]  # returns a passage's text by its position
    _latest: "OrderedDict[int, Tokens]" = field(init=False, default_factory=OrderedDict)

    def rows(self, positions: Sequence[int]) -> list[Tokens]:
        """Return the tokens (t, d) of each of some passages, in half precision."""
        missing = [position for position in positions if position not in self._latest]
        new: dict[int, Tokens] = {}
        for start in range(0, len(missing), TEXTS_AT_ONCE):
            block = missing[start : start + TEXTS_AT_ONCE]
            encoded = self.encode([self.text(position) for position in block])
            new |= {position: rows.astype(np.float16) for position, rows in zip(block, encoded, strict=True)}
        found = [new[position] if position in new else self._latest[position] for position in positions]
        for position, rows in zip(positions, found, strict=True):
            self._latest[position] = rows
            self._latest.move_to_end(position)
        while len(self._latest) > _CACHED_PASSAGES:
            self._latest.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MaxSimRetriever:
    """Ranks the passages of a pool, or all, by late interaction.

    Passages beyond the pool follow in the base's order, in steps of 1 below the lowest score.
    """

    scope: Scope
    encode_question: Callable[[str], FloatArray]  # returns unit rows (q, d) of a question's tokens
    tokens: PassageTokens | StoredTokens
    base: Retriever | None = None  # finds the pool; None to score every passage
    pool: int = 100

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the base."""
        return fingerprint_of(self.base)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        bases: Sequence[Evidence | None] = [None] * len(questions)
        if self.base is not None:
            bases = self.base.retrieve(questions, max(self.pool, k), where)
        return [self._rank(question, base, k, allowed) for question, base in zip(questions, bases, strict=True)]

    def _rank(self, question: str, base: Evidence | None, k: int, allowed: BoolArray) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started)
        positions, further = np.flatnonzero(allowed), np.zeros(0, dtype=np.int64)
        if base is not None:
            found = np.array([self.scope.snapshot.position(s.item.id) for s in base.passages], dtype=np.int64)
            positions, further = np.sort(found[: self.pool]), found[self.pool :]  # sorted: ties by id
        vectors = self.encode_question(question)
        scores = np.zeros(len(positions))
        for start in range(0, len(positions), TEXTS_AT_ONCE):
            rows = self.tokens.rows(positions[start : start + TEXTS_AT_ONCE].tolist())
            scores[start : start + len(rows)] = [max_similarity(vectors, tokens) for tokens in rows]
        best = top_order(scores, max(len(scores), 1))
        below = scores[best][-1:] - np.arange(1, len(further) + 1)
        ordered = strictly_decreasing([*scores[best].tolist(), *below.tolist()])[:k]
        places = np.concatenate([positions[best], further])[:k]
        ranked: list[Scored[Passage]] = [
            Scored(self.scope.snapshot.passage(int(position)), score)
            for position, score in zip(places, ordered, strict=True)
        ]
        if base is None:
            return make_evidence(ranked, (), (), started)
        usage = replace(base.usage, seconds=base.usage.seconds + time.perf_counter() - started)
        return replace(base, passages=tuple(ranked), usage=usage, paths=(), chains=())


def build_maxsim(context: IndexContext, settings: MaxSim, open_retriever: OpenRetriever) -> MaxSimRetriever:
    """Return the retriever over one index; raises InputError where its encoder gives no vectors of tokens."""
    encoder, s = context.encoder, context.scope.snapshot
    if not isinstance(encoder, TokenEncoder):
        raise InputError(
            f"maxsim compares tokens, and the encoder {encoder.name} gives no vectors of tokens; wanted an index of "
            "all-MiniLM-L6-v2-int8 or of a sentence-transformers model: use `clew reencode`"
        )

    def encode_question(question: str) -> FloatArray:
        return encoder.encode_tokens([replace_surrogates(question)], queries=True)[0]

    def text(position: int) -> str:
        title, body = s.titles[position], s.texts[position]
        return replace_surrogates(f"{title}\n{body}" if title else body)

    if settings.pool != "all":
        base = open_retriever(settings.base, context.with_paths_per_passage(0))
        tokens = PassageTokens(encoder.encode_tokens, text)
        return MaxSimRetriever(context.scope, encode_question, tokens, base, settings.pool)
    if len(context.scope) > MAX_STORED_PASSAGES:
        raise InputError(
            f"maxsim:pool=all stores the tokens of every passage, and this index has {len(context.scope):,}; wanted at "
            f"most {MAX_STORED_PASSAGES:,}: give a number, such as pool=100"
        )

    def encode(positions: Sequence[int]) -> list[FloatArray]:
        return encoder.encode_tokens([text(position) for position in positions])

    # Encoded at first use, and mapped from disk after that.
    name = f"tokens-{context.encoder.fingerprint}"
    stored = store_tokens(name, len(context.scope), encode, context.cached_array)
    return MaxSimRetriever(context.scope, encode_question, stored)
