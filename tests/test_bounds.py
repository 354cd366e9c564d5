"""Every number that can be set has bounds: what is beyond them is one line, and what is within them works."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import annotated_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ClewError, InputError
from clew.index import Index
from clew.plugins.records import MAX_COUNT, SettingsRecord, setting_rows
from clew.rerankers.registry import CrossEncoder, LLMRerank
from clew.retrievers.registry import RETRIEVERS, finds_nothing, parse_retriever, record_of
from clew.settings import Settings, load_settings

NUMERIC = tuple(
    (name, row.name) for name in RETRIEVERS for row in setting_rows(record_of(name)) if "number" in row.wanted
)
BEYOND = (-1, 2 * MAX_COUNT, 2**63, 10**30, -(10**30), 1e300, math.inf, -math.inf, math.nan)
NEGATIVE_SETTINGS = ("linker_floor",)  # a cosine


class Refusal:
    """Context manager that ends a `ClewError` of one line, and holds its message."""

    message = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, ClewError):
            return False
        self.message = str(error)
        assert "\n" not in self.message
        return True


def settings_fields() -> Iterator[tuple[str, Any]]:
    for name, field in Settings.model_fields.items():
        if field.annotation in (int, float, int | None, float | None):
            yield name, field


@pytest.mark.parametrize("name", [*RETRIEVERS])
def test_what_no_setting_can_need_is_refused_in_one_line(name: str) -> None:
    for field in (field for owner, field in NUMERIC if owner == name):
        for value in BEYOND[field in NEGATIVE_SETTINGS :]:
            with pytest.raises(InputError) as caught:
                parse_retriever(f"{name}:{field}={value}")
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*RETRIEVERS])
@given(data=st.data())
def test_numbers_of_retrievers_are_refused_or_within_bounds(name: str, data: st.DataObject) -> None:
    fields = [field for owner, field in NUMERIC if owner == name]
    if not fields:
        return
    field = data.draw(st.sampled_from(fields))
    value = data.draw(st.sampled_from(BEYOND) | st.integers() | st.floats())
    with Refusal() as refusal:
        accepted = getattr(parse_retriever(f"{name}:{field}={value}"), field)
        assert not isinstance(accepted, int | float) or abs(accepted) <= MAX_COUNT
    assert len(refusal.message) < 400


@pytest.mark.parametrize("record", [CrossEncoder, LLMRerank])
def test_numbers_of_rerankers_are_refused_or_within_bounds(record: type[SettingsRecord]) -> None:
    for row in setting_rows(record):
        if "number" in row.wanted:
            for value in BEYOND:
                with pytest.raises(InputError):
                    record(**{row.name: value})


def test_every_number_of_the_settings_has_both_bounds() -> None:
    for name, field in settings_fields():
        kinds = {type(item) for item in field.metadata}
        assert annotated_types.Le in kinds, name
        assert kinds & {annotated_types.Ge, annotated_types.Gt}, name


@given(data=st.data())
def test_numbers_of_the_settings_are_refused_in_one_line_or_within_bounds(data: st.DataObject) -> None:
    name, field = data.draw(st.sampled_from(list(settings_fields())))
    value = data.draw(st.sampled_from(BEYOND) | st.integers() | st.floats())
    upper = next(item.le for item in field.metadata if isinstance(item, annotated_types.Le))
    with pytest.MonkeyPatch.context() as patch, Refusal():
        patch.setenv(f"CLEW_{name.upper()}", str(value))
        accepted = getattr(load_settings(), name)
        assert accepted is None or (-1.0 if name in NEGATIVE_SETTINGS else 0) <= accepted <= upper


@pytest.mark.parametrize("price", ["-1", "1e10", "inf", "nan"])
def test_a_price_has_bounds(price: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clew.toml").write_text(f'[prices]\n"a" = [1.0, {price}]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"setting 'prices\.a\.1'"):
        load_settings()


@pytest.mark.slow
@pytest.mark.filterwarnings("default::RuntimeWarning")  # products of extreme weights overflow to infinity
@pytest.mark.parametrize(("name", "field"), [pair for pair in NUMERIC if not finds_nothing(pair[0])])
def test_the_largest_and_the_least_number_that_is_accepted_can_be_searched_with(
    small: Index, name: str, field: str
) -> None:
    accepted = []
    for value in ("0", "1", "1e-3", "1000", "1e6", "1000000", "1000000000"):
        try:
            accepted.append(parse_retriever(f"{name}:{field}={value}"))
        except InputError:
            continue
    for record in {accepted[0], accepted[-1]}:
        with Refusal():
            assert len(small.search("Where was the commander of the Vega born?", 3, record).passages) <= 3


@pytest.mark.parametrize("k", [10**6, 2**63, 10**30])
def test_any_number_of_passages_can_be_asked_for(small: Index, k: int) -> None:
    for name in ("bm25", "dense", "pagerank", "fused"):
        assert len(small.search("Vega", k, name).passages) <= len(small.snapshot.passage_ids)
