"""Training of gfm on indexes that exist: lazily built questions, and entities in validation."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.index import Index
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.weights import load_weights
from clew.training.data.gfm_examples import GFMExamples, LazyExamples, count_gold_nodes, make_examples
from clew.training.hyperparameters import RetrievalLoss
from clew.training.objectives.document_retrieval import DocumentRetrieval, entity_ranks, score_questions
from clew.types import Document
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from clew_lab.training.recipes.networks import query_network_settings
from lab.tests.training.recipes.test_published_recipe import QUESTIONS, small_recipe
from tests.faults.commands import run_clew
from tests.small_index import DOCUMENTS, make_index


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": q.id, "question": q.text, "gold": list(q.gold)}) + "\n" for q in QUESTIONS]
    (tmp_path / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "questions.jsonl"


def test_existing_indexes_are_trained_on_and_judge_by_entities_too(
    small: Index, questions: Path, tmp_path: Path
) -> None:
    place = f"{small.table.location.name}={questions}"
    shape = ("--preset", "paper", "--width", "8", "--layers", "2", "--epochs", "2")
    options = ("--index", place, "--validate", place, "--out", tmp_path / "out")
    done = run_clew("train", "gfm", *options, *shape)
    assert done.code == 0, done.err
    assert "entity MRR: " in done.out
    assert "entity hits@10: " in done.out
    assert not (tmp_path / "out" / "run" / "indexes").exists()
    trained = load_weights(tmp_path / "out")
    assert trained.encoder.fingerprint == small.context.encoder.fingerprint
    about = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))["about"]
    assert (about["questions"], about["gold nodes outside the graphs"]) == (2, 0)
    assert about["data"] == about["validation"] == [small.table.location.name.rpartition("/")[2]]
    first = trained.key
    assert run_clew("train", "gfm", *options, *shape).code == 0
    assert load_weights(tmp_path / "out").key == first
    done = run_clew("train", "gfm", *options, *shape, "--fraction", "0.5")
    assert done.code == 0, done.err
    about = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["questions"] == 1


def test_weights_of_entities_explain_an_entity_where_a_passage_has_its_name(
    small: Index, questions: Path, tmp_path: Path
) -> None:
    """Its name was taken for the passage, so that no main entity could be explained."""
    place = small.table.location.name
    shape = ("--preset", "paper", "--width", "8", "--layers", "2", "--epochs", "1")
    done = run_clew("train", "gfm", "--index", f"{place}={questions}", "--out", tmp_path / "out", *shape)
    assert done.code == 0, done.err
    weights = ("--retriever", f"gfm-paper:preset=ours,weights={tmp_path / 'out'},entities=all", "--index", place)
    for target, passage in (("Karlskrona", None), ("karlskrona", "karlskrona"), ("palander", "palander")):
        explained = run_clew("explain", QUESTIONS[0].text, "--target", target, "--json", *weights)
        assert explained.code == 0, explained.err
        assert json.loads(explained.out)["passage"] == passage, target
    unconnected = ("explain", QUESTIONS[0].text, "--target", "lonely", "--index", make_lonely_index(tmp_path / "other"))
    refused = run_clew(*unconnected, "--retriever", f"gfm-paper:preset=ours,weights={tmp_path / 'out'},entities=1")
    assert refused.code == 2
    assert "mentions none of the entities that count" in refused.err


def make_lonely_index(folder: Path) -> Path:
    """Write an index of the small one's documents and of one that names nothing."""
    make_index(folder, [*DOCUMENTS, Document("lonely", "", "nothing is named here")])
    return folder


def test_questions_of_paths_need_the_index_alone(small: Index, tmp_path: Path) -> None:
    options = ("--stage", "paths", "--targets", "entities", "--nodes", "20", "--width", "8", "--layers", "1")
    steps = ("--epochs", "1", "--batch", "2", "--questions", "10")
    done = run_clew("train", "gfm", "--index", small.table.location.name, "--out", tmp_path, *options, *steps)
    assert done.code == 0 or "questions, made or given; at least 5" in done.err, done.err


@pytest.mark.parametrize(
    ("stage", "option"), [("pretrain", "--index"), ("paths", "--index"), ("pretrain", "--validate")]
)
def test_stages_without_questions_refuse_them(small: Index, tmp_path: Path, stage: str, option: str) -> None:
    place = str(small.table.location.name)
    options = ("--stage", stage, "--targets", "entities", "--index", place, option, f"{place}=questions.jsonl")
    refused = run_clew("train", "gfm", *options, "--out", tmp_path / "out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"--stage {stage} reads no questions, and questions.jsonl was given" in refused.err


def test_facts_are_judged_on_an_index(small: Index, tmp_path: Path) -> None:
    place = small.table.location.name
    options = ("--stage", "pretrain", "--targets", "entities", "--nodes", "20", "--width", "8", "--layers", "1")
    steps = ("--epochs", "1", "--batch", "2", "--steps", "2", "--negatives", "4")
    done = run_clew("train", "gfm", "--index", place, "--validate", place, "--out", tmp_path, *options, *steps)
    assert done.code == 0, done.err
    assert "reciprocal rank" in done.out


def test_an_index_without_questions_cannot_be_finetuned_on(small: Index, tmp_path: Path) -> None:
    done = run_clew("train", "gfm", "--index", small.table.location.name, "--out", tmp_path / "out")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "give it as INDEX=QUESTIONS" in done.err
    done = run_clew("train", "gfm", "--out", tmp_path / "out")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "give --data FOLDER, or --index INDEX" in done.err


@pytest.mark.parametrize("nodes", [5, 1000])
def test_lazy_questions_are_those_built_at_once(small: Index, nodes: int) -> None:
    view = graph_view(small.context, GFMRecipe(targets="entities", nodes=nodes))
    at_once, lazy = (make_examples(view, QUESTIONS, augment=False, lazy=lazy) for lazy in (False, True))
    assert isinstance(lazy.items, LazyExamples)
    assert count_gold_nodes(lazy.items) == (0, 0)
    for one, other in zip(at_once.items, lazy.items, strict=True):
        assert (one.gold, one.gold_nodes, one.gold_nodes_outside) == (
            other.gold,
            other.gold_nodes,
            other.gold_nodes_outside,
        )
        np.testing.assert_array_equal(one.graphs[0].nodes, other.graphs[0].nodes)
        np.testing.assert_array_equal(one.relevant[0], other.relevant[0])
        np.testing.assert_array_equal(one.vectors[0], other.vectors[0])
    assert count_gold_nodes(lazy.items) == count_gold_nodes(at_once.items)
    forms = make_examples(view, QUESTIONS, seed=3, lazy=True)
    assert [len(item.graphs) for item in forms.items] == [4, 4]
    np.testing.assert_array_equal(forms.items[1].graphs[2].seeds, forms.items[1].graphs[2].seeds)


@pytest.mark.parametrize("nodes", [5, 1000])
def test_entities_are_ranked_one_by_one(small: Index, nodes: int) -> None:
    recipe = GFMRecipe(targets="entities", nodes=nodes, width=8, layers=2)
    examples: GFMExamples = make_examples(graph_view(small.context, recipe), QUESTIONS, augment=False)
    torch.manual_seed(2)
    model = QueryGNN(query_network_settings(recipe, examples.relations.shape[1])).eval()
    reciprocal, hits, count = 0.0, 0, 0
    for item in examples.items:
        logits = score_questions(model, examples, [item], [0])[0].tolist()
        count += item.gold_nodes
        for node in np.flatnonzero(item.relevant[0]).tolist():
            others = [logits[n] for n in range(len(logits)) if not item.relevant[0][n]]
            rank = 1 + sum(x > logits[node] for x in others) + 0.5 * sum(x == logits[node] for x in others)
            reciprocal += 1 / rank
            hits += rank <= 10
    assert entity_ranks(model, examples) == pytest.approx((reciprocal / count, hits / count))
    figures = DocumentRetrieval([examples], {"small": examples}, RetrievalLoss()).validate(model)
    assert figures["mean"] == pytest.approx((figures["small recall@2"] + figures["small recall@5"]) / 2)
    assert figures["small entity MRR"] == pytest.approx(reciprocal / count)
    assert next(iter(figures)) == "mean"


def test_gold_that_an_index_lacks_is_refused(small: Index, tmp_path: Path) -> None:
    view = graph_view(small.context, small_recipe())
    with pytest.raises(InputError, match="nowhere"):
        make_examples(view, [QUESTIONS[0].__class__("x", "Where?", gold=("nowhere",))], lazy=True)
