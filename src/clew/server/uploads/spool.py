"""The folder of what was sent to an index: a job is answered for only when all of it is on disk.

uploads/
  0001764000000000-1a2b3c4d5e6f/      a job; it appears by one rename, flushed to disk
    job.json                          what is to be done, and how far it is
    texts.jsonl                       texts that were sent as JSON
    file-0000.md                      files; only the suffix is the client's, one of a fixed list
"""

import json
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO, Any, Literal, final

from pydantic import TypeAdapter, ValidationError

from clew.errors import InputError
from clew.indexing.sources.discovery import READABLE_SUFFIXES, SourceFile
from clew.indexing.sources.reader import read_sources
from clew.server import records
from clew.server.access import Access
from clew.server.refusals import Refusal
from clew.store.atomic import atomic_folder, discard, remove_leftovers, write_text
from clew.store.schema import canonical_json
from clew.types import Document, Failure

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
JOB_FILE = "job.json"
OVER: frozenset[str] = frozenset({"done", "failed", "cancelled"})
"""States that a job leaves by a retry alone."""
MAX_FAILURES = 1_000
OWNER_FILE = 0o600
TEXTS_FILE = "texts.jsonl"
_JOB_ID = re.compile(r"[0-9]{16}-[0-9a-f]{12}")
_MAX_NAME = 255
_MAX_JOBS = 1_000  # that are kept when they are over
_MAX_WAITING = 1_000
_OWNER_FOLDER = 0o700


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

    def is_visible(self, access: Access) -> bool:
        """Return whether a key may see it: its own, and any to a key that may write and sees everything."""
        return self.key_id == access.key_id or (access.write and access.where is None)

    def view(self) -> records.Job:
        """Return what the interfaces show."""
        shown = {name: getattr(self, name) for name in records.Job.model_fields}
        return records.Job(**shown | {"failures": [{"item": item, "reason": reason} for item, reason in self.failures]})


_STORED = TypeAdapter(StoredJob)


def write_job(folder: Path, job: StoredJob) -> None:
    """Write a job into its folder, atomically."""
    write_text(folder / JOB_FILE, json.dumps(asdict(job)))
    (folder / JOB_FILE).chmod(OWNER_FILE)


def read_job(folder: Path) -> StoredJob | None:
    """Return the job of a folder, None where it holds none that can be read."""
    try:
        return _STORED.validate_json((folder / JOB_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file that a client sends."""

    name: str
    content: IO[bytes]


@final
class Spool:
    """The jobs of one index, in a folder."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder = folder
        self._index = index
        self._lock = Lock()

    def remove_leftovers(self) -> None:
        """Remove what killed servers had not received whole."""
        remove_leftovers(self.folder)

    def accept_texts(self, key_id: str, documents: Sequence[records.NewDocument]) -> StoredJob:
        """Store texts, and return their job; texts without an id get one."""
        job = self._new_job(key_id, len(documents))
        with self._fill(job) as folder, (folder / TEXTS_FILE).open("w", encoding="utf-8") as file:
            for number, document in enumerate(documents):
                record = {**document.model_dump(), "id": document.id or f"text-{job.id}-{number}"}
                file.write(json.dumps(record) + "\n")
        return job

    def accept_files(self, key_id: str, files: Sequence[ReceivedFile]) -> StoredJob:
        """Store files, and return their job; one that Clew does not read is a Refusal (415), and nothing is stored."""
        named = [(clean_name(file.name), file.content) for file in files]
        for name, _ in named:
            if _suffix(name) not in READABLE_SUFFIXES:
                wanted = ", ".join(sorted(READABLE_SUFFIXES))
                raise Refusal(415, f"the file {name!r} is of a kind that is not read; wanted one of {wanted}", "kind")
        uploaded = tuple(UploadedFile(f"file-{i:04}{_suffix(name)}", name) for i, (name, _) in enumerate(named))
        job = self._new_job(key_id, len(files), uploaded)
        with self._fill(job) as folder:
            for file, (_, content) in zip(uploaded, named, strict=True):
                with (folder / file.stored).open("wb") as target:
                    shutil.copyfileobj(content, target)
        return job

    def accept_removal(self, key_id: str, document_ids: Sequence[str]) -> StoredJob:
        """Store that documents are to be removed, and return the job."""
        job = self._new_job(key_id, len(document_ids), remove=tuple(document_ids))
        with self._fill(job):
            return job

    def jobs(self) -> list[StoredJob]:
        """Return all jobs, the newest first."""
        if not self.folder.is_dir():
            return []
        folders = [folder for folder in self.folder.iterdir() if _JOB_ID.fullmatch(folder.name)]
        read = (read_job(folder) for folder in sorted(folders, reverse=True))
        return [job for job in read if job is not None]

    def find(self, job_id: str) -> StoredJob | None:
        """Return a job, None where there is none of the id."""
        return read_job(self.folder / job_id) if _JOB_ID.fullmatch(job_id) else None

    def update(self, job_id: str, *wanted: str, **values: Any) -> StoredJob | None:
        """Change a job that is in one of the wanted states, any by default; return None where it is in none of them."""
        with self._lock:
            job = self.find(job_id)
            if job is None or (wanted and job.status not in wanted):
                return None
            changed = replace(job, updated=time.time(), **values)
            write_job(self.folder / job_id, changed)
            return changed

    def has_content(self, job: StoredJob) -> bool:
        """Return whether what was sent is still there, so that the job can be tried again."""
        folder = self.folder / job.id
        return (
            bool(job.remove) or (folder / TEXTS_FILE).exists() or any((folder / f.stored).exists() for f in job.files)
        )

    def documents(self, job: StoredJob) -> Iterator[Document | Failure]:
        """Yield the documents of a job, and a failure for each that cannot be read."""
        folder = self.folder / job.id
        if (folder / TEXTS_FILE).exists():
            yield from map(_check_metadata, _read_texts(folder / TEXTS_FILE))
        yield from read_sources([SourceFile(folder / f.stored, f.name, f.name, _stem(f.name)) for f in job.files])

    def drop_content(self, job: StoredJob) -> None:
        """Remove what was sent; the job itself stays."""
        folder = self.folder / job.id
        for name in (TEXTS_FILE, *(file.stored for file in job.files)):
            (folder / name).unlink(missing_ok=True)

    def drop_old_jobs(self) -> None:
        """Remove the oldest jobs that are over, but for the last thousand."""
        for job in [job for job in self.jobs() if job.is_over][_MAX_JOBS:]:
            discard(self.folder / job.id)

    @contextmanager
    def _fill(self, job: StoredJob) -> Iterator[Path]:
        """Yield the folder of a new job for what was sent; it appears when all is there, for its owner alone."""
        is_new = not self.folder.exists()
        with atomic_folder(self.folder / job.id) as folder:
            if is_new:
                self.folder.chmod(_OWNER_FOLDER)
            folder.chmod(_OWNER_FOLDER)
            yield folder
            for file in folder.iterdir():
                file.chmod(OWNER_FILE)
            write_job(folder, job)

    def _new_job(
        self, key_id: str, documents: int, files: tuple[UploadedFile, ...] = (), remove: tuple[str, ...] = ()
    ) -> StoredJob:
        if sum(not job.is_over for job in self.jobs()) >= _MAX_WAITING:
            raise Refusal(429, f"{_MAX_WAITING} uploads are waiting; send more when they are done", "busy", 60)
        id_ = f"{time.time_ns() // 1_000:016}-{secrets.token_hex(6)}"
        return StoredJob(id_, self._index, key_id, documents, files, remove)


def clean_name(name: str) -> str:
    """Return a file's name without folders and unprintable characters, at most 255 characters, never empty."""
    last = PurePosixPath(name.replace("\\", "/")).name
    printable = "".join(c for c in last if c.isprintable()).strip()
    if len(printable) > _MAX_NAME:
        suffix = _suffix(printable)[:16]
        printable = printable[: _MAX_NAME - len(suffix)] + suffix
    return printable or "file"


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


def _check_metadata(document: Document) -> Document | Failure:
    """Return a document, or a failure where its metadata cannot be stored, so that the others of its job are."""
    try:
        canonical_json(document.metadata, f"the metadata of {document.id!r}")
    except InputError as error:
        return Failure(document.id, str(error))
    return document


def _read_texts(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield Document(record["id"], record["title"], record["text"], record["metadata"])
