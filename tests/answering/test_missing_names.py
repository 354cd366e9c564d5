"""Names that are said to be missing: of the whole index, as far as the filter of the search allows."""

from clew.answering.missing_names import MISSING_PREFIX
from clew.index import Index

QUESTION = "When did Louis Palander meet Zaphod Beeblebrox on Bornholm?"


def missing(index: Index, k: int, where: str | None = None) -> list[str]:
    notes = index.ask(QUESTION, k, "bm25", where).notes
    return [note.removeprefix(f"{MISSING_PREFIX} ") for note in notes if note.startswith(MISSING_PREFIX)]


def test_a_name_of_a_passage_that_was_not_found_is_not_missing(small: Index) -> None:
    for k in (1, 5):
        assert missing(small, k) == ["'Zaphod Beeblebrox'"]


def test_a_name_of_a_passage_that_the_filter_leaves_out_is_missing(small: Index) -> None:
    # The passage in German that may be seen writes "Bornholm" alone.
    assert missing(small, 1, "lang = 'de'") == ["'Louis Palander'", "'Zaphod Beeblebrox'"]
