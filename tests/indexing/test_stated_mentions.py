"""Mentions of a graph's entities in documents, given by `clew kg import --mentions`, which gfm ranks passages by."""

from pathlib import Path

import numpy as np
import pytest
import torch

import clew
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, save_weights
from clew.store.inspection import verify
from clew.types import Document
from clew_lab.gfm.settings import GFMPaper
from tests.faults.commands import run_clew
from tests.small_index import make_index

TRIPLES = "q1\tdesigned\tq2\nq3\tborn in\tq2\nq1\tspans\tq4\n"
NAMES = "q1\tVera Holm\nq2\tKestrel Bridge\nq3\tOle Berg\nq4\tTay\n"
MENTIONS = "q1\tone\nq2\ttwo\nq2\tone\nq9\tone\nq4\tnowhere\n"
DOCUMENTS = [Document("one", "", "Nothing is named here, at all."), Document("two", "", "nor is anything here.")]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = make_index(tmp_path / "index", DOCUMENTS)
    for name, text in (("graph.tsv", TRIPLES), ("names.tsv", NAMES), ("mentions.tsv", MENTIONS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = (tmp_path / "graph.tsv", "--names", tmp_path / "names.tsv", "--mentions", tmp_path / "mentions.tsv")
    done = run_clew("kg", "import", *files, "--index", tmp_path / "index")
    assert done.code == 0, done.err
    assert "mentions: 5 read, of its entities" in done.out
    assert "1 mention names an entity that the index lacks" in done.err
    assert "1 mention names a place that the index lacks" in done.err
    return clew.open(made.table.location.name)


def mentioned(index: Index) -> set[tuple[str, str]]:
    s = index.snapshot
    ids = list(s.passage_ids)
    return {(ids[p], s.entities[e]) for p in range(len(ids)) for e in s.mentions.row(p).tolist()}


def test_documents_mention_what_the_file_says(index: Index) -> None:
    wanted = {("one", "Vera Holm"), ("two", "Kestrel Bridge"), ("one", "Kestrel Bridge")}
    assert wanted <= mentioned(index)
    assert not {pair for pair in mentioned(index) - wanted if pair[1] in ("Ole Berg", "Tay")}
    s = index.snapshot
    back = {(s.passage_ids[int(p)], s.entities[e]) for e in range(len(s.entities)) for p in s.mentioned_in.row(e)}
    assert back == mentioned(index)
    assert not verify(index.table.location)


def test_gfm_ranks_the_passages_of_a_graph_of_ones_own(index: Index, tmp_path: Path) -> None:
    torch.manual_seed(1)
    dimension = index.context.encoder.dimension
    encoder = TextEncoder(index.context.encoder.name, index.context.encoder.fingerprint)
    network = QueryGNN(QueryGNNSettings(8, dimension, 2)).network()
    trained = TrainedGNN(network, "entities", encoder, None, "", form=EntityForm("plain", "paper", None))
    save_weights(tmp_path / "weights", trained, {})
    evidence = index.search("What did Vera Holm design?", 5, GFMPaper(preset="ours", weights=tmp_path / "weights"))
    assert {p.item.id for p in evidence.passages} == {"one", "two"}
    assert "starts from Vera Holm" in " ".join(evidence.notes)
    degrees = np.maximum(index.snapshot.mentioned_in.degrees(), 1)
    s = index.snapshot
    expected = {id_: float(sum(1 / degrees[e] for e in s.mentions.row(p))) for p, id_ in enumerate(s.passage_ids)}
    assert {p.item.id: p.score for p in evidence.passages} == pytest.approx(expected)


def test_the_same_import_again_changes_nothing_and_bad_rows_are_counted(index: Index, tmp_path: Path) -> None:
    before = mentioned(index)
    (tmp_path / "mentions.tsv").write_text(MENTIONS + "q1\n", encoding="utf-8")
    files = (tmp_path / "graph.tsv", "--names", tmp_path / "names.tsv", "--mentions", tmp_path / "mentions.tsv")
    done = run_clew("kg", "import", *files, "--index", tmp_path / "index")
    assert "1 malformed" in done.out
    assert "1 cell, wanted 2: entity, document or passage" in done.err
    assert mentioned(clew.open(tmp_path / "index")) == before
    done = run_clew("kg", "import", tmp_path / "graph.tsv", "--index", tmp_path / "index")
    assert not mentioned(clew.open(tmp_path / "index")) & {("one", "Vera Holm")}
