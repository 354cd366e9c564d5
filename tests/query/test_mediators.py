"""Mediator nodes: how they are recognised, and that paths go through them and never end there."""

import json
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing.kg_formats.files import graph_file
from clew.protocols import fingerprint_of
from clew.query.relation_matching import mediators_fingerprint, open_mediators
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings
from clew.text.normalization import is_identifier
from tests.faults.commands import run_clew

TRIPLES = (
    ("m.01", "people.person.spouse_s", "m.04"),
    ("m.04", "people.marriage.spouse", "m.02"),
    ("m.04", "people.marriage.from", "1901"),
    ("m.02", "people.person.profession", "m.03"),
    ("m.01", "type.object.type", "people.person"),
    ("m.02", "common.topic.webpage", "m.09"),
)
NAMES = (("m.01", "Anna Berg"), ("m.02", "Otto Lund"), ("m.03", "carpenter"))
QUESTION = "who is the spouse of [Anna Berg]"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of Freebase's form with its table of names, and a question whose answer is an id."""
    folder = tmp_path_factory.mktemp("freebase")
    lines = "".join("\t".join(triple) + "\n" for triple in TRIPLES)
    (folder / "kg.tsv").write_text(lines, encoding="utf-8")
    (folder / "names.tsv").write_text("".join(f"{id_}\t{name}\n" for id_, name in NAMES), encoding="utf-8")
    record = {"id": "a", "question": QUESTION, "topic": ["m.01"], "answers": ["m.02"]}
    (folder / "questions.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (folder / "cvt.txt").write_text("\nm.04\nnobody\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def graph(files: Path) -> Index:
    """The graph without what relations of `type.` and `common.` state."""
    made = clew.create(files / "index", Settings())
    made.import_graph(graph_file(files / "kg.tsv", names=[files / "names.tsv"]))
    return made


def ends(index: Index, settings: str, name: str = "frag:hops=4") -> set[str]:
    retriever = index.retriever(parse_retriever(f"{name}{settings}"))
    (found,) = retriever.retrieve([QUESTION], 5)
    names = set()
    for path in found.paths:
        place = "Anna Berg"
        for triple in path.item:
            place = triple.tail if triple.head == place else triple.head
        names.add(place)
    return names


@pytest.mark.parametrize("settings", ["unlabelled", "heads-of:people.marriage.", "heads-of:film.+people.marriage"])
@pytest.mark.parametrize("search", ["chains", "bfs", "shortest", "cheapest"])
def test_no_path_ends_at_a_mediator_and_all_go_through(graph: Index, settings: str, search: str) -> None:
    free = ends(graph, f",search={search}")
    assert {"m.04", "Otto Lund"} <= free
    assert ends(graph, f",search={search},mediators={settings}") >= {"Otto Lund", "1901"}
    assert "m.04" not in ends(graph, f",search={search},mediators={settings}")


@pytest.mark.parametrize("name", ["tog:width=20,ranker=bm25", "rog:ranker=bm25,plans=20", "gnn-rag:candidates=20"])
@pytest.mark.parametrize("setting", ["unlabelled", "heads-of:people.marriage."])
def test_no_path_of_a_baseline_ends_at_a_mediator(graph: Index, name: str, setting: str) -> None:
    free, bound = ends(graph, "", name), ends(graph, f",mediators={setting}", name)
    assert {"m.04", "Otto Lund"} <= free
    assert "m.04" not in bound
    assert "Otto Lund" in bound


@pytest.mark.parametrize("name", ["tog:width=20,ranker=bm25", "rog:ranker=bm25,plans=1", "gnn-rag:candidates=1"])
def test_a_mediator_takes_no_place_of_another_path(graph: Index, name: str) -> None:
    assert ends(graph, ",mediators=unlabelled", name)


@pytest.mark.parametrize("name", ["tog:ranker=bm25", "rog:ranker=bm25", "gnn-rag:hops=3"])
def test_fingerprints_of_baselines_depend_on_the_mediators(graph: Index, name: str) -> None:
    given = [graph.retriever(parse_retriever(f"{name}{more}")) for more in ("", ",mediators=unlabelled")]
    plain, bound = map(fingerprint_of, given)
    assert "mediators" not in plain
    assert plain != bound


def test_a_list_names_them(graph: Index, files: Path) -> None:
    assert "m.04" not in ends(graph, f",mediators=file:{files / 'cvt.txt'}")
    everyone = np.arange(len(graph.snapshot.entities), dtype=np.int32)
    listed = open_mediators(graph.snapshot, f"file:{files / 'cvt.txt'}")
    assert listed is not None
    mask = listed.mask(everyone)
    assert [graph.snapshot.entities[int(i)] for i in np.flatnonzero(mask)] == ["m.04"]


@pytest.mark.parametrize("text", ["", "labelled", "unlabelled:x", "heads-of:", "heads-of:+", "file:"])
def test_a_setting_that_says_nothing_is_refused(graph: Index, text: str) -> None:
    with pytest.raises(InputError, match="give unlabelled, heads-of"):
        open_mediators(graph.snapshot, text)


def test_a_file_that_cannot_be_read_is_refused(graph: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_mediators(graph.snapshot, f"file:{tmp_path / 'nowhere'}")


def test_fingerprints_depend_on_what_is_listed(graph: Index, tmp_path: Path) -> None:
    file, seen = tmp_path / "cvt.txt", set()
    for text in ("m.04", "m.03"):
        file.write_text(text, encoding="utf-8")
        seen.add(mediators_fingerprint(open_mediators(graph.snapshot, f"file:{file}")))
    seen.add(mediators_fingerprint(open_mediators(graph.snapshot, "unlabelled")))
    assert len(seen) == 3


@pytest.mark.parametrize("name", ["m.04", "g.11b6_x", "/m/02mjmr", "Q42", "<http://example.org/a>"])
def test_identifiers(name: str) -> None:
    assert is_identifier(name)


@pytest.mark.parametrize("name", ["M. Night", "m", "m.", "Mr. T", "Q", "1901", "m.04 x", "M.02", "<3", "Quebec 5"])
def test_names_are_no_identifiers(name: str) -> None:
    assert not is_identifier(name)


def test_the_whole_command_on_a_graph_of_freebase_s_form(files: Path, tmp_path: Path) -> None:
    index, out = tmp_path / "index", tmp_path / "figures.json"
    imported = run_clew(
        *("kg", "import", files / "kg.tsv", "--names", files / "names.tsv", "--index", index),
        *("--drop-relations", "type.,common., freebase."),
    )
    assert imported.code == 0, imported
    assert "4 triples" in imported.out
    assert "left out: 2 triples of relations that were not wanted" in imported.out
    retrievers = "frag:mediators=unlabelled,frag"
    done = run_clew(
        *(
            "eval-graph",
            "--index",
            index,
            "--questions",
            files / "questions.jsonl",
            "--retriever",
            retrievers,
            "--out",
            out,
        )
    )
    assert done.code == 0, done
    rows = json.loads(out.read_text(encoding="utf-8"))["retrievers"]
    assert rows["frag:mediators=unlabelled"]["hits@1"] == 1.0  # the answer m.02 is Otto Lund
    assert rows["frag"]["hits@1"] == 0.0  # and without the setting m.04 is the answer


@pytest.mark.parametrize("text", ["", "type.,,common.", ","])
def test_an_empty_prefix_would_drop_everything(files: Path, tmp_path: Path, text: str) -> None:
    done = run_clew("kg", "import", files / "kg.tsv", "--index", tmp_path / "index", "--drop-relations", text)
    assert done.code == 2
    assert "--drop-relations is" in done.err
    assert not (tmp_path / "index").exists()
