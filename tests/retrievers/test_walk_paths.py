"""Walks as triples: each is stated by its passages."""

import numpy as np
import pytest

from clew.index import Index
from clew.retrievers.supporting_passages import walk_path
from clew.types import Document, Triple
from clew.types import Path as Chain
from tests.small_index import make_index

CORPUS = (
    Document("archer", "Colin Archer", "Colin Archer was born in Larvik."),
    Document("fram", "Fram (ship)", "The Fram was built by Colin Archer."),
    Document("star", "Vega (star)", "A bright star."),
    Document("ship", "Vega (ship)", "A steamer of whalers."),
    Document("untitled", "", "It passed the Vega at night."),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("explained") / "index", CORPUS)


def path(index: Index, *ids: str, hidden: str = "") -> Chain:
    positions = list(index.snapshot.passage_ids)
    allowed = np.array([id_ != hidden for id_ in positions])
    return walk_path(index.snapshot, [positions.index(id_) for id_ in ids], allowed)


BUILT = Triple("Fram (ship)", "was built by", "Colin Archer", ("fram",))


def test_a_triple_is_the_same_in_both_directions(index: Index) -> None:
    assert path(index, "fram", "archer") == (BUILT,)
    assert path(index, "archer", "fram") == (BUILT,)


def test_a_walk_of_one_node_has_no_steps(index: Index) -> None:
    assert path(index, "fram") == path(index) == ()


def test_a_mention_without_a_triple_belongs_to_the_mentioning_passage(index: Index) -> None:
    mention = Triple("untitled", "mentions", "Vega", ("untitled",), tail_name="Vega (star)")
    assert path(index, "star", "untitled") == path(index, "untitled", "star") == (mention,)


def test_every_edge_yields_a_triple_of_its_passage(small: Index) -> None:
    s = small.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    entities, names = list(s.entities), [title or id_ for id_, title in zip(s.passage_ids, s.titles, strict=True)]
    facts = {s.triple(position) for position in range(len(s.triples))}
    mentions = {
        (s.passage_ids[p], names[p], entities[int(e)]) for p in range(len(s.passage_ids)) for e in s.mentions.row(p)
    }
    kinds = set()
    for one in range(s.walk.row_count):
        for other in s.walk.row(one):
            (triple,) = walk_path(s, [one, int(other)], everything)
            if triple not in facts:
                assert triple.relation == "mentions"
                assert (triple.passages[0], triple.head, triple.entities[1]) in mentions
            kinds.add(triple in facts)
    assert kinds == {True, False}


def test_a_filter_hides_the_triple_but_not_the_step(index: Index) -> None:
    assert path(index, "fram", "archer", hidden="star") == (BUILT,)
