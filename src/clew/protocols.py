"""The interfaces between the parts: batch-first and synchronous; results come in the order of the arguments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clew.errors import InputError
from clew.types import (
    Answer,
    Evidence,
    ExtractedFacts,
    Extraction,
    Failure,
    Filter,
    Passage,
    Prompt,
    ReaderInput,
    Reply,
    SufficiencyDecision,
    Thought,
)

if TYPE_CHECKING:
    from clew.types import FloatArray


class Retriever(Protocol):
    """Questions in, evidence out."""

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return for each question at most `k` passages, best first; an empty question gives empty evidence and a note.

        A `k` of more than the corpus holds returns the whole ranking. Passages that fail the predicate `where` neither
        appear nor lend their triples to a path. Raises InputError where `k` is below 1 or `where` cannot be parsed.
        """


@runtime_checkable
class TopicRetriever(Retriever, Protocol):
    """A retriever that takes the topic entities of a question."""

    def retrieve_about(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[Evidence]:
        """Return at most `k` passages and the paths from its topics for each question, best first.

        Topics are names of entities, none to link them; one that is no entity of the index is an InputError.
        """


class Reranker(Protocol):
    """Evidence in, better-ordered evidence out."""

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the same passages of each question in a new order."""


class Encoder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def name(self) -> str:
        """The name a user gives to ask for this encoder."""

    @property
    def dimension(self) -> int:
        """Width of the vectors, 0 for an encoder that makes none."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: weights, tokenisation, pooling."""

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) to be stored; a row depends on its own text only, bit for bit."""

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) to search with; a row depends on its own text only, bit for bit."""


@dataclass(frozen=True, slots=True, eq=False)
class SpanVectors:
    """Vectors of n texts and of spans in them."""

    rows: "FloatArray"  # (n, d) unit rows of the texts, those of `Encoder.encode`
    spans: "Sequence[FloatArray]"  # for each text (k, d) unit rows of its spans, zeros where no token of one was read
    read: Sequence[int]  # the number of characters read of each text


@runtime_checkable
class SpanEncoder(Protocol):
    """An encoder that gives vectors of the parts of a text with that of the text, at no cost."""

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> SpanVectors:
        """Return the vectors of texts and of spans (start, end) of their characters.

        A vector depends on its own text and span only, bit for bit.
        """


LOCAL_READER = "local"
"""The reader that needs no language model: of a multi-step search, or of subgraphs."""
OnStates = Callable[[int, Sequence[tuple[int, int]], "FloatArray"], None]
"""Gets the position of a text, the offsets of its m tokens and their states (m, d)."""


class StateEncoder(SpanEncoder, Protocol):
    """An encoder that shows the states of tokens."""

    @property
    def dimension(self) -> int:
        """Width of the states."""

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], on_states: OnStates | None = None
    ) -> SpanVectors:
        """Return what `SpanEncoder` does; `on_states` is called for each text, from several threads."""


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that gives a vector for each token of a text, for late interaction."""

    def encode_tokens(self, texts: "Sequence[str]", *, queries: bool = False) -> "list[FloatArray]":
        """Return for each text unit rows (t, d) of its tokens, without those that mark start and end.

        `queries` are read as `Encoder.encode_queries` reads them. A text's rows depend on it alone, bit for bit.
        """


class Extractor(Protocol):
    """Passages in, mentions and triples out."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the extraction of some passage would."""

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return one result a passage; a failure is returned in its place, never raised for the batch."""


class TextScorer(Protocol):
    """One question and texts in, relevance out."""

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return scores (len(texts),), higher is better."""


class Answerer(Protocol):
    """Evidence in, an answer out."""

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer a question, in their order; one that a language model failed at says so in `failure`.

        A callback gets the growing text of the answer to a single question, where it is streamed. Not as many questions
        as pieces of evidence is an InputError.
        """


class LanguageModel(Protocol):
    """Prompts in, typed replies out."""

    @property
    def name(self) -> str:
        """The name a user gives to ask for this model."""

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return one result a prompt, in order; nothing is raised for what a model or its server does.

        Prompts are sent concurrently, within the limits of the model; a callback gets the growing reply to a single
        one. A failure with `run_error` was not tried, since the budget is spent or the provider cannot be used at all.
        """


class AgentReader(Protocol):
    """The reader of a multi-step search: notes facts, decides whether they suffice, thinks; one result each, in order.

    A `stop_reason` ends the search with what it has; a `ProviderError` is raised when the reader cannot be used at all.
    """

    @property
    def name(self) -> str:
        """`local`, or the name of a model."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever its results for the same passages would."""

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Return the facts in each one's passages that bear on its question (proximal triples), best first."""

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Return for each whether its gist answers its question, and if not, the next query."""

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Return for each the next step of reasoning from its passages."""


def fingerprint_of(*parts: object) -> str:
    """Join the fingerprints of components, so that no stale run is reused; those fixed by name and index have none."""
    return "\0".join(str(getattr(part, "fingerprint", "")) for part in parts)


def check_lengths(questions: Sequence[str], evidence: Sequence[Evidence]) -> None:
    """Raise InputError unless there is one piece of evidence per question."""
    if isinstance(questions, str):
        raise InputError(f"questions is {questions!r:.80}, a single one; give a list of strings")
    if len(questions) != len(evidence):
        raise InputError(f"questions: {len(questions)}, pieces of evidence: {len(evidence)}; give one per question")
