"""Find fragments with damaged deletion files in a child process, since Lance aborts on some, beyond any `except`."""

import json
import os
import subprocess
import sys
from collections.abc import Container
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance import LanceDataset


def crashing_fragments(
    dataset: "LanceDataset", storage_options: dict[str, str], known: Container[int] = ()
) -> set[int]:
    """Return the ids of the fragments whose deletion file aborts a process that reads it, but those known already."""
    pending = [
        fragment.fragment_id
        for fragment in dataset.get_fragments()
        if fragment.metadata.deletion_file is not None and fragment.fragment_id not in known
    ]
    crashing: set[int] = set()
    while pending:
        task = {"table": dataset.uri, "version": dataset.version, "options": storage_options, "fragments": pending}
        readable = _run_child(json.dumps(task))
        pending = pending[len(readable) :]
        if pending:
            crashing.add(pending.pop(0))
    return crashing


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


def _probe(task_json: str) -> None:
    import lance

    task = json.loads(task_json)
    dataset = lance.dataset(task["table"], version=task["version"], storage_options=task["options"] or None)
    fragments = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
    for id_ in task["fragments"]:
        with suppress(OSError, ValueError, RuntimeError):  # the caller gets these errors itself, and reports them
            fragments[id_].to_table(columns=["ordinal"])
        sys.stdout.write(f"{id_}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _probe(sys.stdin.read())
