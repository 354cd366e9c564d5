"""Time `clew search` and `clew ask` with a running `clew serve` and without: `python bench/warm.py [DOCUMENTS]`.

Whole processes, from the start to the end, over an index of a folder of documents (examples/polar by default). Both
print the same, which is checked. The caches of compiled code are warm.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench import describe_machine, print_table, process_environment

RUNS = 7
QUESTION = "Who founded the school where the boat James Caird is kept today?"
PORT = 8379


def main() -> None:
    """Print median seconds of each command, and their ratio."""
    documents = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent.parent / "examples" / "polar")
    print(describe_machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        environment = {**process_environment(), "CLEW_CACHE": str(Path(folder) / "cache")}
        run(["index", documents, "--index", index], environment)
        for command in ("search", "ask"):
            arguments = [command, QUESTION, "--index", index]
            cold, printed = median_seconds([*arguments, "--no-server"], environment)
            with server(index, environment):
                warm, same = median_seconds(arguments, environment)
            assert printed == same, "a server changes what is printed"
            rows.append([f"clew {command}", f"{cold:.2f} s", f"{warm:.2f} s", f"{cold / warm:.1f}"])
    print_table(("command", "by itself", "with a server", "ratio"), rows)


@contextmanager
def server(index: str, environment: dict[str, str]) -> Iterator[None]:
    """Run a server of an index until the block ends; it is announced when the block begins."""
    command = [sys.executable, "-m", "clew", "serve", f"own={index}", "--port", str(PORT)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    folder = Path(environment["CLEW_CACHE"]) / "servers"
    try:
        while not list(folder.glob("*.json")):
            assert process.poll() is None, f"the server ended: is the port {PORT} taken?"
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def median_seconds(arguments: list[str], environment: dict[str, str]) -> tuple[float, bytes]:
    """Return the median wall-clock seconds of a command, after two warm-ups, and what it printed last."""
    seconds, printed = [], b""
    for _ in range(RUNS + 2):
        start = time.perf_counter()
        printed = run(arguments, environment)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:]), printed


def run(arguments: list[str], environment: dict[str, str]) -> bytes:
    """Run a command of Clew and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", *arguments], check=True, capture_output=True, env={**os.environ, **environment}
    )
    return done.stdout


if __name__ == "__main__":
    main()
