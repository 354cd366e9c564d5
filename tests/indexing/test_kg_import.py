"""Graphs in an index: alone and with documents, imported again, changed, removed, compared, verified."""

import gzip
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

import clew
from clew.errors import ClewError, InputError
from clew.index import Index
from clew.indexing import kg_import
from clew.indexing.kg_formats.files import graph_file
from clew.retrievers.registry import ONLY_GRAPH, RETRIEVERS
from clew.settings import Settings
from clew.store.inspection import verify
from clew.store.kg_shards import StoredGraph
from clew.store.passage_table import PassageTable
from clew.store.repair import repair
from clew.store.snapshot_files import MANIFEST_FILE, read_manifest, snapshot_folder
from clew.types import Document, Triple
from clew_lab.graph.snapshot_diff import diff_snapshots
from tests.indexing.snapshots import snapshot_files
from tests.small_index import DOCUMENTS, QUESTIONS, make_index, without_timing

Rows = Sequence[tuple[str, str, str]]
SEA: Rows = (
    ("Louis Palander", "born in", "Karlskrona"),
    ("Louis Palander", "studied in", "Karlskrona"),
    ("Karlskrona", "lies in", "Blekinge"),
    ("Blekinge", "part of", "Sweden"),
    ("Sweden", "borders", "Sweden"),
    ("Sweden", "borders", "Norway"),
)
FILMS: Rows = (("Face", "directed by", "Antonia Bird"), ("face", "is a", "body part"), ("Face", "release year", "1997"))


def write_triples(path: Path, rows: Rows) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def snapshot_arrays(index: Index) -> dict[str, bytes]:
    """Return the files of the snapshot without its manifest."""
    return {name: content for name, content in snapshot_files(index).items() if name != MANIFEST_FILE}


def list_triples(index: Index) -> list[Triple]:
    return [index.snapshot.triple(position) for position in range(len(index.snapshot.triples))]


@pytest.fixture
def sea_file(tmp_path: Path) -> Path:
    return write_triples(tmp_path / "sea.tsv", SEA)


@pytest.fixture
def films_file(tmp_path: Path) -> Path:
    return write_triples(tmp_path / "films.tsv", FILMS)


@pytest.fixture
def graph_index(tmp_path: Path, sea_file: Path) -> Index:
    index = make_index(tmp_path / "alone", ())
    index.import_graph(sea_file)
    return index


@pytest.fixture
def mixed_index(tmp_path: Path, sea_file: Path) -> Index:
    index = make_index(tmp_path / "mixed", DOCUMENTS)
    index.import_graph(sea_file)
    return index


def test_a_graph_needs_no_documents_and_keeps_parallel_edges_and_loops(graph_index: Index) -> None:
    assert sorted((t.head, t.relation, t.tail) for t in list_triples(graph_index)) == sorted(SEA)
    assert all(t.passages == () for t in list_triples(graph_index))
    assert sorted(graph_index.snapshot.entities) == ["Blekinge", "Karlskrona", "Louis Palander", "Norway", "Sweden"]
    figures = graph_index.stats()
    wanted = {"documents": 0, "passages": 0, "entities": 5, "relations": 5, "triples": 6, "imported_triples": 6}
    assert {name: getattr(figures, name) for name in wanted} == wanted
    assert figures.graphs == (StoredGraph("sea.tsv", triples=6, names=0, parts=1),)


def test_the_same_file_again_costs_no_commit(graph_index: Index, sea_file: Path) -> None:
    before = graph_index.table.version
    report = graph_index.import_graph(sea_file)
    assert (report.added, report.updated, report.unchanged, report.removed) == (0, 0, 1, 0)
    assert graph_index.table.version == before


def test_a_changed_file_takes_the_place_of_the_one_before(
    graph_index: Index, sea_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kg_import, "SHARD_TRIPLES", 2)
    monkeypatch.setattr(kg_import, "FILE_TRIPLES", 4)
    report = graph_index.import_graph(sea_file)
    assert (report.added, report.updated, report.unchanged, report.removed) == (2, 1, 0, 0)
    write_triples(sea_file, [*SEA[:2], ("Karlskrona", "lies in", "the Baltic")])
    report = graph_index.import_graph(sea_file)
    assert (report.added, report.updated, report.unchanged, report.removed) == (0, 1, 1, 1)
    assert sorted((t.head, t.relation, t.tail) for t in list_triples(graph_index)) == sorted(
        [*SEA[:2], ("Karlskrona", "lies in", "the Baltic")]
    )
    fresh = make_index(tmp_path / "fresh", ())
    fresh.import_graph(sea_file)
    assert snapshot_arrays(fresh) == snapshot_arrays(graph_index)
    assert verify(tmp_path / "alone") == []


def test_the_hash_of_the_corpus_follows_the_graphs_too(graph_index: Index, sea_file: Path) -> None:
    def corpus() -> object:
        return read_manifest(snapshot_folder(graph_index.table))["corpus"]

    first = corpus()
    write_triples(sea_file, SEA[:3])
    graph_index.import_graph(sea_file)
    second = corpus()
    graph_index.remove(["sea.tsv"])
    assert len({first, second, corpus()}) == 3
    write_triples(sea_file, SEA)
    graph_index.import_graph(sea_file)
    assert corpus() == first


def test_duplicates_are_stored_once_and_counted(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", ())
    report = index.import_graph(write_triples(tmp_path / "g.tsv", [*SEA, *SEA, SEA[0]]))
    assert (report.triples, report.duplicates) == (len(SEA), len(SEA) + 1)
    assert len(list_triples(index)) == len(SEA)


@pytest.mark.parametrize("seed", range(4))
def test_removal_is_exact_whatever_came_before(tmp_path: Path, sea_file: Path, films_file: Path, seed: int) -> None:
    random = Random(seed)
    documents = random.sample(DOCUMENTS, 8)
    wanted = make_index(tmp_path / "wanted", documents)
    wanted.import_graph(sea_file)
    index = make_index(tmp_path / "index", ())
    steps: list[Callable[[], object]] = [
        lambda: index.add(documents),
        lambda: index.import_graph(sea_file),
        lambda: index.import_graph(films_file),
        lambda: index.add([Document("late", "Face", "Face was filmed in Sweden by Antonia Bird.")]),
    ]
    random.shuffle(steps)
    for step in steps:
        step()
    report = index.remove(["films.tsv", "late"])
    assert (report.removed, report.removed_graphs) == (1, 1)
    assert snapshot_arrays(index) == snapshot_arrays(wanted)
    manifests = [read_manifest(snapshot_folder(i.table)) for i in (index, wanted)]
    assert manifests[0] == manifests[1]
    assert diff_snapshots(index.snapshot, wanted.snapshot).is_empty
    index.remove(["sea.tsv"])
    assert snapshot_arrays(index) == snapshot_arrays(make_index(tmp_path / "plain", documents))


def test_the_order_of_graphs_and_the_size_of_shards_do_not_matter(
    tmp_path: Path, sea_file: Path, films_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make_index(tmp_path / "one", DOCUMENTS), make_index(tmp_path / "other", ())
    one.import_graph(sea_file)
    one.import_graph(films_file)
    monkeypatch.setattr(kg_import, "SHARD_TRIPLES", 1)
    monkeypatch.setattr(kg_import, "FILE_CHARACTERS", 1)
    other.import_graph(films_file, "aaa")
    other.add(DOCUMENTS)
    other.import_graph(sea_file, "zzz")
    assert snapshot_arrays(one) == snapshot_arrays(other)


def test_a_passage_that_mentions_an_entity_of_a_graph_means_the_same_entity(mixed_index: Index) -> None:
    s = mixed_index.snapshot
    (town,) = s.entities_with_name("karlskrona")
    told_by = {s.passage_ids[int(p)] for p in s.mentioned_in.row(int(town))}
    assert {"palander", "karlskrona", "untitled-1"} <= told_by
    ends = s.triples[s.imported][:, [0, 2]]
    assert town in ends
    both = [t for t in list_triples(mixed_index) if t.passages and (t.head, t.relation, t.tail) in SEA]
    separate = [t for t in list_triples(mixed_index) if not t.passages]
    assert len(both) + len(separate) == int(s.imported.sum()) == len(SEA)
    (sweden,) = s.entities_with_name("Sweden")
    assert len(s.mentioned_in.row(int(sweden))) > 0
    (norway,) = s.entities_with_name("Norway")
    assert len(s.mentioned_in.row(int(norway))) == 0


RETRIEVER_NAMES = "bm25 dense entity-graph gear hipporag2 ircot linearrag naive-ge pagerank sprig sync-ge title-links"


@pytest.mark.parametrize("name", RETRIEVER_NAMES.split())
def test_every_retriever_searches_a_mixed_index(mixed_index: Index, name: str) -> None:
    for question in (*QUESTIONS, "Which countries border Sweden?"):
        for where in (None, "lang = 'en'"):
            evidence = mixed_index.search(question, 5, name, where)
            allowed = {d.id for d in DOCUMENTS if where is None or d.metadata.get("lang") == "en"}
            assert {scored.item.document_id for scored in evidence.passages} <= allowed
            assert {id_ for path in evidence.paths for t in path.item for id_ in t.passages} <= allowed
    passages = mixed_index.search(QUESTIONS[0], 5, name).passages
    assert "palander" in {scored.item.id for scored in passages}


@pytest.mark.parametrize(
    "name", ["bm25", "dense", "fused", "gfm", "hipporag2", "linearrag", "pagerank", "sprig", "sync-ge"]
)
def test_without_passages_retrievers_find_nothing_and_say_why(graph_index: Index, name: str) -> None:
    evidence = graph_index.search("Where was Louis Palander born?", 5, name)
    assert (evidence.passages, evidence.paths, evidence.notes) == ((), (), (ONLY_GRAPH,))
    with pytest.raises(InputError, match="k is 0"):
        graph_index.search("Where?", 0, name)
    assert graph_index.ask("Where was Louis Palander born?", 5, name).text == ""


def test_entities_with_equal_folded_names_stay_separate(tmp_path: Path, films_file: Path) -> None:
    index = make_index(tmp_path / "index", ())
    index.import_graph(films_file)

    def called(name: str) -> list[str]:
        return [index.snapshot.entities[int(e)] for e in index.snapshot.entities_with_name(name)]

    assert (called("Face"), called("face"), sorted(called("FACE"))) == (["Face"], ["face"], ["Face", "face"])
    # It is unknown which of the two a document means, so its mention is an entity of its own.
    index.add([Document("d", "", "Antonia Bird directed Face and Priest.")])
    assert (called("Face"), called("face"), len(called("FACE"))) == (["Face", "Face"], ["face"], 3)
    assert called("Antonia Bird") == ["Antonia Bird"]


def test_labels_and_aliases_lead_to_an_entity(tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("m.1\tFram\tthe polar ship\nm.2\tColin Archer\n", encoding="utf-8")
    file = graph_file(write_triples(tmp_path / "g.tsv", [("m.1", "built by", "m.2")]), names=(names,))
    index = make_index(tmp_path / "index", [Document("d", "", "The Polar Ship sailed north.")])
    report = index.import_graph(file, "ships")
    assert (report.triples, report.names) == (1, 3)
    s = index.snapshot
    assert [s.entities[int(e)] for e in s.entities_with_name("m.1")] == ["Fram"]
    assert "Fram" in [s.entities[int(e)] for e in s.entities_with_name("The polar ship")]
    assert "Fram" in [triple.head for triple in list_triples(index)]
    assert index.stats().graphs == (StoredGraph("ships", triples=1, names=3, parts=2),)


def test_faults_are_counted_and_the_first_are_reported(tmp_path: Path) -> None:
    rows = ["a\tb\tc"] + ["x"] * 30 + ["d\te\tf"]
    file = tmp_path / "g.tsv"
    file.write_text("\n".join(rows), encoding="utf-8")
    index = make_index(tmp_path / "index", ())
    report = index.import_graph(file)
    assert (report.triples, report.malformed, len(report.faults)) == (2, 30, kg_import.MAX_REPORTED_FAULTS)
    assert str(report.faults[0]) == "g.tsv:2: 1 cell, wanted 3: head, relation, tail"
    with pytest.raises(InputError, match=r"g\.tsv:2: .*nothing was imported"):
        index.import_graph(file, "other", strict=True)
    assert [graph.name for graph in index.stats().graphs] == ["g.tsv"]


@pytest.mark.parametrize("content", ["", "\n \n", "a\tb\n", "head\trelation\ttail\n"])
def test_a_file_that_states_nothing_changes_nothing(graph_index: Index, sea_file: Path, content: str) -> None:
    before = graph_index.table.version
    sea_file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="states no triple"):
        graph_index.import_graph(sea_file)
    assert graph_index.table.version == before
    assert len(list_triples(graph_index)) == len(SEA)


def test_a_file_that_breaks_off_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kg_import, "SHARD_TRIPLES", 1_000)
    monkeypatch.setattr(kg_import, "FILE_TRIPLES", 2_000)
    rows = [(f"entity {n * 7919 % 100_003}", "next", f"entity {n}") for n in range(20_000)]
    file = tmp_path / "g.tsv.gz"

    def write(triples: Sequence[tuple[str, str, str]], share: float = 1.0) -> None:
        packed = gzip.compress("".join("\t".join(row) + "\n" for row in triples).encode())
        file.write_bytes(packed[: int(len(packed) * share)])

    index = make_index(tmp_path / "index", ())

    def stored() -> list[tuple[str, str, str]]:
        return sorted((triple.head, triple.relation, triple.tail) for triple in list_triples(index))

    for before in ([], rows[:5_000]):
        if before:
            write(before)
            index.import_graph(file)
        version = index.table.version
        write(rows[::-1], 0.5)
        with pytest.raises(InputError, match="incomplete"):
            index.import_graph(file)
        assert index.table.version == PassageTable.open(tmp_path / "index").version == version
        assert len(list((tmp_path / "index" / "passages.lance" / "data").iterdir())) > len(index.table.data_files())
        assert stored() == sorted(before)
        assert verify(tmp_path / "index") == []
    write(rows)
    assert index.import_graph(file).unchanged == 5
    assert stored() == sorted(rows)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\tb", "\x1b[31m"])
def test_invalid_names_of_graphs_are_refused(graph_index: Index, sea_file: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a graph's"):
        graph_index.import_graph(sea_file, name)


@pytest.mark.parametrize("name", ["it's", 'say "x"', "a#b", "日本 🚢", "a%00_", "k#000001"])
def test_any_other_name_can_be_removed(tmp_path: Path, sea_file: Path, name: str) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:2])
    before = snapshot_arrays(index)
    index.import_graph(sea_file, name)
    assert [graph.name for graph in index.stats().graphs] == [name]
    assert index.remove([name]).removed_graphs == 1
    assert snapshot_arrays(index) == before


def test_documents_and_graphs_do_not_take_each_others_names(tmp_path: Path, sea_file: Path) -> None:
    index = make_index(tmp_path / "index", [Document("sea.tsv", "", "The sea."), Document("g#000000", "", "A trap.")])
    for name in ("sea.tsv", "g"):
        with pytest.raises(InputError, match=f"a document of this index has the id '{name}'"):
            index.import_graph(sea_file, name)
    index.import_graph(sea_file, "graph")
    for id_ in ("graph", "graph#000000"):
        (failure,) = index.add([Document(id_, "", "A text.")]).failures
        assert "an imported graph has this id" in failure.reason
    for absent in ("graph#000000", "graph#", "nothing"):
        with pytest.raises(InputError, match="no document has the id, and no graph the name"):
            index.remove([absent])
    assert index.stats().documents == 2
    assert len(index.stats().graphs) == 1


def test_damage_is_found_repaired_and_imported_again(
    tmp_path: Path, sea_file: Path, mixed_index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kg_import, "SHARD_TRIPLES", 2)
    mixed_index.import_graph(sea_file)
    expected = snapshot_arrays(mixed_index)
    assert mixed_index.compact() > 0
    assert snapshot_arrays(mixed_index) == expected
    for file in (tmp_path / "mixed" / "passages.lance" / "data").glob("*.lance"):
        file.write_bytes(file.read_bytes().replace(b"studied in", b"studied im"))
    assert len(verify(tmp_path / "mixed")) == 1
    with pytest.raises(ClewError, match="clew repair"):
        _ = rebuild_snapshot(tmp_path / "mixed").snapshot
    repair(tmp_path / "mixed")
    index = clew.open(tmp_path / "mixed")
    report = index.import_graph(sea_file)
    assert (report.added, report.unchanged) == (1, 2)
    assert snapshot_arrays(index) == expected


def rebuild_snapshot(folder: Path) -> Index:
    """Return an index whose snapshot must be built again."""
    shutil.rmtree(folder / "derived" / "snapshots")
    return clew.open(folder)


def test_a_shard_is_bounded_in_characters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kg_import, "SHARD_CHARACTERS", 100)
    index = clew.create(tmp_path / "index", Settings(encoder="none"))
    report = index.import_graph(write_triples(tmp_path / "g.tsv", [(f"{n:050}", "x", f"{n:050}") for n in range(10)]))
    assert (report.added, report.triples) == (10, 10)


def test_progress_is_reported_in_triples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kg_import, "SHARD_TRIPLES", 10)
    reports: list[tuple[str, int, int]] = []
    index = clew.create(tmp_path / "index", Settings(encoder="none"), lambda *report: reports.append(report))
    index.import_graph(write_triples(tmp_path / "g.tsv", [(f"a{n}", "b", "c") for n in range(45)]))
    assert [counts for stage, counts, total in reports if (stage, total) == ("importing", 0)] == [10, 20, 30, 40, 45]
    assert ("reading graphs", 45, 0) in reports


def test_searching_finds_the_same_with_a_graph_of_other_things(tmp_path: Path, films_file: Path) -> None:
    plain, beside = make_index(tmp_path / "plain", DOCUMENTS), make_index(tmp_path / "beside", DOCUMENTS)
    beside.import_graph(films_file)
    for name in ("bm25", "dense", "title-links"):
        assert name in RETRIEVERS
        for question in QUESTIONS:
            assert without_timing(plain.search(question, 5, name)) == without_timing(beside.search(question, 5, name))
