"""Published checkpoints: files of their form are read, and rank as described."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from huggingface_hub.errors import RevisionNotFoundError

from clew.errors import InputError
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.models.encoders.sentence_transformer import EmbeddingConfig, SentenceTransformerEncoder
from clew.query.linking import link_question
from clew.retrievers.gfm.batch import collate
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import load_weights
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.types import Document
from clew_lab.gfm.entity_graphs import EntityGraphBuilder
from clew_lab.gfm.published_checkpoint import load_published_checkpoint
from clew_lab.graph.node_graphs import entity_graph
from clew_lab.graph.synonyms import load_synonyms
from lab.tests.gfm.published_files import entity_model, stated_facts, write_checkpoint
from tests.faults.commands import run_clew
from tests.models.tiny_bert import WIDTH
from tests.oracles import gfm_rag
from tests.small_index import make_index

QUESTIONS = ("Where was Louis Palander born?", "Which province has the naval town Karlskrona?", "Who sailed the Vega?")
SHAPE = QueryGNNSettings(width=8, text_width=WIDTH, layers=6)


def first_generation(encoder: str) -> dict[str, Any]:
    text = {
        "_target_": "gfmrag.text_emb_models.BaseTextEmbModel",
        "text_emb_model_name": encoder,
        "normalize": False,
        "batch_size": 32,
        "query_instruct": None,
        "passage_instruct": None,
        "model_kwargs": None,
    }
    inner = entity_model(_target_="gfmrag.ultra.models.QueryNBFNet")
    model = {"_target_": "gfmrag.models.GNNRetriever", "entity_model": inner, "rel_emb_dim": WIDTH}
    return {"text_emb_model_config": text, "model_config": model}


def second_generation(encoder: str) -> dict[str, Any]:
    text = {"text_emb_model_name": encoder, "normalize": True, "query_instruct": "ask: ", "passage_instruct": None}
    target = "gfmrag.models.gfm_rag_v1.model.GNNRetriever"
    model = {"_target_": target, "entity_model": entity_model(), "feat_dim": WIDTH, "use_ent_emb": None}
    return {"dataset_config": {"cfgs": {"text_emb_model_cfgs": text}}, "model_config": model}


def write(folder: Path, config: dict[str, Any], **changes: Any) -> dict[str, torch.Tensor]:
    tensors = write_checkpoint(folder, config, SHAPE, **changes)
    assert len(tensors) == 56
    return tensors


@pytest.mark.parametrize("mean", [False, True], ids=["sum", "mean"])
@pytest.mark.parametrize("generation", [first_generation, second_generation])
def test_scores_equal_the_description_to_five_places(
    small: Index, encoder: str, tmp_path: Path, generation: Any, mean: bool
) -> None:
    config = generation(encoder)
    config["model_config"]["entity_model"]["aggregate_func"] = "mean" if mean else "sum"
    tensors = write(tmp_path / "published", config)
    outcome = run_clew("weights", "import", tmp_path / "published", "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err) == (0, "")
    assert "6 layers of width 8" in outcome.out
    retriever = open_retriever(
        parse_retriever(f"gfm-paper:preset=paper,linker=exact,weights={tmp_path / 'ours'}"), small.context
    )
    assert isinstance(retriever, GFMRetriever)
    normalize = generation is second_generation
    text = SentenceTransformerEncoder(encoder, None, EmbeddingConfig(normalize, "ask: " if normalize else "", ""))
    s = small.snapshot
    entities = list(s.entities)
    mentions = {id_: {entities[e] for e in s.mentions.row(p)} for p, id_ in enumerate(s.passage_ids)}
    for question in QUESTIONS:
        linked = link_question(s, question)
        named = [e for name in linked.linked_names for e in name.entities]
        assert named
        seeds = {entities[e]: 1.0 / len(s.mentioned_in.row(e)) for e in named}
        vector = text.encode_queries([question])[0]
        expected = gfm_rag.logits(
            tensors,
            6,
            entities,
            sorted(set(stated_facts(small))),
            torch.from_numpy(vector),
            seeds,
            lambda t: torch.from_numpy(text.encode([t])[0]),
            mean=mean,
        )
        graph = retriever.graphs.build(linked, [vector].__getitem__, np.ones(len(s.passage_ids), dtype=bool))
        actual = retriever.logits(collate([graph], [vector], retriever.graphs.edges))
        np.testing.assert_allclose(actual, [expected[entities[e]] for e in graph.nodes], atol=1e-5)
        ranked = retriever.retrieve([question], 10)[0].passages
        described = gfm_rag.rank_passages(expected, mentions, 10)
        assert [r.item.id for r in ranked] == [id_ for id_, _ in described]
        assert [r.score for r in ranked] == pytest.approx([score for _, score in described])


@pytest.mark.parametrize("generation", [first_generation, second_generation])
@pytest.mark.parametrize(
    ("changes", "form"),
    [
        ({}, EntityForm()),
        ({"init_entities_weight": False}, EntityForm("plain")),
        ({"init_nodes_weight": False}, EntityForm("plain")),
        ({"init_nodes_weight": True}, EntityForm("rarity")),
        (
            {"init_nodes_weight": False, "ranker": {"_target_": "gfmrag.doc_rankers.SimpleRanker"}},
            EntityForm("plain", "weighted", None, rarity=False),
        ),
        (
            {"ranker": {"_target_": "gfmrag.doc_rankers.IDFWeightedTopKRanker", "top_k": 7}},
            EntityForm("rarity", "paper", 7, rarity=True),
        ),
        ({"ranker": "TopKRanker"}, EntityForm("rarity", "paper", 20, rarity=False)),
    ],
)
def test_seeds_and_ranker_of_the_configuration_are_honoured(
    tmp_path: Path, small: Index, encoder: str, generation: Any, changes: dict[str, Any], form: EntityForm
) -> None:
    config = generation(encoder)
    config["model_config"] |= changes
    write(tmp_path / "published", config)
    outcome = run_clew("weights", "import", tmp_path / "published", "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"seeds {form.seeds}, ranker {form.ranker}" in outcome.out
    assert load_weights(tmp_path / "ours").form == form
    retriever = open_retriever(parse_retriever(f"gfm-paper:preset=ours,weights={tmp_path / 'ours'}"), small.context)
    assert isinstance(retriever, GFMRetriever)
    linked = link_question(small.snapshot, QUESTIONS[0])
    graph = retriever.graphs.build(linked, [].__getitem__, np.ones(len(small.snapshot.passage_ids), dtype=bool))
    assert (set(graph.seeds.tolist()) == {0.0, 1.0}) == (form.seeds == "plain")
    other = open_retriever(
        parse_retriever(f"gfm-paper:preset=ours,weights={tmp_path / 'ours'},seeds=plain"), small.context
    )
    assert isinstance(other, GFMRetriever)
    plain = other.graphs.build(linked, [].__getitem__, np.ones(len(small.snapshot.passage_ids), dtype=bool))
    assert set(plain.seeds.tolist()) == {0.0, 1.0}


def test_entities_without_a_passage_have_no_seed_weight(polar: Index) -> None:
    s = polar.snapshot
    degrees = s.mentioned_in.degrees()
    builder = EntityGraphBuilder(entity_graph(s, load_synonyms(polar.context)), s, None)
    np.testing.assert_allclose(builder.seed_weights, [1.0 / d if d else 0.0 for d in degrees.tolist()])


def change_config(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    config = first_generation("owner/model")
    part = config
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return config


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("model_config",), None, "no 'model_config'"),
        (("model_config", "entity_model"), 3, "no 'entity_model'"),
        (("model_config", "_target_"), "os.system", "names the class 'os.system'"),
        (("model_config", "entity_model", "_target_"), "gfmrag.ultra.models.Other", "QueryNBFNet"),
        (("model_config", "use_ent_emb"), "early-late-fusion", "return_hidden = False, which is not read; wanted yes"),
        (("model_config", "use_ent_emb"), "middle", "use_ent_emb = 'middle', which is not read"),
        (("model_config", "_target_"), "gfmrag.models.GraphReasoner", "use_ent_emb = None, which is not read"),
        (("dataset_config",), {"inverse_relation_feat": "inverse"}, "inverse_relation_feat = 'inverse'"),
        (("model_config", "rel_emb_dim"), "wide", "whole numbers"),
        (("model_config", "entity_model", "hidden_dims"), [8, 4], "whole numbers"),
        (("model_config", "entity_model", "hidden_dims"), [8] * 5, "has entity_model.layers.5"),
        (("model_config", "entity_model", "hidden_dims"), [8] * 7, "lacks entity_model.layers.6"),
        (("model_config", "entity_model", "message_func"), "rotate", "transe"),
        (("model_config", "entity_model", "aggregate_func"), "pna", "aggregate_func = 'pna', which is not read"),
        (("model_config", "entity_model", "activation"), "tanh", "activation = 'tanh', which is not read"),
        (("model_config", "entity_model", "input_dim"), -1, "whole numbers"),
        (("model_config", "rel_emb_dim"), 10**9, "has shape"),
        (("model_config", "entity_model", "short_cut"), "no", "short_cut = 'no', which is not read"),
        (("model_config", "rel_emb_dim"), WIDTH + 1, "has shape"),
        (("text_emb_model_config",), {}, "text_emb_model_name"),
        (("model_config", "init_nodes_weight"), "no", "wanted true or false"),
        (("model_config", "ranker"), "os.system", "wanted one of SimpleRanker"),
        (("model_config", "ranker"), {"_target_": "x.TopKRanker", "top_k": 0}, "top_k = 0"),
    ],
)
def test_unsupported_configurations_are_refused(
    tmp_path: Path, path: tuple[str, ...], value: Any, message: str
) -> None:
    write(tmp_path / "in", change_config(path, value))
    outcome = run_clew("weights", "import", tmp_path / "in", "--out", tmp_path / "out")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err
    assert not (tmp_path / "out").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json"):
        load_published_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(first_generation("x")), encoding="utf-8")
    with pytest.raises(InputError, match=r"no model\.pth"):
        load_published_checkpoint(tmp_path)
    (tmp_path / "model.pth").write_bytes(b"no zip")
    with pytest.raises(InputError, match="fetch the checkpoint again"):
        load_published_checkpoint(tmp_path)
    torch.save({"weights": {}}, tmp_path / "model.pth")
    with pytest.raises(InputError, match="under the key 'model'"):
        load_published_checkpoint(tmp_path)
    tensors = write(tmp_path, first_generation("x"))
    for other in (tensors["rel_mlp.bias"].to_sparse(), tensors["rel_mlp.bias"].to(torch.complex64)):
        torch.save({"model": {**tensors, "rel_mlp.bias": other}}, tmp_path / "model.pth")
        with pytest.raises(InputError, match="no plain tensor of real numbers"):
            load_published_checkpoint(tmp_path)
    tensors["rel_mlp.bias"][0] = float("nan")
    torch.save({"model": tensors}, tmp_path / "model.pth")
    with pytest.raises(InputError, match="NaN"):
        load_published_checkpoint(tmp_path)


def test_a_checkpoint_of_another_width_than_its_encoder(tmp_path: Path) -> None:
    write(tmp_path / "in", first_generation("hashing:80"))
    run_clew("weights", "import", tmp_path / "in", "--out", tmp_path / "out")
    index = make_index(tmp_path / "index", [Document("a", "Oslo", "Oslo lies in Norway.")])
    with pytest.raises(InputError, match=f"width {WIDTH}, and those of hashing:80 have 80"):
        index.retriever(parse_retriever(f"gfm-paper:preset=ours,weights={tmp_path / 'out'}"))


class Harmful:
    """What a file of pickled code would make."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (Path("harm.txt"), "done"))


def test_no_code_of_a_checkpoint_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, first_generation("x"), extra=Harmful())
    with pytest.raises(InputError, match="plain tensors"):
        load_published_checkpoint(tmp_path)
    assert not (tmp_path / "harm.txt").exists()


@pytest.mark.parametrize(
    "documents",
    [
        [Document("a", "Oslo", "It rains.")],
        [Document("a", "Oslo", "It rains."), Document("b", "Rome", "It is hot.")],
        [Document(f"d{i}", f"Town {i}", f"Town {i} lies in Norway.") for i in range(5)],
    ],
    ids=["one passage", "no edges", "one relation"],
)
def test_tiny_graphs(tmp_path: Path, encoder: str, documents: list[Document]) -> None:
    write(tmp_path / "published", first_generation(encoder))
    run_clew("weights", "import", tmp_path / "published", "--out", tmp_path / "ours")
    index = make_index(tmp_path / "index", documents)
    for question in (f"What of {documents[0].title}?", "nothing known", "Norway"):
        for nodes in ("all", "3"):
            evidence = index.search(
                question,
                5,
                parse_retriever(f"gfm-paper:preset=ours,weights={tmp_path / 'ours'},nodes={nodes}"),
                paths=2,
            )
            assert len(evidence.passages) <= len(documents)
            assert evidence.passages or evidence.notes
    (best, *_) = index.search(
        f"What of {documents[0].title}?", 5, parse_retriever(f"gfm-paper:preset=ours,weights={tmp_path / 'ours'}")
    ).passages
    assert best.score > 0


def test_a_checkpoint_is_fetched_by_its_name_on_the_hub(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "cache", first_generation(encoder))
    asked: list[tuple[str, str, str | None]] = []

    def download(repository: str, file: str, revision: str | None = None) -> str:
        asked.append((repository, file, revision))
        return str(tmp_path / "cache" / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: None)
    outcome = run_clew("weights", "import", "hf:owner/GFM-8M@main", "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err) == (0, "")
    assert asked == [("owner/GFM-8M", name, "main") for name in ("config.json", "model.pth")]
    assert "hf:owner/GFM-8M@main" in (tmp_path / "ours" / "config.json").read_text(encoding="utf-8")
    assert load_weights(tmp_path / "ours").model.settings == SHAPE


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("hf:owner/GFM-8M", 1, "the hub cannot be reached"),
        ("hf:owner/no name at all!", 2, "has no GFM-RAG checkpoint"),
        ("hf:GFM-8M", 2, "called 'GFM-8M'; wanted OWNER/NAME: write hf:OWNER/NAME, or give a folder"),
        ("hf:/GFM-8M", 2, "wanted OWNER/NAME"),
        ("hf:owner/", 2, "wanted OWNER/NAME"),
    ],
)
def test_an_unreachable_hub_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: int, message: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    outcome = run_clew("weights", "import", name, "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err.count("\n")) == (code, 1), outcome
    assert message in outcome.err


def test_without_a_network_the_import_prints_our_line_alone(tmp_path: Path) -> None:
    """In a process of its own, against a port where nothing listens: the hub's library warned on standard error."""
    closed = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "clew", "weights", "import", "hf:owner/GFM-8M", "--out", str(tmp_path / "ours")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | closed)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: the GFM-RAG checkpoint 'owner/GFM-8M' is not in the local cache, and the hub cannot")


def test_a_revision_that_the_hub_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        reply: Any = httpx.Response(404, request=httpx.Request("GET", "https://hub"))
        raise RevisionNotFoundError("no such revision", response=reply)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    outcome = run_clew("weights", "import", "hf:owner/GFM-8M@old", "--out", tmp_path / "ours")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome
    assert "has no revision 'old'" in outcome.err
