"""Which fragments have a readable list of deleted rows; asked in a child process.

Lance ends the process on some damaged deletion files (it tries to reserve what a damaged length says), which nothing in
the process survives.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance import LanceDataset


def crashing_fragments(dataset: "LanceDataset", storage_options: dict[str, str]) -> set[int]:
    """Return the ids of the fragments whose deletion file stops a process that reads it."""
    pending = [f.fragment_id for f in dataset.get_fragments() if f.metadata.deletion_file is not None]
    deadly: set[int] = set()
    while pending:
        task = {"table": dataset.uri, "version": dataset.version, "options": storage_options, "fragments": pending}
        answered = _run_child(json.dumps(task))
        pending = pending[len(answered) :]
        if pending:
            deadly.add(pending.pop(0))
    return deadly


def _run_child(task: str) -> list[str]:
    search_path = os.pathsep.join(entry for entry in sys.path if entry)
    child = subprocess.run(
        [sys.executable, "-m", "clew.store.crash_probe"],
        input=task,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": search_path},
    )
    return child.stdout.split()


def _probe(task: str) -> None:
    import lance

    asked = json.loads(task)
    dataset = lance.dataset(asked["table"], version=asked["version"], storage_options=asked["options"] or None)
    fragments = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
    for id_ in asked["fragments"]:
        with suppress(OSError, ValueError, RuntimeError):  # ordinary errors: the caller meets and names them
            fragments[id_].to_table(columns=["ordinal"])
        sys.stdout.write(f"{id_}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _probe(sys.stdin.read())
