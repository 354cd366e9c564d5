"""The chat form, by OpenAI's own client."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI
from starlette.testclient import TestClient

from clew.index import Index
from tests.server.serving import make_key, server_process

QUESTION = "Where was the commander of the Vega born?"


class Served:
    """A server in another process, and a client of OpenAI for it."""

    def __init__(self, url: str, key: str, keys: Path) -> None:
        self.url = url
        self.keys = keys
        self.client = OpenAI(
            base_url=f"{url}/v1", api_key=key, max_retries=0, http_client=httpx2.Client(trust_env=False)
        )


@pytest.fixture(scope="module")
def served(plain_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    keys = tmp_path_factory.mktemp("chat") / "keys.json"
    key = make_key(keys)
    with server_process(f"small={plain_folder}", "--keys", str(keys)) as (_, client):
        served = Served(str(client.base_url), key, keys)
        yield served
        served.client.close()


def messages(text: str = QUESTION) -> list[Any]:
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": text},
    ]


def test_indexes_are_models(served: Served) -> None:
    assert [model.id for model in served.client.models.list()] == ["clew/small"]


def test_the_last_message_is_answered_with_citations(served: Served, small: Index) -> None:
    expected = small.ask(QUESTION)
    reply = served.client.chat.completions.create(model="clew/small", messages=messages())
    assert reply.choices[0].message.content == expected.headline
    assert (reply.choices[0].finish_reason, reply.usage and reply.usage.total_tokens) == ("stop", 0)
    extra = reply.model_extra or {}
    assert [c["quote"] for c in extra["citations"]] == [c.quote for c in expected.citations]
    assert extra["index_version"] == small.table.version


def test_a_retriever_may_be_named(served: Served, small: Index) -> None:
    reply = served.client.chat.completions.create(model="clew/small:bm25", messages=messages("lighthouse keeper"))
    expected = small.ask("lighthouse keeper", retriever="bm25")
    assert [c["passage_id"] for c in (reply.model_extra or {})["citations"]] == [
        c.passage_id for c in expected.citations
    ]


def test_an_answer_streams(served: Served, small: Index) -> None:
    stream = served.client.chat.completions.create(
        model="clew/small", messages=messages(), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == small.ask(QUESTION).headline
    last = [chunk for chunk in chunks if chunk.choices][-1]
    assert last.choices[0].finish_reason == "stop"
    assert (last.model_extra or {})["citations"]
    assert chunks[-1].usage is not None


def test_a_question_without_an_answer_says_so(served: Served) -> None:
    reply = served.client.chat.completions.create(model="clew/small", messages=messages("xyzzy plugh?"))
    assert reply.choices[0].message.content == "The passages of this index do not hold an answer."


def test_parts_of_a_message_are_read(served: Served) -> None:
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]
    asked: list[Any] = [{"role": "user", "content": parts}]
    reply = served.client.chat.completions.create(model="clew/small", messages=asked)
    assert reply.choices[0].message.content


def test_errors_are_those_that_the_client_knows(served: Served) -> None:
    create = served.client.chat.completions.create
    with pytest.raises(openai.NotFoundError, match="no model 'clew/other'"):
        create(model="clew/other", messages=messages())
    with pytest.raises(openai.NotFoundError):
        create(model="small", messages=messages())
    with pytest.raises(openai.BadRequestError, match="no message of a user"):
        create(model="clew/small", messages=[{"role": "system", "content": "a"}])
    with pytest.raises(openai.BadRequestError, match="nonesuch"):
        create(model="clew/small:nonesuch", messages=messages())
    with (
        OpenAI(
            base_url=f"{served.url}/v1", api_key="none", max_retries=0, http_client=httpx2.Client(trust_env=False)
        ) as other,
        pytest.raises(openai.AuthenticationError),
    ):
        other.models.list()


def test_a_streamed_error_is_an_error_of_the_client(served: Served) -> None:
    """Known before it streams, it is the answer; what comes up while the answer is made is an event."""
    create = served.client.chat.completions.create
    with pytest.raises(openai.BadRequestError, match="nonesuch"):
        create(model="clew/small:nonesuch", messages=messages(), stream=True)
    unfit = served.client.with_options(api_key=make_key(served.keys, where="nothing = 1"))
    with (
        unfit.chat.completions.create(model="clew/small", messages=messages(), stream=True) as stream,
        pytest.raises(openai.APIError, match="the filter of this key does not fit"),
    ):
        list(stream)


def test_a_message_of_another_form_is_refused(client: TestClient) -> None:
    for asked in ({}, {"model": "clew/small", "messages": []}, {"model": "clew/small", "messages": [{"content": "a"}]}):
        reply = client.post("/v1/chat/completions", json=asked)
        assert reply.status_code == 422
        assert reply.json()["error"]["type"] == "invalid_request_error"
    long = {"model": "clew/small", "messages": [{"role": "user", "content": "a" * 5_000}]}
    assert client.post("/v1/chat/completions", json=long).status_code == 400


def test_a_follow_up_is_made_whole_from_the_messages_before(served: Served, small: Index) -> None:
    expected = small.ask("Where was Louis Palander born?")
    talk: list[Any] = [
        {"role": "user", "content": "Who commanded the Vega?"},
        {"role": "assistant", "content": "Louis Palander"},
        {"role": "user", "content": "and where was he born?"},
    ]
    reply = served.client.chat.completions.create(model="clew/small", messages=talk)
    extra = reply.model_extra or {}
    assert extra["question"] == "Where was Louis Palander born?"
    assert [c["quote"] for c in extra["citations"]] == [c.quote for c in expected.citations]
    *_, last = served.client.chat.completions.create(model="clew/small", messages=talk, stream=True)
    assert (last.model_extra or {})["question"] == "Where was Louis Palander born?"


def test_a_follow_up_that_may_mean_several_names_is_asked_back_and_completed_by_the_next_message(
    served: Served,
) -> None:
    talk: list[Any] = [
        {"role": "user", "content": "Did Louis Palander meet Adolf Erik Nordenskiöld?"},
        {"role": "assistant", "content": "The passages of this index do not hold an answer."},
        {"role": "user", "content": "where was he born?"},
    ]
    reply = served.client.chat.completions.create(model="clew/small", messages=talk)
    text = reply.choices[0].message.content or ""
    assert text.startswith("'he' could mean Louis Palander or Adolf Erik Nordenskiöld: write the name")
    extra = reply.model_extra or {}
    assert (extra["citations"], extra["question"]) == ([], "where was he born?")
    chunks = list(served.client.chat.completions.create(model="clew/small", messages=talk, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
    assert chunks[-1].choices[0].finish_reason == "stop"
    talk += [{"role": "assistant", "content": text}, {"role": "user", "content": "Louis Palander"}]
    reply = served.client.chat.completions.create(model="clew/small", messages=talk)
    assert (reply.model_extra or {})["question"] == "Where was Louis Palander born?"


def test_a_weak_answer_is_told_as_such_and_a_word_that_refers_to_nothing_is_noted(served: Served, small: Index) -> None:
    asked_of = ("Who was born on the island?", "Which ship did Palander command?", "Which captain sailed on the ship?")
    weak = [(one, answer) for one in asked_of if (answer := small.ask(one)).weak and answer.text]
    question, expected = weak[0]
    assert expected.headline.startswith("Not sure: perhaps ")
    asked: list[Any] = [{"role": "user", "content": question}]
    reply = served.client.chat.completions.create(model="clew/small", messages=asked)
    assert reply.choices[0].message.content == expected.headline
    chunks = list(served.client.chat.completions.create(model="clew/small", messages=asked, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == expected.headline
    unknown = served.client.chat.completions.create(
        model="clew/small", messages=[{"role": "user", "content": "Where was he born?"}]
    )
    assert "'he' refers to nothing that was asked before" in (unknown.model_extra or {})["notes"]
