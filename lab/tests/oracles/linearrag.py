"""LinearRAG's ranking with dictionaries and loops, independent of Clew's implementation."""

import math
from collections import defaultdict
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
        sentences: Passage, entities in their order, and similarity to the question, in their order.
        passages: Similarity of each passage to the question.
        starts: Entities of the question with their similarity, in the order of the question.
        neighbours: Pairs of passages that follow each other.
    """

    texts: Mapping[str, str]
    mentions: Mapping[str, set[str]]
    sentences: Sequence[tuple[str, Sequence[str], float]]
    passages: Mapping[str, float]
    starts: Mapping[str, float]
    neighbours: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Weights:
    """The settings, with the published values."""

    rounds: int = 3
    sentences: int = 1
    threshold: float = 0.5
    dense_weight: float = 1.5
    passage_weight: float = 0.05
    damping: float = 0.5


def passage_mass(corpus: Corpus, given: Weights) -> dict[str, float]:
    """Return the mass of every passage, or its similarity where the walk has nowhere to start."""
    if not corpus.starts:
        return dict(corpus.passages)
    active, sums = activate(corpus, given)
    restart: dict[Node, float] = {("entity", name): max(weight, 0.0) for name, weight in sums.items()}
    low, high = min(corpus.passages.values()), max(corpus.passages.values())
    for passage, similarity in corpus.passages.items():
        dense = (similarity - low) / (high - low) if high > low else 1.0
        bonus = sum(
            score * math.log(1 + _occurrences(corpus, passage, name)) / round_
            for name, (score, round_) in active.items()
            if name in corpus.mentions[passage]
        )
        weight = given.dense_weight * dense + math.log(1 + max(bonus, 0.0))
        restart["passage", passage] = given.passage_weight * weight
    if not any(restart.values()):
        return dict(corpus.passages)
    mass = walk_mass(_edges(corpus), restart, given.damping)
    return {passage: mass.get(("passage", passage), 0.0) for passage in corpus.passages}


def activate(corpus: Corpus, given: Weights) -> tuple[dict[str, tuple[float, int]], dict[str, float]]:
    """Return score and round of each active entity, of its last activation, and the sum of all its scores."""
    active = {name: (score, 1) for name, score in corpus.starts.items()}
    sums = dict(corpus.starts)
    current, used = dict(corpus.starts), set[int]()
    for round_ in range(1, given.rounds):
        reached: dict[str, float] = {}
        for name, score in current.items():
            if score < given.threshold:
                continue
            fresh = [n for n, (_, names, _) in enumerate(corpus.sentences) if name in names and n not in used]
            for number in sorted(fresh, key=lambda n: (-corpus.sentences[n][2], n))[: given.sentences]:
                used.add(number)
                passed = score * corpus.sentences[number][2]
                if passed >= given.threshold:
                    for other in corpus.sentences[number][1]:
                        sums[other] = sums.get(other, 0.0) + passed
                        reached[other] = passed
        active.update({name: (score, round_ + 1) for name, score in reached.items()})
        current = reached
    return active, sums


def _occurrences(corpus: Corpus, passage: str, name: str) -> int:
    return max(corpus.texts[passage].lower().count(name.lower()), 1)


def _edges(corpus: Corpus) -> dict[Node, dict[Node, float]]:
    edges: dict[Node, dict[Node, float]] = defaultdict(lambda: defaultdict(float))
    for passage, names in corpus.mentions.items():
        total = sum(_occurrences(corpus, passage, name) for name in names)
        for name in names:
            share = _occurrences(corpus, passage, name) / total
            edges["passage", passage]["entity", name] = edges["entity", name]["passage", passage] = share
    for one, other in corpus.neighbours:
        edges["passage", one]["passage", other] = edges["passage", other]["passage", one] = 1.0
    return edges
