"""Ids for passages without one: the title, and a hash of the text if several texts have that title."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from clew.types import Document


class PassagePool:
    """The distinct passages (title, text) of a data set, in their order.

    Texts that differ only in white space are the same passage, since data sets join the sentences of a passage with and
    without spaces. Ids depend on the passages of the pool, not on their order.
    """

    def __init__(self, passages: Iterable[tuple[str, str]]) -> None:
        self._texts: dict[str, dict[str, str]] = {}
        self._order: list[tuple[str, str]] = []
        for title, text in passages:
            same_title = self._texts.setdefault(title, {})
            key = _hash_text(text)
            if key not in same_title:
                same_title[key] = text
                self._order.append((title, key))

    def passage_id(self, title: str, text: str | None) -> str:
        """Return the id of a passage; a passage outside the pool gets an id that no document of the pool has.

        `text` is None if only the title is known, which suffices if it has one text.
        """
        texts = self._texts.get(title, {})
        if text is None:
            return self._make_id(title, next(iter(texts))) if len(texts) == 1 else title
        key = _hash_text(text)
        return self._make_id(title, key) if key in texts else f"{title}@{key}"

    def documents(self) -> Iterator[Document]:
        """Yield each passage once as a document, in their order."""
        for title, key in self._order:
            yield Document(self._make_id(title, key), title, self._texts[title][key])

    def _make_id(self, title: str, key: str) -> str:
        return title if title.strip() and len(self._texts[title]) == 1 else f"{title}@{key}"


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences, with a space between two that have no white space in between."""
    text = ""
    for sentence in sentences:
        separated = not text or text[-1].isspace() or not sentence or sentence[0].isspace()
        text += sentence if separated else " " + sentence
    return text


def _hash_text(text: str) -> str:
    return blake2b("".join(text.split()).encode(), digest_size=5).hexdigest()
