"""Providers: model names, API keys, and the headers that each server is sent."""

import json
import re
import sys
from typing import Any

import pytest

from clew.errors import InputError, MissingPackageError
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.provider_model import ProviderModel
from clew.models.llm.providers import CUSTOM_KEY_VARIABLE, KEY_VARIABLES, api_key, parse_model_name
from clew.types import Failure
from tests.faults.model_server import ServerReply, model_server
from tests.models.llm.model_calls import OSLO, complete_one, names, prompt

PROVIDER_VARIABLES = {
    "OPENAI_API_KEY": "secret-1",
    "OPENAI_ORG_ID": "secret-2",
    "OPENAI_PROJECT_ID": "secret-3",
    "OPENAI_CUSTOM_HEADERS": "X-More: secret-4\nAuthorization: Bearer secret-4",
    "ANTHROPIC_API_KEY": "secret-5",
    "ANTHROPIC_AUTH_TOKEN": "secret-6",
    "ANTHROPIC_CUSTOM_HEADERS": "X-More: secret-7\nx-api-key: secret-7",
    "GOOGLE_API_KEY": "secret-8",
    "GEMINI_API_KEY": "secret-9",
}
MODELS = {
    "openai:gpt-4o-mini": ("/v1/chat/completions", "authorization"),
    "openai:gpt-5": ("/v1/chat/completions", "authorization"),
    "anthropic:claude-sonnet-5": ("/v1/v1/messages", "x-api-key"),
    "google:gemini-2.5-flash": ("/v1/v1beta/models/gemini-2.5-flash:generateContent", "x-goog-api-key"),
    "ollama:llama3": ("/v1/chat/completions", "authorization"),
}


def reply_part(path: str, text: str = OSLO) -> ServerReply:
    """Return a reply in the protocol of a path."""
    if path.endswith("messages"):
        usage = {"input_tokens": 10, "output_tokens": 5}
        body: Any = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
        return ServerReply(body=json.dumps(body | {"content": [{"type": "text", "text": text}], "usage": usage}))
    if path.endswith("generateContent"):
        content = {"parts": [{"text": text}], "role": "model"}
        body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return ServerReply(body=json.dumps(body | {"usageMetadata": usage}))
    return ServerReply(text)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("own_key", ["", "my-own-key"])
def test_a_server_named_by_its_url_gets_its_own_key_and_nothing_of_a_provider(
    name: str, own_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in PROVIDER_VARIABLES.items():
        monkeypatch.setenv(variable, value)
    if own_key:
        monkeypatch.setenv(CUSTOM_KEY_VARIABLE, own_key)
    with model_server(lambda request, _: reply_part(request["path"])) as server:
        reply = complete_one(ProviderModel(name, CallSettings(server.url, timeout=5.0)))
        [request] = server.requests
    assert names([reply]) == [["Oslo"]]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)
    path, header = MODELS[name]
    assert request["path"] == path
    assert "secret" not in json.dumps(request)
    sent = {key.lower(): value for key, value in request["headers"].items()}
    assert sent[header].removeprefix("Bearer ") == (own_key or "none")
    assert not {"x-more", "openai-organization", "openai-project"} & sent.keys()


@pytest.mark.parametrize("name", MODELS)
def test_errors_of_every_provider_fit_one_line(name: str) -> None:
    for status, end in ((401, "cannot be used: HTTP 401: no"), (500, "did not answer: HTTP 500: no")):
        with model_server(lambda *_, status=status: ServerReply("no", status=status)) as server:
            failure = complete_one(ProviderModel(name, CallSettings(server.url, attempts=2)))
            assert isinstance(failure, Failure)
            assert failure.reason == f"{name} {end}"
            assert len(server.requests) == (1 if status == 401 else 2)


@pytest.mark.parametrize("name", MODELS)
def test_every_provider_accepts_the_schema_in_a_field(name: str) -> None:
    with model_server(lambda request, _: reply_part(request["path"])) as server:
        assert names([complete_one(ProviderModel(name, CallSettings(server.url, output="native")), prompt("a"))]) == [
            ["Oslo"]
        ]


@pytest.mark.parametrize("name", ["", "gpt-4", "nobody:x", "openai:", ":x", "OpenAI:x", "openai-chat:x"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="wanted PROVIDER:NAME with one of openai, anthropic, google, ollama"):
        parse_model_name(name)


@pytest.mark.parametrize(("name", "close"), [("OpenAI:x", "did you mean openai? "), ("openai:", ""), ("zz:x", "")])
def test_a_misspelt_provider_gets_the_nearest_right_name(name: str, close: str) -> None:
    with pytest.raises(InputError, match=rf"^the language model is '{name}'; {re.escape(close)}wanted PROVIDER"):
        parse_model_name(name)


def test_the_name_of_a_model_may_hold_colons() -> None:
    assert parse_model_name("ollama:llama3:8b") == ("ollama", "llama3:8b")


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_a_provider_needs_its_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=f"{KEY_VARIABLES[provider]} is not set: set it, or give --base-url"):
        api_key(provider, "")
    monkeypatch.setenv(KEY_VARIABLES[provider], "a key")
    assert api_key(provider, "") == "a key"
    assert api_key(provider, "http://127.0.0.1:1/v1") == "none"
    monkeypatch.setenv(CUSTOM_KEY_VARIABLE, "my own")
    assert api_key(provider, "http://127.0.0.1:1/v1") == "my own"
    assert api_key(provider, "") == "a key"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.models.anthropic", None)
    message = r"anthropic needs the package pydantic_ai, .* run pip install 'clew\[llm\]'"
    with pytest.raises(MissingPackageError, match=message):
        complete_one(ProviderModel("anthropic:claude-sonnet-5", CallSettings("http://127.0.0.1:9")))
