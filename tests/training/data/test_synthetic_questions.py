"""Generated questions: each is a walk over facts of different passages and names no entity in between."""

from itertools import pairwise

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.text.normalization import strip_parentheses
from clew.training.data import synthetic_questions
from clew.training.data.synthetic_questions import PathQuestionMaker


def test_the_same_seed_generates_the_same_questions(polar: Index) -> None:
    one, same, other = (PathQuestionMaker(polar.snapshot, seed).make(50) for seed in (1, 1, 2))
    assert one == same
    assert [q.text for q in one] != [q.text for q in other]
    assert len({q.id for q in one}) == len(one) == 50
    assert len({tuple(sorted(q.gold)) for q in one}) == 50


def test_each_question_needs_two_to_four_passages(polar: Index) -> None:
    known = set(polar.snapshot.passage_ids)
    made = PathQuestionMaker(polar.snapshot, 3).make(80)
    assert len(made) == 80
    for question in made:
        assert 2 <= len(question.gold) <= 4
        assert len(question.gold) == question.hops
        assert set(question.gold) <= known
        assert question.text.endswith("?")


def test_a_walk_follows_connected_facts_through_new_passages(polar: Index) -> None:
    maker = PathQuestionMaker(polar.snapshot, 0)
    s = polar.snapshot
    stated = {
        (int(h), s.relations[int(r)], int(t), int(p))
        for place, (h, r, t) in enumerate(s.triples.tolist())
        for p in s.triple_passages.row(place)
    }
    walks = [walk for walk in (maker._sample_walk() for _ in range(200)) if walk]
    assert walks
    for steps in walks:
        assert len({step.passage for step in steps}) == len(steps)
        for step in steps:
            ends = (step.start, step.end) if step.forward else (step.end, step.start)
            assert (ends[0], step.relation, ends[1], step.passage) in stated
        entities = [steps[0].start, *(step.end for step in steps)]
        assert len(set(entities)) == len(entities)
        assert all(one.end == other.start for one, other in pairwise(steps))


def test_the_text_names_the_start_and_nothing_in_between(polar: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic_questions, "_REPEATED_SHARE", 1.0)
    maker, names = PathQuestionMaker(polar.snapshot, 5), polar.snapshot.entities
    walks = [walk for walk in (maker._sample_walk() for _ in range(300)) if len(walk) > 1]
    for steps in walks:
        text = maker._verbalize(steps)
        assert strip_parentheses(names[steps[0].start]) in text
        for step in steps:
            near = maker._nearby_words(step)
            stated = polar.snapshot.texts[step.passage].split()
            assert all(any(word in other for other in stated) for word in near)
            far = strip_parentheses(names[step.end if step.forward else step.start])
            assert not {word.strip(",.;()").casefold() for word in near} & set(far.casefold().split())


def test_few_words_of_a_text_are_repeated(polar: Index) -> None:
    questions = PathQuestionMaker(polar.snapshot, 5).make(60)
    texts = dict(zip(polar.snapshot.passage_ids, polar.snapshot.texts, strict=True))
    shares = []
    for question in questions:
        words = {word.strip(",.?").casefold() for word in question.text.split()}
        known = {word.strip(",.?").casefold() for id_ in question.gold for word in texts[id_].split()}
        shares.append(len(words & known) / len(known))
    assert max(shares) < 0.3


def test_an_index_without_connected_passages_is_refused(empty_index: Index) -> None:
    with pytest.raises(InputError, match="name each other's subjects"):
        PathQuestionMaker(empty_index.snapshot).make(10)


@pytest.mark.slow
def test_fewer_questions_are_returned_if_there_are_no_more(polar: Index) -> None:
    few = PathQuestionMaker(polar.snapshot, 0)
    few._starts = few._starts[:1]
    assert 0 < len(few.make(500)) < 500
