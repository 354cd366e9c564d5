"""A program in a Python process of its own, which finds the modules that this one finds."""

import os
import subprocess
import sys


def run_python(program: str, *arguments: object, code: int = 0, **environment: str) -> str:
    """Run a program to its end, check its exit code, and return what it printed."""
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    assert done.returncode == code, done.stderr
    return done.stdout
