"""The file of choices: it is read back, and damage is reported in one line."""

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
from clew.store.weights_io import PRETRAINED_FOLDER

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


def test_saved_weights_are_read_back_with_their_description(tmp_path: Path) -> None:
    save_choices(tmp_path / "new", WEIGHTS, {"data": ["x"]})
    assert load_choices(tmp_path / "new", TWO) == WEIGHTS
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["config.json"]
    assert json.loads((tmp_path / "new" / "config.json").read_text(encoding="utf-8"))["about"] == {"data": ["x"]}


def test_the_key_changes_only_with_values_that_affect_a_choice(tmp_path: Path) -> None:
    for about in ({}, {"by": "someone"}):
        save_choices(tmp_path, WEIGHTS, about)
        assert load_choices(tmp_path, TWO).key == WEIGHTS.key
    assert replace(WEIGHTS, means=(1.0, 2.1)).key != WEIGHTS.key


def test_recall_is_linear_in_signals_clipped_at_four_deviations() -> None:
    assert WEIGHTS.expected_recalls((1.0, 2.0)).tolist() == [0.5, 0.75]
    assert WEIGHTS.expected_recalls((1.5, 6.0)).tolist() == pytest.approx([0.5 + 0.1 - 0.2, 0.75 + 0.25])
    assert WEIGHTS.expected_recalls((1e9, -1e9)).tolist() == pytest.approx([0.5 + 0.4 + 0.8, 0.75 - 1.0])
    both = WEIGHTS.expected_recalls(np.array([[1.0, 2.0], [1.5, 6.0]]))
    assert both.shape == (2, 2)


def test_seconds_grow_as_a_power_of_the_passages() -> None:
    assert Duration(0.004, 0.5).seconds_for(40_000) == pytest.approx(0.008)
    assert Duration(0.004, 0.0).seconds_for(0) == 0.004
    assert Duration(0.004, 1.0).seconds_for(1) == pytest.approx(0.0000004)


def change_file(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda config: config.update(values)


def change_choice(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda config: config["choices"][1].update(values)


@pytest.mark.parametrize(
    "change",
    [
        change_file(format=2),
        change_file(kind="gfm"),
        change_file(cutoff=0),
        change_file(cutoff=5.0),
        change_file(worth=-1.0),
        change_file(worth=float("nan")),
        change_file(usual=[]),
        change_file(usual=["bm25", "dense"]),
        change_file(look={"seconds": 1.0}),
        change_file(look=None),
        change_file(choices=[]),
        change_file(choices=7),
        change_file(signals=[]),
        change_choice(weights=[0.1]),
        change_choice(weights=[0.1, "0.2"]),
        change_choice(weights=[0.1, True]),
        change_choice(recall=float("inf")),
        change_choice(seconds=-1.0),
        change_choice(growth=1.5),
        lambda config: [
            config.update(usual=["bm25"]),
            config["choices"][1].update(name="routed", retriever="routed"),
        ],
        change_choice(name="bm25", retriever="bm25"),
        change_choice(retriever="ircot"),
        change_choice(name=""),
        lambda config: config["signals"][0].update(spread=0.0),
        lambda config: config["signals"][0].pop("mean"),
        lambda config: config["signals"][0].update(name="c"),
        lambda config: config.pop("choices"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    save_choices(tmp_path, WEIGHTS, {})
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    change(config)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json.*train") as caught:
        load_choices(tmp_path, TWO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\xfe", b"{", b"null", b"[" * 100_000])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError, match="train them again"):
        load_choices(tmp_path, TWO)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no weights \(config.json is missing\).*clew train routed"):
        load_choices(tmp_path, TWO)


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ProviderError, match="could not be written"):
        save_choices(tmp_path / "file", WEIGHTS, {})


def test_the_shipped_weights_can_be_read() -> None:
    shipped = load_choices(PRETRAINED_FOLDER / "routed", tuple(SIGNALS))
    assert {"bm25", "pagerank", "gfm"} <= {choice.name for choice in shipped.choices}
    assert {"pagerank", "gfm"} <= {*shipped.default_choices}
    with pytest.raises(InputError, match="choices has 'gcn'; these weights choose among"):
        shipped.find_choice("gcn")
