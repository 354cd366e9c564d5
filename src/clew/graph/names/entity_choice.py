"""The entity that a person means by a name, among those that have it."""

from collections.abc import Callable, Sequence

from clew.text.normalization import name_key


def choose_entities(name: str, entities: Sequence[int], label: Callable[[int], str]) -> list[int]:
    """Return those of the entities with a name that are displayed so, to the letter or else but for case and spaces.

    Where none is displayed so, all of them; more than one is ambiguous.
    """
    exact = [entity for entity in entities if label(entity) == name.strip()]
    if exact:
        return exact
    wanted = name_key(name)
    return [entity for entity in entities if name_key(label(entity)) == wanted] or list(entities)
