"""How long it takes to start: `python bench/startup.py`."""

import statistics
import subprocess
import sys
import time

from workbench import machine, print_table

RUNS = 7


def main() -> None:
    """Print the median of whole processes, less what an empty Python costs for the import."""
    print(machine())
    empty = median([sys.executable, "-c", "pass"])
    rows = [
        ["python -c pass", f"{empty:.2f} s"],
        ["import clew", f"{median([sys.executable, '-c', 'import clew']) - empty:.3f} s more"],
        ["clew --help", f"{median([sys.executable, '-m', 'clew', '--help']):.2f} s"],
    ]
    print_table(("command", "median"), rows)


def median(command: list[str]) -> float:
    """Return the median wall-clock seconds of a command, after one warm-up."""
    seconds = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    main()
