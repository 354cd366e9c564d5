from pathlib import Path

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.errors import IndexFormatError, IndexLockedError, InputError, ProviderError
from clew.store import passage_table
from clew.store.dataset import open_existing
from clew.store.inspection import verify
from clew.store.location import Location
from clew.store.passage_table import PassageTable
from clew.store.schema import passages_schema, rows_to_table
from tests.store.rows import SETTINGS, WIDTH, data_files, make_documents, make_index, make_row

ODD_IDS = ["it's", 'a "b"', "a/b\\c", "🙂", "", "new\nline", "nul\0x", "100%_", "x'); --", "`x`", "\\'", "é", "e\u0301"]


def test_opens_without_settings(tmp_path: Path) -> None:
    PassageTable.create(tmp_path / "new" / "index", SETTINGS, WIDTH)
    table = PassageTable.open(tmp_path / "new" / "index")
    assert (table.settings, table.dimension, table.count_rows()) == (SETTINGS, WIDTH, 0)
    assert table.document_hashes() == {}
    assert table.read().schema.equals(passages_schema(WIDTH))


def test_rows_come_back_as_they_were_sorted_by_document_and_ordinal(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    given_rows = make_documents(("b", 3), ("é", 1), ("a", 2), ("Z", 1))
    table.replace(given_rows.take([2, 0, 5, 6, 1, 3, 4]), ["a", "b", "é", "Z"])
    assert PassageTable.open(tmp_path).read().equals(make_documents(("Z", 1), ("a", 2), ("b", 3), ("é", 1)))
    assert table.read(["ordinal", "title"]).column_names == ["ordinal", "title"]
    assert table.document_hashes() == {"Z": "Z/1", "a": "a/1", "b": "b/1", "é": "é/1"}


def test_an_index_without_vectors_has_no_vector_column(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, 0)
    table.replace(make_documents(("a", 3)).drop_columns(["vector"]), ["a"])
    reopened = PassageTable.open(tmp_path)
    assert (reopened.dimension, "vector" in reopened.read().column_names) == (0, False)


def test_any_document_id_can_be_written_replaced_and_deleted(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(*((id_, 2) for id_ in ODD_IDS)), ODD_IDS)
    assert list(table.document_hashes()) == sorted(ODD_IDS)
    for id_ in ODD_IDS:
        before = table.document_hashes()
        table.replace(make_documents((id_, 1), state="2"), [id_])
        assert table.document_hashes() == {**before, id_: f"{id_}/2"}
    for remaining, id_ in enumerate(ODD_IDS, start=1):
        assert table.delete([id_]) == 1
        assert table.count_rows() == len(ODD_IDS) - remaining


def test_one_commit_adds_replaces_and_removes_documents(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 3), ("b", 2), ("c", 1))
    before = table.version
    table.replace(make_documents(("a", 4), ("d", 1), state="2"), ["a", "b", "d"])
    assert table.version == before + 1
    assert table.document_hashes() == {"a": "a/2", "c": "c/1", "d": "d/2"}


def test_nothing_to_do_makes_no_version(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 1))
    before = table.version
    assert table.delete(["absent"]) == 0
    assert table.delete([]) == 0
    table.replace(make_documents(), ["absent"])
    table.replace(make_documents(), [])
    assert (table.version, table.open_latest().version) == (before, before)


@pytest.mark.slow
def test_ten_thousand_documents_can_be_replaced_and_deleted_at_once(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, {}, 0)
    ids = [f"it's {number}" for number in range(10_000)]
    first = rows_to_table([make_row(id_, 0) for id_ in ids], 0)
    table.replace(first, ids)
    table.replace(rows_to_table([make_row(id_, 0, "2") for id_ in ids], 0), ids)
    assert (table.count_rows(), set(table.document_hashes().values())) == (10_000, {f"{id_}/2" for id_ in ids})
    assert table.delete(ids) == 10_000


def test_writing_from_an_older_version_is_refused(tmp_path: Path) -> None:
    stale = make_index(tmp_path, ("a", 3))
    PassageTable.open(tmp_path).replace(make_documents(("b", 1)), ["b"])
    with pytest.raises(IndexLockedError, match="is at version 3, but was opened at version 2"):
        stale.replace(make_documents(("b", 1)), ["b"])
    with pytest.raises(IndexLockedError):
        stale.delete(["a"])
    with pytest.raises(IndexLockedError):
        stale.compact()


def test_compaction_keeps_the_content_and_the_versions_being_read(tmp_path: Path) -> None:
    writer = make_index(tmp_path, *((f"d{number}", 2) for number in range(6)))
    reader = PassageTable.open(tmp_path)
    writer.delete(["d0"])
    content = writer.read()
    assert writer.compact() > 0
    assert writer.read().equals(content)
    assert reader.read().num_rows == 12
    assert len(data_files(tmp_path)) == 7
    old = reader.version
    del reader
    assert writer.compact() == 1
    assert len(data_files(tmp_path)) == 1
    assert PassageTable.open(tmp_path).read().equals(content)
    assert old not in [stored.version for stored in writer.versions()]
    assert writer.compact() == 0


def test_deleted_text_is_gone_from_disk_after_compaction(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("keep", 60), ("secret", 1))
    table.compact()
    table.delete(["secret"])
    table.compact()
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"Title of keep" in stored
    assert b"secret" not in stored


def test_no_index_says_how_to_make_one(tmp_path: Path) -> None:
    (tmp_path / "empty" / "passages.lance").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "absent", tmp_path / "empty"):
        with pytest.raises(IndexFormatError, match=r"no Clew index at .*: make one with `clew index PATH"):
            PassageTable.open(folder)


@pytest.mark.parametrize(("number", "step"), [("2", "install a newer Clew"), ("0", "create it again")])
def test_another_format_names_both_numbers(tmp_path: Path, number: str, step: str) -> None:
    schema = passages_schema(0).with_metadata({"clew.format": number, "clew.settings": "{}"})
    lance.write_dataset(schema.empty_table(), str(tmp_path / "passages.lance"), schema=schema)
    with pytest.raises(IndexFormatError, match=f"has format {number}, .* reads format 1: {step}"):
        PassageTable.open(tmp_path)


def test_a_place_that_cannot_be_written_is_a_providers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match="choose another folder"):
        PassageTable.create(tmp_path / "file" / "index", {}, 0)


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 2))
    data = tmp_path / "passages.lance" / "data"
    data.rename(tmp_path / "kept")
    data.write_text("")
    with pytest.raises(ProviderError):
        table.replace(make_documents(("b", 1)), ["b"])
    data.unlink()
    (tmp_path / "kept").rename(data)
    assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1"}
    table.replace(make_documents(("b", 1)), ["b"])
    assert table.document_hashes() == {"a": "a/1", "b": "b/1"}


def test_settings_that_are_not_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="index settings"):
        PassageTable.create(tmp_path, {"x": object()}, 0)
    assert not (tmp_path / "passages.lance").exists()


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 2))
    rows = make_documents(("b", 1))
    cases = [
        (rows, ["c"], "rows of document 'b'"),
        (pa.concat_tables([rows, rows]), ["b"], "'b#0' occurs more than once"),
        (rows_to_table([make_row("b", 0, id_="a#1")], WIDTH), ["b"], "'a#1' belongs to document 'a' already"),
        (rows.drop_columns(["title"]), ["b"], r"\['title'\]"),
        (rows.set_column(4, "text", pa.array([None], pa.string())), ["b"], "column 'text' lacks a value"),
        (rows.set_column(2, "ordinal", pa.array(["x"])), ["b"], "do not have the table's types"),
    ]
    for bad, ids, message in cases:
        with pytest.raises(InputError, match=message):
            table.replace(bad, ids)
    with pytest.raises(InputError, match="no column 'nope'"):
        table.read(["nope"])
    assert table.open_latest().version == table.version


def test_damage_that_lance_reads_without_an_error_is_noticed(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 2))
    file = data_files(tmp_path)[0]
    file.write_bytes(file.read_bytes().replace(b"London is passage", b"London is passagf", 1))
    assert table.count_rows() == 2
    with pytest.raises(IndexFormatError, match=r"1 passage of .* is not what was written, the first is 'a#0'"):
        table.open_latest().read()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.sampled_from(["a", "b'", "ç"]), st.integers(0, 3), min_size=1)),
        max_size=5,
    )
)
def test_any_history_gives_the_contents_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[bool, dict[str, int]]]
) -> None:
    table = PassageTable.create(tmp_path_factory.mktemp("index"), {}, WIDTH)
    expected: dict[str, int] = {}
    for adding, sizes in history:
        if adding:
            table.replace(make_documents(*sizes.items()), list(sizes))
            expected = {id_: size for id_, size in {**expected, **sizes}.items() if size}
        else:
            assert table.delete(list(sizes)) == sum(expected.pop(id_, 0) for id_ in sizes)
    assert table.open_latest().read().equals(make_documents(*sorted(expected.items())))


def test_fragments_written_elsewhere_are_added_in_one_commit(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 3), ("b", 2), ("c", 1))
    before = table.read()
    other = PassageTable.open(tmp_path)  # as on another machine
    fragments = other.write_fragments(make_documents(("a", 1), ("d", 2), state="2"), ["a", "d"]).records
    fragments += other.write_fragments(make_documents(("b", 4), state="2"), ["b"]).records
    assert table.read().equals(before)
    assert table.read_fragments(fragments, ["document_id"])["document_id"].to_pylist() == ["a", "d", "d", *"bbbb"]
    version = table.version
    table.commit_fragments(fragments, pa.array(["a", "b", "d"]))
    assert table.version == version + 1
    fresh = make_index(tmp_path / "fresh", ("c", 1))
    fresh.replace(make_documents(("a", 1), ("d", 2), ("b", 4), state="2"), ["a", "b", "d"])
    assert table.read().equals(fresh.read())
    assert verify(tmp_path) == []
    assert other.read().equals(before)
    with pytest.raises(IndexLockedError, match="another writer changed it"):
        other.commit_fragments(fragments, pa.array([], pa.string()))


def test_fragments_are_taken_back_where_another_machine_was_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_index(tmp_path, ("a", 1))
    other = PassageTable.open(tmp_path)
    nothing = pa.array([], pa.string())
    fragments = [t.write_fragments(make_documents(("b", 2)), ["b"]).records for t in (table, other)]
    table.commit_fragments(fragments[0], nothing)
    monkeypatch.setattr("clew.store.passage_table._check_newest", lambda *_: None)  # both had looked before
    with pytest.raises(IndexLockedError, match="at the same moment"):
        other.commit_fragments(fragments[1], nothing)
    assert PassageTable.open(tmp_path).read().equals(table.read())


@pytest.mark.parametrize("has_opened", [True, False])
def test_a_version_that_is_dropped_while_it_is_opened_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_opened: bool
) -> None:
    writer = make_index(tmp_path, ("a", 1))
    turns: list[object] = []

    def open_late(location: Location) -> object:
        dataset = open_existing(location)
        if not turns:
            turns.append(dataset)
            writer.replace(make_documents(("b", 2)), ["b"])
            writer.compact()
            if not has_opened:
                raise IndexFormatError("a file of the index is missing while opening it")
        return dataset

    monkeypatch.setattr(passage_table, "open_existing", open_late)
    table = PassageTable.open(tmp_path)
    assert table.version == writer.version
    assert sorted(table.document_hashes()) == ["a", "b"]
    turns.clear()
    monkeypatch.setattr(passage_table, "open_existing", fail_to_open)
    with pytest.raises(IndexFormatError, match="is damaged"):
        PassageTable.open(tmp_path)


def fail_to_open(location: Location) -> object:
    raise IndexFormatError(f"{location.name} is damaged")
