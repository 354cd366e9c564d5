"""Load on a server: `python bench/server.py INDEX QUESTIONS [--seconds 60] [--clients 64]`.

For each retriever: one client alone, then many at once, against `clew serve` in another process on the same machine;
beside it the questions a second that the library alone answers with as many threads as the machine has cores. Then the
time from start to ready, and many small indexes asked in turn. QUESTIONS is a file of lines, each a question.
"""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path

import httpx

import clew
from clew.settings import Settings
from clew.types import Document
from workbench import describe_machine, print_table, process_environment

RETRIEVERS = ("pagerank", "gfm")
_ALONE_SECONDS = 5.0
_SMALL_INDEXES, _SMALL_PASSAGES, _OPEN = 200, 100, 16


@dataclass(slots=True)
class Load:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)  # of each question that was answered
    refused: int = 0  # answers 429
    errors: int = 0  # all other answers but 200


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--small", type=int, default=_SMALL_INDEXES, help="number of small indexes")
    options = parser.parse_args()
    questions = [line for line in options.questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        measure_load(options.index, questions, options.seconds, options.clients)
        measure_many(Path(folder), options.small)


def measure_load(index: Path, questions: list[str], seconds: float, clients: int) -> None:
    """Print what one client, many clients and the library alone see, for each retriever."""
    rows = []
    for retriever in RETRIEVERS:
        alone_rate = ask_library(index, retriever, questions, min(seconds, _ALONE_SECONDS * 2))
        with serve({"own": index}) as (process, url, ready):
            run_clients(url, retriever, questions, 1, 1.0)
            single = run_clients(url, retriever, questions, 1, min(seconds, _ALONE_SECONDS))
            before = resident_bytes(process.pid)
            many = run_clients(url, retriever, questions, clients, seconds)
            after = resident_bytes(process.pid)
        median = statistics.median(single.seconds)
        p50, p99 = statistics.median(many.seconds), quantile(many.seconds, 0.99)
        rate = len(many.seconds) / seconds
        rows.append(
            [
                retriever,
                f"{ready:.2f} s",
                f"{1000 * median:.1f} ms",
                f"{1000 * p50:.1f} ms",
                f"{1000 * p99:.1f} ms",
                f"{p99 / median:.1f}",
                f"{rate:.1f}",
                f"{alone_rate:.1f}",
                f"{100 * rate / alone_rate:.0f} %",
                str(many.refused),
                str(many.errors),
                f"{before >> 20} to {after >> 20} MiB",
            ]
        )
    columns = (
        "retriever", "start to ready", "one client, median", "many, median", "many, p99", "p99 / one client",
        "questions/s", "library alone", "share", "429", "errors", "memory",
    )  # fmt: skip
    print_table(columns, rows)


def measure_many(folder: Path, count: int) -> None:
    """Print the memory of a server whose small indexes are asked in turn, twice."""
    locations: dict[str, Path] = {}
    for number in range(count):
        location = folder / str(number)
        made = clew.create(location, Settings(encoder="none", extractor="rules"))
        made.add(Document(f"{n}", f"Ship {n}", f"Ship {n} of fleet {number}.") for n in range(_SMALL_PASSAGES))
        locations[f"i{number}"] = location
    rows = []
    with serve(locations, "--max-open", str(_OPEN)) as (process, url, ready), httpx.Client(base_url=url) as client:
        for turn in range(2):
            for name in locations:
                reply = client.post(f"/v1/{name}/search", json={"question": "ship 7", "retriever": "bm25"})
                reply.raise_for_status()
            is_open = len(re.findall(r"^clew_index_version", client.get("/metrics").text, re.MULTILINE))
            memory = f"{resident_bytes(process.pid) >> 20} MiB"
            rows.append([f"after turn {turn + 1}", f"{ready:.2f} s", str(is_open), memory])
    print_table((f"{count} indexes in turn", "start to ready", "open", "memory"), rows)


def ask_library(index: Path, retriever: str, questions: list[str], seconds: float) -> float:
    """Return the questions a second of the library alone, with a thread for each core."""
    program = (
        "import sys, time, json, clew\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from itertools import cycle\n"
        "place, retriever, seconds, threads, questions = json.loads(sys.argv[1])\n"
        "index = clew.open(place)\n"
        "index.search(questions[0], 5, retriever)\n"
        "ends = time.perf_counter() + seconds\n"
        "def ask(first):\n"
        "    done = 0\n"
        "    for question in cycle(questions[first:] + questions[:first]):\n"
        "        if time.perf_counter() > ends:\n"
        "            return done\n"
        "        index.search(question, 5, retriever)\n"
        "        done += 1\n"
        "with ThreadPoolExecutor(threads) as pool:\n"
        "    print(sum(pool.map(ask, range(threads))))\n"
    )
    given = json.dumps([str(index), retriever, seconds, os.cpu_count() or 1, questions])
    command = [sys.executable, "-c", program, given]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=process_environment())
    return int(done.stdout) / seconds


@contextmanager
def serve(locations: dict[str, Path], *options: str) -> Iterator[tuple["subprocess.Popen[bytes]", str, float]]:
    """Run a server until the block ends; yield its process, its address, and the seconds from start to ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    named = [f"{name}={location}" for name, location in locations.items()]
    command = [sys.executable, "-m", "clew", "serve", *named, "--port", str(port), *options]
    began = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=process_environment())
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                if httpx.get(f"{url}/ready", timeout=60).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.01)
        yield process, url, time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def run_clients(url: str, retriever: str, questions: list[str], clients: int, seconds: float) -> Load:
    """Return what some clients see that ask one question after the other for some seconds."""
    load, lock, ends = Load(), threading.Lock(), time.perf_counter() + seconds

    def ask(first: int) -> None:
        # The plainest client: what it costs is taken from the server, on the same cores.
        connection = HTTPConnection(url.removeprefix("http://"), timeout=120)
        start = first % len(questions)
        for question in cycle(questions[start:] + questions[:start]):
            began = time.perf_counter()
            if began > ends:
                break
            body = json.dumps({"question": question, "retriever": retriever})
            connection.request("POST", "/v1/own/search", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            reply.read()
            took = time.perf_counter() - began
            with lock:
                if reply.status == HTTPStatus.OK:
                    load.seconds.append(took)
                elif reply.status == HTTPStatus.TOO_MANY_REQUESTS:
                    load.refused += 1
                else:
                    load.errors += 1
            if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
                time.sleep(float(reply.headers["retry-after"]))
        connection.close()

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))
    return load


def quantile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def resident_bytes(pid: int) -> int:
    """Return the memory that a process has now; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
