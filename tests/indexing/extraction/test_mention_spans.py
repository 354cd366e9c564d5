"""Locations in the text of names that a model wrote."""

from clew.indexing.extraction.mention_spans import locate_mentions
from clew.types import Mention

TEXT = "The fram left Oslo in May 1893 with 13 kg of tea. Oslofjord froze."


def test_whole_words_first_then_another_case_then_inside_a_word() -> None:
    mentions = locate_mentions(TEXT, ["Oslo", "Fram", "fjord", "May 1893", "13 kg", "Nansen"])
    assert mentions == (
        Mention("fram", "name", 4, 8),
        Mention("Oslo", "name", 14, 18),
        Mention("May 1893", "date", 22, 30),
        Mention("13 kg", "number", 36, 41),
        Mention("fjord", "name", 54, 59),
        Mention("Nansen", "name", -1, -1),
    )


def test_each_once_and_nothing_of_nothing() -> None:
    assert locate_mentions(TEXT, ["Oslo", "Oslo", "oslo"]) == (Mention("Oslo", "name", 14, 18),)
    assert locate_mentions(TEXT, []) == ()
    assert locate_mentions("", ["Oslo"]) == (Mention("Oslo"),)
