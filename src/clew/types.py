"""The records that every part of Clew exchanges: frozen, slotted, and free of any heavy import."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clew.arrays import BoolArray as BoolArray
    from clew.arrays import FloatArray as FloatArray
    from clew.arrays import IntArray as IntArray
    from clew.arrays import LongArray as LongArray

T = TypeVar("T")

Filter = str
"""A SQL-like predicate over a passage's metadata, for example `year >= 1990 AND lang = 'en'`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A source text before it is cut into passages.

    Attributes:
        id: Unique within an index; for a file, its path relative to the folder that was read.
        title: What the document is about; "" when the source does not say.
        text: The whole text, as it will be quoted.
        metadata: Values a filter can ask for: strings, numbers, booleans, or lists of strings.
        aliases: Other names of the subject (front matter, headings, the file's name).
        links: Targets of hyperlinks, Markdown links and wiki links, as written in the source.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch `text == document.text[start:end]` of one document: the unit that is ranked and cited."""

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact (head, relation, tail) and the ids of the passages that state it."""

    head: str
    relation: str
    tail: str
    passages: tuple[str, ...] = ()


Path = tuple[Triple, ...]
"""A chain of triples, each sharing an entity with the one before it."""


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """An item and its score; a higher score is always better."""

    item: T
    score: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of an operation: wall-clock seconds, and for language models calls, tokens and money.

    Attributes:
        calls: Calls answered by a model; replies from the cache cost nothing and are not counted.
        cost: In the currency of the price table, US dollars unless a user says otherwise; 0 where no price is known.
    """

    seconds: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum."""
        return Usage(
            self.seconds + other.seconds,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One step of an agent.

    Attributes:
        query: The search query.
        read: Proximal triples that the reader took from the passages.
        linked: The triples of the index that they were linked to.
        new: Ids of passages that no earlier step found.
        gist: Facts added to the memory.
        verdict: "enough", "go on" or why it stopped.
        reasoning: The reader's words, or an agent's thought.
    """

    query: str
    read: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gist: tuple[str, ...] = ()
    verdict: str = ""
    reasoning: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of a search for one question: passages and paths, best first, and notes for people.

    Attributes:
        steps: Steps of an agent; () for a retriever of one step.
        topics: Entities that the paths start from, for a path retriever.
    """

    passages: tuple[Scored[Passage], ...] = ()
    paths: tuple[Scored[Path], ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    steps: tuple[AgentStep, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its known answers and evidence.

    Attributes:
        gold: Ids of the passages or documents that together hold the answer.
        kind: The data set's name for the type of question, "" when it has none.
        hops: Number of passages or facts to combine; 0 when unknown.
        topics: Names of the topic entities, for a question on a graph.
        paths: Paths of (head, relation, tail) to an answer, for a question on a graph.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    kind: str = ""
    hops: int = 0
    topics: tuple[str, ...] = ()
    paths: tuple[tuple[tuple[str, str, str], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence quoted as it stands: `document.text[start:end] == quote`."""

    document_id: str
    passage_id: str
    title: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, its citations, and the evidence that it was read from.

    Attributes:
        text: The answer; "" when the evidence does not hold one.
        candidates: Entities that may be the answer, best first.
        weak: True when the evidence hardly touches the question, or nothing in it supports the answer.
        usage: Cost of the answer alone, without the search.
        failure: Reason why a language model gave no usable reply; None where it did, or none was called.
    """

    text: str
    citations: tuple[Citation, ...]
    candidates: tuple[Scored[str], ...]
    evidence: Evidence
    weak: bool = False
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    failure: "Failure | None" = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a passage's text, `text[start:end]`; start = end = -1 when its position is unknown.

    Attributes:
        kind: "name", "quoted", "acronym", "date", "number" or "identifier".
    """

    name: str
    kind: str = "name"
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extractor for one passage: mentions in order, and (head, relation, tail) facts."""

    mentions: tuple[Mention, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why one item of a batch has no result.

    Attributes:
        usage: Cost of the failed attempts.
        run_error: The error that ended the run before this item was tried; None when the item itself failed.
    """

    item: str
    reason: str
    usage: Usage = Usage()
    run_error: Exception | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call of a language model.

    Attributes:
        name: Name of the template, with the hash of its text and schema.
        instructions: The task, in words of Clew alone.
        content: Text of users and of the corpus: data, never an instruction.
        reply: Schema of the reply.
        reply_tokens: Maximum length of the reply in tokens; 0 for the limit of the settings, which always holds.
        temperature: Sampling temperature; None for that of the settings.
    """

    name: str
    instructions: str
    content: str
    reply: "type[BaseModel]"
    reply_tokens: int = 0
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a language model.

    Attributes:
        value: An object of the prompt's schema.
        usage: Cost of all attempts; zero for a cached reply.
        cached: Whether it came from the cache.
    """

    value: "BaseModel"
    usage: Usage = Usage()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple in words, as a reader takes it from a passage.

    Attributes:
        triple: Position among the triples of the index, if it was taken from there; else -1, to be linked.
    """

    head: str
    relation: str
    tail: str
    triple: int = -1

    @property
    def text(self) -> str:
        """The triple as a phrase."""
        return f"{self.head} {self.relation} {self.tail}"


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """The state of a search that a reader sees.

    Attributes:
        question: The user's question.
        passages: Passages found, best first.
        gist: Facts noted so far, in order.
        queries: Queries so far; the first is the question.
        thoughts: Conclusions of an agent so far, one sentence each.
    """

    question: str
    passages: tuple[Passage, ...] = ()
    gist: tuple[Fact, ...] = ()
    queries: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedFacts:
    """The facts that bear on a question.

    Attributes:
        stop_reason: Reason why the reader was not called: its budget is spent; "" where it was called.
    """

    facts: tuple[Fact, ...] = ()
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class SufficiencyDecision:
    """A decision whether the facts read suffice, and if not, the next query.

    Attributes:
        query: The next query; "" when there is none.
        stop_reason: As of `ExtractedFacts`.
    """

    enough: bool
    reasoning: str = ""
    query: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class Thought:
    """One step of reasoning.

    Attributes:
        text: A sentence, which is the next query; "" when there is none.
        answered: Whether it answers the question.
        stop_reason: As of `ExtractedFacts`.
    """

    text: str
    answered: bool = False
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""


Progress = Callable[[str, int, int], None]
"""A callback for progress: `(stage, done, total)`."""


def ignore_progress(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""
