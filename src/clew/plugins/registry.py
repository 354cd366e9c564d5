"""Registries: names to entries, extended by the entry points of other packages."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from clew.errors import InputError
from clew.plugins.arguments import ERRORS, Origin
from clew.plugins.spec import suggest

if TYPE_CHECKING:
    from clew.plugins.records import SettingsRecord

Entry = TypeVar("Entry")
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Registry(Generic[Entry]):
    """Entries by name: those of this package, and those that installed packages add by an entry point.

    An entry point's name is the entry's name, and its value names an object of the same class as the entries here. One
    that has a name of this package is ignored, with a warning.
    """

    kind: str  # the kind of thing, for messages: "retriever"
    group: str  # the group of entry points: "clew.retrievers"
    entries: dict[str, Entry]  # those of this package by name, in the order of listings
    entry_class: type[Entry]
    unsuggested: frozenset[str] = frozenset()  # names that messages do not propose for a misspelt one
    _reported: set[str] = field(default_factory=set, init=False, repr=False)  # entries that cannot be used

    def __iter__(self) -> Iterator[str]:
        return iter((*self.entries, *self._plugins))

    def __contains__(self, name: object) -> bool:
        return name in self.entries or name in self._plugins

    def __len__(self) -> int:
        return len(self.entries) + len(self._plugins)

    @property
    def suggestions(self) -> list[str]:
        """The names that messages may propose for a misspelt one, in the order of listings."""
        return [name for name in self if name not in self.unsuggested]

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        found = sorted(_entry_points().select(group=self.group), key=lambda point: (point.name, point.value))
        for point in found:
            if point.name in self.entries:
                message = "the %s %s of %s is ignored, since Clew has one of that name: give the entry point another"
                _log.warning(message, self.kind, point.name, point.value)
        return {point.name: point for point in found if point.name not in self.entries}

    def entry(self, name: str) -> Entry:
        """Return the entry of a name; an InputError where there is none or the package that adds it cannot be used."""
        plugins = self._plugins  # first of all, for its warning
        if name in self.entries:
            return self.entries[name]
        if name not in plugins:
            proposal = suggest(name, self.suggestions)
            raise InputError(f"no {self.kind} is called {name!r}; {proposal}choose one of {', '.join(self)}")
        point = plugins[name]
        try:
            entry = point.load()
        except ERRORS as error:
            raise InputError(
                f"the {self.kind} {name} of {point.value} cannot be loaded: {error}; install {_package(point)} again"
            ) from error
        if not isinstance(entry, self.entry_class):
            raise InputError(
                f"the entry point {name} = {point.value} of {self.group} is a {type(entry).__name__}; "
                f"wanted a clew.{self.entry_class.__name__}: use another version of {_package(point)}"
            )
        return entry

    def usable_entries(self) -> dict[str, Entry]:
        """Return the entries by name, in the order of listings, for what needs them all.

        One whose package cannot be used is left out, with a warning the first time.
        """
        usable: dict[str, Entry] = {}
        for name in self:
            try:
                usable[name] = self.entry(name)
            except InputError as error:
                if name not in self._reported:
                    _log.warning("%s", error)
                self._reported.add(name)
        return usable

    def origin(self, name: str) -> Origin:
        """Return where the entry of a name comes from."""
        if name in self.entries or name not in self._plugins:
            return Origin(f"{self.kind} {name}")
        return Origin(f"{self.kind} {name} of {self._plugins[name].value}", is_installed=True)

    def build(self, name: str, *arguments: Any) -> Any:
        """Return what the `build` of an entry returns; what the code of an installed package raises is an InputError.

        What it returns is not checked here: each seam has a function that accepts it.
        """
        entry: Any = self.entry(name)
        with self.origin(name).map_errors():
            return load_object(entry.build)(*arguments)

    def record(self, name: str) -> "type[SettingsRecord]":
        """Return the settings record of an entry that has one.

        Raises InputError where it is no such class, or its label is another name and the entry has no preset.
        """
        from clew.plugins.records import SettingsRecord

        entry: Any = self.entry(name)
        origin = self.origin(name)
        with origin.map_errors():
            record = load_object(entry.record)
        if not (isinstance(record, type) and issubclass(record, SettingsRecord)):
            raise InputError(f"the settings of the {origin.label} are {record!r:.80}; wanted a clew.SettingsRecord")
        label = getattr(record, "label", "")
        if label != name and not getattr(entry, "preset", None):
            raise InputError(
                f"the settings of the {origin.label} have the label {label!r}; its package has to name it {name!r}"
            )
        return record


@cache
def _entry_points() -> EntryPoints:
    # All at once, which takes 20 ms; what Python 3.11 returns in the place of `EntryPoints` selects as that does.
    return cast("EntryPoints", entry_points())


def _package(point: EntryPoint) -> str:
    """Return the name by which pip knows the package of an entry point, else that of its module."""
    return point.module.partition(".")[0] if point.dist is None else point.dist.name


def load_object(place: Any) -> Any:
    """Return the object at `module:name`; anything but a string is returned as it is."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
