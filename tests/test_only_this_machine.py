"""No test can reach a paid model by accident."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from pydantic import BaseModel

from clew.errors import InputError, ProviderError
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.provider_model import ProviderModel
from clew.models.llm.providers import KEY_VARIABLES
from clew.types import Failure, Prompt
from tests.only_this_machine import OutsideError, only_this_machine

ELSEWHERE = "192.0.2.1"  # an address that belongs to nobody


class Names(BaseModel):
    names: list[str]


def test_no_key_is_in_reach_of_a_test_or_of_a_process_it_starts() -> None:
    keys = [name for name in KEY_VARIABLES.values() if name]
    assert not [name for name in keys if name in os.environ]
    told = [sys.executable, "-c", "import os; print([name for name in os.environ if name.endswith('_API_KEY')])"]
    assert subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip() == "[]"
    for provider in ("openai", "anthropic", "google"):
        with pytest.raises(InputError, match="is not set"):
            ProviderModel(f"{provider}:some-model")


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "https_proxy", "CLEW_MAX_COST"],
)
def test_what_is_the_users_goes_and_comes_back(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    with only_this_machine():
        assert name not in os.environ
    assert os.environ[name] == "x"


def test_another_machine_is_refused_by_name_and_by_address() -> None:
    with pytest.raises(OutsideError, match=r"a test tried to reach api\.openai\.com"):
        socket.create_connection(("api.openai.com", 443))
    for family, host in ((socket.AF_INET, ELSEWHERE), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family) as tried:
            for connect in (tried.connect, tried.connect_ex):
                with pytest.raises(OutsideError, match="this machine only"):
                    connect((host, 443))
    with pytest.raises(urllib.error.URLError, match="this machine only"):
        urllib.request.urlopen("https://api.anthropic.com")


def test_this_machine_is_not_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1])).close()


@pytest.mark.parametrize("name", ["openai:gpt-4o-mini", "anthropic:claude", "google:gemini"])
def test_a_model_with_a_key_is_not_reached_either(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(KEY_VARIABLES[name.partition(":")[0]], "a-key-of-a-test")
    [failure] = ProviderModel(name, CallSettings(timeout=5.0)).complete([Prompt("p", "Name it.", "It", Names)])
    assert isinstance(failure, Failure)
    assert isinstance(failure.run_error, ProviderError)
    assert "a test tried to reach" in failure.reason
