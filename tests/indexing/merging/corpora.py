"""Small corpora whose documents name each other: ambiguous titles, aliases, headings, links, common words."""

from collections.abc import Callable
from hashlib import blake2b

from hypothesis import strategies as st

from clew.store.schema import PassageRow
from clew.types import Mention

TITLES = (
    "Fram", "Fram (ship)", "Fram (film)", "Fram (song)", "Fram (town)", "The Fram", "fram", "Oslo", "Oslo Fjord", "",
    "Set", "Set (myth)", "The", "Her", "A", "卡尔", "卡尔 (城)", "New York", "Life of Fram", "Ship of the Line", "!!!",
)  # fmt: skip
_NAMES = (*TITLES, "FRAM", "Oslo fjord", "set", "the", "ship of the line", "Works", "Early Life", "Nansen", "Vega")
_WORDS = (
    *_NAMES,
    "was",
    "built by",
    "set",
    "set",
    "sailed (in 1893) to",
    ".",
    ". ",
    ". Then she left the old harbour again. ",
    ". Nobody knows where she went after that. ",
    "\n",
    "和",
    "\n## Early Life\n",
    "\n## Works\n",
)
_LINKS = ("b.md", "a.md", "../a.md", "Fram", "Fram_(ship)", "Oslo.md", "x/Nansen.md#top", "no")


@st.composite
def corpora(draw: st.DrawFn, max_documents: int = 7) -> list[PassageRow]:
    """Draw the passages of some documents, with the mentions of their names and triples between them."""
    rows: list[PassageRow] = []
    ids = ("a.md", "b.md", "x/c.md", "d", "e", "x/f", "g")[:max_documents]
    for document in draw(st.lists(st.sampled_from(ids), unique=True, min_size=1, max_size=max_documents)):
        title = draw(st.sampled_from(TITLES))
        aliases = tuple(draw(st.lists(st.sampled_from(_NAMES), max_size=2)))
        links = tuple(draw(st.lists(st.sampled_from(_LINKS), max_size=2)))
        for ordinal in range(draw(st.integers(1, 2))):
            words = draw(st.lists(st.sampled_from((*_WORDS, *links)), min_size=1, max_size=12))
            text, mentions = _join(words)
            chosen = draw(st.lists(st.sampled_from(mentions), max_size=4)) if mentions else []
            ends = st.sampled_from(_NAMES)
            triples = draw(st.lists(st.tuples(ends, st.sampled_from(("built", "", "links to")), ends), max_size=3))
            rows.append(
                PassageRow(
                    f"{document}#{ordinal}", document, ordinal, title, text, 0, len(text), {}, aliases, links,
                    f"h{document}", tuple(chosen), tuple(triples), extractor="rules-1",
                )
            )  # fmt: skip
    return rows


def _join(words: list[str]) -> tuple[str, list[Mention]]:
    text, mentions = "", []
    for word in words:
        start = len(text)
        text += f"{word} "
        if word[:1].isalpha():
            mentions.append(Mention(word, "name", start, start + len(word)))
            mentions.append(Mention(word, "name"))
    return text, mentions


def shortened(mask: int) -> Callable[..., object]:
    """Return a hash that keeps the first byte and the bits of a mask of the second, so that texts collide."""

    class ShortHash:
        def __init__(self, data: bytes, *, digest_size: int, salt: bytes = b"") -> None:
            self._digest = blake2b(data, digest_size=digest_size, salt=salt).digest()

        def digest(self) -> bytes:
            first, second = self._digest[:2]
            return bytes([first, second & mask, *bytes(len(self._digest) - 2)])

    return ShortHash
