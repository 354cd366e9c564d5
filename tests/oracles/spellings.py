"""Oracle of misspelt names: the restricted Damerau-Levenshtein distance by its definition, to all names."""

from collections.abc import Iterable


def edit_distance(one: str, other: str) -> int:
    """Return the fewest letters changed, left out, added or swapped with the next one, none of them twice."""

    distance: dict[tuple[int, int], int] = {}
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            ways = [i + j] if not i or not j else []
            if i and j:
                ways += [distance[i - 1, j] + 1, distance[i, j - 1] + 1]
                ways.append(distance[i - 1, j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and (one[i - 2], one[i - 1]) == (other[j - 1], other[j - 2]):
                ways.append(distance[i - 2, j - 2] + 1)
            distance[i, j] = min(ways)
    return distance[len(one), len(other)]


def near_names(key: str, names: Iterable[str], one_edit: int, two_edits: int) -> list[tuple[int, str]]:
    """Return the names within their limits of a key, with the distance, nearest first."""
    spelling, found = key.replace(" ", ""), []
    for name in names:
        length = len(name.replace(" ", ""))
        limit = 2 if length >= two_edits else 1 if length >= one_edit else 0
        edits = edit_distance(spelling, name.replace(" ", ""))
        if limit and edits <= limit:
            found.append((edits, name))
    return sorted(found)
