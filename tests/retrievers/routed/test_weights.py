"""The file of choices: what is written is read, and what is damaged is told in one line."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError, ProviderError
from clew.retrievers.routed.signals import SIGNALS
from clew.retrievers.routed.weights import Choice, Duration, RoutedWeights, load_choices, save_choices
from clew.store.pretrained import PRETRAINED_FOLDER

TWO = ("a", "b")
WEIGHTS = RoutedWeights(
    TWO,
    (1.0, 2.0),
    (0.5, 4.0),
    (
        Choice("bm25", "bm25", 0.5, (0.1, -0.2), Duration(0.001, 0.5)),
        Choice("gear", "gear:base=gfm,steps=2", 0.75, (0.0, 0.25), Duration(0.1)),
    ),
    Duration(0.004, 0.25),
    5,
    ("bm25", "gear"),
    150.0,
)


def test_what_is_written_is_read_and_says_how_it_was_made(tmp_path: Path) -> None:
    save_choices(tmp_path / "new", WEIGHTS, {"data": ["x"]})
    assert load_choices(tmp_path / "new", TWO) == WEIGHTS
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["config.json"]
    assert json.loads((tmp_path / "new" / "config.json").read_text(encoding="utf-8"))["about"] == {"data": ["x"]}


def test_the_key_follows_what_changes_a_choice_alone(tmp_path: Path) -> None:
    for about in ({}, {"by": "someone"}):
        save_choices(tmp_path, WEIGHTS, about)
        assert load_choices(tmp_path, TWO).key == WEIGHTS.key
    assert replace(WEIGHTS, means=(1.0, 2.1)).key != WEIGHTS.key


def test_recall_is_a_line_through_signals_that_are_cut_at_four_deviations() -> None:
    assert WEIGHTS.expected_recalls((1.0, 2.0)).tolist() == [0.5, 0.75]
    assert WEIGHTS.expected_recalls((1.5, 6.0)).tolist() == pytest.approx([0.5 + 0.1 - 0.2, 0.75 + 0.25])
    assert WEIGHTS.expected_recalls((1e9, -1e9)).tolist() == pytest.approx([0.5 + 0.4 + 0.8, 0.75 - 1.0])
    both = WEIGHTS.expected_recalls(np.array([[1.0, 2.0], [1.5, 6.0]]))
    assert both.shape == (2, 2)


def test_seconds_grow_as_a_power_of_the_passages() -> None:
    assert Duration(0.004, 0.5).seconds_for(40_000) == pytest.approx(0.008)
    assert Duration(0.004, 0.0).seconds_for(0) == 0.004
    assert Duration(0.004, 1.0).seconds_for(1) == pytest.approx(0.0000004)


def changed(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda told: told.update(values)


def in_choice(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda told: told["choices"][1].update(values)


@pytest.mark.parametrize(
    "change",
    [
        changed(format=2),
        changed(kind="gfm"),
        changed(cutoff=0),
        changed(cutoff=5.0),
        changed(worth=-1.0),
        changed(worth=float("nan")),
        changed(usual=[]),
        changed(usual=["bm25", "dense"]),
        changed(look={"seconds": 1.0}),
        changed(look=None),
        changed(choices=[]),
        changed(choices=7),
        changed(signals=[]),
        in_choice(weights=[0.1]),
        in_choice(weights=[0.1, "0.2"]),
        in_choice(weights=[0.1, True]),
        in_choice(recall=float("inf")),
        in_choice(seconds=-1.0),
        in_choice(growth=1.5),
        lambda told: [told.update(usual=["bm25"]), told["choices"][1].update(name="routed", retriever="routed")],
        in_choice(name="bm25", retriever="bm25"),
        in_choice(retriever="ircot"),
        in_choice(name=""),
        lambda told: told["signals"][0].update(spread=0.0),
        lambda told: told["signals"][0].pop("mean"),
        lambda told: told["signals"][0].update(name="c"),
        lambda told: told.pop("choices"),
    ],
)
def test_a_file_that_is_damaged_is_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    save_choices(tmp_path, WEIGHTS, {})
    told = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    change(told)
    (tmp_path / "config.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json.*train") as caught:
        load_choices(tmp_path, TWO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\xfe", b"{", b"null", b"[" * 100_000])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError, match="train them again"):
        load_choices(tmp_path, TWO)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no weights \(config.json is missing\).*clew train routed"):
        load_choices(tmp_path, TWO)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ProviderError, match="could not be written"):
        save_choices(tmp_path / "file", WEIGHTS, {})


def test_the_shipped_weights_can_be_read() -> None:
    shipped = load_choices(PRETRAINED_FOLDER / "routed", tuple(SIGNALS))
    assert {"bm25", "pagerank", "gfm"} <= {choice.name for choice in shipped.choices}
    assert {"pagerank", "gfm"} <= {*shipped.default_choices}
    with pytest.raises(InputError, match="choices has 'gcn'; these weights choose among"):
        shipped.find_choice("gcn")
