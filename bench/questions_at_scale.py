"""Time questions on indexes of different sizes: `python bench/questions_at_scale.py SMALL LARGE ...`, their folders.

Without folders the indexes of 2Wiki and of ten times as many passages are made, with the encoder `hashing`. For each
index a process of its own opens it and asks 200 questions twice with each retriever: milliseconds of processor time
(medians of the second time) and their ratio to the smallest index, seconds until it is open, and memory after that.
On vectors of `hashing:384` `gfm` has its shipped weights, which mean nothing there: for the time alone.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import numpy as np

import clew
from clew import index as indexes
from clew.errors import InputError
from clew.index import Index
from clew.protocols import Retriever
from workbench import BENCHMARKS, build_index, describe_machine, load_question_texts, print_table

RETRIEVERS = ("bm25", "pagerank", "gfm", "frag", "dense")
QUESTIONS = 200
ONE_INDEX = "--one"
WEIGHTS = Path(clew.__file__).parent / "weights" / "gfm"


def measure(folder: Path) -> dict[str, float]:
    """Return the medians of an index in milliseconds, the seconds that opening takes, and MiB of memory."""
    texts = load_question_texts(BENCHMARKS["2wiki"])[:QUESTIONS]
    started = time.perf_counter()
    index = indexes.open(folder)
    index.search(texts[0], retriever="bm25")
    figures = {"open s": time.perf_counter() - started, "passages": float(len(index.snapshot.passage_ids))}
    for name in RETRIEVERS:
        try:
            retriever = open_gfm(index) if name == "gfm" else index.retriever(name)
        except InputError:
            continue  # this index has no vectors
        for text in texts:
            retriever.retrieve([text], 5)
        seconds = []
        for text in texts:
            before = time.process_time()
            retriever.retrieve([text], 5)
            seconds.append(time.process_time() - before)
        figures[f"{name} ms"] = 1000.0 * float(np.median(seconds))
        figures[f"MiB after {name}"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def open_gfm(index: Index) -> Retriever:
    """Return `gfm` with its weights, which are told that they read the vectors of the index."""
    encoder = index.context.encoder
    with TemporaryDirectory() as folder:
        copied = copytree(WEIGHTS, Path(folder) / "gfm")
        config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
        config["encoder"] |= {"name": encoder.name, "fingerprint": encoder.fingerprint}
        (copied / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return index.retriever(clew.GFM(weights=copied))


def main() -> None:
    """Print a table with a column for each index."""
    if sys.argv[1:2] == [ONE_INDEX]:
        print(json.dumps(measure(Path(sys.argv[2]))))
        return
    folders = [Path(path) for path in sys.argv[1:]]
    if not folders:
        folders = [build_index(BENCHMARKS[name], "hashing") for name in ("2wiki", "tenfold")]
    columns: list[dict[str, float]] = []
    for folder in folders:
        command = [sys.executable, __file__, ONE_INDEX, str(folder)]
        columns.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    print(describe_machine())
    rows = []
    for name in columns[0]:
        values = [column.get(name, float("nan")) for column in columns]
        ratio = f"{values[-1] / values[0]:.2f}" if name.endswith("ms") else ""
        rows.append([name, *(f"{value:,.2f}" for value in values), ratio])
    print_table(("figure", *(folder.name for folder in folders), "last / first"), rows)


if __name__ == "__main__":
    main()
