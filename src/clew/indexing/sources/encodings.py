"""Encodings of text files: UTF-8, UTF-16 and UTF-32 by their marks, else the likeliest by `charset-normalizer`."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE

from clew.errors import InputError

UTF_8 = "utf-8"
_MARKS = (  # those of UTF-32 begin with those of UTF-16
    (BOM_UTF8, UTF_8),
    (BOM_UTF32_LE, "utf-32-le"),
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)
# Those of everyday files: among all that Python knows, a few accents fit dozens.
_GUESSED = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
)
_OTHER_FORMATS = (  # whose first bytes may come without a NUL byte, and so pass for a text
    (b"%PDF-", "a PDF does"),
    (b"PK\x03\x04", "a zip archive does, such as a file of Word or Excel"),
    (b"{\\rtf", "a Rich Text file does"),
    (b"\x1f\x8b\x08", "a gzip archive does"),
    (b"\x89PNG\r\n", "a PNG picture does"),
    (b"\xff\xd8\xff", "a JPEG picture does"),
    (b"\xd0\xcf\x11\xe0", "an Office file before 2007 does"),
)
_COMMONEST = "cp1252"  # of several that make the same text
_GUESSED_BYTES = 1 << 18


def find_encoding(data: bytes) -> tuple[str, int]:
    """Return the encoding of a text's bytes, and the length of the mark before it.

    Binary bytes, and those of which no encoding makes a text, are an InputError.
    """
    for beginning, words in _OTHER_FORMATS:
        if data.startswith(beginning):
            raise InputError(f"it begins as {words}, so it is no text: give it the suffix of its kind, or leave it out")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    if (zero := data.find(0)) >= 0:
        raise InputError(f"binary content (a NUL byte at offset {zero}), not a text; remove it or give its real suffix")
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError as error:
        return _guess_encoding(data, error.start), 0
    return UTF_8, 0


def decode_bytes(data: bytes) -> tuple[str, str]:
    r"""Return a text with line ends `\n`, and the encoding it was in (errors: see `find_encoding`)."""
    encoding, start = find_encoding(data)
    try:
        text = data[start:].decode(encoding)
    except UnicodeDecodeError as error:
        at = error.start + start
        raise InputError(f"invalid {encoding.upper()} at byte offset {at}; save the text as UTF-8") from error
    return join_line_ends(text), encoding


def join_line_ends(text: str) -> str:
    r"""Return a text with `\n` in place of `\r\n`."""
    return text.replace("\r\n", "\n")


def _has_surrogates(data: bytes) -> bool:
    """Return whether all is UTF-8 but for surrogates, which stand for no letter."""
    try:
        data.decode(UTF_8, "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _guess_encoding(data: bytes, offset: int) -> str:
    """Return the likeliest encoding of bytes that are not UTF-8 from an offset on.

    A text in which more letters are UTF-8 than are not is one that was damaged.
    """
    from charset_normalizer import from_bytes

    intact = data.decode(UTF_8, "ignore")
    letters = sum(len(sign.encode()) for sign in intact if not sign.isascii())
    if letters > len(data) - len(intact.encode()) or _has_surrogates(data):
        raise InputError(f"invalid UTF-8 at byte offset {offset}; save the text as UTF-8")
    part = data[max(0, offset - _GUESSED_BYTES // 2) :][:_GUESSED_BYTES]
    best = from_bytes(part, cp_isolation=list(_GUESSED), enable_fallback=False).best()
    if best is not None:
        try:
            data.decode(best.encoding)
        except UnicodeDecodeError:
            best = None
    if best is None:
        raise InputError(
            f"invalid UTF-8 at byte offset {offset}, and no other encoding is recognised; save the text as UTF-8"
        )
    return best.encoding if _text(data, best.encoding) != _text(data, _COMMONEST) else _COMMONEST


def _text(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace")
