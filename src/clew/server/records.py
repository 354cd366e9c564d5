"""The records that HTTP and MCP exchange; their fields are those of `clew search --json` and `clew ask --json`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from clew.query.time_limits import TimeLimits
from clew.types import AgentStep, Citation, OtherAnswer, StatedTime, Time, Triple, Usage

MAX_QUESTION = 4_000
"""Characters of a question."""
MAX_QUESTIONS = 64
"""Questions of one search."""
MAX_K = 200
"""Passages of one answer."""

Question = Annotated[str, Field(max_length=MAX_QUESTION)]
Name = Annotated[str, Field(max_length=200)]
Setting = str | int | float | bool
MetadataValue = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | list[str]


class Record(BaseModel):
    """A record that is never changed, and takes no field that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, protected_namespaces=())


class OfVersion(Record):
    """A record of one version of an index."""

    index: str
    version: int


class RetrieverChoice(Record):
    """A retriever and its settings, as `clew retrievers NAME` lists them."""

    name: str = Field(default="auto", max_length=64, description="auto, or a name that `GET /v1/indexes` lists.")
    settings: dict[str, Setting] = Field(
        default={}, description="Its settings by name; those that name files are refused."
    )


class EvidenceOptions(Record):
    """The fields that search and ask have in common."""

    retriever: str | RetrieverChoice = Field(
        default="auto",
        description="A name, or a name with settings.",
        examples=["auto", {"name": "pagerank", "settings": {}}],
    )
    k: int = Field(default=5, ge=1, le=MAX_K, description="Passages, at most.")
    where: str | None = Field(
        default=None,
        max_length=50_000,
        description="Only passages whose metadata meet a condition.",
        examples=["year >= 1990"],
    )
    as_of: str = Field(default="", max_length=40, description="What is later than a day, month or year is not seen.")
    since: str = Field(default="", max_length=40, description="Only passages of this time or later ones.")
    until: str = Field(default="", max_length=40, description="Only passages of this time or earlier ones.")
    paths: int = Field(default=1, ge=0, le=10, description="Paths that explain each passage, for gfm.")
    topics: list[Question] = Field(
        default=[], max_length=32, description="Entities to start from, for path retrievers."
    )
    rerank: Literal["none", "g-rag"] = Field(default="none", description="Reranker of the passages found.")

    @property
    def times(self) -> TimeLimits:
        """The limits of time as a search takes them."""
        return TimeLimits(self.as_of, self.since, self.until)


class SearchRequest(EvidenceOptions):
    """One question, or several that are answered together."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "Where was the ship of Fridtjof Nansen built?", "k": 3}]}
    )

    question: Question | None = Field(default=None, description="A question; give this or `questions`.")
    questions: list[Question] | None = Field(default=None, min_length=1, max_length=MAX_QUESTIONS)


class AskRequest(EvidenceOptions):
    """A question to answer."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "Where was the ship of Fridtjof Nansen built?", "k": 5}]}
    )

    question: Question
    model: str = Field(
        default="", max_length=200, description="A language model that the server allows; empty for quotes."
    )
    stream: bool = Field(default=False, description="Whether the answer comes as server-sent events.")


class Passage(Record):
    """A passage; `text` is `[start:end]` of its document, in characters."""

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    metadata: Mapping[str, Any] = {}
    time: Time | None = None
    times: Sequence[StatedTime] = ()


class FoundPassage(Passage):
    """A passage that was found, and its score; a higher one is better."""

    score: float


class FoundPath(Record):
    """A path of facts that explains why passages were found."""

    score: float
    triples: Sequence[Triple]


class FoundChain(Record):
    """Sentences of several passages, each joined to the one before by a name or a word."""

    score: float
    sentences: Sequence[Citation]
    bridges: Sequence[str]


class Evidence(Record):
    """The evidence for one question: passages, paths and chains, best first."""

    question: str
    retriever: str
    version: int = Field(description="The version of the index that all of this was read from.")
    passages: list[FoundPassage]
    paths: list[FoundPath]
    notes: Sequence[str]
    usage: Usage
    steps: Sequence[AgentStep]
    topics: Sequence[str]
    chains: list[FoundChain]
    as_of: str = Field(default="", description="The day that was searched for; empty for today's state.")


class SearchReply(OfVersion):
    """The evidence for each question, in their order; all of one version of the index."""

    results: list[Evidence]


class Candidate(Record):
    """An entity that may be the answer."""

    text: str
    score: float


class Answer(OfVersion):
    """An answer with its citations, and the evidence that it was read from."""

    question: str
    retriever: str
    answer: str = Field(description="Empty where the evidence holds no answer.")
    headline: str = Field(description="The answer for people: of a weak one the likeliest names, as such.")
    weak: bool
    citations: Sequence[Citation]
    candidates: list[Candidate]
    others: Sequence[OtherAnswer] = Field(
        default=(), description="Answers of other times, and what is said against it."
    )
    notes: Sequence[str]
    usage: Usage
    failure: str = Field(default="", description="Why a language model gave no usable reply.")
    evidence: Evidence


class EntitySummary(Record):
    """An entity."""

    id: str
    name: str
    passages: int = Field(description="Passages that mention it, of those that may be seen.")


class EntityList(OfVersion):
    """Entities whose names contain a text, the best match first."""

    entities: list[EntitySummary]
    truncated: bool


class StatedFact(Record):
    """An edge of the graph with the ids of its ends and the sentences that state it."""

    head: str
    relation: str
    tail: str
    head_id: str
    tail_id: str
    passages: Sequence[str]
    imported: bool = Field(default=False, description="Whether an imported graph holds it.")
    quotes: Sequence[Citation] = Field(default=[], description="Sentences that state it, of its first passages.")


class Entity(EntitySummary, OfVersion):
    """An entity, its facts and passages."""

    degree: int = Field(description="Facts that it is an end of, of those that may be seen.")
    relations: list[StatedFact]
    relations_truncated: bool
    passage_ids: list[str]
    passages_truncated: bool


class EntityPath(Record):
    """A path between two entities."""

    entities: list[EntitySummary]
    edges: list[StatedFact]


class PathList(OfVersion):
    """Paths between two entities, the shortest first."""

    start: EntitySummary
    end: EntitySummary
    paths: list[EntityPath]
    truncated: bool = Field(description="Whether the search was cut, so that there may be more paths.")


class PassageView(Passage, OfVersion):
    """A passage, its neighbours, and what was extracted from it."""

    previous: Passage | None
    next: Passage | None
    document: list[str] = Field(description="Ids of all passages of the document, in order.")
    entities: list[EntitySummary]
    relations: list[StatedFact]


class RetrieverSummary(Record):
    """A retriever."""

    name: str
    summary: str
    needs: str


class IndexSummary(Record):
    """An index that the key may ask."""

    name: str
    writable: bool
    filtered: bool = Field(description="Whether the key sees a part of it.")


class IndexList(Record):
    """The indexes that the key may ask, and the retrievers there are."""

    indexes: list[IndexSummary]
    retrievers: list[RetrieverSummary]
    models: list[str] = Field(description="Language models that `ask` may use.")


class IndexStats(OfVersion):
    """Counts of what may be seen of an index."""

    documents: int
    passages: int
    entities: int
    relations: int
    triples: int
    filtered: bool
    settings: dict[str, Any] = Field(description="Encoder, extractor and sizes it was made with.")


class Document(Record):
    """A document of an index."""

    id: str
    title: str
    passages: int
    characters: int
    status: Literal["indexed", "partly failed", "failed"]
    reason: str = Field(default="", description="Why a passage of it, or the whole, could not be read.")
    job: str = Field(default="", description="The job that failed to read it.")


class DocumentPage(OfVersion):
    """A page of documents, sorted by id."""

    total: int
    documents: list[Document]
    next: str | None = Field(description="Give it as `after` for the next page; null on the last one.")


class NewDocument(Record):
    """A text to index."""

    id: str = Field(default="", max_length=1_000, description="Replaces the document of this id; empty for a new id.")
    title: str = Field(default="", max_length=2_000)
    text: str = Field(min_length=1)
    metadata: dict[str, MetadataValue] = Field(default={}, max_length=200)


class NewDocuments(Record):
    """Texts to index."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "fram", "title": "Fram", "text": "Fram was built by Colin Archer."}]}]
        }
    )

    documents: list[NewDocument] = Field(min_length=1, max_length=10_000)


class RememberRequest(Record):
    """A turn of a conversation to store."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "I moved to Gent in March.", "user": "ilse", "session": "1", "time": "2024-04-02"}]
        }
    )

    text: str = Field(min_length=1, max_length=100_000)
    user: Name = Field(default="", description="Whose memory it belongs to.")
    session: Name = Field(default="", description="The conversation.")
    speaker: Name = Field(default="", description="Who says it; empty for the user.")
    time: str | None = Field(default=None, max_length=64, description="When it was said, in ISO 8601; null for now.")
    id: Name | None = Field(default=None, min_length=1, description="Null for a new id; a repeated one is stored once.")


class Remembered(Record):
    """A turn that is on disk, and found by the next question."""

    index: str
    id: str


class RecallRequest(Record):
    """A question about what was said."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": "Where does Ilse live?", "user": "ilse"}]})

    question: Question
    user: Name = Field(default="", description="Only turns of this user.")
    session: Name = Field(default="", description="Only turns of this conversation.")
    as_of: str | None = Field(
        default=None, max_length=64, description="Only turns of this time, a day, month or year too, or before."
    )
    k: int = Field(default=5, ge=1, le=MAX_K, description="Turns, at most.")


class Recalled(Record):
    """Turns that bear on a question, and paths and chains between them, best first."""

    index: str
    question: str
    passages: list[FoundPassage]
    paths: list[FoundPath]
    chains: list[FoundChain]
    notes: Sequence[str]


class ForgetRequest(Record):
    """Turns to remove: all that fit what is given."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user": "ilse", "session": "1"}]})

    user: Name = ""
    session: Name = ""
    id: Name = ""
    shred: bool = Field(default=False, description="Whether their text goes from the disk, too.")


class Forgotten(Record):
    """The number of turns that were removed."""

    index: str
    turns: int


class JobFailure(Record):
    """A document, or a passage of one, that could not be read."""

    item: str
    reason: str


class Job(Record):
    """Documents that were accepted, and how far they are."""

    id: str
    index: str
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    documents: int = Field(description="Documents or files that were sent.")
    done: int = Field(description="Documents read so far, at this attempt.")
    created: float = Field(description="Seconds since 1970.")
    updated: float
    attempts: int
    reason: str = Field(default="", description="Why it failed.")
    failures: list[JobFailure] = Field(default=[])
    version: int | None = Field(default=None, description="The version of the index that has the documents.")


class JobList(Record):
    """Jobs, the newest first."""

    jobs: list[Job]
