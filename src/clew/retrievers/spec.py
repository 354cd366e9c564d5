"""What a user says of a retriever after its name: `gfm:nodes=all,ranker=paper`."""

import math
from collections.abc import Sequence

from clew.errors import InputError


class Options:
    """Values by name; each must be taken, so that a misspelt one is told and not ignored.

    Args:
        text: `name=value,name=value`, or "".
        retriever: For messages.

    Raises:
        InputError: A part has no equals sign, or a name comes twice.
    """

    def __init__(self, text: str = "", retriever: str = "") -> None:
        self._retriever = retriever
        self._values: dict[str, str] = {}
        self._read_names: set[str] = set()
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals or not name or name in self._values:
                raise InputError(
                    f"{retriever}:{text}: {part!r} is no setting; write name=value, each name once, no comma inside"
                )
            self._values[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def text(self, name: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return the value of a name.

        Raises:
            InputError: It is none of the choices, when there are some.
        """
        self._read_names.add(name)
        value = self._values.get(name, default)
        if choices and value not in choices:
            raise InputError(
                f"{self._retriever}: {name} is {value!r}; wanted one of {', '.join(filter(None, choices))}"
            )
        return value

    def positive_or_all(self, name: str, default: int | None) -> int | None:
        """Return the value of a name as a whole number of at least 1; None for `all`.

        Raises:
            InputError: It is neither.
        """
        self._read_names.add(name)
        if name not in self._values:
            return default
        value = self._values[name]
        if value == "all":
            return None
        if not (value.isascii() and value.isdigit() and int(value)):
            raise InputError(f"{self._retriever}: {name} is {value!r}; wanted a whole number of at least 1, or all")
        return int(value)

    def integer(self, name: str, default: int, maximum: int | None = None) -> int:
        """Return the value of a name as a whole number of at least 1, and at most `maximum` where it is given.

        Raises:
            InputError: It is none.
        """
        self._read_names.add(name)
        value = self._values.get(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and int(value)) or (maximum is not None and int(value) > maximum):
            bounds = "of at least 1" if maximum is None else f"from 1 to {maximum}"
            raise InputError(f"{self._retriever}: {name} is {value!r}; wanted a whole number {bounds}")
        return int(value)

    def float_(self, name: str, default: float) -> float:
        """Return the value of a name as a number of at least 0.

        Raises:
            InputError: It is none.
        """
        self._read_names.add(name)
        value = self._values.get(name)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = -1.0
        if not 0.0 <= number < math.inf:
            raise InputError(f"{self._retriever}: {name} is {value!r}; wanted a number of at least 0")
        return number

    def check(self) -> None:
        """Refuse names that no one asked for.

        Raises:
            InputError: There is one.
        """
        if strange := sorted(self._values.keys() - self._read_names):
            known = ", ".join(sorted(self._read_names)) or "none"
            raise InputError(f"{self._retriever} has no setting {strange[0]!r}; it has: {known}")


def split_names(text: str) -> list[str]:
    """Return the retrievers of a list by commas; a part with an equals sign belongs to the name before it."""
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part.partition("=")[0] and ":" in names[-1]:
            names[-1] += f",{part}"
        else:
            names.append(part.strip())
    return names
