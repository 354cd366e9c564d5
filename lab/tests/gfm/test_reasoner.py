"""Checkpoints of G-reasoner: files of their form are read, score documents as the equations do, and can be tuned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.models.encoders.sentence_transformer import EmbeddingConfig, SentenceTransformerEncoder
from clew.query.linking import link_question
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.weights import load_weights
from clew.retrievers.registry import open_retriever, parse_retriever
from clew_lab.gfm.published_checkpoint import load_published_checkpoint
from clew_lab.gfm.published_retriever import published_name
from clew_lab.gfm.target_explanations import explain_target
from clew_lab.nn.device_network import DeviceQueryNetwork
from lab.tests.gfm.published_files import entity_model, stated_facts, write_checkpoint
from tests.faults.commands import run_clew
from tests.models.tiny_bert import WIDTH
from tests.oracles import gfm_rag

QUESTIONS = ("Where was Louis Palander born?", "Which province has the naval town Karlskrona?", "Who sailed the Vega?")
FUSIONS = {"early-late-fusion": "early-late", "late-fusion": "late", "early-fusion": "early"}


def make_config(encoder: str, fusion: str = "early-late-fusion") -> dict[str, Any]:
    text = {
        "_target_": "gfmrag.text_emb_models.Qwen3TextEmbModel",
        "text_emb_model_name": encoder,
        "normalize": True,
        "query_instruct": "ask: ",
        "passage_instruct": None,
        "truncate_dim": WIDTH,
    }
    inner = entity_model(short_cut=True, layer_norm=True, return_hidden="late" in fusion)
    target = "gfmrag.models.gfm_reasoner.GraphReasoner"
    model = {"_target_": target, "use_ent_emb": fusion, "dtype": "bfloat16", "entity_model": inner, "feat_dim": WIDTH}
    features = {"use_node_feat": True, "use_relation_feat": True, "use_edge_feat": False}
    dataset = {"class_name": "GraphIndexDataset", "text_emb_model_cfgs": text, "inverse_relation_feat": "text"}
    return {"text_emb_model_config": text, "dataset_config": {**dataset, **features}, "model_config": model}


def write(folder: Path, config: dict[str, Any]) -> dict[str, torch.Tensor]:
    fusion = FUSIONS.get(config["model_config"]["use_ent_emb"], "")
    return write_checkpoint(folder, config, QueryGNNSettings(8, WIDTH, 6, fusion=fusion))


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory, encoder: str) -> Path:
    folder = tmp_path_factory.mktemp("reasoner")
    write(folder / "published", make_config(encoder))
    assert run_clew("weights", "import", folder / "published", "--out", folder / "ours").code == 0
    return folder / "ours"


def open_gfm(index: Index, weights: Path, settings: str = "") -> GFMRetriever:
    retriever = open_retriever(parse_retriever(f"gfm-paper:preset=ours,weights={weights}{settings}"), index.context)
    assert isinstance(retriever, GFMRetriever)
    return retriever


def described_logits(index: Index, tensors: dict[str, torch.Tensor], encoder: str, question: str, fusion: str) -> Any:
    """Return a logit for each passage and entity, "p NAME" or "e NAME", from the equations."""
    text = SentenceTransformerEncoder(encoder, None, EmbeddingConfig(normalize=True, query="ask: ", text=""))

    def encode(one: str) -> torch.Tensor:
        return torch.from_numpy(text.encode([one])[0])

    s = index.snapshot
    names = list(s.entities)
    nodes = {
        f"p {id_}": f"name: {t or id_}\ntype: document\ncontent: {x}"
        for id_, t, x in zip(s.passage_ids, s.titles, s.texts, strict=True)
    }
    nodes |= {f"e {name}": f"name: {published_name(name)}\ntype: entity" for name in names}
    # Relations that differ as stated may have one published form: they are two edges.
    facts = [(f"e {head}", published_name(relation), f"e {tail}") for head, relation, tail in stated_facts(index)]
    for passage, id_ in enumerate(s.passage_ids):
        facts += [(f"e {names[e]}", "is_mentioned_in", f"p {id_}") for e in s.mentions.row(passage).tolist()]
    named = [e for name in link_question(s, question).linked_names for e in name.entities]
    assert named
    return gfm_rag.logits(
        tensors,
        6,
        list(nodes),
        sorted(facts),
        torch.from_numpy(text.encode_queries([question])[0]),
        {f"e {names[e]}": 1.0 for e in named},
        lambda relation: encode(f"name: {relation}"),
        node_texts={node: encode(words) for node, words in nodes.items()},
        fusion=fusion,
    )


@pytest.mark.parametrize("fusion", FUSIONS)
def test_scores_equal_the_equations_to_five_places(small: Index, encoder: str, tmp_path: Path, fusion: str) -> None:
    tensors = write(tmp_path / "published", make_config(encoder, fusion))
    outcome = run_clew("weights", "import", tmp_path / "published", "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err) == (0, "")
    assert "6 layers of width 8" in outcome.out
    assert "seeds plain; it scores documents" in outcome.out
    assert load_weights(tmp_path / "ours").model.settings.fusion == FUSIONS[fusion]
    gfm = open_gfm(small, tmp_path / "ours")
    s = small.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    keys = [*(f"p {id_}" for id_ in s.passage_ids), *(f"e {name}" for name in s.entities)]
    for question in QUESTIONS:
        expected = described_logits(small, tensors, encoder, question, FUSIONS[fusion])
        graph, vector = gfm.build_graph(question, everything)
        batch = gfm.collate(graph, vector())
        np.testing.assert_allclose(gfm.logits(batch), [expected[keys[n]] for n in graph.nodes], atol=1e-5)
        by_torch = DeviceQueryNetwork(load_weights(tmp_path / "ours").model, "cpu")
        np.testing.assert_allclose(by_torch.logits(batch.query, gfm._projections(batch)), gfm.logits(batch), atol=1e-5)
        documents = sorted((-expected[f"p {id_}"], id_) for id_ in s.passage_ids)
        ranked = gfm.retrieve([question], 10)[0].passages
        assert [r.item.id for r in ranked] == [id_ for _, id_ in documents[:10]]
        scores = [1.0 / (1.0 + np.exp(negative)) for negative, _ in documents[:10]]
        assert [r.score for r in ranked] == pytest.approx(scores, abs=1e-5)


def test_a_small_graph_ranks_passages_of_it_and_a_filter_applies_inside(small: Index, weights: Path) -> None:
    few = open_gfm(small, weights, ",nodes=12")
    graph, _ = few.build_graph(QUESTIONS[0], np.ones(len(small.snapshot.passage_ids), dtype=bool))
    assert 1 < len(graph.nodes) <= 12 + np.count_nonzero(graph.seeds)
    assert 0 < len(few.retrieve([QUESTIONS[0]], 10)[0].passages) <= graph.targets.sum()
    allowed = np.arange(len(small.snapshot.passage_ids)) % 2 == 0
    for retriever in (few, open_gfm(small, weights)):
        graph, vector = retriever.build_graph(QUESTIONS[0], allowed)
        ranked = retriever.ranker.rank(
            graph, retriever.logits(retriever.collate(graph, vector())), vector(), 50, allowed
        )
        assert all(allowed[passage] for passage, _ in ranked.passages)


def test_a_passage_is_explained_by_walks_over_mentions(small: Index, weights: Path) -> None:
    gfm = open_gfm(small, weights)
    titles = set(small.snapshot.titles)
    walks = [walk for t in ("Karlskrona", "Blekinge") for walk in explain_target(gfm, QUESTIONS[0], t).walks]
    assert walks
    for walk in walks:
        assert walk.edges[0].start == "Louis Palander"
        assert walk.edges[-1].end in titles
        assert walk.edges[-1].triple.relation == "mentions"
    found = small.search(QUESTIONS[0], 50, parse_retriever(f"gfm-paper:preset=ours,weights={weights}"), paths=2)
    assert found.paths
    assert all(path.score > 0 for path in found.paths)


def test_names_are_written_as_the_source_writes_them() -> None:
    for name, form in (
        ("Louis Palander", "louis palander"),
        ("Vega (ship)", "vega  ship"),
        ("Ærø", "r"),
        ("東京", "東京"),
    ):
        assert published_name(name) == form


def test_settings_for_entities_are_refused(small: Index, weights: Path) -> None:
    with pytest.raises(InputError, match="entities is for weights that score entities, and these score documents"):
        open_gfm(small, weights, ",entities=5")
    open_gfm(small, weights, ",linker=exact,seeds=rarity")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["model_config"].update(use_ent_emb=None), "use_ent_emb = None"),
        (
            lambda c: c["model_config"]["entity_model"].update(return_hidden=False),
            "return_hidden = False, .* wanted yes",
        ),
        (lambda c: c["model_config"].update(_target_="x.GNNRetriever"), "wanted GraphReasoner"),
        (lambda c: c["dataset_config"].update(use_node_feat=False), "use_node_feat = False"),
        (
            lambda c: c["model_config"].update(use_ent_emb="early-fusion"),
            "return_hidden = True, .* wanted no",
        ),
        (lambda c: c["model_config"]["entity_model"].update(input_dim=16, hidden_dims=[16] * 6), "has shape"),
    ],
)
def test_other_configurations_are_refused(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    config = make_config("owner/model")
    write(tmp_path, config)
    change(config)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_published_checkpoint(tmp_path)


def test_the_published_size() -> None:
    shapes = QueryGNNSettings(1024, 1024, 6, fusion="early-late").shapes()
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 34_640_897
