"""Time the start-up of the package and the command line: `python bench/startup.py`."""

import statistics
import subprocess
import sys
import time

from workbench import describe_machine, print_table, process_environment

RUNS = 7


def main() -> None:
    """Print median times of whole processes; for the import, the time beyond that of an empty Python process."""
    print(describe_machine())
    empty = median_seconds([sys.executable, "-c", "pass"])
    rows = [
        ["python -c pass", f"{empty:.2f} s"],
        ["import clew", f"{median_seconds([sys.executable, '-c', 'import clew']) - empty:.3f} s more"],
        ["clew --help", f"{median_seconds([sys.executable, '-m', 'clew', '--help']):.2f} s"],
    ]
    print_table(("command", "median"), rows)


def median_seconds(command: list[str]) -> float:
    """Return the median wall-clock seconds of a command, after one warm-up."""
    seconds = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=process_environment())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    main()
