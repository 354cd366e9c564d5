"""The experiment with a language model trained from scratch, at a size that only shows that it runs."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

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
        one = tasks.make_task(settings, np.random.default_rng(seed))
        facts = {
            (one.graph.nodes[source], kind): one.graph.nodes[target]
            for (source, target), kind in zip(one.graph.edges.tolist(), one.graph.relations, strict=True)
        }
        assert len(facts) == len(one.graph.edges)  # nobody has two bosses
        match = re.fullmatch(r"Who is (\w+)'s (\w+)'s (\w+)\?", one.question)
        assert match is not None
        start, first, second = match.groups()
        assert facts[facts[start, first], second] == one.answer
        assert len({*one.chain}) == 3
        part = tasks.sample_connected(one.graph, one.chain, 6, np.random.default_rng(seed))
        assert {*one.chain} <= {*part}
        assert 3 <= len(part) <= 6


def test_practice_examples_are_true_of_their_subgraphs(tasks: ModuleType) -> None:
    tokenizer = tasks.make_tokenizer()
    practice = tasks.Practice(tasks.TaskSettings(nodes=12, names=14), 20, 3, 7)
    for one in practice:
        text = tasks.build_prompt(one.question, one.context.text)
        words = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
        *edges, start, first, second = words
        facts = {(name, relation): target for target, name, relation in zip(*[iter(edges)] * 3, strict=True)}
        assert len(facts) == len(one.context.subgraph.edges)
        assert facts[facts[start, first], second] == one.answer
    assert [one.answer for one in practice] == [practice[i].answer for i in range(20)]


@pytest.mark.parametrize("hops", [1, 2])
def test_a_lesson_is_true_and_tokenized_like_the_prompt(tasks: ModuleType, hops: int) -> None:
    lessons = importlib.import_module("graph_lessons")
    tokenizer = tasks.make_tokenizer()
    random = np.random.default_rng(0)
    for count in (4, 6, 40):
        edges, questions = lessons.make_lesson(tasks.TaskSettings(nodes=12, names=14), hops, 8, count, random)
        assert 2 <= len(edges) <= count
        facts = {(whose, what): who for whose, what, who in edges}
        for (reached, *relations), answer in questions:
            for relation in relations:
                reached = facts[reached, relation]
            assert reached == answer
        ids, labels = lessons.collate(tokenizer.get_vocab(), tokenizer.eos_token_id, [(edges, questions)], ends=True)
        names = {name: str(number) for number, name in enumerate(tasks.NAMES)}
        nodes = "\n".join(f"{number},{name}" for name, number in names.items())
        rows = "\n".join(f"{names[whose]},{what},{names[who]}" for whose, what, who in edges)
        question = "Who is " + "'s ".join(questions[0][0]) + "?"
        text = tasks.build_prompt(question, f"node_id,node_attr\n{nodes}\n\nsrc,edge_attr,dst\n{rows}\n")
        prompt_ids = tokenizer(text)["input_ids"]
        assert ids[0, : len(prompt_ids)].tolist() == prompt_ids
        labelled = tokenizer.convert_ids_to_tokens(labels[labels >= 0].tolist())
        assert labelled == [word for _, answer in questions for word in (answer, "<end>")]
        assert ids[0, -1] == tokenizer.eos_token_id


def test_heads_of_an_untrained_model_look_back_at_any_position(tasks: ModuleType, tmp_path: Path) -> None:
    path = str(tasks.write_model(tmp_path, width=64, layers=4))
    model = LlamaForCausalLM.from_pretrained(path, attn_implementation="eager")
    ids = torch.randint(0, model.config.vocab_size, (2, 90), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        attentions = model(input_ids=ids, output_attentions=True).attentions
    for number, weights in enumerate(attentions):
        for head, back in enumerate((1, 2)):
            attention = torch.diagonal(weights[:, head], -back, dim1=1, dim2=2)
            assert (float(attention.mean()) > 0.9) == (number % 2 == 0)


def test_a_doubled_model_applies_its_half_twice(tasks: ModuleType, tmp_path: Path) -> None:
    half = LlamaForCausalLM.from_pretrained(tasks.write_model(tmp_path / "half", width=16, layers=2))
    doubled = LlamaForCausalLM.from_pretrained(tasks.write_doubled_model(tmp_path / "half", tmp_path / "doubled"))
    vectors = torch.randn(1, 9, 16, generator=torch.Generator().manual_seed(0))
    half.model.norm = torch.nn.Identity()
    doubled.model.norm = torch.nn.Identity()
    with torch.no_grad():
        once = half.model(inputs_embeds=vectors).last_hidden_state
        twice = half.model(inputs_embeds=once).last_hidden_state
        np.testing.assert_allclose(doubled.model(inputs_embeds=vectors).last_hidden_state, twice, atol=1e-5)


@pytest.mark.slow
def test_the_experiment_runs_from_end_to_end(
    bench: ModuleType, tasks: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = bench.Shape(
        task=tasks.TaskSettings(nodes=8, names=9, degree=1.5),
        width=16,
        layers=1,
        stages=(bench.Stage(1, 4, 3e-3), bench.Stage(2, 4, 3e-3, ends=True)),
        budget=4,
        train=16,
        validation=6,
        test=10,
        epochs=1,
        tuning=1,
        min_accuracy=0.0,
        encoder="hashing:64",
    )
    lines: list[str] = []
    first = bench.tables(shape, 1, tmp_path, lines.append)
    printed = capsys.readouterr().out
    assert len(lines) == 4  # two stages, how well it reads, and the seed
    assert all(f"| {name} " in printed for name in first)
    for name, outcome in first.items():
        assert outcome.correct.shape == outcome.complete.shape == outcome.nodes.shape == (10,)
        assert outcome.nodes.max() <= (8 if name == "whole" else 4)
    assert first["whole"].complete.all()
    again = bench.tables(shape, 1, tmp_path, lines.append)
    assert len(lines) == 6  # nothing is trained twice
    assert bench.tables(replace(shape, min_accuracy=1.1), 1, tmp_path, lines.append) == {}
    assert "there are no tables" in lines[-1], "a reader that cannot read cannot judge a selection"
    for name, outcome in first.items():
        np.testing.assert_array_equal(outcome.correct, again[name].correct)
        np.testing.assert_array_equal(outcome.nodes, again[name].nodes)
