"""GeAR's pseudocode as plain loops over names, written from the paper's page alone: the oracle of `preset=paper`."""

import math
from collections.abc import Callable, Mapping, Sequence

Triple = tuple[str, str, str]
Rank = Callable[[str], Sequence[str]]  # from a query to ids of passages, best first


def fuse(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion, k = 60, ties by id."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, passage in enumerate(ranking, 1):
            scores[passage] = scores.get(passage, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda passage: (-scores[passage], passage))


def expand(
    starts: Sequence[int],
    triples: Sequence[Triple],
    score: Callable[[Sequence[int]], float],
    width: int = 10,
    length: int = 2,
    gamma: float = 2.0,
) -> list[int]:
    """Triples on the last beam of the diverse search, in its order."""
    beam = sorted(((score([t]), [t]) for t in set(starts)), key=lambda pair: (-pair[0], pair[1]))[:width]
    for _ in range(1, length):
        used = {t for _, path in beam for t in path}
        longer = []
        for total, path in beam:
            last = triples[path[-1]]
            joined = [
                t for t, other in enumerate(triples) if t not in used and {last[0], last[2]} & {other[0], other[2]}
            ]
            found = sorted(((total + score([*path, t]), [*path, t]) for t in joined), key=lambda p: (-p[0], p[1]))
            longer += [(s * math.exp(-min(n, gamma) / gamma), p) for n, (s, p) in enumerate(found)] or [(total, path)]
        beam = sorted(longer, key=lambda pair: (-pair[0], pair[1]))[:width]
    return list(dict.fromkeys(t for _, path in beam for t in path))


def agent(
    question: str,
    queries: Mapping[str, str],
    base: Rank,
    read: Callable[[str, Sequence[str]], Sequence[str]],
    expanded: Callable[[Sequence[str]], Sequence[str]],
) -> tuple[list[str], list[str]]:
    """Final ranking and gist of at most four steps.

    `queries` holds the query after each; `read` returns the facts of a query and its passages; `expanded` the passages
    that facts lead to.
    """
    gist: list[str] = []
    retrieved: list[list[str]] = []
    query = question
    for _ in range(4):
        passages = base(query)
        more = expanded(read(query, passages[:10]))
        retrieved.append(fuse([passages, more]))
        gist += [fact for fact in read(query, more[:10]) if fact not in gist]
        if query not in queries:
            break
        query = queries[query]
    return fuse([*retrieved, *(base(fact) for fact in gist)]), gist
