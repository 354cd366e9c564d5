"""A job as it is stored beside the documents that were sent."""

import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from clew.server import document_records
from clew.server.access import Access
from clew.store.atomic import write_text

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
JOB_FILE = "job.json"
OVER: frozenset[str] = frozenset({"done", "failed", "cancelled"})
"""States that a job leaves by a retry alone."""
MAX_FAILURES = 1_000
OWNER_FILE = 0o600


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that was sent; its name is data, and never a path."""

    stored: str  # name of the file in the folder of the job
    name: str  # name as the client gave it, without folders


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job: documents to add, or ids of documents to remove."""

    id: str
    index: str
    key_id: str  # of the key that sent it, "" without keys
    documents: int  # number of documents or files
    files: tuple[UploadedFile, ...] = ()
    remove: tuple[str, ...] = ()  # ids of documents
    status: JobStatus = "queued"
    done: int = 0
    created: float = field(default_factory=time.time)
    updated: float = field(default_factory=time.time)
    attempts: int = 0
    reason: str = ""
    failures: tuple[tuple[str, str], ...] = ()  # (item, reason)
    version: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens unless it is retried."""
        return self.status in OVER

    def with_changes(self, **values: Any) -> "StoredJob":
        """Return the job with other values, and the time of the change."""
        return replace(self, updated=time.time(), **values)

    def is_visible(self, access: Access) -> bool:
        """Return whether a key may see it: its own, and any to a key that may write and sees everything."""
        return self.key_id == access.key_id or (access.write and access.where is None)

    def view(self) -> document_records.Job:
        """Return what the interfaces show."""
        return document_records.Job(
            id=self.id,
            index=self.index,
            status=self.status,
            documents=self.documents,
            done=self.done,
            created=self.created,
            updated=self.updated,
            attempts=self.attempts,
            reason=self.reason,
            failures=[document_records.JobFailure(item=item, reason=reason) for item, reason in self.failures],
            version=self.version,
        )


def write_job(folder: Path, job: StoredJob) -> None:
    """Write a job into its folder, atomically."""
    write_text(folder / JOB_FILE, json.dumps(asdict(job)))
    (folder / JOB_FILE).chmod(OWNER_FILE)


def read_job(folder: Path) -> StoredJob | None:
    """Return the job of a folder, None where it holds none that can be read."""
    try:
        record = json.loads((folder / JOB_FILE).read_text(encoding="utf-8"))
        return StoredJob(
            id=folder.name,
            index=str(record["index"]),
            key_id=str(record["key_id"]),
            documents=int(record["documents"]),
            files=tuple(UploadedFile(str(f["stored"]), str(f["name"])) for f in record["files"]),
            remove=tuple(str(id_) for id_ in record["remove"]),
            status=cast("JobStatus", str(record["status"])),
            done=int(record["done"]),
            created=float(record["created"]),
            updated=float(record["updated"]),
            attempts=int(record["attempts"]),
            reason=str(record["reason"]),
            failures=tuple((str(item), str(reason)) for item, reason in record["failures"]),
            version=None if record["version"] is None else int(record["version"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
