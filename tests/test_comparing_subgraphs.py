"""Ways of selecting side by side, on a task where it is known which of them can be right."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.comparing_subgraphs import MEASURES, SELECTIONS, Comparing, compare_selections, measured
from clew.errors import InputError
from clew.evaluation.graph_sets import GraphQuestion, GraphSet
from clew.graph.textual_graph import TextualGraph
from clew.index import silent
from clew.models.hashing import HashingEncoder
from clew.retrievers.subgraph_selectors import EgoGraph, WholeGraph
from clew.retrievers.subgraph_weights import ScorerSettings
from clew.teaching_subgraphs import asked_questions, local_reader, parted
from clew.training.loop import Recipe
from clew.training.subgraph_feedback import FeedbackRecipe

ENCODER = HashingEncoder(32)
SMALL = ScorerSettings(width=8)


def star(number: int) -> tuple[TextualGraph, GraphQuestion]:
    """A person with four facts, one of which is asked for, and a chain that leads away."""
    nodes = [f"person {number}", f"town {number}", f"craft {number}", f"ship {number}", f"year {number}", "sea", "wind"]
    relations = ["born in", "works as", "sails on", "died in", "lies on", "blows over"]
    edges = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 5], [5, 6]], dtype=np.int32)
    asked = number % 4
    text = f"person {number} {relations[asked] if number % 3 else 'has'} what"  # some say nothing of the relation
    question = GraphQuestion(f"q{number}", number, text, (nodes[asked + 1],), (0,), ((0, asked + 1),), f"g{number}")
    return TextualGraph(nodes, edges, relations), question


def stars(count: int) -> GraphSet:
    graphs, questions = zip(*(star(number) for number in range(count)), strict=True)
    return GraphSet(graphs, questions)


def on(count: int = 24, budget: int = 2) -> Comparing:
    known, test = parted(asked_questions(stars(count), ENCODER, silent), 0.7, 0)
    learned, held = parted(known, 0.8, 0)
    return Comparing(learned, held, test, lambda _: local_reader(ENCODER, (), ()), ENCODER, budget)


def report(folder: Path, names: tuple[str, ...], seeds: int = 2, epochs: int = 1) -> dict[str, Any]:
    recipe = Recipe(epochs=epochs, rate=1e-2, average=0.0, warmup=1)
    return compare_selections(on(), names, range(seeds), SMALL, FeedbackRecipe(budget=2), recipe, folder, silent)


def test_every_selection_is_measured_alike(tmp_path: Path) -> None:
    found = report(tmp_path, SELECTIONS)
    told = found["selections"]
    assert list(told) == list(SELECTIONS)
    for name, figures in told.items():
        assert set(MEASURES) <= set(figures)
        assert len(figures["by_seed"]) == 2
        assert figures["nodes"] <= 2 or name == "whole"
        assert 0 <= figures["accuracy"] <= 1
    assert told["whole"]["gold"] == 1
    assert told["whole"]["tokens"] > told["top-k"]["tokens"]
    assert told["gcn"]["train_seconds"] > 0
    assert told["steiner"]["train_seconds"] == 0
    assert {c["b"] for c in found["comparisons"]} == set(SELECTIONS[1:])


def test_the_same_seeds_give_the_same_figures(tmp_path: Path) -> None:
    timed = ("select_ms", "read_ms", "train_seconds", "intervals")
    both = [report(tmp_path / str(run), ("gcn", "random"), 1) for run in range(2)]
    first, second = (
        {n: {m: v for m, v in t.items() if m not in timed} for n, t in r["selections"].items()} for r in both
    )
    assert first == second


def test_figures_are_those_of_the_parts() -> None:
    questions = asked_questions(stars(8), ENCODER, silent)
    reader = local_reader(ENCODER, (), ())
    whole = measured(WholeGraph(), reader, questions, 2)
    near = measured(EgoGraph(), reader, questions, 1)
    place = {measure: column for column, measure in enumerate(MEASURES)}
    assert (whole[:, place["nodes"]] == 7).all()
    assert (whole[:, place["gold"]] == 1).all()
    assert (near[:, place["nodes"]] == 1).all()
    assert (near[:, place["gold"]] == 0).all()
    assert (near[:, place["accuracy"]] == 0).all()
    asks = [number for number in range(8) if number % 3]
    assert whole[asks, place["accuracy"]].mean() == 1, "the asked relation has the likest name"


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no selection is called 'best'"):
        report(tmp_path, ("gcn", "best"))
    with pytest.raises(InputError, match="0 seeds"):
        report(tmp_path, ("top-k",), 0)
