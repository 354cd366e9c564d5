"""A PDF made of lines of text, for benchmarks that need one whose pages and headings are known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

WIDTH, HEIGHT, MARGIN = 595, 842, 72  # of a page, in points
LEADING = 1.35
_SIZES = {1: 18, 2: 14, 3: 12}
_BODY = 10.5
_COLUMNS = 78  # characters of a line of the body


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text, its size in points, and whether it is bold."""

    text: str
    size: float = _BODY
    bold: bool = False


def lay_out(markdown: str, lines_per_page: int = 40) -> list[list[Line]]:
    """Return the pages of a text with `#` headings and paragraphs; no heading stands at the foot of a page."""
    pages: list[list[Line]] = [[]]
    for block in markdown.split("\n\n"):
        lines = list(_set_block(block.strip()))
        is_heading = bool(lines) and lines[0].bold
        if len(pages[-1]) + len(lines) + 3 * is_heading > lines_per_page:
            pages.append([])
        pages[-1] += [*lines, Line("")]
    return [page for page in pages if page]


def write_pdf(path: Path, pages: Sequence[Sequence[Line]], running_head: str = "") -> None:
    """Write pages, each with a running head and its number at the foot where a head is given."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects += [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
        for name in ("Helvetica", "Helvetica-Bold")
    ]
    kids = []
    for number, page in enumerate(pages, 1):
        stream = _draw(page, running_head, number)
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    path.write_bytes(_assemble(objects))


def _set_block(block: str) -> Iterator[Line]:
    """Yield the lines of a heading or a paragraph."""
    if block.startswith("#"):
        level = len(block) - len(block.lstrip("#"))
        yield Line(block.lstrip("# "), _SIZES.get(level, _BODY), bold=True)
    else:
        yield from map(Line, wrap(" ".join(block.split()), _COLUMNS))


def _draw(page: Sequence[Line], running_head: str, number: int) -> str:
    """Return the drawing commands of a page, every line at its own place."""
    commands = []
    if running_head:
        commands += [_draw_line(Line(running_head, 8), HEIGHT - 40), _draw_line(Line(str(number), 8), 36)]
    height = float(HEIGHT - MARGIN)
    for line in page:
        height -= line.size * LEADING
        if line.text:
            commands.append(_draw_line(line, height))
    return "\n".join(commands)


def _draw_line(line: Line, height: float) -> str:
    text = line.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /F{1 + line.bold} {line.size} Tf {MARGIN} {height:.1f} Td ({text}) Tj ET"


def _assemble(objects: Sequence[str]) -> bytes:
    """Return the bytes of a file with the objects in order and the table of their offsets."""
    content, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(content)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    content += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(content)
