"""Hooks of mkdocs: links to files of the repository become their names, since the site holds the documents alone."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page without links that lead out of the folder of documents."""
    folder = (DOCS / page.file.src_path).parent

    def shorten(match: re.Match[str]) -> str:
        target = (folder / match["target"]).resolve()
        is_page = target.is_relative_to(DOCS) and target.is_file()
        return match[0] if is_page else match["text"]

    return _LINK.sub(shorten, markdown)
