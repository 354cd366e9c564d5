"""Entities that people correct, through the index: refusals, decisions that outlive changes, candidates."""

from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing.kg_import import clean_graph_name
from clew.store.inspection import verify
from clew.types import Document
from tests.small_index import make_index

CARPENTER = Document(
    "carpenter", "", "John Smith was a carpenter in Leith. John Smith built boats with Anna Berg.", {"trade": "wood"}
)
ADMIRAL = Document(
    "admiral", "", "John Smith was an admiral from Portsmouth. John Smith knew Horatio Nelson.", {"trade": "sea"}
)
REPAIR = Document("repair", "", "J. Smith repaired the boats of Anna Berg in Leith.", {"trade": "wood"})
WORKSHOP = Document("leith.md", "Leith workshop", "The Leith workshop mends keels and sails.", aliases=("leith",))
OFFICE = Document("office", "", "Ola Dahl met Anna Berg at the office in Leith.", {"trade": "law"})
DOCUMENTS = (CARPENTER, ADMIRAL, REPAIR, WORKSHOP, OFFICE)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return make_index(tmp_path / "index", DOCUMENTS, "none")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index to which tests must not write."""
    return make_index(tmp_path_factory.mktemp("entities") / "index", DOCUMENTS, "none")


def mentions(index: Index) -> dict[str, list[str]]:
    """Return the passages of each entity, by its name."""
    s = index.snapshot
    return {name: [s.passage_ids[int(p)] for p in s.passages_of(entity)] for entity, name in enumerate(s.entities)}


def corrected(index: Index) -> None:
    index.merge_entities(["John Smith", "J. Smith"])
    index.split_entity("John Smith", "Admiral Smith", where="trade = 'sea'")
    index.rename_entity("Anna Berg", "Anna Berg of Leith")
    index.forget_entity("Horatio Nelson")


def test_each_change_is_one_version_and_one_row(index: Index) -> None:
    before = index.table.version
    corrected(index)
    found = mentions(index)
    assert found["John Smith"] == ["carpenter", "repair"]
    assert found["Admiral Smith"] == ["admiral"]
    assert found["Anna Berg of Leith"] == ["carpenter", "office", "repair"]
    assert not {"J. Smith", "Anna Berg", "Horatio Nelson"} & found.keys()
    assert index.table.version == before + 4
    states = index.entity_decisions
    assert [state.decision.action for state in states] == ["merge", "split", "rename", "forget"]
    assert states[1].decision.documents == ("admiral",)
    assert all(state.decision.time.endswith("Z") and not state.note for state in states)
    assert index.table.count_rows() == len(DOCUMENTS)
    assert index.stats().graphs == ()


def test_decisions_outlive_every_change_of_the_index(index: Index) -> None:
    corrected(index)
    expected = mentions(index)
    index.add([Document("later", "", "J. Smith met Anna Berg and Horatio Nelson in Bergen.")])
    assert mentions(index)["John Smith"] == ["carpenter", "later", "repair"]
    assert "Horatio Nelson" not in mentions(index)
    index.remove(["later"])
    assert mentions(index) == expected
    index.add([Document("admiral", "", f"{ADMIRAL.text} John Smith was proud.", ADMIRAL.metadata)])
    assert mentions(index)["Admiral Smith"] == ["admiral"]
    index.compact()
    index.reencode("hashing")
    location = index.table.location.name
    index.close()
    opened = clew.open(location)
    assert mentions(opened)["Admiral Smith"] == ["admiral"]
    assert len(opened.entity_decisions) == 4
    assert verify(location) == []


def test_parts_of_a_shared_run_keep_decisions(index: Index, tmp_path: Path) -> None:
    corrected(index)
    source = tmp_path / "more"
    source.mkdir()
    (source / "more.txt").write_text("J. Smith sold a boat to Ola Dahl.", encoding="utf-8")
    index.stage_part([source], "1/1", str(tmp_path / "staged"))
    index.commit_parts(str(tmp_path / "staged"))
    assert mentions(index)["John Smith"] == ["carpenter", "more.txt", "repair"]


def test_a_restored_version_has_the_decisions_of_its_time(index: Index) -> None:
    before, version = mentions(index), index.table.version
    corrected(index)
    index.restore(version)
    assert mentions(index) == before
    assert index.entity_decisions == ()
    assert index.forget_entity("Leith workshop").number == 1


def test_the_snapshot_of_an_index_whose_decisions_are_undone_is_that_of_before(index: Index) -> None:
    before = {p.name: p.read_bytes() for p in index.snapshot_folder.glob("*.npy")}
    index.rename_entity("Anna Berg", "Somebody")
    index.undo_entity_decision()
    assert {p.name: p.read_bytes() for p in index.snapshot_folder.glob("*.npy")} == before
    assert [state.note for state in index.entity_decisions] == ["undone", ""]


def test_decisions_reach_imported_graphs_and_outlive_them(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "family.tsv"
    file.write_text("John Smith\tspouse\tMary Hay\nJohnny Smith\tworked for\tMary Hay\n", encoding="utf-8")
    index.import_graph(file, "family")
    index.merge_entities(["John Smith", "Johnny Smith"])
    index.split_entity("John Smith", "Admiral Smith", documents=["admiral"])
    assert {(t.head, t.relation) for t in index.triples(tail="Mary Hay")} == {
        ("John Smith", "spouse"),
        ("John Smith", "worked for"),
    }
    assert {t.head_name for t in index.triples(head="Admiral Smith")} == {"Admiral Smith"}
    index.remove(["family"])
    assert [state.note for state in index.entity_decisions] == ["no entity has one of its names now", ""]
    assert mentions(index)["Admiral Smith"] == ["admiral"]


def test_undoing_and_undoing_that(index: Index) -> None:
    index.forget_entity("Anna Berg")
    index.rename_entity("Portsmouth", "Pompey")
    assert index.undo_entity_decision().target == 2
    assert index.undo_entity_decision().target == 1
    assert {"Anna Berg", "Portsmouth"} <= mentions(index).keys()
    index.undo_entity_decision(4)
    assert "Anna Berg" not in mentions(index)
    with pytest.raises(InputError, match="decision 2 is undone already"):
        index.undo_entity_decision(2)
    with pytest.raises(InputError, match="there is no decision 9"):
        index.undo_entity_decision(9)


def test_a_decision_whose_document_is_gone_is_told_and_comes_back_with_it(index: Index) -> None:
    index.split_entity("John Smith", "Admiral Smith", documents=["admiral"])
    index.remove(["admiral"])
    assert [state.note for state in index.entity_decisions] == ["no passage that it means mentions the entity now"]
    index.add([ADMIRAL])
    assert [state.note for state in index.entity_decisions] == [""]
    assert mentions(index)["Admiral Smith"] == ["admiral"]


def test_homonyms_are_listed_and_told_apart_by_context(index: Index) -> None:
    index.merge_entities(["John Smith", "J. Smith"])
    (found,) = [entry for entry in index.ambiguous_entities(name="smith") if entry.name == "John Smith"]
    assert [group.documents for group in found.groups] == [("carpenter", "repair"), ("admiral",)]
    index.split_entity_by_context("John Smith")
    names = [name for name in mentions(index) if name.startswith("John Smith")]
    assert sorted(names) == ["John Smith (Anna Berg)", "John Smith (Horatio Nelson)"]
    assert len(index.snapshot.entities_with_name("John Smith")) == 2
    evidence = index.search("Which admiral was John Smith (Horatio Nelson)?", 1)
    assert evidence.passages[0].item.id == "admiral"
    index.undo_entity_decision(2)
    index.undo_entity_decision(3)
    assert mentions(index)["John Smith"] == ["admiral", "carpenter", "repair"]


def test_a_title_that_took_over_a_town_is_listed_and_corrected(index: Index) -> None:
    best = index.ambiguous_entities()[0]
    assert (best.name, best.reason, best.groups[1].form) == ("Leith workshop", "names", "Leith")
    index.split_entity("Leith workshop", "Leith", form="Leith")
    found = mentions(index)
    assert (found["Leith workshop"], found["Leith"]) == (["leith.md"], ["carpenter", "office", "repair"])
    index.add([Document("later", "", "Anna Berg sold a boat in Leith.")])
    assert "later" in mentions(index)["Leith"]
    assert not [entry for entry in index.ambiguous_entities() if entry.reason == "names"]


def test_duplicates_are_scored_with_what_stands_beside_both(shared: Index) -> None:
    best = shared.duplicate_entities()[0]
    assert set(best.names) == {"John Smith", "J. Smith"}
    assert best.reason == "initials"
    assert "Anna Berg" in best.shared
    assert {citation.document_id for citation in best.citations} == {"repair", "admiral"}
    assert shared.duplicate_entities(name="berg") == []


def test_a_place_and_its_adjective_are_no_candidates(tmp_path: Path) -> None:
    texts = ("Anna Berg sailed to America with Ole Lund.", "Ole Lund was an American, as was Anne Berg.")
    made = make_index(tmp_path / "index", [Document(str(at), "", text) for at, text in enumerate(texts)], "none")
    pairs = [set(pair.names) for pair in made.duplicate_entities()]
    assert {"America", "American"} <= set(made.snapshot.entities)
    assert {"Anna Berg", "Anne Berg"} in pairs
    assert {"America", "American"} not in pairs


def test_what_was_told_apart_is_no_candidate_any_more(index: Index) -> None:
    index.split_entity("John Smith", "John Smyth", documents=["admiral"])
    assert not [pair for pair in index.duplicate_entities() if set(pair.names) == {"John Smith", "John Smyth"}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i: i.merge_entities(["John Smith"]), "two or more entities are merged: name another"),
        (lambda i: i.merge_entities(["John Smith", "john  smith"]), "are one entity already: name others"),
        (
            lambda i: i.merge_entities(["John Smith", "Jon Smith"]),
            "no entity is called 'Jon Smith': did you mean 'John",
        ),
        (lambda i: i.merge_entities(["John Smith", "J. Smith"], "Anna Berg"), "'Anna Berg' is another entity"),
        (lambda i: i.rename_entity("Anna Berg", "John Smith"), "'John Smith' is another entity: merge 'Anna Berg'"),
        (lambda i: i.rename_entity("Anna Berg", "Anna Berg"), "is called so already"),
        (lambda i: i.rename_entity("Anna Berg", " ?! "), "cannot be an entity's name"),
        (lambda i: i.rename_entity("Anna Berg", "x\x1b[31m"), "cannot be an entity's name"),
        (
            lambda i: i.forget_entity("Xyzzy Quux"),
            "no entity is called 'Xyzzy Quux': `clew entities --name`",
        ),
        (lambda i: i.split_entity("John Smith", "X"), "in one way: documents, passages, a filter or a form"),
        (lambda i: i.split_entity("John Smith", "X", documents=["nil"]), "no document has the id 'nil'"),
        (lambda i: i.split_entity("John Smith", "X", passages=["nil"]), "no passage has the id 'nil'"),
        (lambda i: i.split_entity("John Smith", "X", documents=["leith.md"]), "mentions 'John Smith': nothing can be"),
        (lambda i: i.split_entity("J. Smith", "X", documents=["repair"]), "every passage of 'J. Smith' is meant"),
        (lambda i: i.split_entity("John Smith", "Leith workshop", form="J"), "is the name of an entity already"),
        (lambda i: i.split_entity("John Smith", "X", where="nil = 1"), "no passage has the field 'nil'"),
        (lambda i: i.split_entity_by_context("Anna Berg"), "the documents that mention 'Anna Berg' hang together"),
        (lambda i: i.undo_entity_decision(), "there is nothing to undo"),
        (lambda i: i.restrict("trade = 'sea'").forget_entity("John Smith"), "open the index that it is of"),
        (lambda _: clean_graph_name("clew:entity-decisions"), "is that of the decisions on entities"),
        (lambda i: i.remove(["clew:entity-decisions"]), "no document has the id"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(shared: Index, change, message: str) -> None:  # type: ignore[no-untyped-def]
    version = shared.table.version
    with pytest.raises(InputError) as caught:
        change(shared)
    assert message in str(caught.value)
    assert shared.table.open_latest().version == version


def test_a_name_that_was_forgotten_says_by_which_decision(index: Index) -> None:
    index.forget_entity("Anna Berg")
    with pytest.raises(InputError, match="decision 1 forgot it; undo that first"):
        index.merge_entities(["Anna Berg", "John Smith"])


def test_a_selection_shows_nothing_that_decisions_say_of_other_passages(index: Index) -> None:
    question = "Who is the informant Codename Basilisk of Leith?"
    before = index.search(question, 5, "chains", "trade = 'law'")
    index.merge_entities(["Horatio Nelson", "Ola Dahl"], "Codename Basilisk")
    index.rename_entity("Anna Berg", "The informant")
    index.split_entity("John Smith", "The traitor", documents=["admiral"])
    after = index.search(question, 5, "chains", "trade = 'law'")
    assert (after.passages, after.paths, after.notes) == (before.passages, before.paths, before.notes)
    selected = index.restrict("trade = 'law'")
    assert {"Ola Dahl", "Anna Berg"} <= mentions(selected).keys()
    shown = str([selected.duplicate_entities(), selected.ambiguous_entities(), mentions(selected)])
    assert not [word for word in ("Basilisk", "informant", "traitor", "Nelson") if word in shown]
    for name in ("Codename Basilisk", "The informant", "Horatio Nelson"):
        assert not len(selected.snapshot.entities_with_name(name))


def test_shredding_takes_names_that_are_gone_out_of_decisions(index: Index) -> None:
    index.merge_entities(["John Smith", "J. Smith", "Horatio Nelson"], "Jack Smith")
    index.rename_entity("Portsmouth", "Pompey")
    index.forget_entity("Ola Dahl")
    index.split_entity("Jack Smith", "Admiral", documents=["admiral", "repair"])
    index.remove(["admiral"], shred=True)
    kept = {state.decision.number: state.decision for state in index.entity_decisions}
    assert set(kept) == {1, 3, 4}
    assert kept[1].names == ("John Smith", "J. Smith")
    assert kept[4].documents == ("repair",)
    folder = Path(index.table.location.name)
    index.close()
    stored = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert b"Ola Dahl" in stored
    assert not [word for word in (b"Nelson", b"Portsmouth") if word in stored]


def test_decisions_of_another_index_are_added_once(index: Index, tmp_path: Path) -> None:
    corrected(index)
    index.undo_entity_decision()
    other = make_index(tmp_path / "other", DOCUMENTS, "none")
    copied = [state.decision for state in index.entity_decisions]
    assert [d.action for d in other.add_entity_decisions(copied)] == ["merge", "split", "rename"]
    assert mentions(other) == mentions(index)
    assert other.add_entity_decisions(copied) == []
