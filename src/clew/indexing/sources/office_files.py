"""Conversion of PDF, Word, PowerPoint and HTML files to Markdown by `markitdown` (extra `files`)."""

import io
import warnings
from functools import cache
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.sources.plain_text import make_markdown_document
from clew.types import Document

if TYPE_CHECKING:
    from markitdown import MarkItDown, MarkItDownException

_INSTALL_COMMAND = "pip install 'clew[files]'"


def convert_document(document_id: str, name: str, suffix: str, data: bytes) -> Document:
    """Return a file's bytes as a Markdown document, with `name` as its last title; an InputError if it cannot be."""
    if not data:
        raise InputError("empty: the file holds no bytes")
    try:
        from markitdown import MarkItDownException, StreamInfo
    except ImportError as error:
        message = f"reading {suffix} files needs markitdown, which is not installed"
        raise InputError(f"{message}; run: {_INSTALL_COMMAND}") from error
    stream = StreamInfo(extension=suffix)
    try:
        # Warnings of the parsers (fonts, deep nesting) do not concern the caller.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = _make_converter().convert_stream(io.BytesIO(data), stream_info=stream)
    except MarkItDownException as error:
        raise InputError(_failure_reason(error, suffix)) from error
    text = result.markdown
    if not text.strip():
        raise InputError("empty: the file has no text; pages that are pictures need OCR first")
    return make_markdown_document(document_id, name, text, title=" ".join((result.title or "").split()))


@cache
def _make_converter() -> "MarkItDown":
    """Return a converter for these four formats only, without plugins, network, archives and guessing."""
    from markitdown import DocumentConverter, MarkItDown
    from markitdown.converters import DocxConverter, HtmlConverter, PdfConverter, PptxConverter

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    kinds: tuple[type[DocumentConverter], ...] = (PdfConverter, DocxConverter, PptxConverter, HtmlConverter)
    for kind in kinds:
        converter.register_converter(kind())
    return converter


def _failure_reason(error: "MarkItDownException", suffix: str) -> str:
    from markitdown import FileConversionException, MissingDependencyException

    attempts = error.attempts if isinstance(error, FileConversionException) else None
    causes = [attempt.exc_info[1] for attempt in attempts or () if attempt.exc_info]
    if any(isinstance(cause, MissingDependencyException) for cause in causes):
        return f"reading {suffix} files needs parts of markitdown that are not installed; run: {_INSTALL_COMMAND}"
    cause = " ".join((f"{type(causes[0]).__name__}: {causes[0]}" if causes else str(error)).split())
    return f"the {suffix} file is damaged or locked ({cause[:200]}); save it again or leave it out"
