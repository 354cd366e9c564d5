"""Questions made from chains: each is of two passages that a name joins, and says neither it nor the answer's title."""

from pathlib import Path

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.text.normalization import name_key, strip_parentheses
from clew.training.data import chain_questions
from clew.training.data.chain_questions import ChainQuestionMaker
from clew.types import Document
from tests.small_index import make_index


def test_the_same_seed_generates_the_same_questions(polar: Index) -> None:
    one, same, other = (ChainQuestionMaker(polar.snapshot, seed).make(50) for seed in (1, 1, 2))
    assert one == same
    assert [q.text for q in one] != [q.text for q in other]
    assert len({q.id for q in one}) == len(one) == 50
    assert len({tuple(sorted(q.gold)) for q in one}) == 50


def test_a_name_joins_sentences_of_the_two_passages(polar: Index) -> None:
    s = polar.snapshot
    named: dict[str, set[int]] = {}
    for passage, id_ in enumerate(s.passage_ids):
        for sentence in range(s.sentences.offsets[passage], s.sentences.offsets[passage + 1]):
            named.setdefault(id_, set()).update(s.sentences.entities.row(sentence).tolist())
    for question in ChainQuestionMaker(s, 3).make(80):
        one, other = question.gold
        assert one != other
        assert named[one] & named[other]


def test_the_text_has_neither_the_name_nor_the_title_of_the_second_passage(
    polar: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_questions, "_REPEATED_SHARE", 1.0)
    s, maker = polar.snapshot, ChainQuestionMaker(polar.snapshot, 5)
    titled = 0
    for entity in maker._bridges.tolist():
        first, second = s.sentences.entity_sentences.row(entity)[[0, -1]].tolist()
        passages = maker._passage(first), maker._passage(second)
        text = maker._verbalize(entity, first, second)
        if not text or passages[0] == passages[1]:
            continue
        key = f" {name_key(text)} "
        assert f" {name_key(strip_parentheses(s.entities[entity]))} " not in key
        titled += text.endswith(f" {strip_parentheses(s.titles[passages[0]])}?")
        sources = f"{s.titles[passages[0]]} {s.texts[passages[0]]} {s.texts[passages[1]]}"
        assert all(word in sources for word in text.removeprefix("What ").removesuffix("?").split())
    assert titled


def test_documents_that_share_no_name_give_no_questions(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", [Document("a", "Oslo", "It rains."), Document("b", "Rome", "It is hot.")])
    with pytest.raises(InputError, match="no name joins"):
        ChainQuestionMaker(index.snapshot).make(10)
