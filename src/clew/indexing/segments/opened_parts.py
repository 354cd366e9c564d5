"""Sequences of what some segments hold, read one after the other, so that memory holds no more than one."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, final, overload

SourceT = TypeVar("SourceT")
PartT = TypeVar("PartT")


@final
class OpenedParts(Sequence[PartT], Generic[SourceT, PartT]):
    """Something of each of some segments, or of other sources, taken whenever it is read."""

    def __init__(self, sources: Sequence[SourceT], part: Callable[[SourceT], PartT]) -> None:
        self._sources = sources
        self._part = part

    def __len__(self) -> int:
        return len(self._sources)

    @overload
    def __getitem__(self, index: int) -> PartT: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartT]: ...
    def __getitem__(self, index: int | slice) -> PartT | list[PartT]:
        if isinstance(index, slice):
            return [self._part(source) for source in self._sources[index]]
        return self._part(self._sources[index])


@final
class ChainedParts(Sequence[PartT], Generic[PartT]):
    """The parts of several sequences, one sequence after the other."""

    def __init__(self, *sequences: Sequence[PartT]) -> None:
        self._places = [(sequence, position) for sequence in sequences for position in range(len(sequence))]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> PartT: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartT]: ...
    def __getitem__(self, index: int | slice) -> PartT | list[PartT]:
        if isinstance(index, slice):
            return [sequence[position] for sequence, position in self._places[index]]
        sequence, position = self._places[index]
        return sequence[position]
