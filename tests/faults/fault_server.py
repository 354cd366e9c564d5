"""A warm process that loaded the fault library before all others; it forks one child a command.

It reads a line of JSON for each command, and answers with a line: the exit code, negative for a signal.
"""

import ctypes
import json
import os
import resource
import sys
from pathlib import Path

from tests.faults.commands import run_in_batches
from tests.faults.warm_process import warm_up


def main() -> None:
    """Serve until standard input ends; the argument is the library."""
    library = ctypes.CDLL(sys.argv[1])
    warm_up()
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(library, task)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(library: ctypes.CDLL, task: dict[str, object]) -> None:
    descriptor = os.open(str(task["messages"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, descriptor), (2, descriptor)):
        os.dup2(target, number)
    sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - the parent's buffer is not ours
    library.clew_fault_configure(
        str(task["root"]).encode(), str(task["operations"]).encode(), ctypes.c_long(int(str(task["at"]))), task["error"]
    )
    if task["file_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(str(task["file_bytes"])), resource.RLIM_INFINITY))
    code = 70
    try:
        run_in_batches([str(argument) for argument in list(task["arguments"])], int(str(task["batch"])))  # type: ignore[call-overload]
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
