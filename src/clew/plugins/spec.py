"""The text form of settings, `name=value,name=value`, as users write it on the command line and as weights keep it."""

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
