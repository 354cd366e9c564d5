"""PDF, Word, PowerPoint and HTML files as documents, converted to Markdown by `markitdown` (extra `files`)."""

from clew.errors import InputError
from clew.indexing.sources.converter_process import CONVERTER
from clew.indexing.sources.plain_text import make_markdown_document
from clew.plugins.extras import require_extra
from clew.types import Document


def convert_document(document_id: str, name: str, suffix: str, data: bytes) -> Document:
    """Return a file's bytes as a Markdown document, with `name` as its last title.

    It is converted in another process, with limits of time and memory. Raises InputError where it cannot be converted
    within them, MissingPackageError where a package for it is missing.
    """
    if not data:
        raise InputError("empty: the file holds no bytes")
    require_extra(("markitdown",), "files", f"reading {suffix} files")
    text, title = CONVERTER.convert(suffix, data)
    if not text.strip():
        raise InputError("empty: the file has no text; pages that are pictures need OCR first")
    return make_markdown_document(document_id, name, text, title=title)
