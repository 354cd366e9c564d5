"""The records of documents that HTTP and MCP exchange: those of an index, those sent to it, and the jobs of these."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from clew.server.records import Record

MetadataValue = str | int | Annotated[float, Field(allow_inf_nan=False)] | bool | list[str]


class Document(Record):
    """A document of an index."""

    id: str
    title: str
    passages: int
    characters: int
    status: Literal["indexed", "partly failed", "failed"]
    reason: str = Field(default="", description="Why a passage of it, or the whole, could not be read.")
    job: str = Field(default="", description="The job that failed to read it.")


class DocumentPage(Record):
    """A page of documents, sorted by id."""

    index: str
    version: int
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
