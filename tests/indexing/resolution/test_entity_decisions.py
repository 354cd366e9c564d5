"""Decisions on entities against a naive oracle, and what each of them leaves in the graph of a small corpus."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.snapshot.snapshot import Snapshot, named_arrays
from clew.index import Index
from clew.indexing.merging.corrected_arrays import with_corrected_entities
from clew.indexing.resolution.entity_decisions import ABSENT, AMBIGUOUS, NO_MENTION, SAME, apply_decisions
from clew.store.entity_decisions import FORGET, MERGE, RENAME, SPLIT, EntityDecision
from clew.types import Document
from tests.oracles.corrected_entities import NaiveEntities
from tests.small_index import DOCUMENTS, make_index

SMITHS = (
    Document("boats", "", "John Smith was a carpenter in Leith. John Smith built boats with Anna Berg."),
    Document("navy", "", "John Smith sailed from Portsmouth. John Smith knew Horatio Nelson."),
    Document("repair", "", "J. Smith repaired the boats of Anna Berg in Leith."),
    Document("anna", "Anna Berg", "Anna Berg was born in Bergen and lived in Leith."),
    Document("two", "Harbours", "Portsmouth traded with Leith.\n\nHoratio Nelson visited Bergen."),
)
IDS = tuple(document.id for document in SMITHS)
NAMES = ("John Smith", "J. Smith", "Anna Berg", "Leith", "Portsmouth", "Horatio Nelson", "Bergen", "Nobody")
NEW_NAMES = ("The Carpenter", "The Admiral", "Another", "Somebody")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of the Smiths, to which tests must not write."""
    return make_index(tmp_path_factory.mktemp("decisions") / "index", SMITHS)


def corrected(index: Index, *decisions: EntityDecision) -> Snapshot:
    return with_corrected_entities(index.snapshot, apply_decisions(index.snapshot, decisions))


def mentions(snapshot: Snapshot) -> set[tuple[str, str]]:
    names, ids = list(snapshot.entities), list(snapshot.passage_ids)
    return {(ids[p], names[int(e)]) for p in range(len(ids)) for e in snapshot.mentions.row(p)}


def stated(snapshot: Snapshot) -> set[tuple[str, str, str, str]]:
    names, ids = list(snapshot.entities), list(snapshot.passage_ids)
    return {
        (names[h], snapshot.relations[r], names[t], ids[int(p)])
        for position, (h, r, t) in enumerate(snapshot.triples.tolist())
        for p in snapshot.triple_passages.row(position)
    }


def passages_of(snapshot: Snapshot, name: str) -> set[str]:
    (entity,) = snapshot.entities_with_name(name)
    return {snapshot.passage_ids[int(p)] for p in snapshot.passages_of(int(entity))}


@st.composite
def decision_lists(draw: st.DrawFn) -> Sequence[EntityDecision]:
    """Draw decisions; each gives a name that nothing has had before, so that names stay labels of one entity."""
    fresh = list(NEW_NAMES)
    known, made = list(NAMES), []
    for number in range(1, draw(st.integers(1, len(fresh))) + 1):
        action = draw(st.sampled_from((MERGE, SPLIT, RENAME, FORGET)))
        count = min(3, len(known)) if action == MERGE else 1
        names = draw(st.lists(st.sampled_from(known), min_size=count, max_size=count, unique=action == MERGE))
        new = "" if action == FORGET else fresh.pop()
        documents = tuple(draw(st.sets(st.sampled_from(IDS), min_size=1))) if action == SPLIT else ()
        made.append(EntityDecision(number, action, tuple(names), new, documents))
        known = [name for name in known if name not in names] + ([new] if new else [])
        known += names if action == SPLIT else []
    return made


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(decisions=decision_lists())
def test_entities_and_facts_are_those_of_the_naive_oracle(index: Index, decisions: Sequence[EntityDecision]) -> None:
    naive, made = NaiveEntities.read(index.snapshot), corrected(index, *decisions)
    naive.apply(decisions)
    assert mentions(made) == naive.mentions()
    assert stated(made) == naive.stated()
    assert set(made.entities) == {name for _, name in naive.mentions()}
    for name in made.entities:
        assert [made.entities[int(e)] for e in made.entities_with_name(name)] == [name]
    sentence_entities = np.unique(made.sentence_rows.entities.indices)
    assert set(sentence_entities.tolist()) <= set(range(len(made.entities)))


def test_without_a_decision_every_array_has_the_same_bytes(tmp_path: Path) -> None:
    index = make_index(tmp_path, DOCUMENTS)
    made = with_corrected_entities(index.snapshot, apply_decisions(index.snapshot, ()))
    arrays = dict(named_arrays(made))
    for name, array in named_arrays(index.snapshot):
        assert array.tobytes() == arrays[name].tobytes(), name
        assert array.dtype == arrays[name].dtype, name


def test_a_merged_entity_has_both_names_and_all_facts(index: Index) -> None:
    made = corrected(index, EntityDecision(1, MERGE, ("J. Smith", "John Smith"), "Jack Smith"))
    for name in ("Jack Smith", "J. Smith", "John Smith"):
        assert passages_of(made, name) == {"boats", "navy", "repair"}
    (entity,) = made.entities_with_name("Jack Smith")
    facts = map(made.triple, range(len(made.triples)))
    stated_ends = {(fact.head, fact.head_name) for fact in facts if "Jack" in fact.head_name}
    assert stated_ends == {("John Smith", "Jack Smith"), ("J. Smith", "Jack Smith")}
    assert made.entities[int(entity)] == "Jack Smith"


def test_homonyms_are_told_apart_and_share_the_name(index: Index) -> None:
    made = corrected(index, EntityDecision(1, SPLIT, ("John Smith",), "John Smith (navy)", ("navy",)))
    assert passages_of(made, "John Smith (navy)") == {"navy"}
    assert passages_of(made, "John Smith") == {"boats"}
    both = corrected(
        index,
        EntityDecision(1, SPLIT, ("John Smith",), "John Smith (navy)", ("navy",)),
        EntityDecision(2, RENAME, ("John Smith",), "John Smith (Leith)"),
    )
    found = both.entities_with_name("John Smith")
    assert sorted(both.entities[int(e)] for e in found) == ["John Smith (Leith)", "John Smith (navy)"]


def test_a_forgotten_entity_is_in_no_sentence_fact_or_name(index: Index) -> None:
    made = corrected(index, EntityDecision(1, FORGET, ("Leith",)))
    assert "Leith" not in set(made.entities)
    assert not len(made.entities_with_name("leith"))
    assert not any("Leith" in fact for fact in stated(made))
    assert len(made.entities) == len(index.snapshot.entities) - 1


def test_a_decision_whose_names_are_gone_says_why(index: Index) -> None:
    decisions = (
        EntityDecision(1, RENAME, ("Nobody",), "Somebody"),
        EntityDecision(2, MERGE, ("Leith", "Nobody"), "Leith"),
        EntityDecision(3, MERGE, ("Leith", "leith"), "Leith"),
        EntityDecision(4, SPLIT, ("Leith",), "South Leith", ("navy",)),
        EntityDecision(5, SPLIT, ("John Smith",), "John Smith (navy)", ("navy",)),
        EntityDecision(6, RENAME, ("John Smith",), "John Smith (Leith)"),
        EntityDecision(7, FORGET, ("john smith",)),
        EntityDecision(8, RENAME, ("Bergen",), "Bergen in Norway"),
    )
    problems = dict(apply_decisions(index.snapshot, decisions).problems)
    assert problems == {1: ABSENT, 2: ABSENT, 3: SAME, 4: NO_MENTION, 7: AMBIGUOUS}


def test_names_that_decisions_give_are_hidden_where_passages_are_selected(index: Index) -> None:
    decisions = (
        EntityDecision(1, RENAME, ("Anna Berg",), "Codename Basilisk"),
        EntityDecision(2, MERGE, ("Codename Basilisk", "Bergen"), "Secret"),
        EntityDecision(3, SPLIT, ("John Smith",), "Informant", ("navy",)),
    )
    made = with_corrected_entities(index.snapshot, apply_decisions(index.snapshot, decisions, show_names=False))
    assert not {"Codename Basilisk", "Secret", "Informant"} & set(made.entities)
    assert all(not len(made.entities_with_name(name)) for name in ("Codename Basilisk", "Secret", "Informant"))
    assert passages_of(made, "Bergen") == {"repair", "boats", "anna", "two"}
