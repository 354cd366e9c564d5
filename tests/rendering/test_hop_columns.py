"""The order of cards in chains and paths."""

import pytest

from clew.rendering.hop_columns import Card, Hop, arrange_columns
from clew.types import Evidence, Path, Scored, Triple
from tests.rendering.results import make_evidence

AB, CB, CD = Triple("a", "r", "b", ("p",)), Triple("c", "s", "b"), Triple("c", "t", "d")


@pytest.mark.parametrize(
    ("path", "cards"),
    [
        ((AB,), [Card("a"), Card("b", source="p", hop=Hop("r"))]),
        ((AB, CB), [Card("a"), Card("b", source="p", hop=Hop("r")), Card("c", hop=Hop("s", downward=False))]),
        ((CB, CD), [Card("b"), Card("c", hop=Hop("s", downward=False)), Card("d", hop=Hop("t"))]),
        ((AB, CD), [Card("a"), Card("b", source="p", hop=Hop("r")), Card("c"), Card("d", hop=Hop("t"))]),
    ],
)
def test_a_path_is_walked_from_end_to_end(path: Path, cards: list[Card]) -> None:
    (column,) = arrange_columns(Evidence(paths=(Scored(path, 1.0),)))
    assert list(column.cards) == cards


def test_ends_are_the_names_of_entities() -> None:
    """A passage may write an entity otherwise; the next fact of the path starts from it all the same."""
    path = (Triple("a", "r", "the B", tail_name="b"), Triple("b", "s", "c"))
    (column,) = arrange_columns(Evidence(paths=(Scored(path, 1.0),)))
    assert [card.title for card in column.cards] == ["a", "b", "c"]


def test_chains_come_before_paths_and_passages_alone_where_there_is_neither() -> None:
    evidence = make_evidence()
    assert [column.heading for column in arrange_columns(evidence)] == ["Chain", "Path"]
    chain = arrange_columns(evidence)[0].cards
    assert [card.hop for card in chain] == [None, Hop("joined by Louis Palander")]
    (only,) = arrange_columns(Evidence(evidence.passages))
    assert [(card.source, card.hop) for card in only.cards] == [("ship#1", None), ("man#1", None)]
    (empty,) = arrange_columns(Evidence())
    assert (empty.heading, empty.cards) == ("Nothing was found", ())


def test_the_number_of_columns_is_bounded() -> None:
    (path,), (chain,) = make_evidence().paths, make_evidence().chains
    columns = arrange_columns(Evidence(paths=(path,) * 9, chains=(chain,) * 9))
    assert [column.heading for column in columns] == [
        "Chain 1 of 9", "Chain 2 of 9", "Path 1 of 9", "Path 2 of 9", "Path 3 of 9",
    ]  # fmt: skip
