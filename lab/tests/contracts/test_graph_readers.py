"""Contract of every graph reader; a new one is added to `READERS`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.choice_reader import ChoiceGraphReader
from clew_lab.graph_readers.path_reader import PathGraphReader
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from clew_lab.training.fitting.choice_reader import ChoiceReaderRecipe, train_choice_reader
from tests.answering.graph_readers.graph_contexts import ANSWERS, CONTEXTS, QUESTIONS, WIDTH, unit_vectors
from tests.models.tiny_llama import write_tiny_llama


def causal(folder: Path) -> GraphReader:
    return CausalReader(CausalModel(str(folder)), build_prompt, batch_size=2, max_new_tokens=4)


def unbatched(folder: Path) -> GraphReader:
    return CausalReader(CausalModel(str(folder)), build_prompt, batch_size=1, max_new_tokens=4, chat=False)


def soft_prompt(folder: Path) -> GraphReader:
    return SoftPromptReader(CausalReader(CausalModel(str(folder)), build_prompt, max_new_tokens=4))


def graph_token(folder: Path) -> GraphReader:
    reader = CausalReader(CausalModel(str(folder)), build_prompt, batch_size=2, max_new_tokens=4, with_text=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        token = GraphToken(GraphTokenSettings(WIDTH, 32, width=16, tokens=3, pool="whole"))
    return SoftPromptReader(reader, num_virtual_tokens=0, graph_token=token)


def paths(folder: Path) -> GraphReader:
    return PathGraphReader(unit_vectors)


def choices(folder: Path) -> GraphReader:
    graphs = [context.query.graph for context in CONTEXTS]
    return ChoiceGraphReader(train_choice_reader(graphs, ANSWERS, ANSWERS, ChoiceReaderRecipe(epochs=2)))


READERS: dict[str, Callable[[Path], GraphReader]] = {
    "causal": causal,
    "unbatched": unbatched,
    "soft prompt": soft_prompt,
    "graph token": graph_token,
    "local, along paths": paths,
    "local, by choices": choices,
}


@pytest.fixture(scope="module", params=["left", "right"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny causal model, for the readers that need one."""
    side = request.param
    return write_tiny_llama(tmp_path_factory.mktemp("llama"), side=side, padded=side == "left", chat=True, gain=16.0)


@pytest.fixture(params=READERS)
def make(request: pytest.FixtureRequest, folder: Path) -> Callable[[], GraphReader]:
    """A factory of equal readers."""
    return lambda: READERS[request.param](folder)


def test_a_fingerprint_is_that_of_what_it_reads_with(folder: Path) -> None:
    first, again = ([read(folder).fingerprint for read in READERS.values()] for _ in range(2))
    assert first == again
    assert len(set(first)) == len(READERS)


def test_losses_are_finite_and_one_per_example(make: Callable[[], GraphReader]) -> None:
    losses = make().loss(QUESTIONS, CONTEXTS, ANSWERS)
    assert losses.shape == (len(QUESTIONS),)
    assert losses.dtype == np.float32
    assert np.isfinite(losses).all()
    assert (losses >= 0.0).all()


def test_a_batch_is_its_examples_in_their_order(make: Callable[[], GraphReader]) -> None:
    reader = make()
    together, answers = reader.loss(QUESTIONS, CONTEXTS, ANSWERS), reader.generate(QUESTIONS, CONTEXTS)
    for place, (question, context, answer) in enumerate(zip(QUESTIONS, CONTEXTS, ANSWERS, strict=True)):
        np.testing.assert_allclose(reader.loss([question], [context], [answer]), together[place : place + 1], rtol=1e-5)
        assert reader.generate([question], [context]) == answers[place : place + 1]
    turned = reader.loss(QUESTIONS[::-1], CONTEXTS[::-1], ANSWERS[::-1])
    np.testing.assert_allclose(turned[::-1], together, rtol=1e-5)
    assert reader.generate(QUESTIONS[::-1], CONTEXTS[::-1]) == answers[::-1]


def test_the_same_again_is_the_same_bit_for_bit(make: Callable[[], GraphReader]) -> None:
    first, second = make(), make()
    expected = first.loss(QUESTIONS, CONTEXTS, ANSWERS).tobytes()
    answers = first.generate(QUESTIONS, CONTEXTS)
    assert first.loss(QUESTIONS, CONTEXTS, ANSWERS).tobytes() == expected
    assert second.loss(QUESTIONS, CONTEXTS, ANSWERS).tobytes() == expected
    assert second.generate(QUESTIONS, CONTEXTS) == answers
    assert second.name == first.name != ""


def test_no_questions_give_no_answers(make: Callable[[], GraphReader]) -> None:
    reader = make()
    assert reader.loss([], [], []).shape == (0,)
    assert reader.generate([], []) == []


def test_lengths_must_match(make: Callable[[], GraphReader]) -> None:
    reader = make()
    for arguments in ((QUESTIONS[:2], CONTEXTS[:1], ANSWERS[:2]), (QUESTIONS[:2], CONTEXTS[:2], ANSWERS[:1])):
        with pytest.raises(InputError, match="1 for 2 questions; give one each"):
            reader.loss(*arguments)
    with pytest.raises(InputError, match="1 for 2 questions; give one each"):
        reader.generate(QUESTIONS[:2], CONTEXTS[:1])
