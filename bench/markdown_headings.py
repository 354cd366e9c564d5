"""Headings of Markdown by our patterns and by `markdown-it-py`'s block rules: `python bench/markdown_headings.py`.

Reads the Markdown files of this repository's documentation, and prints in how many both find the same headings, and the
best of three processor times of each, of the parser also with its inline rules, which links need.
"""

import time
from collections.abc import Callable
from pathlib import Path

from markdown_it import MarkdownIt

from clew.indexing.sources.markdown import find_headings
from workbench import describe_machine

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Print the agreement and the times."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    parser = MarkdownIt("commonmark")
    parser.disable("inline")

    with_inline = MarkdownIt("commonmark")

    def count_by_parser(text: str) -> int:
        return sum(token.type == "heading_open" for token in parser.parse(text))

    def count_by_patterns(text: str) -> int:
        return sum(1 for _ in find_headings(text))

    equal = sum(count_by_parser(text) == count_by_patterns(text) for text in texts)
    print(describe_machine())
    print(f"equal numbers of headings in {equal} of {len(texts)} files, {sum(map(len, texts)):,} characters")
    ways: list[tuple[str, Callable[[str], int]]] = [
        ("patterns", count_by_patterns),
        ("markdown-it-py", count_by_parser),
        ("markdown-it-py with inline rules", lambda text: len(with_inline.parse(text))),
    ]
    for name, count in ways:
        print(f"{name}: {_best_time(count, texts):.3f} s")


def _best_time(count: Callable[[str], int], texts: list[str]) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        for text in texts:
            count(text)
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    main()
