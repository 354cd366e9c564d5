"""The network over a real index: rankings, pruning, and the faithfulness of explanations."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.arrays import LongArray
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import passage_graph, relation_texts
from clew.index import Index
from clew.inference.query_network import QueryNetwork
from clew.inference.relational_sums import SortedEdges
from clew.models.encoders.int4_e5 import Int4E5
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.query.chain_search import NO_SENTENCE_VECTORS, describe_passages
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.query.linking import NO_NAME_NOTE, link_question
from clew.retrievers.gfm.batch import GraphBatch, collate
from clew.retrievers.gfm.explanations import most_important_walks
from clew.retrievers.gfm.factory import project_all_relations
from clew.retrievers.gfm.passage_graphs import FALLBACK_NOTE, FEATURES, PassageGraphBuilder
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import GFM
from clew.retrievers.gfm.weights import load_weights, save_weights
from clew.retrievers.registry import default_retriever, open_retriever, parse_retriever
from clew.settings import Settings
from clew.store.weights_io import PRETRAINED_FOLDER
from tests.conftest import EXAMPLES
from tests.small_index import make_index, result_ids

QUESTION = "Who founded the school where the boat James Caird is kept today?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = make_index(tmp_path_factory.mktemp("gfm") / "index", (), DEFAULT_ENCODER)
    index.add([EXAMPLES / "polar"])
    return index


def retriever(index: Index, name: str = "gfm", paths: int = 0) -> GFMRetriever:
    built = open_retriever(parse_retriever(name), index.context.with_paths_per_passage(paths))
    assert isinstance(built, GFMRetriever)
    return built


def questions() -> list[tuple[str, list[str]]]:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [(record["question"], record["gold"]) for record in map(json.loads, lines)]


def recall(index: Index, name: str, k: int) -> float:
    query = questions()
    actual = index.retriever(name, paths=0).retrieve([question for question, _ in query], k)
    shares = [len(set(gold) & set(result_ids(e))) / len(gold) for e, (_, gold) in zip(actual, query, strict=True)]
    return float(np.mean(shares))


@pytest.mark.slow
def test_recall_is_above_pagerank_and_far_above_bm25(index: Index) -> None:
    found = recall(index, "gfm", 5)
    assert found >= recall(index, "pagerank", 5)
    assert found > recall(index, "fused", 5) + 0.1


def test_pruned_nodes_change_little(index: Index) -> None:
    pruned, whole = retriever(index), retriever(index, "gfm:nodes=all")
    shared = [
        len(set(result_ids(pruned.retrieve([q], 5)[0])) & set(result_ids(whole.retrieve([q], 5)[0])))
        for q, _ in questions()
    ]
    assert np.mean(shared) > 4.5
    everything = whole.retrieve([QUESTION], 10_000)[0]
    assert len(everything.passages) == len(index.snapshot.passage_ids)


def test_an_index_without_vectors_of_sentences_says_so(index: Index, tmp_path: Path) -> None:
    plain = clew.create(tmp_path / "index", Settings(sentences="none"))
    plain.add([EXAMPLES / "polar" / "james-caird.md"])
    assert NO_SENTENCE_VECTORS in plain.search(QUESTION, retriever="gfm").notes
    assert NO_SENTENCE_VECTORS not in index.search(QUESTION, retriever="gfm").notes


def test_a_question_without_known_names_starts_at_similar_passages(index: Index) -> None:
    evidence = index.search("who wrote down how the ice moved a wooden vessel", retriever="gfm")
    assert FALLBACK_NOTE in evidence.notes
    assert NO_NAME_NOTE not in evidence.notes  # the same, said once
    assert evidence.passages
    assert FALLBACK_NOTE not in index.search(QUESTION, retriever="gfm").notes


def test_capitals_change_little(index: Index) -> None:
    assert result_ids(index.search(QUESTION.lower(), 2, "gfm")) == result_ids(index.search(QUESTION, 2, "gfm"))


def test_paths_lead_from_the_question_to_the_passage(index: Index) -> None:
    evidence = index.search(QUESTION, 5, "gfm", paths=3)
    assert evidence.paths
    assert [p.score for p in evidence.paths] == sorted((p.score for p in evidence.paths), reverse=True)
    best = evidence.paths[0].item
    assert "James Caird" in best[0].head + best[0].tail
    assert index.search(QUESTION, 5, "gfm", paths=0).paths == ()
    with pytest.raises(InputError, match="ask for 0 to 100"):
        index.search(QUESTION, 5, "gfm", paths=-1)


def test_no_path_states_a_triple_twice(index: Index) -> None:
    found = [index.search(question, 5, "gfm", paths=3).paths for question, _ in questions()[:10]]
    assert any(found)
    for path in (path for paths in found for path in paths):
        assert len(set(path.item)) == len(path.item)


def remove_edges(batch: GraphBatch, removed: LongArray) -> GraphBatch:
    """Return a batch without the edges of some positions in its question's graph."""
    edges = batch.query.edges
    kept = ~np.isin(edges.order, removed)
    ends = edges.senders[kept], edges.relations[kept], edges.receivers[kept]
    return replace(batch, query=replace(batch.query, edges=SortedEdges(*ends, edges.node_count, edges.relation_count)))


def test_removing_the_best_path_lowers_a_score_more_than_removing_others(index: Index) -> None:
    gfm = retriever(index)
    walker = GraphWalk(index.context.scope, index.context.lexical, GraphWalkConfig())
    edges = passage_graph(index.snapshot)
    graphs = PassageGraphBuilder(edges, walker, 500, chains=index.context.chain_search())
    allowed = index.context.scope.mask(None)
    random = np.random.default_rng(0)
    explained: list[float] = []
    others: list[float] = []
    for question, _ in questions()[:20]:
        linked = link_question(index.snapshot, question)
        rows = index.context.encoder.encode_queries(graphs.texts(linked))
        graph = graphs.build(linked, rows.__getitem__, allowed)
        batch = collate([graph], [rows[0]], edges)
        before = gfm.logits(batch)
        ranked = [int(p) for p in np.argsort(-np.where(graph.targets, before, -np.inf))[:3] if not graph.seeds[p]]
        for target in ranked:
            for _, walk in most_important_walks(gfm.edge_importances, batch, graph, [target], 1):
                for taken, lost in ((np.array(walk), explained), (random.choice(len(graph.edges), len(walk)), others)):
                    after = gfm.logits(remove_edges(batch, taken))
                    lost.append(float(before[target] - after[target]))
    assert len(explained) > 20
    assert np.mean(explained) > 5 * abs(np.mean(others))
    assert np.mean(np.array(explained) > np.array(others)) > 0.8


def test_projections_do_not_depend_on_the_batches(index: Index) -> None:
    model = load_weights(PRETRAINED_FOLDER / "gfm").model
    vectors = index.context.encode_texts(relation_texts(index.snapshot)[:50])
    whole = project_all_relations(model, vectors)
    assert whole.shape == (50, model.settings.layers, model.settings.width)
    np.testing.assert_allclose(
        whole[:7].astype(np.float32), project_all_relations(model, vectors[:7]).astype(np.float32), atol=1e-2
    )


def test_each_of_few_relations_has_the_projection_of_its_own_text(index: Index) -> None:
    gfm, edges, texts = retriever(index), index.context.load_passage_graph(), relation_texts(index.snapshot)
    used = np.unique(edges.relations % edges.relation_count)
    own = project_all_relations(
        load_weights(PRETRAINED_FOLDER / "gfm").model, index.context.encode_texts([texts[r] for r in used.tolist()])
    )
    found = gfm.relation_projections[gfm.relation_rows[used]]
    np.testing.assert_allclose(found.astype(np.float32), own.astype(np.float32), atol=1e-2)


def test_an_index_of_another_encoder_is_refused(small: Index) -> None:
    with pytest.raises(InputError, match="--encoder all-MiniLM-L6-v2"):
        small.retriever("gfm")


def test_the_default_encoder_has_the_default_retriever_gfm(index: Index) -> None:
    assert default_retriever(index.context, open_encoder(DEFAULT_ENCODER).fingerprint) == "gfm"
    assert default_retriever(index.context, open_encoder("hashing").fingerprint) == "chains"
    assert default_retriever(index.context, Int4E5.fingerprint) == "hybrid"


def test_more_passages_than_the_graph_holds_follow_in_the_order_of_the_walk(index: Index) -> None:
    few, many = retriever(index, "gfm:nodes=10"), retriever(index, "gfm:nodes=60")
    actual = few.retrieve([QUESTION], 100)[0]
    assert len(actual.passages) == len(many.retrieve([QUESTION], 100)[0].passages) > 10
    scores = [scored.score for scored in actual.passages]
    assert scores == sorted(scores, reverse=True)
    assert result_ids(few.retrieve([QUESTION], 3)[0]) == result_ids(actual)[:3]


def test_ten_thousand_names_in_one_question(index: Index) -> None:
    names = [title for title in index.snapshot.titles if title]
    question = " and ".join(names * (10_000 // len(names)))
    evidence = index.search(f"Who knew {question}?", 5, "gfm")
    assert len(evidence.passages) == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gfm:nodes=0", "at least 1, or all"),
        ("gfm:weights=nowhere", "holds no config.json"),
    ],
)
def test_invalid_settings_are_refused(index: Index, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        index.retriever(parse_retriever(name))


def test_an_index_prefers_its_own_weights(index: Index, tmp_path: Path) -> None:
    own = index.context.own_weights_folder("gfm")
    assert index.context.weights_folder("gfm") == PRETRAINED_FOLDER / "gfm"
    own.mkdir(parents=True)
    try:
        assert (
            index.context.weights_folder("gfm") == PRETRAINED_FOLDER / "gfm"
        )  # what a kill may leave: a folder without a configuration
        (own / "config.json").write_text("{}", encoding="utf-8")
        assert index.context.weights_folder("gfm") == own
        with pytest.raises(InputError, match="is not of format"):
            open_retriever("gfm", index.context)
    finally:
        shutil.rmtree(own)


def test_chains_of_the_best_passages_are_quoted(index: Index) -> None:
    evidence = index.search(QUESTION, 5, "gfm")
    assert evidence.chains
    assert [chain.score for chain in evidence.chains] == sorted((c.score for c in evidence.chains), reverse=True)
    texts = {scored.item.id: scored.item.text for scored in evidence.passages}
    for chain in evidence.chains:
        assert any(quote.passage_id in texts for quote in chain.item.sentences)
    assert index.search(QUESTION, 5, "gfm", paths=0).chains == ()


def test_weights_without_chains_read_the_features_of_before(index: Index, tmp_path: Path) -> None:
    """Weights that were trained before there were chains, or with --no-chains, still rank."""
    trained = load_weights(PRETRAINED_FOLDER / "gfm")
    few = replace(trained.model.settings, features=len(FEATURES))
    arrays = dict(trained.model.arrays)
    arrays["feature_mlp.weight"] = arrays["feature_mlp.weight"][:, : len(FEATURES)]
    save_weights(tmp_path, replace(trained, model=QueryNetwork(few, arrays), chains=False), {})
    assert "chains" not in json.loads((tmp_path / "config.json").read_text())
    evidence = index.search(QUESTION, 5, GFM(weights=tmp_path))
    assert len(evidence.passages) == 5
    assert evidence.chains == ()


def test_weights_whose_features_do_not_fit_are_refused(index: Index, tmp_path: Path) -> None:
    trained = load_weights(PRETRAINED_FOLDER / "gfm")
    save_weights(tmp_path, replace(trained, chains=False), {})
    with pytest.raises(InputError, match="no usable 'features'"):
        index.search(QUESTION, 5, GFM(weights=tmp_path))


def test_chains_are_nodes_features_and_a_part_of_the_prior(index: Index) -> None:
    search, allowed = index.context.chain_search(), index.context.scope.mask(None)
    builder = PassageGraphBuilder(
        passage_graph(index.snapshot), index.context.graph_walk(), 5, index.context.similar_passages(), search
    )
    linked = link_question(index.snapshot, QUESTION)
    rows = index.context.encoder.encode_queries(builder.texts(linked))
    graph, found = (
        builder.build(linked, rows.__getitem__, allowed),
        search.search_vectors(linked, rows.__getitem__, allowed),
    )
    passages = graph.nodes[graph.targets]
    best = found.passages[np.lexsort((found.passages, -found.chain_shares))[:5]]
    assert set(best.tolist()) <= set(passages.tolist())
    walk = dict(zip(found.walk.nodes.tolist(), found.walk.scores.tolist(), strict=True))
    top = max(walk.get(passage, 0.0) for passage in passages.tolist())
    shares = dict(zip(found.passages.tolist(), found.chain_shares.tolist(), strict=True))
    for passage, prior in zip(passages.tolist(), graph.prior[graph.targets].tolist(), strict=True):
        of_walk = np.log(max(walk.get(passage, 0.0) / top, 1e-6))
        assert prior == pytest.approx(of_walk + 10.0 * (shares.get(passage, 0.0) - 1.0), abs=1e-4)
    described = describe_passages(search.sentences, index.snapshot.title_entities, found, passages)
    np.testing.assert_array_equal(graph.features[graph.targets][:, len(FEATURES) :], described)
