"""Names of documents, and their mentions in other passages, which are the most reliable links of a corpus.

A document is named by its title, the title without its parentheses, its aliases and file name, and its headings. Names
that are common words in the corpus, or stand for many documents, are not linked.

Source: the measurements in docs/decisions. Differs from the source: nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from clew.text.normalization import ARTICLES, key_hash, name_key, strip_parentheses, token_keys, token_spans
from tests.oracles.gazetteer import MAX_TARGETS, Gazetteer, Match

_HEADING = re.compile(r"^ {0,3}#{2,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_SENTENCE_END = frozenset(".!?:\n\"'“«”»([*#-")


@dataclass(frozen=True, slots=True)
class NamedText:
    """Names, links and text of a passage."""

    document_id: str
    title: str
    text: str
    aliases: Sequence[str]  # other names of its document
    links: Sequence[str]  # targets of the document's links, as written
    is_first: bool  # whether it is the first passage of its document


class TitleLinker:
    """Finds the titles of a corpus in texts and links; titles are numbered in the order of the hashes of their keys."""

    def __init__(self, passages: Sequence[NamedText], salt: int = 0) -> None:
        variants = _title_names(passages)
        self.title_keys = sorted(variants, key=lambda key: key_hash(key, salt))
        common = _ordinary_words({name_key(n) for names in variants.values() for n in names}, passages)
        linkable = [[name for name in variants[key] if name_key(name) not in common] for key in self.title_keys]
        self._gazetteer = Gazetteer(linkable)
        self.keys_by_name = _index_names(self.title_keys, linkable)
        self._key_by_document = {p.document_id: name_key(p.title) for p in passages if p.title}

    def find_mentions(self, passage: NamedText) -> list[Match]:
        """Return the titles mentioned in a passage's text; a target is a position in `title_keys`."""
        return self._gazetteer.find(passage.text)

    def resolve_links(self, passage: NamedText) -> list[str]:
        """Return the keys of the titles that a passage's links lead to; a link in no passage's text is of the first."""
        keys: list[str] = []
        for link in passage.links:
            if link in passage.text or passage.is_first:
                keys.extend(self._resolve_link(link, passage.document_id))
        return list(dict.fromkeys(keys))

    def _resolve_link(self, link: str, document_id: str) -> Sequence[str]:
        path = unquote(link.split("#")[0].split("?")[0]).strip()
        if not path:
            return ()
        relative_path = _join_path(PurePosixPath(document_id).parent, path)
        if document := self._key_by_document.get(path) or self._key_by_document.get(relative_path):
            return (document,)
        file_name = path.rstrip("/").rsplit("/", 1)[-1]
        stem = file_name.rsplit(".", 1)[0] if re.search(r"\.\w{1,5}$", file_name) else file_name
        for name in (path, file_name, stem):
            if keys := self.keys_by_name.get(name_key(name.replace("_", " "))):
                return keys
        return ()


def _title_names(passages: Sequence[NamedText]) -> dict[str, list[str]]:
    """Return the names of each title's key; a heading counts only where one document alone has it."""
    variants: dict[str, dict[str, None]] = {}
    headings: dict[str, set[str]] = {}
    owners: list[tuple[str, str]] = []
    for passage in passages:
        key = name_key(passage.title)
        if not key:
            continue
        names = variants.setdefault(key, {})
        names.update(dict.fromkeys((passage.title, strip_parentheses(passage.title), *passage.aliases)))
        for heading in dict.fromkeys(_HEADING.findall(passage.text)):
            headings.setdefault(name_key(heading), set()).add(passage.document_id)
            owners.append((key, heading))
    for key, heading in owners:
        if len(headings[name_key(heading)]) == 1 and " " in name_key(heading) and name_key(heading) not in variants:
            variants[key][heading] = None
    return {key: list(names) for key, names in variants.items()}


def _index_names(keys: Sequence[str], names: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return for each name's key the titles' keys it stands for; a full title stands for itself alone."""
    keys_of_name: dict[str, list[str]] = {}
    for key, variants in zip(keys, names, strict=True):
        for variant in dict.fromkeys(map(name_key, variants)):
            keys_of_name.setdefault(variant, []).append(key)
    full_titles = set(keys)
    candidates = {name: (name,) if name in full_titles else tuple(ids) for name, ids in keys_of_name.items()}
    return {name: ids for name, ids in candidates.items() if name and len(ids) <= MAX_TARGETS}


def _ordinary_words(names: Iterable[str], passages: Sequence[NamedText]) -> set[str]:
    """Return the one-word names that the corpus mostly writes in lower case."""
    single = {name for name in names if name and " " not in name}
    counts: dict[str, tuple[int, int]] = {}
    for text in (passage.text for passage in passages):
        keys = token_keys(text)
        if single.isdisjoint(keys):
            continue
        for key, (start, _) in zip(keys, token_spans(text), strict=True):
            if key in single:
                lower, capitalised = counts.get(key, (0, 0))
                if text[start].islower():
                    counts[key] = (lower + 1, capitalised)
                elif text[start].isupper() and not _opens_sentence(text, start):
                    counts[key] = (lower, capitalised + 1)
    return {name for name, (lower, capitalised) in counts.items() if lower > capitalised and name not in ARTICLES}


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 3, 0) : start].rstrip(" ")
    return not before or before[-1] in _SENTENCE_END


def _join_path(folder: PurePosixPath, path: str) -> str:
    """Join a relative path to a folder, resolving `..`."""
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(path).parts):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
