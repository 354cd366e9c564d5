"""The experiment with a language model made from nothing, at a size that shows that it runs and not what comes out."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("tiny_reader")


@pytest.fixture
def tasks(bench: ModuleType) -> ModuleType:
    del bench
    return importlib.import_module("graph_task")


def test_a_question_has_one_answer_two_edges_away(tasks: ModuleType) -> None:
    settings = tasks.TaskSettings(nodes=12, names=14)
    for seed in range(50):
        one = tasks.task(settings, np.random.default_rng(seed))
        facts = {
            (one.graph.nodes[source], kind): one.graph.nodes[target]
            for (source, target), kind in zip(one.graph.edges.tolist(), one.graph.relations, strict=True)
        }
        assert len(facts) == len(one.graph.edges)  # nobody has two bosses
        found = re.fullmatch(r"Who is (\w+)'s (\w+)'s (\w+)\?", one.question)
        assert found is not None
        start, first, second = found.groups()
        assert facts[facts[start, first], second] == one.answer
        assert len({*one.chain}) == 3
        part = tasks.connected_part(one.graph, one.chain, 6, np.random.default_rng(seed))
        assert {*one.chain} <= {*part}
        assert 3 <= len(part) <= 6


def test_what_is_practised_is_true_of_the_part(tasks: ModuleType) -> None:
    settings = tasks.TaskSettings(nodes=12, names=14)
    tokenizer = tasks.word_tokenizer()
    for kind in ("again", "one edge", "two edges", "task"):
        practice = tasks.Practice(settings, (kind,), 5, 3)
        for one in practice:
            words, more = (
                tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
                for text in (tasks.prompt(one.question, one.context.text), one.answer)
            )
            assert "<unknown>" not in [*words, *more]
            length = 1 if kind in ("again", "one edge") else 2
            facts = dict(zip(*[iter(words[:-length])] * 2, strict=True))
            assert len(facts) == len(one.context.part.edges)
            for asked, *further, answer in zip(*[iter([*words[-length:], *more])] * (length + 1), strict=True):
                reached = facts[asked]
                for relation in further:
                    reached = facts[reached + relation]
                assert reached == answer
        assert [one.answer for one in practice] == [practice[place].answer for place in range(5)]


@pytest.mark.slow
def test_the_experiment_runs_from_end_to_end(
    bench: ModuleType, tasks: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = bench.Shape(
        task=tasks.TaskSettings(nodes=8, names=9, degree=1.5),
        width=16,
        layers=2,
        stages=(bench.Stage(("one edge", "two edges"), 1, 3e-3), bench.Stage(("task",), 1, 3e-3)),
        epoch=96,
        budget=4,
        learned=16,
        held=6,
        asked=10,
        epochs=1,
        tuning=1,
        least=0.0,
        encoder="hashing:64",
    )
    lines: list[str] = []
    first = bench.tables(shape, 1, tmp_path, lines.append)
    printed = capsys.readouterr().out
    assert len(lines) == 4  # two stages, how well it reads, and the seed
    assert all(f"| {name} " in printed for name in first)
    for name, outcome in first.items():
        assert outcome.right.shape == outcome.whole.shape == outcome.nodes.shape == (10,)
        assert outcome.nodes.max() <= (8 if name == "whole" else 4)
    assert first["whole"].whole.all()
    again = bench.tables(shape, 1, tmp_path, lines.append)
    assert len(lines) == 6  # nothing is taught twice
    assert bench.tables(replace(shape, least=1.1), 1, tmp_path, lines.append) == {}
    assert "there are no tables" in lines[-1], "a reader that cannot read says nothing of a selection"
    for name, outcome in first.items():
        np.testing.assert_array_equal(outcome.right, again[name].right)
        np.testing.assert_array_equal(outcome.nodes, again[name].nodes)
