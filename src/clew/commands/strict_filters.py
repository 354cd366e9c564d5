"""`--strict-filters`: a search in the allowed passages alone, as if there were no others."""

from typing import TYPE_CHECKING

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index


def check_strict(where: str | None, *, strict: bool) -> None:
    """Refuse strict filters where there is no filter."""
    if strict and where is None:
        raise InputError("--strict-filters is of --where, which is not given: give a condition, or leave it out")


def apply_strict(index: "Index", where: str | None, *, strict: bool) -> "tuple[Index, str | None]":
    """Return an index and the filter of its searches: none in an index of the allowed passages alone."""
    check_strict(where, strict=strict)
    return (index.restrict(where), None) if strict and where is not None else (index, where)
