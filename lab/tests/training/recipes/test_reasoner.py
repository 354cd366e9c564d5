"""Published checkpoints, imported and tuned: `clew train gfm --start` and `clew adapt --start`."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import clew
from clew.errors import InputError
from clew.index import Index
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import load_weights
from clew.training.data.gfm_examples import make_examples
from clew_lab.gfm.published_retriever import GFMPaper
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from clew_lab.training.recipes.networks import query_network_settings
from clew_lab.training.recipes.weight_settings import settings_of_weights
from lab.tests.gfm import test_published_checkpoint, test_reasoner
from lab.tests.training.recipes.test_published_recipe import QUESTIONS
from tests.faults.commands import run_clew
from tests.models.tiny_bert import WIDTH, write_tiny_bert


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of imported weights of GFM-RAG, which score entities, and of G-reasoner."""
    folder = tmp_path_factory.mktemp("imported")
    write_tiny_bert(folder / "bert")
    test_published_checkpoint.write(
        folder / "entities-in", test_published_checkpoint.second_generation(str(folder / "bert"))
    )
    test_reasoner.write(folder / "documents-in", test_reasoner.make_config(str(folder / "bert")))
    for kind in ("entities", "documents"):
        assert run_clew("weights", "import", folder / f"{kind}-in", "--out", folder / kind).code == 0
    return {kind: folder / kind for kind in ("entities", "documents")}


def write_data(folder: Path, index: Index) -> Path:
    folder.mkdir()
    s = index.snapshot
    documents = [{"id": id_, "title": s.titles[p], "text": s.passage(p).text} for p, id_ in enumerate(s.passage_ids)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
    lines = [json.dumps({"id": q.id, "question": q.text, "gold": list(q.gold)}) + "\n" for q in QUESTIONS]
    (folder / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def test_a_reasoner_is_trained_further(small: Index, imported: dict[str, Path], tmp_path: Path) -> None:
    data, start = write_data(tmp_path / "small", small), imported["documents"]
    options = ("--start", start, "--epochs", "2", "--rate", "5e-4", "--ranking", "code", "--no-augment")
    done = run_clew("train", "gfm", "--data", data, "--out", tmp_path / "out", *options)
    assert done.code == 0, done.err
    tuned, before = load_weights(tmp_path / "out"), load_weights(start)
    assert (tuned.targets, tuned.encoder, tuned.nodes) == ("documents", before.encoder, None)
    assert (tuned.form.seeds, tuned.model.settings) == ("plain", before.model.settings)
    for name in ("ent_mlp.weight", "early_fuse_mlp.0.weight", "predict_mlp.2.weight"):
        assert 1e-6 < float(np.abs(tuned.model.arrays[name] - before.model.arrays[name]).max()) < 0.1
    index = clew.open(next((tmp_path / "out" / "run" / "indexes").glob("small-*")))
    assert index.search(QUESTIONS[0].text, 3, GFMPaper(preset="ours", weights=tmp_path / "out")).passages


def test_the_recipe_follows_the_weights_and_facts_are_refused(imported: dict[str, Path], tmp_path: Path) -> None:
    shape = settings_of_weights(imported["documents"])
    assert (shape["targets"], shape["whole_graph"], shape["seeds"], shape["width"]) == ("documents", True, "plain", 8)
    done = run_clew(
        "train", "gfm", "--data", tmp_path, "--out", tmp_path / "o", "--targets", "documents", "--stage", "pretrain"
    )
    assert done.code == 2
    assert "documents are learned from questions: give --stage paths or finetune" in done.err
    assert GFMRecipe.dependent_defaults({"targets": "documents"})["seeds"] == "plain"


def test_the_gradient_of_a_training_step_is_that_of_the_whole_network(small: Index, imported: dict[str, Path]) -> None:
    """Every part of the network learns, those that read texts among them."""
    from clew.nn.query_gnn import QueryGNN
    from clew.training.hyperparameters import RetrievalLoss
    from clew.training.objectives.document_retrieval import DocumentRetrieval, QuestionBatch

    trained = load_weights(imported["documents"])
    view = graph_view(small.context, GFMRecipe(stage="paths"), trained)
    examples = make_examples(view, QUESTIONS, augment=False)
    model = QueryGNN.from_network(trained.model)
    batch = QuestionBatch(examples, tuple(examples.items), (0, 0))
    loss = DocumentRetrieval([examples], {}, RetrievalLoss(0.3, "code", augment=False)).loss(model, batch)
    assert loss is not None
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and bool(torch.isfinite(p.grad).all()) for p in model.parameters())
    assert all(float(p.grad.abs().max()) > 0 for p in model.parameters() if p.grad is not None)
    assert query_network_settings(GFMRecipe(targets="documents", width=8, layers=6), WIDTH) == trained.model.settings
    assert trained.form == EntityForm("plain")


def test_texts_of_nodes_are_needed(small: Index, imported: dict[str, Path]) -> None:
    trained = load_weights(imported["documents"])
    view = graph_view(small.context, GFMRecipe(stage="paths"), trained)
    from clew.retrievers.gfm.batch import collate

    example = make_examples(view, QUESTIONS, augment=False).items[0]
    batch = collate([example.graphs[0]], [example.vectors[0]], view.graphs.edges)
    with pytest.raises(InputError, match="reads the texts of nodes, and none were given"):
        trained.model.logits(
            batch.query, trained.model.project_relations(view.relations[batch.needed_relations(trained.model.settings)])
        )
