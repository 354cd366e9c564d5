"""HippoRAG 2's ranking with dictionaries and loops, independent of Clew's implementation.

Graph of phrases and passages: triple edges in both directions (weight = number of passages that state it),
phrase-passage edges 1, synonym edges (weight = cosine). The five triples most similar to the question; a phrase's
weight is the mean over its triples of score / number of passages of the phrase, the best five phrases are kept;
passages get min-max dense score times 0.05; personalised PageRank with damping 0.5 from the sum; passages by mass.
Without triples: the dense ranking.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.tests.oracles.walks import walk_mass


@dataclass(frozen=True)
class Corpus:
    """Input of the ranking.

    Attributes:
        mentions: The phrases of each passage.
        triples: (head, tail, passages that state it), in the order in which ties are broken.
        synonyms: Cosines of pairs of phrases, one entry per pair.
        passages: Similarity of each passage to the question.
        similar: Similarity of each triple to the question, in the order of `triples`.
    """

    mentions: Mapping[str, set[str]]
    triples: Sequence[tuple[str, str, tuple[str, ...]]]
    synonyms: Mapping[tuple[str, str], float]
    passages: Mapping[str, float]
    similar: Sequence[float]


def passage_mass(corpus: Corpus, kept: Sequence[int] | None = None) -> dict[str, float]:
    """Return the mass of every passage, from the nearest triples or those that are kept of them."""
    if not corpus.triples:
        return dict(corpus.passages)
    nearest = sorted(range(len(corpus.triples)), key=lambda t: (-corpus.similar[t], t))[:5] if kept is None else kept
    phrase_scores: dict[str, list[float]] = defaultdict(list)
    for t in nearest:
        for phrase in set(corpus.triples[t][:2]):
            times = sum(phrase in phrases for phrases in corpus.mentions.values())
            phrase_scores[phrase].append(max(corpus.similar[t], 0.0) / times)
    means = {("phrase", phrase): sum(scores) / len(scores) for phrase, scores in phrase_scores.items()}
    restart: dict[tuple[str, str], float] = dict(sorted(means.items(), key=lambda item: -item[1])[:5])
    low, high = min(corpus.passages.values()), max(corpus.passages.values())
    for passage, score in corpus.passages.items():
        restart["passage", passage] = 0.05 * ((score - low) / (high - low) if high > low else 1.0)
    mass = walk_mass(_edges(corpus), restart, 0.5)
    return {passage: mass.get(("passage", passage), 0.0) for passage in corpus.passages}


def _edges(corpus: Corpus) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    edges: dict[tuple[str, str], dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))

    def join(one: tuple[str, str], other: tuple[str, str], weight: float) -> None:
        edges[one][other] += weight
        edges[other][one] += weight

    for passage, phrases in corpus.mentions.items():
        for phrase in phrases:
            join(("passage", passage), ("phrase", phrase), 1.0)
    for head, tail, passages in corpus.triples:
        join(("phrase", head), ("phrase", tail), float(len(passages)))
    for (one, other), cosine in corpus.synonyms.items():
        join(("phrase", one), ("phrase", other), cosine)
    return edges
