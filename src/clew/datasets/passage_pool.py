"""Ids for passages that come without one: the title, and a hash of the text where a title has several texts."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from clew.types import Document


class PassagePool:
    """The different passages (title, text) of a data set, in the order they were met.

    Two texts are the same passage when they differ in white space only: data sets join the sentences of one passage
    with and without a space. An id depends on the passages of the pool, not on their order.
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
        """Return the id of a passage; one that is not in the pool gets an id that no document of the pool has.

        Args:
            title: As the data set writes it.
            text: None when only the title is known, which is enough where the title has one text.
        """
        texts = self._texts.get(title, {})
        if text is None:
            return self._make_id(title, next(iter(texts))) if len(texts) == 1 else title
        key = _hash_text(text)
        return self._make_id(title, key) if key in texts else f"{title}@{key}"

    def documents(self) -> Iterator[Document]:
        """Yield each passage once as a document, in the order they were met."""
        for title, key in self._order:
            yield Document(self._make_id(title, key), title, self._texts[title][key])

    def _make_id(self, title: str, key: str) -> str:
        return title if title.strip() and len(self._texts[title]) == 1 else f"{title}@{key}"


def join_sentences(sentences: Iterable[str]) -> str:
    """Return the sentences as one text, with a space between two that bring none of their own."""
    text = ""
    for sentence in sentences:
        apart = not text or text[-1].isspace() or not sentence or sentence[0].isspace()
        text += sentence if apart else " " + sentence
    return text


def _hash_text(text: str) -> str:
    return blake2b("".join(text.split()).encode(), digest_size=5).hexdigest()
