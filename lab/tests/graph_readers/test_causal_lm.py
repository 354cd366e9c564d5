"""The causal reader, against logits computed one example and one token at a time."""

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel

from clew.errors import InputError
from clew_lab.graph_readers.causal_lm import CausalReader, PromptTokenizer, truncate_lines
from clew_lab.models.causal_lm import CausalModel, LoadedModel
from clew_lab.models.graph_answer import build_prompt
from tests.answering.graph_readers.graph_contexts import ANSWERS, CONTEXTS, QUESTIONS, make_context
from tests.models.tiny_llama import MAX_POSITIONS, write_tiny_llama

KINDS = [("Llama", "left", True), ("Llama", "right", False), ("GPT-2", "left", False), ("BLOOM", "left", False)]


def write_other_model(kind: str, folder: Path) -> None:
    """Replace the model of a folder: GPT-2 has absolute positions, BLOOM none."""
    network: Any
    with torch.random.fork_rng():
        torch.manual_seed(7)
        if kind == "GPT-2":
            network = GPT2LMHeadModel(GPT2Config(vocab_size=400, n_embd=32, n_layer=2, n_head=4, eos_token_id=0))
        else:
            network = BloomForCausalLM(BloomConfig(vocab_size=400, hidden_size=32, n_layer=2, n_head=4, eos_token_id=0))
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(16.0 if weight.ndim == 2 else 1.0)
    network.save_pretrained(folder)


@pytest.fixture(scope="module", params=KINDS, ids=str)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    kind, side, padded = request.param
    folder = write_tiny_llama(tmp_path_factory.mktemp("reader"), side=side, padded=padded, gain=16.0)
    if kind != "Llama":
        write_other_model(kind, folder)
    model = CausalModel(str(folder))
    assert model.load().tokenizer.padding_side == side
    assert (model.load().tokenizer.pad_token_id is not None) == padded
    return model


def next_costs(model: LoadedModel, ids: list[int]) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Return the loss of each token as the next one, in nats."""
    with torch.no_grad():
        logits = model.network(input_ids=torch.tensor([ids])).logits[0, -1].double().numpy()
    return np.asarray(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits)


def expected_loss(model: LoadedModel, prompt: str, answer: str) -> float:
    ids, costs = model.tokenize(prompt), []
    for token in [*model.tokenize(answer), model.tokenizer.eos_token_id]:
        costs.append(next_costs(model, ids)[token])
        ids.append(token)
    return float(np.mean(costs))


def prompts() -> list[str]:
    return [build_prompt(question, part.text) for question, part in zip(QUESTIONS, CONTEXTS, strict=True)]


@pytest.fixture(scope="module")
def expected(model: CausalModel) -> list[float]:
    return [expected_loss(model.load(), *pair) for pair in zip(prompts(), ANSWERS, strict=True)]


@pytest.mark.parametrize("batch_size", [1, 2, 8])
@pytest.mark.slow
def test_the_loss_is_the_mean_cost_of_the_answers_tokens(
    model: CausalModel, expected: list[float], batch_size: int
) -> None:
    results = CausalReader(model, build_prompt, batch_size=batch_size).loss(QUESTIONS, CONTEXTS, ANSWERS)
    assert results.dtype == np.float32
    np.testing.assert_allclose(results, expected, rtol=1e-5)
    assert np.ptp(expected) > 0.4


def test_nothing_of_a_frozen_reader_can_be_trained(model: CausalModel) -> None:
    reader = CausalReader(model, build_prompt)
    assert reader.parameters() == []
    assert not reader.losses(QUESTIONS, CONTEXTS, ANSWERS).requires_grad


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("trained"), chat=True)


@pytest.mark.slow
def test_a_trained_model_answers_and_stops(folder: Path) -> None:
    reader = CausalReader(CausalModel(str(folder), trainable=True), build_prompt)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    examples = (QUESTIONS[:2], CONTEXTS[:2], ("Larvik", "卡尔斯"))
    for _ in range(150):
        optimizer.zero_grad()
        loss = reader.losses(*examples).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if loss.item() < 0.01:
            break
    assert reader.generate(*examples[:2]) == ["Larvik", "卡尔斯"]
    assert reader.loss(*examples).max() < 0.05


def test_without_its_text_a_graph_is_ignored(folder: Path) -> None:
    reader = CausalReader(CausalModel(str(folder)), build_prompt, with_text=False)
    other = [make_context(("some", "thing"), ()) for _ in CONTEXTS]
    assert reader.loss(QUESTIONS, CONTEXTS, ANSWERS).tolist() == reader.loss(QUESTIONS, other, ANSWERS).tolist()


def test_graphs_that_are_too_long_are_shortened_and_counted(folder: Path) -> None:
    reader = CausalReader(CausalModel(str(folder)), build_prompt, max_context_tokens=60)
    long = make_context([f"ship number {number}" for number in range(50)], ())
    start = make_context([f"ship number {number}" for number in range(51)], ())
    assert reader.loss(["a"], [long], ["b"]) == reader.loss(["a"], [start], ["b"])
    assert reader.truncated_graphs == 2
    reader.generate(["c"], [long])
    assert reader.truncated_graphs == 2, "distinct graphs are counted, not readings"


def test_what_a_model_cannot_read_is_refused(folder: Path) -> None:
    reader = CausalReader(CausalModel(str(folder)), build_prompt)
    short, long = make_context(["a"], ()), "ship " * MAX_POSITIONS
    with pytest.raises(InputError, match=r"need up to \d\d,\d\d\d tokens without any of the graph; .* 2,048 at most"):
        reader.loss([long], [short], ["b"])
    with pytest.raises(InputError, match="2,048 at most"):
        reader.loss(["a"], [short], [long])
    with pytest.raises(InputError, match="2,048 at most"):
        reader.generate([long], [short])
    with pytest.raises(InputError, match="D800"):
        reader.loss(["a"], [short], ["\ud800"])


def most(room: int, count: Callable[[int], int]) -> int:
    """Return the largest number below 800 whose count, which grows with it, fits."""
    return bisect_right(range(800), room, key=count) - 1


def test_positions_are_reserved_for_the_answer(folder: Path) -> None:
    reader = CausalReader(CausalModel(str(folder)), build_prompt, chat=False, max_new_tokens=20)
    count = reader.model.load().tokenize
    fits, long = (
        "ship " * most(room, lambda n: len(count(build_prompt("ship " * n, ""))))
        for room in (MAX_POSITIONS - 20, MAX_POSITIONS)
    )
    nothing = [make_context((), ())]
    assert len(reader.generate([fits], nothing)) == 1
    with pytest.raises(InputError, match="2,048 at most"):
        reader.generate([long], nothing)
    with pytest.raises(InputError, match="2,048 at most"):
        reader.loss([fits], nothing, ["ship " * 20])


@pytest.mark.slow
@pytest.mark.parametrize("soft", [0, 40])
def test_a_graph_that_the_model_has_no_places_for_is_shortened(folder: Path, soft: int) -> None:
    """Whatever `max_context_tokens` is, and alike for the loss and for generation."""
    options: dict[str, Any] = {"max_new_tokens": 64, "max_context_tokens": 10 * MAX_POSITIONS}
    reader = CausalReader(CausalModel(str(folder)), build_prompt, chat=False, **options)
    loaded = reader.model.load()
    before = (lambda some: torch.zeros(len(some), soft, 32)) if soft else None
    long = make_context([f"ship {number}" for number in range(MAX_POSITIONS)], ())
    lines = long.text.splitlines(keepends=True)
    room = MAX_POSITIONS - 64 - soft
    fits = most(room, lambda n: len(loaded.tokenize(build_prompt("who?", "".join(lines[:n])))))
    cut = make_context([f"ship {number}" for number in range(fits - 1)], ())
    assert "".join(lines[:fits]) + "\nsrc,edge_attr,dst\n" == cut.text
    alone = CausalReader(
        reader.model, lambda question, _: build_prompt(question, "".join(lines[:fits])), chat=False, **options
    )
    results = reader.loss(["who?"], [long], ["Bo"], before)
    assert results == alone.loss(["who?"], [make_context((), ())], ["Bo"], before)
    assert reader.generate(["who?"], [long], before) == alone.generate(["who?"], [make_context((), ())], before)
    assert reader.truncated_graphs == 1


def test_token_counts_are_those_of_the_prompts(folder: Path) -> None:
    model = CausalModel(str(folder))
    long = make_context([f"ship number {number}" for number in range(50)], ())
    contexts, questions = [*CONTEXTS, long], [*QUESTIONS, "a"]
    whole = [len(model.load().tokenize(one.text)) for one in contexts]
    assert (
        CausalReader(model, build_prompt, max_context_tokens=MAX_POSITIONS).count_tokens(questions, contexts) == whole
    )
    few = CausalReader(model, build_prompt, max_context_tokens=60).count_tokens(questions, contexts)
    assert few[:-1] == [count if count <= 60 else few[place] for place, count in enumerate(whole[:-1])]
    assert 40 < few[-1] <= 60 < whole[-1]
    assert CausalReader(model, build_prompt, with_text=False).count_tokens(questions, contexts) == [0] * len(contexts)


@pytest.mark.slow
def test_generation_takes_the_most_likely_token_each_time_and_counts_them(model: CausalModel) -> None:
    loaded = model.load()
    reader = CausalReader(model, build_prompt, max_new_tokens=6, batch_size=3)
    counted = reader.generate_counted(QUESTIONS, CONTEXTS)
    assert [reply.text for reply in counted] == reader.generate(QUESTIONS, CONTEXTS)
    for reply, prompt in zip(counted, prompts(), strict=True):
        ids = loaded.tokenize(prompt)
        assert reply.input_tokens == len(ids)
        written = 0
        while written < 6 and not (written and ids[-1] in loaded.stop_tokens):
            ids.append(int(np.argmin(next_costs(loaded, ids))))
            written += 1
        assert reply.output_tokens == written
        assert reply.text == loaded.decode(ids[reply.input_tokens :])
    assert len({reply.text for reply in counted}) > 1


GRAPH = "".join(f"{node},the {node}th ship\n" for node in range(40))


def join(question: str, graph: str) -> str:
    return f"{graph}Q {question}"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return CausalModel(str(write_tiny_llama(tmp_path_factory.mktemp("plain")))).load()


@given(st.lists(st.text("ab \n", max_size=6), max_size=12).map("\n".join), st.integers(0, 30))
def test_the_longest_run_of_first_lines_that_fits_remains(text: str, limit: int) -> None:
    lines = text.splitlines(keepends=True)
    runs = ["".join(lines[:number]) for number in range(len(lines) + 1)]
    assert truncate_lines(text, limit, len) == max((run for run in runs if len(run) <= limit), key=len)


@pytest.mark.parametrize("limit", [1, 50, 300])
def test_a_graph_that_is_too_long_loses_its_last_lines_and_is_counted(plain: LoadedModel, limit: int) -> None:
    prompts = PromptTokenizer(join, limit, None)
    text = plain.tokenizer.decode(prompts.encode(plain, "who?", GRAPH))
    graph, question = text.split("Q ")
    assert question == "who?"
    assert GRAPH.startswith(graph)
    assert graph == "" or graph.endswith("ship\n")
    rest = GRAPH[len(graph) :].splitlines(keepends=True)
    assert len(plain.tokenize(graph)) <= limit < len(plain.tokenize(graph + rest[0]))
    assert prompts.truncated_graphs == 1


def test_a_chat_template_is_used_where_there_is_one(folder: Path, plain: LoadedModel) -> None:
    chatting = CausalModel(str(folder)).load()
    turn = f"<|user|>{join('who?', GRAPH)}<|assistant|>"
    for chat in (None, True):
        assert chatting.tokenizer.decode(PromptTokenizer(join, 999, chat).encode(chatting, "who?", GRAPH)) == turn
    bare = PromptTokenizer(join, 999, chat=False).encode(chatting, "who?", GRAPH)
    assert chatting.tokenizer.decode(bare) == join("who?", GRAPH)
    with pytest.raises(InputError, match="no chat template"):
        PromptTokenizer(join, 999, chat=True).encode(plain, "who?", GRAPH)
    assert PromptTokenizer(join, 999, None).encode(plain, "who?", GRAPH) == bare


def test_the_tokenizers_end_token_does_not_come_before_the_answer(tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    loaded = CausalModel(str(write_tiny_llama(tmp_path))).load()
    marks = [("<|user|>", loaded.tokenize("<|user|>")[0]), ("<|end|>", loaded.end_token)]
    loaded.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|user|> $A <|end|>", special_tokens=marks
    )
    assert loaded.tokenize("ship", special=True) == [marks[0][1], *loaded.tokenize("ship")]
    assert loaded.tokenize("", special=True) == [marks[0][1]]
