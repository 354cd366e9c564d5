"""Parsing of replies, and the messages about those that do not fit."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from clew.errors import ModelReplyError
from clew.models.llm.object_model import parse_reply


class Verdict(BaseModel):
    enough: bool
    reason: str = ""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    names: list[str]


class Optional(BaseModel):
    name: str = ""


@pytest.mark.parametrize(
    "text",
    [
        '{"enough": true}',
        ' \n{"enough": true}\n ',
        '{ \n "enough" : true }',
        'Sure! ```json\n{"enough": true}\n``` Anything else?',
        'The set {a, b} and { } say: {"enough": true}',
        '{"no": 1} {"enough": true} {"enough": false}',
        '[[{"enough": true}]]',
        'data: {"enough": true}',
    ],
)
def test_the_first_object_that_fits_is_the_reply(text: str) -> None:
    assert parse_reply(text, Verdict) == Verdict(enough=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no JSON object in the reply"),
        ("{", "there is no JSON object"),
        ("enough: true", "there is no JSON object"),
        ('"enough"', "there is no JSON object"),
        ('{"enough": true', "the JSON is broken at character 15: Expecting ',' delimiter"),
        ('{"enough": tru}', "the JSON is broken at character 11"),
        ('{"enough": Infinity}', "the JSON cannot be read: Infinity is not JSON"),
        ('{"enough": ' + "9" * 5000 + "}", "the JSON cannot be read"),
        ('{"enough": ' + '{"a": ' * 100_000, "the JSON is nested too deep"),
        ("{}", "the JSON does not fit: enough: Field required"),
        ('{"enough": "perhaps"}', "enough: Input should be a valid boolean"),
        ('{"enough": true, "reason": null}', "reason: Input should be a valid string"),
    ],
)
def test_problems_are_described(text: str, problem: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(text, Verdict)
    assert str(caught.value).startswith(problem) or problem in str(caught.value)


def test_many_errors_are_summarized() -> None:
    with pytest.raises(ModelReplyError, match=r"; and 95 more$") as caught:
        parse_reply(json.dumps({"names": [1] * 100}), Strict)
    assert len(str(caught.value)) < 600
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(json.dumps({"names": [], "x" * 100_000: 1}), Strict)
    assert len(str(caught.value)) < 600


@given(st.text())
def test_any_text_can_be_parsed_or_refused(text: str) -> None:
    for schema in (Verdict, Optional):
        with suppress(ModelReplyError):
            parse_reply(text, schema).model_dump_json().encode()


@given(st.booleans(), st.text(), st.text(st.characters(exclude_characters="{"), max_size=50))
def test_text_around_a_reply_is_ignored(enough: bool, reason: str, around: str) -> None:
    reply = json.dumps({"enough": enough, "reason": reason})
    expected = Verdict(enough=enough, reason=reason.encode(errors="replace").decode())
    assert parse_reply(f"{around}{reply}{around}", Verdict) == expected
