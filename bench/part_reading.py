"""Time the reading of a JSONL file by parts: `python bench/part_reading.py [--megabytes 100] [--parts 16]`.

Each part of many reads the whole file for its own records. Prints the processor time of one reading by one part, and of
the readings of all parts together, for as many records of the shared corpora as the file has bytes.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.indexing.selected_snapshot import Part
from clew.indexing.sources.reader import read_documents
from clew.types import Document
from workbench import DATA, describe_machine, load_records, print_table


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--parts", type=int, default=16)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "corpus.jsonl"
        with file.open("w", encoding="utf-8") as stream:
            for line in repeat_records():
                stream.write(line)
                if stream.tell() > arguments.megabytes * 10**6:
                    break
        rows = []
        for count in (1, arguments.parts):
            started = time.process_time()
            documents = sum(read_part(file, Part(number, count)) for number in range(1, count + 1))
            seconds = time.process_time() - started
            rows.append([f"{count}", f"{documents:,}", f"{seconds:.1f} s", f"{1e6 * seconds / documents:.0f} µs"])
    print(describe_machine())
    print_table(("parts", "documents", "processor time of all", "for a document"), rows)


def read_part(file: Path, part: Part) -> int:
    """Return how many documents of a file a part has."""
    return sum(isinstance(item, Document) for item in read_documents([file], is_wanted=part.has))


def repeat_records() -> Iterator[str]:
    """Yield lines of records, each with an id of its own."""
    records = list(load_records(DATA / "2wiki/corpus.jsonl"))
    for number, record in enumerate(cycle(records)):
        yield json.dumps({**record, "id": f"{record['id']}-{number}"}) + "\n"


if __name__ == "__main__":
    main()
