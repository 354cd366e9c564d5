"""The records that every part of Clew exchanges: frozen, slotted, and free of any heavy import."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from pydantic import BaseModel

    from clew.arrays import BoolArray as BoolArray
    from clew.arrays import DoubleArray as DoubleArray
    from clew.arrays import FloatArray as FloatArray
    from clew.arrays import IntArray as IntArray
    from clew.arrays import LongArray as LongArray

T = TypeVar("T")

MAX_POSSIBLE = 2
"""Names that the headline of a weak answer shows, at most."""
_UNSURE_OPENING, _UNSURE_JOINT = "Not sure: perhaps ", " or "
_RENDERING = "clew.rendering.pages"  # as text: it is imported where a notebook shows something
_MAX_SHOWN = 60  # characters of a text in a representation

AUTO_RETRIEVER = "auto"
"""The retriever that an index chooses by what it holds."""
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
Filter = str  # a SQL-like predicate over a passage's metadata, for example `year >= 1990 AND lang = 'en'`


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a source as a person finds it there; all numbers count from 1, None and "" where there is none."""

    page: int | None = None
    slide: int | None = None
    sheet: str = ""
    row: int | None = None  # of a sheet
    line: int | None = None  # of a text file
    heading: str = ""  # the headings above, from the highest to the lowest: "Guide > Installation"

    def __str__(self) -> str:
        """Return the place in words, such as `page 3` or `line 14, Guide > Installation`; "" for nowhere."""
        numbers = (("page", self.page), ("slide", self.slide), ("sheet", self.sheet), ("row", self.row))
        words = [f"{name} {value}" for name, value in (*numbers, ("line", self.line)) if value]
        return ", ".join([*words, self.heading] if self.heading else words)


class PlaceStart(NamedTuple):
    """The place of a text from an offset on, up to the next one; its line is that at the offset."""

    offset: int  # in characters
    place: Place


@dataclass(frozen=True, slots=True)
class Time:
    """A stretch of days, of the proleptic Gregorian calendar, both ends included, and where it is stated."""

    first: str = ""  # ISO 8601, `2024-03-05`; "" for an open beginning
    last: str = ""  # likewise; "" for an open end
    source: str = ""  # "field date", "file name", "first lines", or "text" for a time that the quoted words state

    def __str__(self) -> str:
        """Return the days for people: `2024-03-05`, `2024-03`, `2024`, `1990 to 1998`, `since 1998`, `until 2003`."""
        first, last = _shorten_days(self.first, self.last)
        if not first or not last:
            return f"since {first}" if first else f"until {last}" if last else ""
        return first if first == last else f"{first} to {last}"

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day; an open end is the first or the last of all, so that days compare as texts."""
        return self.first or FIRST_DAY, self.last or LAST_DAY

    @property
    def is_range(self) -> bool:
        """Whether it is no single day, month or year, and so says how long something held."""
        first, last = _shorten_days(self.first, self.last)
        return first != last

    def is_later_than(self, day: str) -> bool:
        """Return whether it begins after a day."""
        return self.first > day

    def holds_on(self, day: str) -> bool:
        """Return whether what happened or held in it had happened, and did not end, on a day."""
        return not self.is_later_than(day) and not (self.is_range and self.last and self.last < day)


class StatedTime(NamedTuple):
    """A time that a text states at `text[start:end]`; the days are as those of `Time`."""

    start: int
    end: int
    first: str
    last: str

    @property
    def time(self) -> Time:
        """The days."""
        return Time(self.first, self.last, "text")


@dataclass(frozen=True, slots=True)
class Document:
    """A source text before it is cut into passages."""

    id: str  # unique within an index; for a file, its path relative to the folder that was read
    title: str  # what the document is about; "" when the source does not say
    text: str  # the whole text, as it will be quoted
    metadata: Mapping[str, Any] = field(default_factory=dict)  # strings, numbers, booleans, lists of strings
    aliases: tuple[str, ...] = ()  # other names of the subject (front matter, headings, the file's name)
    links: tuple[str, ...] = ()  # targets of hyperlinks, Markdown links and wiki links, as written in the source
    places: tuple[PlaceStart, ...] = ()  # by offset in the text, ascending; () for a source without places
    origin: Mapping[str, Any] = field(default_factory=dict)  # further metadata, whose change is none of the document


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
    places: tuple[PlaceStart, ...] = ()  # by offset in the passage's text, ascending
    time: Time | None = None  # of the document; None where nothing states it
    times: tuple[StatedTime, ...] = ()  # that the text states, ascending

    def time_at(self, start: int, end: int) -> Time | None:
        """Return the time of a sentence `text[start:end]`: the one that it states, else that of the document.

        Of a sentence that states several it is none: words between them tell which is of what.
        """
        own = [stated.time for stated in self.times if start <= stated.start < end]
        return self.time if not own else own[0] if len(own) == 1 else None

    def holds_on(self, start: int, end: int, day: str) -> bool:
        """Return whether a sentence `text[start:end]` speaks of a day or of days before: it states no later time alone.

        A range that it states must not have ended. `day` is ISO 8601.
        """
        own = [stated.time for stated in self.times if start <= stated.start < end]
        return not own or any(time.holds_on(day) for time in own)

    def place_at(self, offset: int) -> Place | None:
        """Return the place of a character of the text, by its offset; None for a source without places."""
        before = [start for start in self.places if start.offset <= offset]
        if not before:
            return None
        place = before[-1].place
        if place.line is None:
            return place
        return replace(place, line=place.line + self.text.count("\n", before[-1].offset, offset))

    def cite(self, start: int, end: int) -> "Citation":
        """Return the citation of `text[start:end]`."""
        span, quote = (self.start + start, self.start + end), self.text[start:end]
        place, time = self.place_at(start), self.time_at(start, end)
        return Citation(self.document_id, self.id, self.title, *span, quote, place, time)


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact (head, relation, tail) and the ids of the passages that state it; the first writes its ends so."""

    head: str
    relation: str
    tail: str
    passages: tuple[str, ...] = ()
    head_name: str = ""  # the name of the head's entity in the index, where the passage writes another; else ""
    tail_name: str = ""

    @property
    def entities(self) -> tuple[str, str]:
        """The names of both ends' entities, which are equal in all triples of an entity."""
        return self.head_name or self.head, self.tail_name or self.tail


Path = tuple[Triple, ...]  # a chain of triples, each sharing an entity with the one before it


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """An item and its score; a higher score is always better."""

    item: T
    score: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of an operation: wall-clock seconds, and for language models calls, tokens and money."""

    seconds: float = 0.0
    calls: int = 0  # answered by a model; replies from the cache cost nothing and are not counted
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0  # in the currency of the price table, else US dollars; 0 where no price is known

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
    """One step of an agent."""

    query: str  # the search query
    read: tuple[str, ...] = ()  # proximal triples that the reader took from the passages
    linked: tuple[str, ...] = ()  # the triples of the index that they were linked to
    new: tuple[str, ...] = ()  # ids of passages that no earlier step found
    gist: tuple[str, ...] = ()  # facts added to the memory
    verdict: str = ""  # "enough", "go on" or why it stopped
    reasoning: str = ""  # the reader's words, or an agent's thought
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence quoted as it stands: `document.text[start:end] == quote`."""

    document_id: str
    passage_id: str
    title: str
    start: int
    end: int
    quote: str
    place: Place | None = None  # of the first character; None for a source without places
    time: Time | None = None  # that the quote states, else that of its document


@dataclass(frozen=True, slots=True)
class SentenceChain:
    """Sentences of different passages, each joined to the one before by a name or a word that both have."""

    sentences: tuple[Citation, ...]  # in order, from the question's names to what it asks for
    bridges: tuple[str, ...]  # the name or word between each two


@dataclass(frozen=True, slots=True, repr=False)
class Evidence:
    """The result of a search for one question: passages, paths and chains, best first, and notes for people.

    A notebook shows it as a page: the chain hop by hop, and the passages with the quotes marked. It is iterated,
    counted and indexed as its passages; it is false where nothing was found.
    """

    passages: tuple[Scored[Passage], ...] = ()
    paths: tuple[Scored[Path], ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    steps: tuple[AgentStep, ...] = ()  # steps of an agent; () for a retriever of one step
    topics: tuple[str, ...] = ()  # entities that the paths start from, for a path retriever
    chains: tuple[Scored[SentenceChain], ...] = ()  # for a retriever that follows sentences
    as_of: str = ""  # day that it was searched for, ISO 8601: it holds nothing later; "" for today's state

    def __repr__(self) -> str:
        """Return counts, and the ids of the best passages."""
        ids = ", ".join(repr(scored.item.id) for scored in self.passages[:3])
        more = ", ..." if len(self.passages) > 3 else ""
        counts = f"paths={len(self.paths)}, chains={len(self.chains)}, notes={len(self.notes)}"
        return f"Evidence(passages={len(self.passages)}: [{ids}{more}], {counts})"

    def _repr_html_(self) -> str:
        html: str = import_module(_RENDERING).render_evidence(self)
        return html

    def __len__(self) -> int:
        return len(self.passages)

    def __bool__(self) -> bool:
        return bool(self.passages or self.paths or self.chains)  # a path retriever finds no passages

    def __iter__(self) -> Iterator[Scored[Passage]]:
        return iter(self.passages)

    @overload
    def __getitem__(self, rank: int) -> Scored[Passage]: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[Scored[Passage], ...]: ...
    def __getitem__(self, rank: int | slice) -> Scored[Passage] | tuple[Scored[Passage], ...]:
        return self.passages[rank]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object: passages, paths, notes, usage, steps, topics and chains, as `clew search --json`."""
        return {
            "passages": [_passage_dict(each) for each in self.passages],
            "paths": [
                {"score": path.score, "triples": [_plain(asdict(triple)) for triple in path.item]}
                for path in self.paths
            ],
            "notes": list(self.notes),
            "usage": asdict(self.usage),
            "steps": [_plain(asdict(step)) for step in self.steps],
            "topics": list(self.topics),
            "chains": [{"score": chain.score, **_plain(asdict(chain.item))} for chain in self.chains],
            "as_of": self.as_of,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its known answers and evidence."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()  # ids of the passages or documents that together hold the answer
    kind: str = ""  # the data set's name for the type of question, "" when it has none
    hops: int = 0  # number of passages or facts to combine; 0 when unknown
    topics: tuple[str, ...] = ()  # names of the topic entities, for a question on a graph
    paths: tuple[tuple[tuple[str, str, str], ...], ...] = ()  # of (head, relation, tail) to an answer, on a graph


@dataclass(frozen=True, slots=True)
class OtherAnswer:
    """Another answer that a sentence states, of another time than the answer or against it."""

    text: str
    kind: str  # "until" where the next one was stated on `day`, "since" where it was stated on that day, "contradicts"
    day: str  # ISO 8601; "" for a contradiction
    citation: Citation

    def __str__(self) -> str:
        """Return it for people: `until 2024-03-05: Oslo`."""
        return f"{'said against it' if self.kind == 'contradicts' else f'{self.kind} {self.day}'}: {self.text}"


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """An answer, its citations, and the evidence that it was read from; a notebook shows it as a page.

    It is iterated, counted and indexed as the passages of its evidence; it is false where there is no answer.
    """

    text: str  # the answer, while `weak` the likeliest one at best; "" when the evidence does not hold one
    citations: tuple[Citation, ...]
    candidates: tuple[Scored[str], ...]  # what may be the answer, best first; rules may prefer one of a lower score
    evidence: Evidence
    weak: bool = False  # not to be asserted: nothing in the evidence supports the text, or it is not likely enough
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()  # cost of the answer alone, without the search
    failure: "Failure | None" = None  # why a language model gave no usable reply; None where it did, or none was called
    others: tuple[OtherAnswer, ...] = ()  # what else was true before or after, or is said against it

    @property
    def headline(self) -> str:
        """The text for people: of a weak answer the likeliest candidates, as such; "" without a text.

        What a language model wrote of passages or paths stands as it is: its first candidate has the score 1, which is
        neither a probability nor the score of a rule.
        """
        return _UNSURE_OPENING + _UNSURE_JOINT.join(self.possible) if self.possible else self.text

    @property
    def possible(self) -> tuple[str, ...]:
        """The names that the headline of a weak answer shows, likeliest first: one or two; else none."""
        if (
            not (self.weak and self.candidates and self.candidates[0].item == self.text)
            or self.candidates[0].score == 1
        ):
            return ()
        first = self.text.casefold()
        others = [c.item for c in self.candidates if (k := c.item.casefold()) not in first and first not in k]
        return (self.text, *others[: MAX_POSSIBLE - 1])

    def __repr__(self) -> str:
        """Return the text, the quotes that support it, and the counts of the evidence."""
        quotes = [c.quote if len(c.quote) <= _MAX_SHOWN else f"{c.quote[:_MAX_SHOWN]}..." for c in self.citations]
        failure = f", failure={self.failure.reason!r}" if self.failure else ""
        weak = ", weak" if self.weak else ""
        return f"Answer({self.text!r}{weak}, citations={quotes}, {self.evidence!r}{failure})"

    def _repr_html_(self) -> str:
        html: str = import_module(_RENDERING).render_answer(self)
        return html

    def __len__(self) -> int:
        return len(self.evidence)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __iter__(self) -> Iterator[Scored[Passage]]:
        return iter(self.evidence)

    @overload
    def __getitem__(self, rank: int) -> Scored[Passage]: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[Scored[Passage], ...]: ...
    def __getitem__(self, rank: int | slice) -> Scored[Passage] | tuple[Scored[Passage], ...]:
        return self.evidence[rank]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object: answer, headline, weak, citations, candidates, notes, usage, evidence."""
        return {
            "answer": self.text,
            "headline": self.headline,
            "weak": self.weak,
            "citations": [_plain(asdict(citation)) for citation in self.citations],
            "candidates": [{"text": each.item, "score": each.score} for each in self.candidates],
            "others": [_plain(asdict(other)) for other in self.others],
            "notes": list(self.notes),
            "usage": asdict(self.usage),
            "evidence": self.evidence.to_dict(),
        }


def read_headline(text: str) -> tuple[str, ...]:
    """Return the `Answer.possible` names of a headline that has no record beside it; none of any other text.

    A name with " or " in it is read as two.
    """
    opening, _, names = text.partition(_UNSURE_OPENING)
    first, _, second = names.partition(_UNSURE_JOINT)
    return () if opening or not names else tuple(name for name in (first, second) if name)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a passage's text, `text[start:end]`; start = end = -1 when its position is unknown."""

    name: str
    kind: str = "name"  # or "quoted", "acronym", "date", "number", "identifier"
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extractor for one passage: mentions in order, and (head, relation, tail) facts."""

    mentions: tuple[Mention, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()  # a name as the passage writes it, and the full name it stands for there


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why one item of a batch has no result."""

    item: str
    reason: str
    usage: Usage = Usage()  # cost of the failed attempts
    run_error: Exception | None = field(default=None, compare=False)  # ended the run before this item was tried


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call of a language model."""

    name: str  # name of the template, with the hash of its text and schema
    instructions: str  # the task, in words of Clew alone
    content: str  # text of users and of the corpus: data, never an instruction
    reply: "type[BaseModel]"  # schema of the reply
    reply_tokens: int = 0  # maximum length of the reply in tokens; 0 for the limit of the settings, which always holds
    temperature: float | None = None  # sampling temperature; None for that of the settings


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a language model."""

    value: "BaseModel"  # an object of the prompt's schema
    usage: Usage = Usage()  # cost of all attempts; zero for a cached reply
    cached: bool = False  # whether it came from the cache


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple in words, as a reader takes it from a passage."""

    head: str
    relation: str
    tail: str
    triple: int = -1  # position among the triples of the index, if it was taken from there; else -1, to be linked

    @property
    def text(self) -> str:
        """The triple as a phrase."""
        return f"{self.head} {self.relation} {self.tail}"


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """The state of a search that a reader sees."""

    question: str  # the user's question
    passages: tuple[Passage, ...] = ()  # passages found, best first
    gist: tuple[Fact, ...] = ()  # facts noted so far, in order
    queries: tuple[str, ...] = ()  # queries so far; the first is the question
    thoughts: tuple[str, ...] = ()  # conclusions of an agent so far, one sentence each
    where: Filter | None = None  # filter of the search: a reader names nothing that its passages do not name


@dataclass(frozen=True, slots=True)
class ExtractedFacts:
    """The facts that bear on a question."""

    facts: tuple[Fact, ...] = ()
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""  # reason why the reader was not called: its budget is spent; "" where it was called


@dataclass(frozen=True, slots=True)
class SufficiencyDecision:
    """A decision whether the facts read suffice, and if not, the next query."""

    enough: bool
    reasoning: str = ""
    query: str = ""  # the next query; "" when there is none
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""  # as of `ExtractedFacts`


@dataclass(frozen=True, slots=True)
class Thought:
    """One step of reasoning."""

    text: str  # a sentence, which is the next query; "" when there is none
    answered: bool = False  # whether it answers the question
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    stop_reason: str = ""  # as of `ExtractedFacts`


Progress = Callable[[str, int, int], None]  # a callback for progress: `(stage, done, total)`


def _shorten_days(first: str, last: str) -> tuple[str, str]:
    """Return the first and last of some days as years or as months where they begin and end such; "" stays."""
    if first[4:] in ("", "-01-01") and last[4:] in ("", "-12-31"):
        return first[:4], last[:4]
    ends_month = last[4:] in ("", "-12-31") or (date.fromisoformat(last) + timedelta(1)).day == 1
    return (first[:7], last[:7]) if first[7:] in ("", "-01") and ends_month else (first, last)


def _passage_dict(scored: Scored[Passage]) -> dict[str, Any]:
    passage = scored.item
    return {
        **_plain(asdict(replace(passage, metadata={}, places=(), times=()))),
        "score": scored.score,
        "metadata": dict(passage.metadata),
        "times": [stated._asdict() for stated in passage.times],
        "places": [{"offset": start.offset, **asdict(start.place)} for start in passage.places],
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: tuples are lists."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def count_progress(progress: Progress, stage: str) -> Callable[[int], None]:
    """Return a callback that adds up what was done and reports the sum; the total is not known beforehand."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(stage, done, 0)

    return count


def ignore_progress(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""
