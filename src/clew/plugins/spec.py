"""Words of users: settings as `name=value,name=value`, also as weights keep them, lists, and misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches

from clew.errors import InputError


def split_settings(text: str, label: str) -> dict[str, str]:
    """Return the settings of a text by name; no equals sign, or a name twice, is an InputError that names the label."""
    values: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name or name in values:
            shown = " ".join(text.split())
            raise InputError(
                f"{label}:{shown:.200}: {part!r:.80} is no setting; write name=value, each name once, no comma inside"
            )
        values[name] = value
    return values


def split_list(text: str) -> list[str]:
    """Return the items of a list separated by commas; a part with an equals sign belongs to the item before it."""
    items: list[str] = []
    for part in text.split(","):
        if items and "=" in part and ":" not in part.partition("=")[0] and ":" in items[-1]:
            items[-1] += f",{part}"
        else:
            items.append(part.strip())
    return items


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to a given one, "" where none is similar."""
    by_folded = {other.casefold().replace("_", "-"): other for other in known}
    matches = get_close_matches(name.casefold().replace("_", "-"), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else ""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean NAME? ", for the middle of a message, with the most similar known name; "" without one."""
    close = nearest(name, known)
    return f"did you mean {close}? " if close else ""
