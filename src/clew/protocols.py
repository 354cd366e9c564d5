"""The seams between the parts: batch-first and synchronous; results come in the order of the arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from clew.types import (
    Evidence,
    Extraction,
    Failure,
    Filter,
    Passage,
    Reading,
    Sought,
    Thought,
    Verdict,
)

if TYPE_CHECKING:
    from clew.types import FloatArray


class Retriever(Protocol):
    """Questions in, evidence out."""

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return for each question at most `k` passages, best first.

        Args:
            questions: Any strings; an empty one gives empty evidence and a note.
            k: At least 1; more than the corpus holds returns the whole ranking.
            where: Passages that fail the predicate neither appear nor lend their triples to a path.

        Raises:
            InputError: `k` is below 1 or `where` cannot be parsed.
        """
        ...


class Reranker(Protocol):
    """Evidence in, better-ordered evidence out."""

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the same passages of each question in a new order."""
        ...


class Encoder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def name(self) -> str:
        """The name a user gives to ask for this encoder."""
        ...

    @property
    def dimension(self) -> int:
        """Width of the vectors, 0 for an encoder that makes none."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: weights, tokenisation, pooling."""
        ...

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) to be stored; a row depends on its own text only, bit for bit."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) to search with; a row depends on its own text only, bit for bit."""
        ...


class Extractor(Protocol):
    """Passages in, mentions and triples out."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the extraction of some passage would."""
        ...

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return one result a passage; a failure is returned in its place, never raised for the batch."""
        ...


class TextScorer(Protocol):
    """One question and texts in, relevance out."""

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return scores (len(texts),), higher is better."""
        ...


class Reader(Protocol):
    """What a multi-step search asks of whoever reads for it; a `BudgetError` ends the search with what it has."""

    @property
    def name(self) -> str:
        """`local`, or the name of a model."""
        ...

    def read(self, asked: Sequence[Sought]) -> list[Reading]:
        """Return the facts in each one's passages that bear on its question (proximal triples), best first."""
        ...

    def judge(self, asked: Sequence[Sought]) -> list[Verdict]:
        """Return for each whether its gist answers its question, and if not, the next query."""
        ...

    def think(self, asked: Sequence[Sought]) -> list[Thought]:
        """Return for each the next step of reasoning from its passages."""
        ...
