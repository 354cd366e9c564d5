"""The thread that adds what was sent to the indexes, and takes up again what a killed server left."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import final

from clew.errors import ClewError, IndexLockedError
from clew.index import Index
from clew.indexing.report import IndexingReport
from clew.server.access import Access
from clew.server.refusals import Refusal, unknown
from clew.server.uploads.spool import MAX_FAILURES, Spool, StoredJob
from clew.store.location import locate
from clew.store.writer_lock import try_lock
from clew.types import Document, Failure

_log = logging.getLogger("clew.server")
_LOCKED_SECONDS = 0.5  # between two tries to write to an index that another process writes to
_REPORTED = 50  # documents between two notes of how far a job is


@final
class Jobs:
    """All jobs of a server; one runs at a time.

    `refresh` is called with the name of an index that was written to, before the job is over, so that who waits for the
    job finds what it wrote. `state` is the folder of all uploads, None for one beside each index.
    """

    def __init__(
        self,
        locations: Mapping[str, str],
        open_index: Callable[[str], Index],
        refresh: Callable[[str], None],
        state: Path | None = None,
    ) -> None:
        self._locations = dict(locations)
        self._open_index = open_index
        self._refresh = refresh
        self._spools = {name: Spool(_uploads(name, at, state), name) for name, at in locations.items()}
        self._cancelled: dict[str, Event] = {}
        self._stopping = Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clew-jobs")

    def spool(self, index: str) -> Spool:
        """Return the jobs of an index."""
        return self._spools[index]

    def resume(self) -> int:
        """Queue what an earlier server has not finished, the oldest first; return the number of jobs."""
        for spool in self._spools.values():
            spool.remove_leftovers()
        waiting = [job for spool in self._spools.values() for job in spool.jobs() if not job.is_over]
        for job in sorted(waiting, key=lambda job: job.id):
            self.start(job)
        return len(waiting)

    def start(self, job: StoredJob) -> None:
        """Queue a job that is stored."""
        cancelled = self._cancelled[job.id] = Event()
        self._thread.submit(self._run, job.index, job.id, cancelled).add_done_callback(partial(self._on_end, job))

    def find(self, index: str, job_id: str, access: Access) -> StoredJob:
        """Return a job; one that does not exist, or that the key may not see, is a Refusal (404)."""
        job = self._spools[index].find(job_id)
        if job is None or not job.is_visible(access):
            raise unknown("job", job_id)
        return job

    def cancel(self, index: str, job_id: str, access: Access) -> StoredJob:
        """Stop a job; documents that are in the index by then stay. One that is over is a Refusal (409)."""
        self.find(index, job_id, access)
        event = self._cancelled.get(job_id)  # of this run: a retry makes another
        cancelled = self._spools[index].update(job_id, "queued", "running", status="cancelled", reason="cancelled")
        if cancelled is None:
            raise Refusal(409, "the job is over, so there is nothing to cancel", "job-over")
        if event is not None:
            event.set()
        return cancelled

    def retry(self, index: str, job_id: str, access: Access) -> StoredJob:
        """Queue a job again that failed in part or as a whole, or was cancelled; else it is a Refusal (409)."""
        job = self.find(index, job_id, access)
        spool = self._spools[index]
        if not job.is_over or not spool.has_content(job):
            raise Refusal(409, f"the job is {job.status}, and there is nothing to try again", "job-state")
        queued = spool.update(job_id, status="queued", reason="", failures=(), done=0)
        if queued is None:
            raise unknown("job", job_id)
        self.start(queued)
        return queued

    def close(self) -> None:
        """Stop after what is under way; what is left is taken up by the next server."""
        self._stopping.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _on_end(self, job: StoredJob, ended: "Future[None]") -> None:
        """Say in the job that the server failed, where it did."""
        if ended.cancelled() or (error := ended.exception()) is None:
            return
        _log.error("job %s of %s failed", job.id, job.index, exc_info=error)
        self._spools[job.index].update(job.id, "running", status="failed", reason="the server failed; its log says why")

    def _run(self, index: str, job_id: str, cancelled: Event) -> None:
        spool = self._spools[index]
        try:
            job = spool.find(job_id)
            if job is None or job.is_over or cancelled.is_set():  # a retry of a cancelled job has a run of its own
                return
            with _only_here(spool.folder / job_id) as is_free:
                if not is_free:  # another server has it
                    return
                running = spool.update(job_id, "queued", "running", status="running", attempts=job.attempts + 1)
                if running is not None:
                    self._finish(spool, running, cancelled)
        finally:
            if self._cancelled.get(job_id) is cancelled:
                del self._cancelled[job_id]

    def _finish(self, spool: Spool, job: StoredJob, cancelled: Event) -> None:
        try:
            report, version = self._write(spool, job, cancelled)
        except ClewError as error:
            _log.warning("job %s of %s failed: %s", job.id, job.index, error)
            spool.update(job.id, "running", status="failed", reason=str(error)[:1_000])
            return
        if report is None:  # the server ends; the next one goes on
            return
        self._refresh(job.index)
        failures = tuple((failure.item, failure.reason) for failure in report.failures[:MAX_FAILURES])
        stored = report.added + report.updated + report.unchanged + report.removed
        has_failed = report.stop_error is not None or (bool(failures) and not stored)
        reason = str(report.stop_error)[:1_000] if report.stop_error else failures[0][1] if has_failed else ""
        status = "failed" if has_failed else "done"
        values = {"status": status, "reason": reason, "failures": failures, "version": version}
        ended = spool.update(job.id, "running", **values)
        if ended is not None and status == "done" and not failures:
            spool.drop_content(job)
        spool.drop_old_jobs()

    def _write(self, spool: Spool, job: StoredJob, cancelled: Event) -> tuple[IndexingReport | None, int]:
        """Return the report, or None where the server ends before the index could be written; and the version."""
        index = self._open_index(self._locations[job.index])
        while not self._stopping.is_set():
            try:
                if job.remove:
                    return self._remove(index, job), index.table.version
                documents = self._read_documents(spool, job, cancelled)
                return index.add(documents, retry_failed=job.attempts > 1), index.table.version
            except IndexLockedError:
                if cancelled.wait(_LOCKED_SECONDS):
                    break
        return None, index.table.version

    def _remove(self, index: Index, job: StoredJob) -> IndexingReport:
        stored = index.table.open_latest().stored_documents()
        present = [id_ for id_ in job.remove if id_ in stored]  # the others were removed before a kill
        return index.remove(present) if present else IndexingReport(removed=len(job.remove))

    def _read_documents(self, spool: Spool, job: StoredJob, cancelled: Event) -> Iterator[Document | Failure]:
        for done, item in enumerate(spool.documents(job), 1):
            if cancelled.is_set():
                return
            yield item
            if done % _REPORTED == 0 or done == job.documents:
                spool.update(job.id, "running", done=done)


@contextmanager
def _only_here(folder: Path) -> Iterator[bool]:
    """Yield whether no other process runs the job of a folder; it is kept from the others until the block ends."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def _uploads(name: str, location: str, state: Path | None) -> Path:
    return locate(location).derived.parent / "uploads" if state is None else state / "uploads" / name
