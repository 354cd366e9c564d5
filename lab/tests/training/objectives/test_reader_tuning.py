"""Reader tuning on given subgraphs: it trains, it survives a kill, and the frozen model stays unchanged."""

from pathlib import Path

import pytest
import torch

from clew.errors import InputError
from clew.training.hyperparameters import Recipe
from clew.training.loop import train
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.protocols import TrainableGraphReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from clew_lab.training.objectives.reader_tuning import ReaderExample, ReaderTuning
from clew_lab.training.trainable_parameters import ReaderParameters, as_trainable, swap_parameters
from tests.answering.graph_readers.graph_contexts import WIDTH, make_context
from tests.models.tiny_llama import write_tiny_llama

WORDS = ("Fram", "Larvik", "Nansen", "Amundsen")
EXAMPLES = [
    ReaderExample("Where was it built?", make_context(("Fram", "Larvik"), ((0, "built in", 1),)), "Larvik"),
    ReaderExample("Who sailed?", make_context(("Fram", "Nansen"), ((1, "sailed", 0),)), "Nansen"),
    ReaderExample("Who else?", make_context(("Fram", "Amundsen", "Nansen"), ((1, "sailed", 0),), (0, 1)), "Amundsen"),
]
RECIPE = Recipe(epochs=3, rate=0.03, warmup=1, average=0.3, seed=2)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"), WORDS, gain=4.0)


def full_reader(llama: Path) -> TrainableGraphReader:
    return CausalReader(CausalModel(str(llama), trainable=True), build_prompt)


def soft_prompt_reader(llama: Path) -> TrainableGraphReader:
    return SoftPromptReader(CausalReader(CausalModel(str(llama)), build_prompt), num_virtual_tokens=3)


def graph_token_reader(llama: Path) -> TrainableGraphReader:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = GraphToken(GraphTokenSettings(WIDTH, 32, width=16, layers=2, tokens=2, pool="whole"))
    reader = CausalReader(CausalModel(str(llama)), build_prompt, with_text=False)
    return SoftPromptReader(reader, num_virtual_tokens=1, graph_token=made)


READERS = {"own weights": full_reader, "soft prompt": soft_prompt_reader, "graph token": graph_token_reader}


@pytest.fixture(params=READERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


@pytest.mark.slow
def test_every_kind_of_reader_is_trained_and_keeps_the_best_epoch(tmp_path: Path, llama: Path, kind: str) -> None:
    reader = READERS[kind](llama)
    objective = ReaderTuning(EXAMPLES, EXAMPLES, reader, 2)
    done = train(
        objective.trainable_module(), objective, Recipe(epochs=8, rate=0.03, warmup=1, average=0.3), tmp_path, silent
    )
    assert done.figures["minus loss"] > done.initial_figures["minus loss"] + 0.1
    inputs = [one.question for one in EXAMPLES], [one.context for one in EXAMPLES], [one.answer for one in EXAMPLES]
    assert -float(reader.loss(*inputs).mean()) == pytest.approx(done.figures["minus loss"])


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_weights(tmp_path: Path, llama: Path) -> None:
    whole, cut, resumed = (graph_token_reader(llama) for _ in range(3))
    whole_objective, cut_objective, rest = (ReaderTuning(EXAMPLES, EXAMPLES, one, 2) for one in (whole, cut, resumed))
    train(whole_objective.trainable_module(), whole_objective, RECIPE, tmp_path / "whole", silent)

    def killed(stage: str, done: int, total: int) -> None:
        del total
        if stage.startswith("epoch 2") and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(cut_objective.trainable_module(), cut_objective, RECIPE, tmp_path / "cut", killed)
    train(rest.trainable_module(), rest, RECIPE, tmp_path / "cut", silent)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_soft_prompt_leaves_its_model_unchanged(tmp_path: Path, llama: Path) -> None:
    model = CausalModel(str(llama))
    reader = SoftPromptReader(CausalReader(model, build_prompt), num_virtual_tokens=2)
    before = {name: weight.clone() for name, weight in model.load().network.state_dict().items()}
    start = reader.parameters()[0].detach().clone()
    objective = ReaderTuning(EXAMPLES, [], reader, 3)
    train(objective.trainable_module(), objective, RECIPE, tmp_path, silent)
    after = model.load().network.state_dict()
    assert all(torch.equal(weight, after[name]) for name, weight in before.items())
    assert not torch.equal(start, reader.parameters()[0])


def test_the_loss_is_the_mean_loss_of_the_answers(llama: Path) -> None:
    reader = soft_prompt_reader(llama)
    objective = ReaderTuning(EXAMPLES, EXAMPLES[:1], reader, 2)
    model = objective.trainable_module()
    each = [float(reader.loss([one.question], [one.context], [one.answer])[0]) for one in EXAMPLES]
    assert float(objective.loss(model, EXAMPLES).detach()) == pytest.approx(sum(each) / 3, rel=1e-5)
    assert objective.validate(model) == {"minus loss": pytest.approx(-each[0], rel=1e-5)}


def test_an_epoch_has_the_requested_number_of_examples(llama: Path) -> None:
    reader = soft_prompt_reader(llama)
    objective = ReaderTuning(EXAMPLES, [], reader, 2)
    whole = [one.answer for batch in objective.batches(1) for one in batch]
    assert sorted(whole) == sorted(one.answer for one in EXAMPLES)
    assert [len(batch) for batch in objective.batches(1)] == [2, 1]
    assert len(objective) == 2
    few = ReaderTuning(EXAMPLES, [], reader, 2, epoch_size=2)
    seen = {tuple(one.answer for batch in few.batches(seed) for one in batch) for seed in range(9)}
    assert len(few) == 1
    assert {len(some) for some in seen} == {2}
    assert len(seen) > 2
    assert objective.halve(EXAMPLES) == (EXAMPLES[:1], EXAMPLES[1:])
    assert objective.halve(EXAMPLES[:1]) is None
    assert objective.validate(objective.trainable_module()) == {}


def test_objectives_without_parameters_or_examples_are_refused(llama: Path) -> None:
    frozen = CausalReader(CausalModel(str(llama)), build_prompt)
    assert as_trainable(frozen) is None
    with pytest.raises(InputError, match="has no trainable parameters"):
        ReaderTuning(EXAMPLES, [], frozen, 2)
    with pytest.raises(InputError, match="no examples"):
        ReaderTuning([], [], soft_prompt_reader(llama), 2)
    for numbers in ((0, 1), (1, 4), (1, -1)):
        with pytest.raises(InputError, match="wanted a batch"):
            ReaderTuning(EXAMPLES, [], soft_prompt_reader(llama), *numbers)


def test_parameters_are_swapped_and_restored(llama: Path) -> None:
    reader = soft_prompt_reader(llama)
    own = reader.parameters()[0]
    before = own.detach().clone()
    other = ReaderParameters([torch.nn.Parameter(torch.zeros_like(own))])
    with swap_parameters(reader.parameters(), other):
        assert not own.detach().any()
    assert torch.equal(own, before)
    too_many = ReaderParameters([*other.values, torch.nn.Parameter(torch.zeros(1))])
    with pytest.raises(ValueError, match="longer"), swap_parameters(reader.parameters(), too_many):
        pass
    assert torch.equal(own, before)
    assert reader.parameters()[0] is own
