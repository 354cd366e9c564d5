"""Conversion of PDF, Word, PowerPoint and HTML files to Markdown by `markitdown` (extra `files`)."""

import io
import warnings
from functools import cache
from typing import TYPE_CHECKING

from clew.errors import ClewError, InputError, MissingPackageError
from clew.indexing.sources.plain_text import make_markdown_document
from clew.plugins.extras import import_extra, missing_package
from clew.types import Document

if TYPE_CHECKING:
    from markitdown import MarkItDown, MarkItDownException


def convert_document(document_id: str, name: str, suffix: str, data: bytes) -> Document:
    """Return a file's bytes as a Markdown document, with `name` as its last title.

    Raises InputError where it cannot be converted, MissingPackageError where a package for it is missing.
    """
    if not data:
        raise InputError("empty: the file holds no bytes")
    import_extra("markitdown", "files", f"reading {suffix} files")
    from markitdown import MarkItDownException, StreamInfo

    stream = StreamInfo(extension=suffix)
    try:
        # Warnings of the parsers (fonts, deep nesting) do not concern the caller.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = _make_converter().convert_stream(io.BytesIO(data), stream_info=stream)
    except MarkItDownException as error:
        raise _conversion_error(error, suffix) from error
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


def _conversion_error(error: "MarkItDownException", suffix: str) -> ClewError:
    from markitdown import FileConversionException, MissingDependencyException

    attempts = error.attempts if isinstance(error, FileConversionException) else None
    causes = [attempt.exc_info[1] for attempt in attempts or () if attempt.exc_info]
    for cause in causes:
        if isinstance(cause, MissingDependencyException):
            part = cause.__cause__
            absent = part if isinstance(part, ImportError) else ImportError("a part of it is not installed")
            return MissingPackageError(
                missing_package(f"reading {suffix} files", absent, "markitdown", "'clew[files]'")
            )
    reason = " ".join((f"{type(causes[0]).__name__}: {causes[0]}" if causes else str(error)).split())
    return InputError(f"the {suffix} file is damaged or locked ({reason[:200]}); save it again or leave it out")
