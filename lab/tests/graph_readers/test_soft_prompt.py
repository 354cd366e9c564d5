"""Soft tokens before a prompt, against vectors joined by hand for one example at a time."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig
from safetensors.torch import save_file

from clew.errors import InputError, MissingPackageError, ProviderError
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from tests.answering.graph_readers.graph_contexts import ANSWERS, CONTEXTS, QUESTIONS, WIDTH, make_context
from tests.models.tiny_llama import write_tiny_llama

SETTINGS = GraphTokenSettings(WIDTH, 32, width=16, layers=2, heads=2, tokens=3)
KINDS = {"virtual": (4, False), "graph": (0, True), "both": (4, True)}


@pytest.fixture(scope="module", params=["left", "right"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    folder = write_tiny_llama(tmp_path_factory.mktemp("soft"), side=request.param, padded=False, gain=16.0)
    return CausalModel(str(folder))


def graph_token(seed: int = 0) -> GraphToken:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        token = GraphToken(SETTINGS)
        with torch.no_grad():
            token.get_parameter("projector.2.weight").mul_(10.0)
    return token


@pytest.fixture(params=KINDS)
def soft(request: pytest.FixtureRequest, model: CausalModel) -> SoftPromptReader:
    tokens, graph = KINDS[request.param]
    reader = CausalReader(model, build_prompt, batch_size=3, max_new_tokens=5)
    return SoftPromptReader(reader, num_virtual_tokens=tokens, graph_token=graph_token() if graph else None)


def embed_example(soft: SoftPromptReader, place: int, ids: list[int]) -> Any:
    """Return the vectors of one example: virtual tokens, graph tokens, words."""
    embed = soft.reader.model.load().network.get_input_embeddings()
    parts = [embed(torch.tensor(ids))]
    if soft.graph_token is not None:
        parts.insert(0, soft.graph_token([CONTEXTS[place]])[0])
    virtual = [weight for weight in soft.parameters() if weight.shape == (4, 32)]
    return torch.cat([*virtual, *parts])[None]


def expected_losses(soft: SoftPromptReader) -> Any:
    model, losses = soft.reader.model.load(), []
    for place, answer in enumerate(ANSWERS):
        ids, costs = model.tokenize(build_prompt(QUESTIONS[place], CONTEXTS[place].text)), []
        for token in [*model.tokenize(answer), model.end_token]:
            logits = model.network(inputs_embeds=embed_example(soft, place, ids)).logits[0, -1]
            costs.append(-logits.log_softmax(dim=0)[token])
            ids.append(token)
        losses.append(torch.stack(costs).mean())
    return torch.stack(losses)


def test_token_counts_include_text_and_graph_tokens(soft: SoftPromptReader) -> None:
    graph_tokens = 0 if soft.graph_token is None else SETTINGS.tokens
    assert soft.count_tokens(QUESTIONS, CONTEXTS) == [
        graph_tokens + count for count in soft.reader.count_tokens(QUESTIONS, CONTEXTS)
    ]
    assert soft.count_tokens([], []) == []
    assert soft.truncated_graphs == soft.reader.truncated_graphs == 0


@pytest.mark.slow
def test_losses_and_their_gradients_are_those_of_single_examples(soft: SoftPromptReader) -> None:
    expected = expected_losses(soft)
    losses = soft.losses(QUESTIONS, CONTEXTS, ANSWERS)
    torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(soft.loss(QUESTIONS, CONTEXTS, ANSWERS), losses.detach().numpy())
    weights = soft.parameters()
    wanted = torch.autograd.grad(expected.mean(), weights)
    for got, right in zip(torch.autograd.grad(losses.mean(), weights), wanted, strict=True):
        torch.testing.assert_close(got, right, rtol=1e-3, atol=1e-5 * max(1.0, float(right.abs().max())))


@pytest.mark.slow
def test_generation_is_greedy_after_the_soft_tokens(soft: SoftPromptReader) -> None:
    model = soft.reader.model.load()
    answers = soft.generate(QUESTIONS, CONTEXTS)
    for place, text in enumerate(answers):
        ids = model.tokenize(build_prompt(QUESTIONS[place], CONTEXTS[place].text))
        for _ in range(5):
            with torch.no_grad():
                ids.append(int(model.network(inputs_embeds=embed_example(soft, place, ids)).logits[0, -1].argmax()))
        assert text == model.decode(ids[-5:])
        assert text == soft.generate([QUESTIONS[place]], [CONTEXTS[place]])[0]


def test_a_trained_prompt_is_written_without_the_model_and_opened_again(soft: SoftPromptReader, tmp_path: Path) -> None:
    with torch.no_grad():
        for weight in soft.parameters():
            weight.add_(0.1)
    expected = soft.loss(QUESTIONS, CONTEXTS, ANSWERS)
    soft.save(tmp_path)
    assert not [file for file in tmp_path.iterdir() if file.suffix in {".bin", ".pt", ".pkl"}]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 60_000
    tokens = 4 if (tmp_path / "adapter_model.safetensors").exists() else 0
    again = SoftPromptReader(
        soft.reader,
        num_virtual_tokens=tokens,
        graph_token=None if soft.graph_token is None else graph_token(seed=1),
        folder=tmp_path,
    )
    np.testing.assert_array_equal(again.loss(QUESTIONS, CONTEXTS, ANSWERS), expected)
    assert all(weight.requires_grad for weight in again.parameters())
    untrained = SoftPromptReader(soft.reader, num_virtual_tokens=tokens, graph_token=soft.graph_token)
    if tokens:
        assert np.abs(untrained.loss(QUESTIONS, CONTEXTS, ANSWERS) - expected).max() > 1e-4


@pytest.fixture
def reader(tmp_path: Path) -> CausalReader:
    return CausalReader(CausalModel(str(write_tiny_llama(tmp_path / "plain", gain=4.0))), build_prompt)


def test_virtual_tokens_start_as_words_drawn_by_their_seed_alone(reader: CausalReader) -> None:
    vocabulary = reader.model.load().network.get_input_embeddings().weight
    before = torch.random.get_rng_state()
    starts = [SoftPromptReader(reader, seed=seed).parameters()[0].detach() for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert starts[0].shape == (10, 32)
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])
    assert ((starts[0][:, None] == vocabulary[None]).all(dim=2)).any(dim=1).all()


def test_readers_share_a_model_and_not_their_prompts(reader: CausalReader) -> None:
    alone = reader.loss(QUESTIONS, CONTEXTS, ANSWERS)
    first, second = SoftPromptReader(reader, seed=0), SoftPromptReader(reader, seed=1)
    expected = first.loss(QUESTIONS, CONTEXTS, ANSWERS)
    second.parameters()[0].data.add_(1.0)
    np.testing.assert_array_equal(first.loss(QUESTIONS, CONTEXTS, ANSWERS), expected)
    np.testing.assert_array_equal(reader.loss(QUESTIONS, CONTEXTS, ANSWERS), alone)
    assert first.name == f"{reader.name}+soft-prompt"


def test_tokens_of_the_whole_graph_stand_in_for_its_text(reader: CausalReader) -> None:
    unread = CausalReader(reader.model, build_prompt, with_text=False)
    settings = GraphTokenSettings(WIDTH, 32, width=16, tokens=2, pool="whole")
    torch.manual_seed(0)
    soft = SoftPromptReader(unread, num_virtual_tokens=0, graph_token=GraphToken(settings))
    names, edges = ("a", "b", "c"), ((0, "r", 1), (1, "s", 2))
    graphs = [make_context(names, edges, part) for part in (None, (0,), ())]
    same = soft.loss(["q"] * 3, graphs, ["x"] * 3)
    np.testing.assert_allclose(same, same[0], rtol=1e-6)
    assert soft.loss(["q"], [make_context(("d", "b", "c"), edges)], ["x"])[0] != same[0]


def test_a_graph_token_of_another_width_is_refused(reader: CausalReader) -> None:
    soft = SoftPromptReader(
        reader, num_virtual_tokens=0, graph_token=GraphToken(GraphTokenSettings(WIDTH, 31, width=16))
    )
    with pytest.raises(InputError, match=r"shape \(1, 1, 31\); wanted \(1, tokens, 32\)"):
        soft.loss(["q"], CONTEXTS[:1], ["x"])


@pytest.mark.parametrize("broken", ["missing", "empty", "another kind", "another width", "torn"])
def test_a_folder_without_a_matching_prompt_is_refused_in_one_line(
    reader: CausalReader, tmp_path: Path, broken: str
) -> None:
    folder = tmp_path / "soft"
    if broken != "missing":
        SoftPromptReader(reader).save(folder)
    weights = folder / "adapter_model.safetensors"
    if broken == "empty":
        weights.unlink()
    elif broken == "another width":
        save_file({"prompt_embeddings": torch.zeros(10, 16)}, weights)
    elif broken == "torn":
        weights.write_bytes(weights.read_bytes()[:40])
    elif broken == "another kind":
        LoraConfig(task_type="CAUSAL_LM").save_pretrained(str(folder))
    with pytest.raises(ProviderError, match="cannot be opened") as caught:
        SoftPromptReader(reader, folder=folder).loss(["q"], CONTEXTS[:1], ["x"])
    assert "\n" not in str(caught.value)


def test_a_graph_token_that_does_not_fit_its_folder_is_refused(reader: CausalReader, tmp_path: Path) -> None:
    SoftPromptReader(reader, num_virtual_tokens=0, graph_token=graph_token()).save(tmp_path / "soft")
    other = GraphToken(GraphTokenSettings(WIDTH, 32, width=8))
    with pytest.raises(ProviderError, match="a graph token of the same settings") as caught:
        SoftPromptReader(reader, num_virtual_tokens=0, graph_token=other, folder=tmp_path / "soft").parameters()
    assert "\n" not in str(caught.value)


def test_an_empty_prompt_and_a_trainable_model_are_refused(reader: CausalReader) -> None:
    with pytest.raises(InputError, match="0 virtual tokens; wanted at least 1"):
        SoftPromptReader(reader, num_virtual_tokens=0)
    open_model = CausalModel(reader.name, trainable=True)
    with pytest.raises(InputError, match="trainable=False"):
        SoftPromptReader(CausalReader(open_model, build_prompt))


def test_without_peft_it_says_what_to_install(reader: CausalReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingPackageError, match=r"pip install clew-lab"):
        SoftPromptReader(reader).parameters()


def test_a_folder_that_cannot_be_written_is_named(reader: CausalReader, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match="cannot write the soft prompt"):
        SoftPromptReader(reader).save(tmp_path / "file" / "inside")
