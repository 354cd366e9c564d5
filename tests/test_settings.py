"""Where settings come from: arguments, the environment, `clew.toml`, defaults, in this order."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clew import settings
from clew.errors import InputError
from clew.settings import Settings, load_settings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "clew.toml").write_text(text, encoding="utf-8")


def test_what_is_given_comes_before_the_environment_and_that_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings() == Settings.model_construct()
    write(folder, "k = 7\nretriever = 'bm25'\nmax_tokens = 10")
    monkeypatch.setenv("CLEW_K", "3")
    monkeypatch.setenv("clew_retriever", "dense")
    assert (load_settings().k, load_settings().retriever, load_settings().max_tokens) == (3, "dense", 10)
    assert Settings(k=9).k == 9


def test_prices_of_all_sources_are_joined(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "[prices]\na = [1, 2]\nb = [3, 4]")
    monkeypatch.setenv("CLEW_PRICES", '{"b": [5, 6]}')
    assert Settings(prices={"c": (7, 8)}).prices == {"a": (1, 2), "b": (5, 6), "c": (7, 8)}


def test_variables_that_name_no_setting_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "secret")
    assert "secret" not in repr(load_settings())


@pytest.mark.parametrize(
    ("variables", "file", "message"),
    [
        ({"CLEW_PRICES": "cheap"}, "", "setting 'prices' is 'cheap': Input should be a valid dictionary"),
        ({"CLEW_MAX_COST": ""}, "", "setting 'max_cost' is ''"),
        ({"CLEW_MODEL_OUTPUT": "spoken"}, "", "CLEW_MODEL_OUTPUT"),
        ({}, "max_synonyms = 1", "clew.toml has 'max_synonyms', which is gone since Clew 0.5: delete it"),
        ({}, "nosuch = 1", "clew.toml has 'nosuch', and there is no such setting; there are index, encoder"),
        ({}, "passage_token = 1", "did you mean passage_tokens?"),
        ({}, f"prices = 0x{'f' * 4000}", "setting 'prices' is too long a number"),
        ({}, "k = ", "clew.toml cannot be read"),
    ],
)
def test_an_unusable_setting_is_bad_input(
    variables: dict[str, str], file: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write(folder, file)
    with pytest.raises(InputError, match=r"clew\.toml") as raised:
        load_settings()
    assert message in str(raised.value)


def test_a_variable_that_nothing_reads_is_warned_of_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "_unknown_names", set())
    monkeypatch.setenv("CLEW_RETREIVER", "bm25")
    monkeypatch.setenv("CLEW_API_KEY", "secret")
    monkeypatch.setenv("CLEW_CACHE", str(folder))
    load_settings()
    load_settings()
    assert caplog.messages == ["CLEW_RETREIVER is set, and nothing reads it; did you mean CLEW_RETRIEVER?"]


def test_a_variable_that_the_documentation_names_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[1]
    texts = [path.read_text(encoding="utf-8") for path in (root / "README.md", *(root / "docs").rglob("*.md"))]
    names = {name for text in texts for name in re.findall(r"\bCLEW_[A-Z_]*[A-Z]\b", text)}
    assert {"CLEW_EMBEDDINGS_URL", "CLEW_INDEX"} <= names
    for name in names:
        monkeypatch.setenv(name, "x")
    assert settings.describe_unknown_variables() == []


def test_an_unknown_argument_and_a_change_are_refused(folder: Path) -> None:
    unknown: dict[str, Any] = {"nosuch": 1}
    with pytest.raises(ValidationError):
        Settings(**unknown)
    with pytest.raises(ValidationError):
        Settings().k = 3


def test_an_empty_device_of_the_environment_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "device = 'cpu'")
    monkeypatch.setenv("CLEW_DEVICE", "")
    assert load_settings().device == "cpu"
    monkeypatch.setenv("CLEW_DEVICE", "mps")
    assert load_settings().device == "mps"


@pytest.mark.parametrize(
    ("encoder", "given", "wanted"),
    [
        ("all-MiniLM-L6-v2-int8", None, "auto"),
        ("none", None, "rules"),
        ("hashing", None, "rules"),
        ("none", "auto", "auto"),
        ("all-MiniLM-L6-v2-int8", "rules", "rules"),
    ],
)
def test_new_indexes_take_the_tagger_only_where_the_default_encoder_runs(
    encoder: str, given: str | None, wanted: str
) -> None:
    assert Settings(encoder=encoder, extractor=given).new_extractor == wanted
