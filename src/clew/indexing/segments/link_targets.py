"""The documents and names that a link may lead to, in the order in which they are tried."""

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from clew.text.normalization import key_hash, name_key

_EXTENSION = re.compile(r"\.\w{1,5}$")
_NO_TARGETS = (0, 0, 0, 0, 0)


def link_hashes(link: str, document_id: str, salt: int) -> tuple[int, ...]:
    """Return hashes of the two ids of documents and the three keys of names that a link may mean; 0 for none.

    The ids are its path as written, and relative to the folder of the document it stands in; the names are its path,
    its file name, and that without an extension. A link without a path gives zeros.
    """
    path = unquote(link.split("#")[0].split("?")[0]).strip()
    if not path:
        return _NO_TARGETS
    file_name = path.rstrip("/").rsplit("/", 1)[-1]
    stem = file_name.rsplit(".", 1)[0] if _EXTENSION.search(file_name) else file_name
    keys = [name_key(name.replace("_", " ")) for name in (path, file_name, stem)]
    documents = path, join_path(PurePosixPath(document_id).parent, path)
    return tuple(key_hash(text, salt) if text else 0 for text in (*documents, *keys))


def join_path(folder: PurePosixPath, path: str) -> str:
    """Join a relative path to a folder, resolving `..`."""
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(path).parts):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
