"""Batches written by several processes of this machine; one that is killed is replaced, and its batch is done again."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, ProviderError
from clew.indexing.batches import BatchWriter, WrittenBatch
from clew.indexing.selected_snapshot import ChangedDocument

if TYPE_CHECKING:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection as AnyConnection
    else:
        from multiprocessing.connection import Connection as AnyConnection

MAX_TRIES = 3
MIN_PASSAGES = 2000
MIN_ENCODED_PASSAGES = 256
"""Passages from which on other processes are worth their start, about a second; fewer with an encoder."""


OpenWriter = Callable[[], BatchWriter]
"""Opens the table and the models; it is sent to another process, and called there."""


@dataclass(slots=True)
class _Worker:
    """One process, and the batch that it is writing."""

    process: SpawnProcess
    connection: "AnyConnection[Any, Any]"
    batch: Sequence[ChangedDocument] = ()
    tries: int = 0


@dataclass(slots=True)
class ProcessRunner:
    """Writes batches in `count` processes, which are started when they are needed."""

    open_writer: OpenWriter
    threads: int  # of the models of each process
    count: int
    _workers: list[_Worker] = field(default_factory=list)

    def run(self, batch: Sequence[ChangedDocument]) -> list[WrittenBatch]:
        """Hand a batch to an idle process, waiting for one if necessary."""
        done: list[WrittenBatch] = []
        while (idle := self._find_idle()) is None:
            done += self._receive(None)
        self._send(idle, batch, tries=1)
        return done + self._receive(0.0)

    def finish(self) -> list[WrittenBatch]:
        """Wait for all batches."""
        done: list[WrittenBatch] = []
        while any(worker.batch for worker in self._workers):
            done += self._receive(None)
        return done

    def close(self) -> None:
        """End the processes at once."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
        self._workers.clear()

    def _find_idle(self) -> _Worker | None:
        idle = next((worker for worker in self._workers if not worker.batch), None)
        if idle is None and len(self._workers) < self.count:
            idle = self._start()
            self._workers.append(idle)
        return idle

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")  # a fork would take over threads and locks of Lance
        own, other = context.Pipe()
        process = context.Process(
            target=_write_batches, args=(self.open_writer, self.threads, other), name="clew-worker"
        )
        process.start()
        other.close()
        return _Worker(process, own)

    def _send(self, worker: _Worker, batch: Sequence[ChangedDocument], tries: int) -> None:
        worker.batch, worker.tries = batch, tries
        try:
            worker.connection.send(batch)
        except OSError:
            self._replace(worker)

    def _receive(self, timeout: float | None) -> list[WrittenBatch]:
        """Return the batches that are written by now, or, without a timeout, at least one."""
        done: list[WrittenBatch] = []
        busy = {worker.connection: worker for worker in self._workers if worker.batch}
        for connection in wait(list(busy), timeout):
            worker = busy[connection]  # type: ignore[index]
            try:
                result = worker.connection.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if isinstance(result, ClewError | ImportError):
                raise result
            worker.batch = ()
            done.append(result)
        return done

    def _replace(self, ended: _Worker) -> None:
        """Do the batch of a process that has ended once more in a new one."""
        ended.process.join()
        ended.connection.close()
        code = ended.process.exitcode
        if ended.tries == MAX_TRIES:
            first = ended.batch[0].document.id
            raise ProviderError(
                f"a worker ended {MAX_TRIES} times (exit code {code}) at the documents from {first!r} on: "
                "give it more memory, by fewer --workers or a smaller --memory, and run the same command again"
            )
        position = self._workers.index(ended)
        self._workers[position] = self._start()
        self._send(self._workers[position], ended.batch, ended.tries + 1)


def _write_batches(open_writer: OpenWriter, threads: int, connection: "AnyConnection[Any, Any]") -> None:
    """Write the batches that come by a connection until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the coordinator ends us
    os.environ["OMP_NUM_THREADS"] = str(threads)
    writer = None
    while True:
        try:
            batch = connection.recv()
        except (EOFError, OSError):
            return
        result: WrittenBatch | ClewError | ImportError
        try:
            writer = open_writer() if writer is None else writer
            result = writer.write(batch)
        except (ClewError, ImportError) as error:
            result = error
        try:
            connection.send(result)
        except OSError:  # the coordinator was killed
            return
