"""The local reader: it uses triples of the index alone, and leads on from name to name."""

import pytest

from clew.index import Index
from clew.retrievers.agents.local_reader import NOTE, LocalReader
from clew.types import Fact, Passage, ReaderInput

QUESTION = "Who founded the school where the boat James Caird is kept today?"


@pytest.fixture(scope="module")
def reader(plain_polar: Index) -> LocalReader:
    parts = plain_polar.context
    return LocalReader(parts.scope, parts.triple_vectors, parts.encode_questions, 0.7, max_facts=12)


def passages(index: Index, *names: str) -> tuple[Passage, ...]:
    return tuple(index.snapshot.passage(index.snapshot.position(name)) for name in names)


def test_the_most_similar_triples_of_the_passages_are_read(plain_polar: Index, reader: LocalReader) -> None:
    inputs = passages(plain_polar, "james-caird.md", "dulwich-college.md")
    (reading,) = reader.read([ReaderInput(QUESTION, inputs)])
    s = plain_polar.snapshot
    assert len(reading.facts) == 12
    assert reading.notes == (NOTE,)
    for fact in reading.facts:
        triple = s.triple(fact.triple)
        head, relation, tail = s.triples[fact.triple]
        assert (fact.head, fact.relation, fact.tail) == (s.entities[head], s.relations[relation], s.entities[tail])
        assert set(triple.passages) & {passage.id for passage in inputs}
    (less,) = reader.read([ReaderInput(QUESTION, inputs, gist=reading.facts[:5])])
    assert list(less.facts[:7]) == list(reading.facts[5:])


def test_without_passages_nothing_is_read(plain_polar: Index, reader: LocalReader) -> None:
    assert reader.read([]) == []
    assert reader.read([ReaderInput(QUESTION)])[0].facts == ()
    assert reader.judge([ReaderInput(QUESTION)])[0].enough
    assert reader.think([ReaderInput(QUESTION)])[0].answered


def test_the_next_query_has_the_name_that_the_passages_lead_to(plain_polar: Index, reader: LocalReader) -> None:
    inputs = passages(plain_polar, "james-caird.md", "dulwich-college.md", "tom-crean.md")
    (verdict,) = reader.judge([ReaderInput(QUESTION, inputs, queries=(QUESTION,))])
    assert (verdict.enough, verdict.query) == (False, f"{QUESTION} Dulwich College")
    (verdict,) = reader.judge([ReaderInput(QUESTION, inputs, queries=(QUESTION, verdict.query))])
    assert verdict.query == f"{QUESTION} Tom Crean"
    (verdict,) = reader.judge([ReaderInput(QUESTION, inputs[:2], queries=(QUESTION, f"{QUESTION} Dulwich College"))])
    assert verdict.enough


def test_thoughts_are_triples_of_no_earlier_thought(plain_polar: Index, reader: LocalReader) -> None:
    inputs = passages(plain_polar, "james-caird.md")
    thoughts: tuple[str, ...] = ()
    for _ in range(3):
        (thought,) = reader.think([ReaderInput(QUESTION, inputs, thoughts=thoughts)])
        assert thought.text not in thoughts
        thoughts += (thought.text,)
    first = reader.read([ReaderInput(QUESTION, inputs)])[0].facts[0]
    assert thoughts[0] == Fact(first.head, first.relation, first.tail).text


def test_a_name_is_followed_only_for_a_gain_in_words(plain_polar: Index) -> None:
    """Tom Crean's article adds no word of the question to those of the two others; the college's adds some."""
    parts = plain_polar.context
    question = "Who founded the school where the boat James Caird is kept today?"
    college, caird, crean = passages(plain_polar, "dulwich-college.md", "james-caird.md", "tom-crean.md")

    def judge(gain: float, *found: Passage, queries: tuple[str, ...] = (question,)) -> tuple[bool, str]:
        reader = LocalReader(
            parts.scope, parts.triple_vectors, parts.encode_questions, 0.7, lexical=parts.lexical, min_gain=gain
        )
        (decision,) = reader.judge([ReaderInput(question, found, queries=queries)])
        return decision.enough, decision.query

    def words(passage: Passage) -> set[int]:
        return set(parts.lexical.passage_terms(plain_polar.snapshot.position(passage.id)).tolist())

    terms, weights, _ = parts.lexical.query(question).arrays
    gain = float(weights[[t in words(college) - words(caird) for t in terms.tolist()]].sum() / weights.sum())
    assert 0 < gain < 1
    assert judge(gain - 1e-6, caird, college) == (False, f"{question} Dulwich College")
    assert judge(gain + 1e-6, caird, college) == (True, "")
    followed = (question, f"{question} Dulwich College")
    assert judge(0.0, caird, college, crean, queries=followed) == (False, f"{question} Tom Crean")
    assert judge(0.05, caird, college, crean, queries=followed) == (True, "")
    # The boat that the question names is not found: every new name is followed.
    assert judge(0.99, crean) == (False, f"{question} Tom Crean")
