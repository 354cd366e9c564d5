"""Readers by what a user names: what learns is fresh every time, what is large is shared."""

from pathlib import Path

import pytest
import torch

from clew.errors import InputError
from clew.models.encoders.hashing import HashingEncoder
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.path_reader import PathGraphReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.training.recipes.graph_readers import open_model, reader_factory, save_soft_prompt, token_reader_factories
from clew_lab.training.recipes.reader_settings import ReaderSettings
from clew_lab.training.trainable_parameters import as_trainable
from tests.answering.graph_readers.graph_contexts import WIDTH, make_context
from tests.models.tiny_llama import write_tiny_llama

ENCODER = HashingEncoder(WIDTH)
QUESTION, CONTEXT = ["Where was it built?"], [make_context(("Fram", "Larvik", "sea"), ((0, "built in", 1),), (0, 1))]
PART = [make_context(("Fram", "Larvik", "sea"), ((0, "built in", 1),), (0,))]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"), ("Fram", "Larvik"), gain=4.0)


def test_the_local_reader_needs_no_model() -> None:
    choice = ReaderSettings()
    assert open_model(choice) is None
    assert isinstance(reader_factory(choice, None, ENCODER, [], ())(0), PathGraphReader)
    assert token_reader_factories(choice, None, ENCODER) == {}


def test_a_frozen_model_learns_nothing_and_a_soft_prompt_is_fresh_by_seed(llama: Path) -> None:
    plain = ReaderSettings(str(llama))
    assert isinstance(reader_factory(plain, open_model(plain), ENCODER, [], ())(0), CausalReader)
    choice = ReaderSettings(str(llama), 3, "part")
    model = open_model(choice)
    make = reader_factory(choice, model, ENCODER, [], ())
    one, same, other = (as_trainable(make(seed)) for seed in (0, 0, 1))
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.fingerprint == same.fingerprint != other.fingerprint
    with torch.no_grad():
        one.parameters()[0].add_(1.0)
    assert one.fingerprint != same.fingerprint
    assert one.loss(QUESTION, CONTEXT, ["Larvik"]) != same.loss(QUESTION, CONTEXT, ["Larvik"])


def test_tokens_are_of_the_part_with_its_text_or_of_the_whole_without(llama: Path) -> None:
    choice = ReaderSettings(str(llama))
    own = {name: make(0) for name, make in token_reader_factories(choice, open_model(choice), ENCODER).items()}
    assert set(own) == {"g-retriever", "graphtoken"}
    losses = {name: [float(one.loss(QUESTION, c, ["Larvik"])[0]) for c in (CONTEXT, PART)] for name, one in own.items()}
    assert losses["graphtoken"][0] == losses["graphtoken"][1]
    assert losses["g-retriever"][0] != losses["g-retriever"][1]


def test_what_a_reader_learned_is_written(llama: Path, tmp_path: Path) -> None:
    choice = ReaderSettings(str(llama), 2)
    model = open_model(choice)
    reader = reader_factory(choice, model, ENCODER, [], ())(0)
    assert save_soft_prompt(reader, tmp_path / "soft", ENCODER)
    assert isinstance(reader, SoftPromptReader)
    again = SoftPromptReader(reader.reader, folder=tmp_path / "soft")
    assert torch.equal(again.parameters()[0], reader.parameters()[0])
    assert not save_soft_prompt(PathGraphReader(ENCODER.encode), tmp_path / "none", ENCODER)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("local", 2), "the local reader reads no tokens"),
        (("local", 0, "part"), "the local reader reads no tokens"),
        (("x", 0, "all"), "graph_token is 'all': wanted none, part or whole"),
        (("x", -1), "soft_prompt is -1"),
    ],
)
def test_what_nothing_reads_is_refused(given: tuple[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ReaderSettings(*given)
