"""Ask for cells of tables in six kinds of files: `python bench/tables.py [FORMAT ...] [--seed N]`.

Twenty tables of invented things, 3 to 8 columns and 5 to 400 rows amid prose, are written in each format, indexed, and
200 questions asked. For each format: the share where the row is in the first three passages, where the headline has the
value of the cell, where the text of the answer is that value, and where something else is asserted.
"""

import argparse
import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from docx import Document
from openpyxl import Workbook

import clew
from workbench import print_table

TABLES, QUESTIONS = 20, 200
SHARES = ("row in first 3", "in headline", "text is the cell", "asserted and wrong")
SIZES = (5, 7, 9, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 400)
SYLLABLES = ("ba", "dor", "kel", "mi", "tan", "ru", "vos", "lin", "gar", "pe", "so", "hul", "nee", "ath", "rik", "wen")
UNITS = (("weight", "kg"), ("timeout", "ms"), ("length", "m"), ("power", "kW"), ("range", "km"))
GENERAL = ("What is the {column} of {key}?", "Which {column} does {key} have?", "Give the {column} of {key}.")
OWN = {  # wordings without the column's name as it is
    "owner": "Who owns {key}?", "home port": "Where is {key} at home?", "built": "When was {key} built?",
    "weight": "How much does {key} weigh?", "length": "How long is {key}?", "colour": "What colour is {key}?",
    "price": "How much does {key} cost?", "crew": "How many crew does {key} have?",
}  # fmt: skip
PROSE = "This register lists all that is known. It was checked by hand, and twice by others."


class Table(NamedTuple):
    """A table under a heading."""

    heading: str
    rows: list[list[str]]  # the first one has the names of columns


def make_name(chance: random.Random, words: int = 1) -> str:
    """Return a name that means nothing."""
    return " ".join("".join(chance.sample(SYLLABLES, chance.choice((2, 3)))).capitalize() for _ in range(words))


def make_table(chance: random.Random, number: int) -> Table:
    """Return a table with keys of one kind and cells of several."""
    keys = {
        "ship": lambda: make_name(chance, 2),
        "part": lambda: f"{chance.choice('ABKX')}{chance.choice('DPQZ')}-{chance.randrange(100, 9999)}",
        "widget": lambda: f"widget-{chance.randrange(1000)}",
        "day": lambda: f"20{chance.randrange(10, 26)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
        "place": lambda: f"{make_name(chance)}{chance.choice((' Bay', ' Hill', ''))}",
    }
    cells: dict[str, Callable[[], str]] = {
        "owner": lambda: make_name(chance, 2),
        "team": lambda: f"team-{chance.randrange(30)}",
        "home port": lambda: make_name(chance),
        "built": lambda: str(chance.randrange(1850, 2020)),
        "colour": lambda: chance.choice(("red", "dark green", "blue", "pale yellow", "grey")),
        "price": lambda: f"EUR {chance.randrange(1, 9000):,}",
        "crew": lambda: str(chance.randrange(2, 90)),
        "modes": lambda: chance.choice(("on | off", "slow | fast", "a | b | c")),
        "notes": lambda: make_name(chance, chance.randrange(3, 7)).lower(),
    }
    for name, unit in UNITS:
        cells[name] = lambda unit=unit: f"{chance.randrange(2, 4000):,} {unit}"  # type: ignore[misc]
    kind = list(keys)[number % len(keys)]
    columns = chance.sample(sorted(cells), chance.randrange(2, 8))
    names = dict.fromkeys(keys[kind]() for _ in range(SIZES[number % len(SIZES)]))
    rows = [[key, *(cells[name]() if chance.random() > 0.1 else "" for name in columns)] for key in names]
    return Table(f"{make_name(chance)} register", [[kind, *columns], *rows])


def make_files(chance: random.Random) -> tuple[list[list[Table]], list[tuple[str, str, str]]]:
    """Return the tables of files, two of which hold two with the same keys; and questions, their keys and values."""
    files = [[make_table(chance, number)] for number in range(TABLES - 2)]
    for file in files[3:5]:
        body = [[row[0], make_name(chance), f"{chance.randrange(9000)} hours"] for row in file[0].rows[1:]]
        header = [file[0].rows[0][0], "inspector", "running time"]
        file.append(Table(f"{make_name(chance)} ledger", [header, *body]))
    asked = list[tuple[str, str, str]]()
    tables = [table for file in files for table in file]
    while len(asked) < QUESTIONS:
        header, *body = tables[len(asked) % len(tables)].rows
        row, at = chance.choice(body), chance.randrange(1, len(header))
        wordings = [*GENERAL, *filter(None, [OWN.get(header[at])] * 2)]
        if row[at]:
            asked.append((chance.choice(wordings).format(column=header[at], key=row[0]), row[0], row[at]))
    return files, asked


def _write_markdown(tables: Sequence[Table]) -> bytes:
    text = f"# {tables[0].heading}\n\n{PROSE}\n"
    for table in tables:
        lines = [" | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
        text += "\n".join([f"\n## {table.heading}\n", lines[0], "---|" * len(table.rows[0]), *lines[1:], ""])
    return f"{text}\nThe list ends here.\n".encode()


def _write_html(tables: Sequence[Table]) -> bytes:
    text = f"<h1>{tables[0].heading}</h1><p>{PROSE}</p>"
    for table in tables:
        head, *body = ("".join(f"<td>{cell}</td>" for cell in row) for row in table.rows)
        title = f"<tr><th colspan={len(table.rows[0])}>{table.heading}</th></tr><tr>{head.replace('td>', 'th>')}</tr>"
        text += f"<h2>{table.heading}</h2><table>{title}{''.join(f'<tr>{row}</tr>' for row in body)}</table>"
    return text.encode()


def _write_word(tables: Sequence[Table]) -> bytes:
    document = Document()
    document.add_paragraph(PROSE)
    for table in tables:
        document.add_heading(table.heading)
        grid = document.add_table(0, len(table.rows[0]))
        for row in table.rows:
            for cell, text in zip(grid.add_row().cells, row, strict=True):
                cell.text = text
    document.save(file := io.BytesIO())
    return file.getvalue()


def _write_excel(tables: Sequence[Table]) -> bytes:
    book = Workbook(write_only=True)
    for table in tables:
        sheet = book.create_sheet(table.heading[:30])
        for row in table.rows:
            sheet.append(row)
    book.save(file := io.BytesIO())
    return file.getvalue()


def _write_pdf(tables: Sequence[Table]) -> bytes:
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for table in tables:
        wide = [max(map(len, column)) for column in zip(*table.rows, strict=True)]
        lefts = [30 + 5.2 * sum(wide[:at]) + 10 * at for at in range(len(wide))]
        for first in range(0, len(table.rows), 40):
            texts = [(30.0, 760, PROSE), (30.0, 730, table.heading)] if not first else []
            for line, row in enumerate(table.rows[first : first + 40]):
                texts += [(left, 700 - 16 * line, cell) for left, cell in zip(lefts, row, strict=True) if cell]
            marks = " ".join(f"BT /F1 8 Tf {left:.1f} {y} Td ({text}) Tj ET" for left, y, text in texts).encode()
            font = b"/Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >>" % (len(objects) + 2)
            objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1200 800] %s >>" % font)
            objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(marks), marks))
    kids = b" ".join(b"%d 0 R" % number for number in range(4, len(objects) + 1, 2))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(objects) // 2 - 1)
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % pair for pair in enumerate(objects, 1))
    return b"%%PDF-1.4\n%strailer\n<< /Size %d /Root 1 0 R >>\n%%%%EOF\n" % (body, len(objects) + 1)


WRITERS: dict[str, Callable[[Sequence[Table]], bytes]] = {
    "md": _write_markdown, "html": _write_html, "docx": _write_word, "xlsx": _write_excel, "pdf": _write_pdf,
    "csv": lambda tables: "\n".join(",".join(f'"{cell}"' for cell in row) for row in tables[0].rows).encode(),
}  # fmt: skip


def measure(suffix: str, seed: int) -> list[str]:
    """Return the shares of a format."""
    files, asked = make_files(random.Random(seed))
    if suffix == "csv":
        files = [[table] for file in files for table in file]
    counts = [0] * len(SHARES)
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"file{number}.{suffix}" for number in range(len(files))]
        for path, tables in zip(paths, files, strict=True):
            path.write_bytes(WRITERS[suffix](tables))
        index = clew.create(Path(folder) / "index")
        index.add(paths)
        for question, key, value in asked:
            answer = index.ask(question)
            lines = [line for each in answer.evidence.passages[:3] for line in each.item.text.split("\n")]
            is_cell = answer.text == value
            is_found, is_wrong = any(key in line and value in line for line in lines), bool(answer) and not answer.weak
            own = (is_found, value in answer.headline, is_cell, is_wrong and not is_cell)
            counts = [count + right for count, right in zip(counts, own, strict=True)]
    return [suffix, *(f"{count / len(asked):.1%}" for count in counts)]


def main() -> None:
    """Measure the formats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=list(WRITERS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print_table(["format", *SHARES], [measure(one, options.seed) for one in options.formats])


if __name__ == "__main__":
    main()
