"""Replies as text: what is read of them, and what is told of what cannot be."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import BaseModel, ConfigDict

from clew.errors import ModelReplyError
from clew.models.llm.reply_parsing import parse_reply


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
    ("text", "wrong"),
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
def test_what_is_wrong_is_told(text: str, wrong: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(text, Verdict)
    assert str(caught.value).startswith(wrong) or wrong in str(caught.value)


def test_many_errors_are_told_in_few_words() -> None:
    with pytest.raises(ModelReplyError, match=r"; and 95 more$") as caught:
        parse_reply(json.dumps({"names": [1] * 100}), Strict)
    assert len(str(caught.value)) < 600
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(json.dumps({"names": [], "x" * 100_000: 1}), Strict)
    assert len(str(caught.value)) < 600


def test_a_whole_part_of_a_broken_reply_is_not_the_reply() -> None:
    with pytest.raises(ModelReplyError, match="broken"):
        parse_reply('{"items": [{"name": "Oslo"}, {"name": ', Optional)


@given(some.text())
def test_no_text_does_harm(text: str) -> None:
    for schema in (Verdict, Optional):
        with suppress(ModelReplyError):
            parse_reply(text, schema).model_dump_json().encode()


@given(some.booleans(), some.text(), some.text(some.characters(exclude_characters="{"), max_size=50))
def test_what_was_said_comes_back_whatever_stands_around_it(enough: bool, reason: str, around: str) -> None:
    said = json.dumps({"enough": enough, "reason": reason})
    expected = Verdict(enough=enough, reason=reason.encode(errors="replace").decode())
    assert parse_reply(f"{around}{said}{around}", Verdict) == expected
