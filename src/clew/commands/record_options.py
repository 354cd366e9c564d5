"""Command-line options made from the fields of frozen records, so that an option is written once.

A parameter of a command whose type is a dataclass becomes one option for each of its fields that is annotated with
`typer.Option`, or with a `pydantic.Field` that has a description: help text, bounds, and an alias if the option is not
named like the field. Fields that are dataclasses are expanded in turn; all other fields keep their defaults.

The record of a parameter may define `dependent_defaults(given)`, a static method that gets the options of the command
line by name, and returns the values of options that were not given; and `check_given(given)`, a method that raises
InputError for an option that was given and that the record, with the values of all options, would not read.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ParameterInfo

Command = Callable[..., None]
_CONTEXT = "context_"
_REQUIRED = inspect.Parameter.empty


class Without:
    """Annotation of a record: the named fields, also of records in it, are no options and keep their defaults."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def admits(self, name: str) -> bool:
        """Return whether a field becomes an option."""
        return name not in self._names


class Only(Without):
    """Annotation of a record: of its fields, also of records in it, only the named ones are options."""

    def admits(self, name: str) -> bool:
        """Return whether a field becomes an option."""
        return name in self._names


@dataclass(frozen=True, slots=True)
class _Option:
    """The option of a field; the items of a tuple are separated by commas on the command line."""

    field: str
    parameter: inspect.Parameter
    is_tuple: bool

    def value(self, values: Mapping[str, Any]) -> Any:
        value = values[self.parameter.name]
        return tuple(item.strip() for item in value.split(",") if item.strip()) if self.is_tuple else value


@dataclass(frozen=True, slots=True)
class _Record:
    """The options of a record; fields without one keep the value that they have in `default`, or their own default."""

    field: str
    type: type
    default: Any
    parts: "tuple[_Option | _Record, ...]"

    def parameters(self) -> Iterator[inspect.Parameter]:
        for part in self.parts:
            yield from part.parameters() if isinstance(part, _Record) else (part.parameter,)

    def value(self, values: Mapping[str, Any]) -> Any:
        given = {part.field: part.value(values) for part in self.parts}
        return self.type(**given) if self.default is None else dataclasses.replace(self.default, **given)


def expand_records(command: Command) -> Command:
    """Return a function for Typer with an option for each field of the records that a command takes.

    Two options of the same name are a TypeError.
    """
    hints = get_type_hints(command, include_extras=True)
    records: list[_Record] = []
    parameters = [inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for parameter in inspect.signature(command).parameters.values():
        default = None if parameter.default is _REQUIRED else parameter.default
        record = _expand(parameter.name, hints[parameter.name], default)
        if record is not None:
            records.append(record)
            parameters += record.parameters()
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
    names = [parameter.name for parameter in parameters]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TypeError(f"{command.__name__} has two options called {min(twice)!r}: give fields different names")

    @functools.wraps(command)
    def run(**values: Any) -> None:
        context = values.pop(_CONTEXT)
        for record in records:
            own = {parameter.name: values.pop(parameter.name) for parameter in record.parameters()}
            given = {name: value for name, value in own.items() if _is_given(context, name)}
            if hasattr(record.type, "dependent_defaults"):
                own |= {**record.type.dependent_defaults(given), **given}
            made = record.value(own)
            if hasattr(made, "check_given"):
                made.check_given(given)
            values[record.field] = made
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _expand(field: str, hint: Any, default: Any, filters: tuple[Without, ...] = ()) -> _Record | None:
    """Return the options of a record; None where the type is no record, or no field of it is an option."""
    kind, notes = _unpack(hint)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return None
    filters += tuple(note for note in notes if isinstance(note, Without))
    hints = get_type_hints(kind, include_extras=True)
    parts: list[_Option | _Record] = []
    for own in dataclasses.fields(kind):
        value = _default(own) if default is None else getattr(default, own.name)
        part: _Option | _Record | None
        part = _expand(own.name, hints[own.name], None if value is _REQUIRED else value, filters)
        if part is None and all(one.admits(own.name) for one in filters):
            part = _option(own.name, hints[own.name], value)
        parts += [] if part is None else [part]
    return _Record(field, kind, default, tuple(parts)) if parts else None


def _option(field: str, hint: Any, default: Any) -> _Option | None:
    """Return the option of a field; None where nothing says how it is spelled and what it is for."""
    kind, notes = _unpack(hint)
    info = next((note for note in notes if isinstance(note, ParameterInfo) or getattr(note, "description", None)), None)
    if info is None:
        return None
    name, is_tuple = field, get_origin(kind) is tuple
    if not isinstance(info, ParameterInfo):
        name = info.alias or field
        info = typer.Option(help=info.description, **_bounds(info.metadata))
    annotation: Any = Annotated[str if is_tuple else kind, info]
    default = ",".join(default) if is_tuple and default is not _REQUIRED else default
    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    return _Option(field, parameter, is_tuple)


def _unpack(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return kind, tuple(notes)


def _bounds(constraints: Sequence[Any]) -> dict[str, Any]:
    """Return the bounds that Typer knows; those that exclude their value are left to the record."""
    names = (("ge", "min"), ("le", "max"))
    return {name: getattr(one, own) for one in constraints for own, name in names if hasattr(one, own)}


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not MISSING:
        return field.default
    return _REQUIRED if field.default_factory is MISSING else field.default_factory()
