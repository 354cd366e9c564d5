"""The records that HTTP and MCP exchange; their fields are those of `clew search --json` and `clew ask --json`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_QUESTION = 4_000
"""Characters of a question."""
MAX_QUESTIONS = 64
"""Questions of one search."""
MAX_K = 200
"""Passages of one answer."""

Question = Annotated[str, Field(max_length=MAX_QUESTION)]
Setting = str | int | float | bool


class Record(BaseModel):
    """A record that is never changed, and takes no field that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


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
    paths: int = Field(default=1, ge=0, le=10, description="Paths that explain each passage, for gfm.")
    topics: list[Question] = Field(
        default=[], max_length=32, description="Entities to start from, for path retrievers."
    )
    rerank: Literal["none", "g-rag"] = Field(default="none", description="Reranker of the passages found.")


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


class Usage(Record):
    """Cost of an operation."""

    seconds: float
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float


class Passage(Record):
    """A passage; `text` is `[start:end]` of its document, in characters."""

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    metadata: dict[str, Any] = {}


class FoundPassage(Passage):
    """A passage that was found, and its score; a higher one is better."""

    score: float


class Fact(Record):
    """A fact, and the ids of the passages that state it."""

    head: str
    relation: str
    tail: str
    passages: list[str] = []
    head_name: str = Field(default="", description="The head's name in the index, where the passage writes another.")
    tail_name: str = Field(default="", description="The tail's name in the index, where the passage writes another.")


class FoundPath(Record):
    """A path of facts that explains why passages were found."""

    score: float
    triples: list[Fact]


class Place(Record):
    """A place in a source; numbers count from 1, null and "" where there is none."""

    page: int | None = None
    slide: int | None = None
    sheet: str = ""
    row: int | None = None
    line: int | None = None
    heading: str = ""


class Quote(Record):
    """A sentence as it stands: `[start:end]` of its document, in characters."""

    document_id: str
    passage_id: str
    title: str
    start: int
    end: int
    quote: str
    place: Place | None = None


class FoundChain(Record):
    """Sentences of several passages, each joined to the one before by a name or a word."""

    score: float
    sentences: list[Quote]
    bridges: list[str]


class Step(Record):
    """One step of an agent."""

    query: str
    read: list[str]
    linked: list[str]
    new: list[str]
    gist: list[str]
    verdict: str
    reasoning: str
    usage: Usage


class Evidence(Record):
    """The evidence for one question: passages, paths and chains, best first."""

    question: str
    retriever: str
    version: int = Field(description="The version of the index that all of this was read from.")
    passages: list[FoundPassage]
    paths: list[FoundPath]
    notes: list[str]
    usage: Usage
    steps: list[Step]
    topics: list[str]
    chains: list[FoundChain]


class SearchReply(Record):
    """The evidence for each question, in their order; all of one version of the index."""

    index: str
    version: int
    results: list[Evidence]


class Candidate(Record):
    """An entity that may be the answer."""

    text: str
    score: float


class Answer(Record):
    """An answer with its citations, and the evidence that it was read from."""

    index: str
    version: int
    question: str
    retriever: str
    answer: str = Field(description="Empty where the evidence holds no answer.")
    headline: str = Field(description="The answer for people: of a weak one the likeliest names, as such.")
    weak: bool
    citations: list[Quote]
    candidates: list[Candidate]
    notes: list[str]
    usage: Usage
    failure: str = Field(default="", description="Why a language model gave no usable reply.")
    evidence: Evidence


class EntitySummary(Record):
    """An entity."""

    id: str
    name: str
    passages: int = Field(description="Passages that mention it, of those that may be seen.")


class EntityList(Record):
    """Entities whose names contain a text, the best match first."""

    index: str
    version: int
    entities: list[EntitySummary]
    truncated: bool


class SimilarEntity(EntitySummary):
    """Another entity with nearly the same name."""

    similarity: float


class StatedFact(Record):
    """An edge of the graph with the ids of its ends and the sentences that state it."""

    head: str
    relation: str
    tail: str
    head_id: str
    tail_id: str
    passages: list[str]
    imported: bool = Field(default=False, description="Whether an imported graph holds it.")
    quotes: list[Quote] = Field(default=[], description="Sentences that state it, one for each of its first passages.")


class Entity(EntitySummary):
    """An entity, its other names, facts and passages."""

    index: str
    version: int
    degree: int = Field(description="Facts that it is an end of, of those that may be seen.")
    aliases: list[SimilarEntity]
    relations: list[StatedFact]
    relations_truncated: bool
    passage_ids: list[str]
    passages_truncated: bool


class EntityPath(Record):
    """A path between two entities."""

    entities: list[EntitySummary]
    edges: list[StatedFact]


class PathList(Record):
    """Paths between two entities, the shortest first."""

    index: str
    version: int
    start: EntitySummary
    end: EntitySummary
    paths: list[EntityPath]
    truncated: bool = Field(description="Whether the search was cut, so that there may be more paths.")


class PassageView(Passage):
    """A passage, its neighbours, and what was extracted from it."""

    index: str
    version: int
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


class IndexStats(Record):
    """Counts of what may be seen of an index."""

    index: str
    version: int
    documents: int
    passages: int
    entities: int
    relations: int
    triples: int
    filtered: bool
    settings: dict[str, Any] = Field(description="Encoder, extractor and sizes it was made with.")
