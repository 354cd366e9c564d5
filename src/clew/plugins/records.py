"""Settings records: frozen, checked by pydantic, and printed as a table of settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from clew.errors import InputError
from clew.plugins.spec import nearest

MAX_COUNT, MAX_AMOUNT = 1_000_000_000, 1_000_000.0  # what no setting needs more of; tables do not name them
WholeNumber = Annotated[int, Field(ge=1, le=MAX_COUNT)]  # a whole number of at least 1
Amount = Annotated[float, Field(ge=0.0, le=MAX_AMOUNT, allow_inf_nan=False)]  # a finite number of at least 0
Cosine = Annotated[float, Field(ge=-1.0, le=1.0)]  # a number from -1 to 1
Share = Annotated[float, Field(ge=0.0, le=1.0)]  # a number from 0 to 1
CountOrAll = WholeNumber | Literal["all"]  # a whole number of at least 1, or `all`


def setting(default: Any, description: str, source: str = "ours", unset: str = "none", *, in_repr: bool = True) -> Any:
    """Return a field of a settings record.

    The description is one phrase for `clew retrievers NAME` and the docs, the source a paper's table or the benchmark
    that decided the default, and `unset` the meaning of a default of None or "" in words. Without `in_repr` the `repr`
    of the record, of which fingerprints are made, does not hold the field.
    """
    return Field(default, description=description, json_schema_extra={"source": source, "unset": unset}, repr=in_repr)


class SettingsRecord(BaseModel):
    """Base of all settings records: frozen, no unknown setting; an unusable value is an InputError of one line."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, protected_namespaces=(), defer_build=True
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(explain_error(type(self), error.errors()[0])) from error


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One row of a table of settings."""

    name: str  # of the setting
    wanted: str  # the values it takes, in words
    default: str  # as a user would write it; without one, what that means
    description: str  # one phrase
    source: str  # where the default comes from; "ours" for a choice of this package without a table


def setting_rows(record: type[SettingsRecord]) -> Iterator[SettingRow]:
    """Yield the settings of a record in their order."""
    for name, field in record.model_fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        source, default = str(extra.get("source", "")), format_value(field.default) or str(extra.get("unset", ""))
        yield SettingRow(name, describe_values(field), default, field.description or "", source)


def format_value(value: object) -> str:
    """Return a value as a user writes it; "" for none."""
    if value is None or value is PydanticUndefined:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def explain_error(record: type[SettingsRecord], error: ErrorDetails) -> str:
    """Return one line for a validation error: the value seen, the values wanted."""
    label = record_label(record)
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "extra_forbidden":
        return unknown_setting(record, name)
    field = record.model_fields.get(name)
    if field is None:
        return f"{label}: {error['msg'].removeprefix('Value error, ')}"
    if error["type"] == "missing":
        return f"{label}: {name} is missing; wanted {describe_values(field)}"
    given = f"{error['input']!r:.80}"
    if error["type"] == "value_error":
        return f"{label}: {name} is {given}; {error['msg'].removeprefix('Value error, ')}"
    limit = error.get("ctx", {}).get("le")
    end = f", and at most {limit:,.0f}" if limit in (MAX_COUNT, MAX_AMOUNT) else ""
    return f"{label}: {name} is {given}; wanted {describe_values(field)}{end}"


def unknown_setting(record: type[SettingsRecord], name: str) -> str:
    """Return one line that says that a record has no such setting, and which one may have been meant."""
    known = tuple(record.model_fields)
    close = nearest(name, known)
    hint = f"did you mean {close}?" if close else f"it has: {', '.join(known) or 'none'}"
    return f"{record_label(record)} has no setting {name!r}; {hint}"


def record_label(record: type[SettingsRecord]) -> str:
    """Return what messages call a record: its registered name, else its class."""
    return str(getattr(record, "label", "") or record.__name__)


def describe_values(field: FieldInfo) -> str:
    """Return the values that a field takes, in words."""
    return _describe(field.annotation, list(field.metadata))


def _describe(annotation: Any, metadata: list[Any]) -> str:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        unpacked = [m for item in more for m in (item.metadata if isinstance(item, FieldInfo) else [item])]
        return _describe(inner, [*metadata, *unpacked])
    if origin in (Union, UnionType):
        options = [_describe(option, metadata) for option in get_args(annotation) if option is not NoneType]
        return ", or ".join(dict.fromkeys(options))
    if origin is Literal:
        choices = [str(choice) for choice in get_args(annotation)]
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if isinstance(annotation, type) and issubclass(annotation, SettingsRecord):
        return "a settings record"
    if annotation is bool:
        return "yes or no"
    if annotation in (int, float):
        return ("a whole number" if annotation is int else "a number") + _describe_bounds(metadata)
    if origin in (tuple, list):
        return "names joined by +"
    return {"Path": "a folder", "str": "a text"}.get(getattr(annotation, "__name__", ""), "a value")


def _describe_bounds(metadata: list[Any]) -> str:
    lower = next((m.ge for m in metadata if isinstance(m, annotated_types.Ge)), None)
    above = next((m.gt for m in metadata if isinstance(m, annotated_types.Gt)), None)
    upper = next((m.le for m in metadata if isinstance(m, annotated_types.Le)), None)
    upper = None if upper in (MAX_COUNT, MAX_AMOUNT) else upper
    if lower is not None and upper is not None:
        return f" from {lower:g} to {upper:g}"
    if lower is not None:
        return f" of at least {lower:g}"
    if above is not None:
        return f" above {above:g}"
    return "" if upper is None else f" of at most {upper:g}"
