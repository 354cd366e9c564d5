"""Contract of every language model: a provider's, a function, and one given as an object."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from clew.models.llm.object_model import accept_model
from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reply
from tests.faults.model_server import ServerReply, model_server
from tests.models.llm.model_calls import open_model

TEXT = '{"answerable": true, "answer": "Oslo", "quotations": []}'


class Fitting(BaseModel):
    """A schema that `TEXT` and the example's replies fit."""

    answerable: bool
    answer: str


class Unfit(BaseModel):
    """A schema that they do not fit."""

    number: int


@pytest.fixture(scope="module", params=["provider", "function", "object"])
def model(request: pytest.FixtureRequest, own_part: Callable[[str], dict[str, Any]]) -> Iterator[LanguageModel]:
    if request.param == "provider":
        with model_server(lambda *_: ServerReply(TEXT)) as server:
            yield open_model(server)
    elif request.param == "function":
        yield accept_model(lambda _: TEXT)
    else:
        yield accept_model(own_part("language model")["MyServer"]())


def prompt(reply: type[BaseModel], content: str = "The Fram left Oslo.") -> Prompt:
    return Prompt("contract-1", "Answer.", content, reply)


def test_each_prompt_has_a_result_in_its_place(model: LanguageModel) -> None:
    prompts = [prompt(Fitting), prompt(Unfit), prompt(Fitting, "Another text.")]
    first, second, third = model.complete(prompts)
    for fitting in (first, third):
        assert isinstance(fitting, Reply)
        assert isinstance(fitting.value, Fitting)
        assert fitting.value.answer == "Oslo"
    assert isinstance(second, Failure)
    assert second.reason
    assert model.complete([]) == []


def test_it_has_a_name(model: LanguageModel) -> None:
    assert model.name.strip() == model.name != ""
