"""Make a process ready to fork commands that write: modules imported and compiled functions loaded, no thread started.

A command that writes a few documents takes 0.6 seconds of processor time, two thirds of it for these. Lance starts its
threads with the first table, and a fork would lose them: what calls Lance runs in a child.
"""

import os
import tempfile
from importlib import import_module
from pathlib import Path

from clew.indexing.merging.merge import merge_segments
from clew.indexing.segments.store import SegmentFile
from clew.store.location import locate
from clew.store.segment_files import read_segment_names, segments_folder
from clew.text.bm25 import BM25Index
from tests.faults.commands import make_voyage, run_in_batches, write_lines

_MODULES = (
    "lance", "lance.optimize", "pyarrow.acero", "pydantic.type_adapter", "rich.console", "semchunk", "Stemmer",
    "clew.commands.entities", "clew.commands.graphs", "clew.commands.index", "clew.commands.maintain",
    "clew.commands.search", "clew.graph.paths.likeliest_walks", "clew.index", "clew.indexing.cost_estimate",
    "clew.indexing.entry", "clew.models.llm.providers", "clew.retrievers.chains", "clew.store.inspection",
)  # fmt: skip


def warm_up() -> None:
    """Import what commands import, and merge segments that a child has made, which loads the compiled functions."""
    for name in _MODULES:
        import_module(name)
    with tempfile.TemporaryDirectory() as name:
        index = Path(name) / "index"
        corpus = write_lines(Path(name) / "a.jsonl", map(make_voyage, range(8)))
        child = os.fork()
        if child == 0:
            _index(corpus, index)
        os.waitpid(child, 0)
        derived = locate(index).derived
        (snapshot,) = (derived / "snapshots").glob("[0-9]*")
        segments = [SegmentFile(segments_folder(derived) / file).open() for file in read_segment_names(snapshot)]
        merged = merge_segments(segments)
        BM25Index.merge([segment.terms for segment in segments], merged.positions, len(merged.passage_ids))


def _index(corpus: Path, index: Path) -> None:
    code = 1
    try:
        output = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        run_in_batches(["index", str(corpus), "--encoder", "none", "--index", str(index)], 4)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(code)
