"""The document graph reranker: the same passages, questions independent of each other, in the network's order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from clew.errors import InputError
from clew.index import Index
from clew.inference.document_network import DocumentGNNSettings
from clew.models.encoders.hashing import HashingEncoder
from clew.rerankers.g_rag import document_graph
from clew.rerankers.g_rag.document_graph import DocumentGraphBuilder, IndexDocumentGraphBuilder
from clew.rerankers.g_rag.reranker import UNRANKED_NOTE, DocumentGraphReranker
from clew.rerankers.g_rag.weights import FeatureColumns, TrainedDocumentGNN, save_reranker
from clew.retrievers.registry import parse_retriever
from clew.types import AgentStep, Evidence, Failure, Passage, Usage
from clew_lab.amr import amr_document_graph
from clew_lab.amr.amr_document_graph import AMRDocumentGraphBuilder
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.local_parser import LocalAMRParser
from clew_lab.amr.penman_files import amr_entry, write_amr
from clew_lab.amr.reranker import open_amr_parser, open_scorer
from clew_lab.nn.document_gnn import DocumentGNN
from tests.small_index import QUESTIONS, result_ids

ENCODER = HashingEncoder(32)
KINDS = ("index", "index with text", "index with chains", "amr")
all_kinds = pytest.mark.parametrize("kind", KINDS)


def make_builder(index: Index, kind: str) -> DocumentGraphBuilder:
    context = index.context
    if kind == "amr":
        return AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode)
    relations = context.text_vectors.relation_vectors
    return IndexDocumentGraphBuilder(
        context.scope.snapshot,
        context.lexical,
        context.encode_questions,
        relations,
        vectors=kind == "index with text",
        chains=context.chain_search() if kind == "index with chains" else None,
    )


def make_trained_gnn(kind: str, network: str = "relational", seed: int = 0) -> TrainedDocumentGNN:
    """Return a network with random weights, also for the score of the node features."""
    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    nodes, edges = (
        ((), amr_document_graph.EDGE_FEATURES)
        if kind == "amr"
        else (document_graph.NODE_FEATURES, document_graph.EDGE_FEATURES)
    )
    if kind == "index with chains":
        nodes, edges = nodes + document_graph.CHAIN_NODE_FEATURES, edges + document_graph.CHAIN_EDGE_FEATURES
    text = {"index": 0, "index with text": 256, "index with chains": 0, "amr": 32}[kind]
    torch.manual_seed(seed)
    model = DocumentGNN(DocumentGNNSettings(text, len(nodes), len(edges), network, 8))
    if nodes:
        torch.nn.init.normal_(model.number_score.weight)
    return TrainedDocumentGNN(model.network(), "amr" if kind == "amr" else "index", nodes, edges, "hashing")


def graph_reranker(index: Index, kind: str, network: str = "relational") -> DocumentGraphReranker:
    trained = make_trained_gnn(kind, network)
    return DocumentGraphReranker(make_builder(index, kind), trained, open_scorer(trained.model))


def search(index: Index, question: str, k: int = 12) -> Evidence:
    evidence = index.search(question or "Vega", k, "fused")
    return replace(
        evidence, notes=("a note",), steps=(AgentStep("a query"),), topics=("Vega",), usage=Usage(1.0, 1, 2, 3, 4.0)
    )


@pytest.mark.parametrize("network", ["g-rag", "sage"])
def test_a_batch_is_its_questions_one_by_one_bit_for_bit(small: Index, network: str) -> None:
    """The networks that torch runs; tests/contracts/test_rerankers.py has those of numpy."""
    kind = "index with text"
    rerank = graph_reranker(small, kind, network).rerank
    pools = [search(small, question, 4 + place) for place, question in enumerate(QUESTIONS)]
    together = rerank(QUESTIONS, pools)
    assert together == [rerank([question], [pool])[0] for question, pool in zip(QUESTIONS, pools, strict=True)]
    assert together == graph_reranker(small, kind, network).rerank(QUESTIONS, pools)


@all_kinds
def test_scores_are_the_network_s_of_the_question_s_graph(small: Index, kind: str) -> None:
    before, network = search(small, QUESTIONS[1]), make_trained_gnn(kind)
    (graph,) = make_builder(small, kind).build([QUESTIONS[1]], [before.passages])
    wide = FeatureColumns(tuple(range(len(network.node_features))), tuple(range(len(network.edge_features))))
    documents = wide.select(graph, text=kind in ("index with text", "amr"))
    scores = network.model.scores(documents).tolist()
    assert scores == pytest.approx(DocumentGNN.from_network(network.model).scores(documents).tolist(), abs=1e-5)
    (after,) = graph_reranker(small, kind).rerank([QUESTIONS[1]], [before])
    wanted = dict(zip(result_ids(before), scores, strict=True))
    assert {scored.item.id: scored.score for scored in after.passages} == wanted
    assert len(set(scores)) > 1


def test_the_network_reads_its_own_columns_in_its_own_order(small: Index) -> None:
    numbers, edges = document_graph.NODE_FEATURES[::-2], ("link from", "common nodes")
    torch.manual_seed(1)
    model = DocumentGNN(DocumentGNNSettings(0, len(numbers), len(edges), "relational", 8))
    torch.nn.init.normal_(model.number_score.weight)
    network = model.network()
    before = search(small, QUESTIONS[0])
    (graph,) = make_builder(small, "index").build([QUESTIONS[0]], [before.passages])
    picked = replace(
        graph,
        node_features=graph.node_features[:, [document_graph.NODE_FEATURES.index(name) for name in numbers]],
        edge_features=graph.edge_features[:, :, [5, 0]],
    )
    columns = FeatureColumns(tuple(range(len(numbers))), (0, 1))
    wanted = network.scores(columns.select(picked, text=False)).tolist()
    trained = TrainedDocumentGNN(network, "index", numbers, edges, "")
    given = DocumentGraphReranker(make_builder(small, "index"), trained)
    (after,) = given.rerank([QUESTIONS[0]], [before])
    assert [scored.score for scored in after.passages] == sorted(wanted, reverse=True)


@all_kinds
def test_ties_keep_their_order(small: Index, kind: str) -> None:
    flat = make_trained_gnn(kind)
    for array in flat.model.arrays.values():
        array[:] = 0.0
    before = search(small, QUESTIONS[0])
    (after,) = DocumentGraphReranker(make_builder(small, kind), flat).rerank([QUESTIONS[0]], [before])
    assert result_ids(after) == result_ids(before)
    assert {scored.score for scored in after.passages} == {0.0}


def test_notes_of_the_graphs_are_added(small: Index) -> None:
    class Silent:
        fingerprint = "silent"

        def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[Failure]:
            return [Failure(passage.id, "no reply") for passage in passages]

    graphs = AMRDocumentGraphBuilder(Silent(), ENCODER.encode)  # type: ignore[arg-type]  # a list of failures is one of both
    pool = search(small, QUESTIONS[0], 3)
    (after,) = DocumentGraphReranker(graphs, make_trained_gnn("amr")).rerank([QUESTIONS[0]], [pool])
    assert after.notes == ("a note", "3 of 3 passages have no AMR graph: no reply", UNRANKED_NOTE)
    assert after.passages == pool.passages  # it ranked passages without edges


def test_a_pool_is_ranked_while_one_passage_has_a_graph(small: Index) -> None:
    class Reserved:
        fingerprint = "reserved"

        def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
            first, *_ = LocalAMRParser().parse(questions, passages)
            return [first, *(Failure(passage.id, "no reply") for passage in passages[1:])]

    pool = search(small, QUESTIONS[0], 8)
    graphs = AMRDocumentGraphBuilder(Reserved(), ENCODER.encode)
    (after,) = DocumentGraphReranker(graphs, make_trained_gnn("amr")).rerank([QUESTIONS[0]], [pool])
    assert after.notes[1:] == (
        f"{len(pool.passages) - 1} of {len(pool.passages)} passages have no AMR graph: no reply",
    )
    assert result_ids(after) != result_ids(pool)


def test_the_fingerprint_tells_weights_and_parsers(
    small: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_amr(tmp_path / "graphs", [amr_entry("(b / build-01)", [("question", "x"), ("passage", "vega")])])
    monkeypatch.setenv("HOME", str(tmp_path))
    one, same = (graph_reranker(small, "amr") for _ in range(2))
    assert one.fingerprint == same.fingerprint
    same.weights.model.arrays["text_projection.weight"].flat[0] += 1.0
    other = AMRDocumentGraphBuilder(open_amr_parser("file:~/graphs"), ENCODER.encode)
    others = {same.fingerprint, DocumentGraphReranker(other, make_trained_gnn("amr")).fingerprint}
    assert len(others | {one.fingerprint}) == 3


def test_graphs_that_lack_what_the_network_reads_are_refused(small: Index) -> None:
    with pytest.raises(InputError, match="'score' is no feature of these graphs, which have none"):
        DocumentGraphReranker(make_builder(small, "amr"), make_trained_gnn("index"))
    with pytest.raises(InputError, match="'wings' is no feature"):
        DocumentGraphReranker(
            make_builder(small, "amr"), replace(make_trained_gnn("amr"), edge_features=("common nodes", "wings"))
        )


def test_weights_that_read_chains_get_them(small: Index, tmp_path: Path) -> None:
    trained = make_trained_gnn("index with chains")
    save_reranker(tmp_path, trained)
    found = small.search(QUESTIONS[0], 3, parse_retriever(f"fused:rerank=g-rag:{tmp_path}"))
    pool = small.retriever("fused", 0).retrieve([QUESTIONS[0]], 100)
    wanted = DocumentGraphReranker(make_builder(small, "index with chains"), trained).rerank([QUESTIONS[0]], pool)[0]
    assert result_ids(found) == result_ids(wanted)[:3]
    with pytest.raises(InputError, match="'chains: sentence' is no feature"):
        DocumentGraphReranker(make_builder(small, "index"), trained)


def test_weights_that_read_amr_are_for_the_laboratory(small: Index, tmp_path: Path) -> None:
    trained = replace(make_trained_gnn("amr"), encoder=small.context.encoder.fingerprint, about={"parser": "file"})
    save_reranker(tmp_path, trained)
    with pytest.raises(InputError, match="reads graphs of AMR: use g-rag-amr"):
        small.search("Vega", 3, parse_retriever(f"fused:rerank=g-rag:{tmp_path}"))
    with pytest.raises(InputError, match="learned from AMR of file; give amr=file"):
        small.search("Vega", 3, parse_retriever(f"fused:rerank=g-rag-amr:{tmp_path}"))
