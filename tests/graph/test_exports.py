"""The graph in the forms of other libraries, read back by them."""

import csv
import json
from pathlib import Path
from urllib.parse import unquote

import networkx as nx
import numpy as np
import pytest

from clew.index import Index
from tests.conftest import EXAMPLES
from tests.faults.commands import run_clew
from tests.small_index import make_index

WHERE = "lang = 'de'"
Triples = set[tuple[str, str, str]]


def triples(index: Index, allowed: set[str] | None = None) -> Triples:
    """The triples by the names of their ends, of all passages or of some, by a plain loop."""
    s = index.snapshot
    found = set()
    for position in range(len(s.triples)):
        stating = {s.passage_ids[int(p)] for p in s.triple_passages.row(position)}
        if allowed is None or s.imported[position] or stating & allowed:
            head, relation, tail = (int(part) for part in s.triples[position])
            found.add((s.entities[head], s.relations[relation], s.entities[tail]))
    return found


def export(index: Index, place: Path, layout: str, *options: str) -> None:
    done = run_clew("export", place, "--index", index.table.location.name, "--layout", layout, *options)
    assert done.code == 0, done


def networkx_triples(graph: nx.MultiDiGraph) -> Triples:
    return {(head, data["relation"], tail) for head, tail, data in graph.edges(data=True)}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index with an imported graph, and names that files have to escape."""
    index = make_index(tmp_path_factory.mktemp("exports") / "index", ())
    index.import_graph(EXAMPLES / "expeditions.tsv")
    awkward = index.table.location.derived.parent / "awkward.tsv"
    awkward.write_text('A & "B" <C>\tsays; "no, yes"\tD\'s é 卡\n', encoding="utf-8")
    index.import_graph(awkward)
    return index


def test_networkx_has_the_entities_and_triples(graph: Index, small: Index) -> None:
    for index in (graph, small):
        made = index.to_networkx()
        assert networkx_triples(made) == triples(index)
        assert list(made.nodes) == list(index.snapshot.entities)


def test_a_filter_hides_triples_and_names(small: Index) -> None:
    allowed = {small.snapshot.passage_ids[int(p)] for p in np.flatnonzero(small.context.scope.mask(WHERE))}
    made = small.to_networkx(WHERE)
    assert len(made.edges) == len(triples(small, allowed)) < len(triples(small))
    assert {id_ for *_, data in made.edges(data=True) for id_ in data["passages"]} <= allowed
    text = " ".join(small.snapshot.texts[int(p)] for p in np.flatnonzero(small.context.scope.mask(WHERE)))
    titles = {small.snapshot.passage(small.snapshot.position(id_)).title for id_ in allowed}
    assert "Karlskrona" not in made.nodes
    assert all(name in text or name in titles for name in made.nodes)


def test_graphml_is_read_by_networkx_as_it_was(graph: Index, tmp_path: Path) -> None:
    export(graph, tmp_path / "graph.graphml", "graphml")
    assert networkx_triples(nx.read_graphml(tmp_path / "graph.graphml", force_multigraph=True)) == triples(graph)


def test_graphml_respects_a_filter(small: Index, tmp_path: Path) -> None:
    export(small, tmp_path / "graph.graphml", "graphml", "--where", WHERE)
    read = nx.read_graphml(tmp_path / "graph.graphml", force_multigraph=True)
    assert networkx_triples(read) == networkx_triples(small.to_networkx(WHERE))


def test_neo4j_files_join_to_the_triples(graph: Index, tmp_path: Path) -> None:
    export(graph, tmp_path / "neo4j", "neo4j")
    with (tmp_path / "neo4j" / "nodes.csv").open(encoding="utf-8", newline="") as file:
        names = {row["id:ID"]: row["name"] for row in csv.DictReader(file)}
    with (tmp_path / "neo4j" / "relationships.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(names[row[":START_ID"]], row[":TYPE"], names[row[":END_ID"]]) for row in rows} == triples(graph)
    assert sorted(names.values()) == sorted(graph.snapshot.entities)


def test_jsonld_holds_the_triples(graph: Index, tmp_path: Path) -> None:
    export(graph, tmp_path / "graph.jsonld", "jsonld")
    entities = json.loads((tmp_path / "graph.jsonld").read_text(encoding="utf-8"))["@graph"]
    found = {
        (entity["label"], unquote(key.removeprefix("urn:clew:relation:")), unquote(tail["@id"].rpartition(":")[2]))
        for entity in entities
        for key, tails in entity.items()
        if key.startswith("urn:clew:relation:")
        for tail in tails
    }
    assert found == triples(graph)


def test_pyg_has_the_triples_and_the_vectors_of_names(small: Index) -> None:
    pytest.importorskip("torch_geometric", reason="needs the extra train")
    data = small.to_pyg()
    names, relations = data.node_names, data.relation_names
    rows = zip(*data.edge_index.tolist(), data.edge_type.tolist(), strict=True)
    assert {(names[head], relations[kind], names[tail]) for head, tail, kind in rows} == triples(small)
    np.testing.assert_array_equal(data.x.numpy(), small.context.encode_texts(names))
    assert data.validate()
    assert small.to_pyg(features=False).x is None
    assert small.to_pyg(WHERE).num_edges == small.to_networkx(WHERE).number_of_edges()


def test_a_filter_of_another_layout_and_an_unknown_layout_are_one_line(small: Index, tmp_path: Path) -> None:
    where = run_clew("export", tmp_path / "x", "--index", small.table.location.name, "--where", WHERE)
    unknown = run_clew("export", tmp_path / "x", "--index", small.table.location.name, "--layout", "xml")
    assert where.code == unknown.code == 2
    assert "--where is for the layouts graphml, neo4j, jsonld, not lines" in where.err
    assert "no layout is called 'xml'; choose lines" in unknown.err
    assert not (tmp_path / "x").exists()
