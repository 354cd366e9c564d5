"""Every number of every training command has bounds: what none can mean is one line that names it, before any work."""

import inspect
import math
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.exceptions import TyperException

from clew.commands.app import COMMANDS, GROUPS, root_command
from clew.commands.record_options import expand_records
from clew.errors import InputError
from clew.plugins.records import MAX_AMOUNT, MAX_COUNT
from clew.training.hyperparameters import Recipe
from clew_lab.commands import entries

TRAINING: dict[tuple[str, ...], str] = {
    ("train", "gfm"): entries.TRAIN_GFM.target,
    ("train", "hops"): entries.TRAIN_HOPS.target,
    ("train", "paths"): entries.TRAIN_PATHS.target,
    ("train", "subgraph"): entries.TRAIN_SUBGRAPH.target,
    ("train", "reranker"): entries.TRAIN_RERANKER.target,
    ("train", "routed"): entries.TRAIN_ROUTED.target,
    ("train", "extractor"): f"clew.commands.{GROUPS['train'][1]['extractor'][0]}",
    ("adapt",): f"clew.commands.{COMMANDS['adapt'][0]}",
}
NONSENSE = {
    int: ("-1", "1000000000000", "nan", "1e12", "2.5"),
    float: ("-1", "1e12", "nan", "inf", "much"),
}
SHARED = {"--index": "no-such-index", "--data": "no-such-folder", "--out": "weights"}


def numeric_options(target: str) -> Iterator[tuple[str, type]]:
    """Yield the options of a command that take a number, and its type."""
    module, _, function = target.partition(":")
    command = expand_records(getattr(import_module(module), function))
    for name, parameter in inspect.signature(command).parameters.items():
        hint = parameter.annotation
        kind, *_ = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        kinds = [one for one in get_args(kind) or (kind,) if one in (int, float)]
        if kinds and get_origin(kind) not in (list, tuple):
            yield f"--{name.replace('_', '-')}", kinds[0]


def refusal(words: list[str]) -> str:
    """Return the line with which a command refuses its arguments."""
    root = root_command()
    with pytest.raises((InputError, TyperException)) as caught, root.make_context("clew", words) as context:
        root.invoke(context)
    return caught.value.format_message() if isinstance(caught.value, TyperException) else str(caught.value)


@pytest.mark.parametrize("command", TRAINING, ids=" ".join)
def test_nonsense_is_refused_by_name(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = dict(numeric_options(TRAINING[command]))
    assert "--seed" in options or command == ("train", "routed")
    for option, kind in options.items():
        for value in NONSENSE[kind]:
            needed = {name: text for name, text in SHARED.items() if name != option}
            if command[-1] in ("adapt", "hops", "paths", "subgraph"):
                needed.pop("--data")
            if command[-1] in ("routed", "answers", "extractor", "reranker"):
                needed.pop("--index")
            words = [*command, *(word for pair in needed.items() for word in pair), f"{option}={value}"]
            message = refusal(words)
            name = option.removeprefix("--")
            assert name in message or name.replace("-", "_") in message, (words, message)
            assert "\n" not in message, (words, message)
    assert not any(tmp_path.iterdir())


def test_a_width_of_nothing_is_refused() -> None:
    for command in ("gfm", "subgraph", "reranker"):
        assert "width" in refusal(["train", command, "--out", "x", "--width", "0"])


@given(st.one_of(st.integers(), st.floats(), st.sampled_from((math.nan, math.inf, MAX_AMOUNT, MAX_COUNT))))
def test_a_recipe_takes_what_is_within_its_bounds_and_nothing_else(value: float) -> None:
    for name, lowest, highest in (("epochs", 1, MAX_COUNT), ("warmup", 0, MAX_COUNT), ("decay", 0, MAX_AMOUNT)):
        if name != "decay" and not isinstance(value, int):
            continue
        allowed = lowest <= value <= (MAX_COUNT if isinstance(value, int) else highest)
        values: dict[str, Any] = {name: value}
        if allowed:
            Recipe(**values)
            continue
        with pytest.raises(InputError, match=rf"^{name} is \S+: wanted [^\n]*$"):
            Recipe(**values)
