"""SPRIG's ranking with dictionaries and loops, independent of Clew's implementation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.tests.oracles.walks import walk_mass

Node = tuple[str, str]


@dataclass(frozen=True)
class Corpus:
    """Input of the ranking.

    Attributes:
        texts: Title and text of each passage.
        mentions: The entities of each passage.
        names: Entities that the question names.
        first: First passages of a ranking, best first.
        closed: Passages that the walk must not enter; they count in the frequencies of entities.
    """

    texts: Mapping[str, str]
    mentions: Mapping[str, set[str]]
    names: Sequence[str]
    first: Sequence[str]
    closed: frozenset[str] = frozenset()

    def frequency(self, name: str) -> int:
        """Return the number of passages of an entity, at least 1."""
        return max(sum(name in names for names in self.mentions.values()), 1)


def passage_mass(
    corpus: Corpus, name_power: float, hub_power: float, restart: float, steps: int | None = None
) -> dict[str, float]:
    """Return the mass of the passages that the walk reaches.

    Without `steps` the walk goes on to its end, and what steps from a node without neighbours is lost; with them, that
    is back at the restart.
    """
    seeds: dict[Node, float] = {("entity", name): corpus.frequency(name) ** -name_power for name in corpus.names}
    seeds.update({("passage", passage): 1 / rank for rank, passage in enumerate(corpus.first, 1)})
    edges, lost = _edges(corpus, hub_power), steps is None
    mass = walk_mass(edges, seeds, 1 - restart, 400 if steps is None else steps, lost=lost)
    return {name: weight for (kind, name), weight in mass.items() if kind == "passage" and weight > 0}


def _edges(corpus: Corpus, hub_power: float) -> dict[Node, dict[Node, float]]:
    edges: dict[Node, dict[Node, float]] = {}
    for passage, names in corpus.mentions.items():
        for name in set() if passage in corpus.closed else names:
            times = max(corpus.texts[passage].lower().count(name.lower()), 1)
            frequency = corpus.frequency(name)
            weight = times * (math.log((len(corpus.mentions) + 1) / (frequency + 1)) + 1)
            edges.setdefault(("entity", name), {})["passage", passage] = weight
            edges.setdefault(("passage", passage), {})["entity", name] = weight * frequency**-hub_power
    return edges
