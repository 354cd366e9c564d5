"""HippoRAG's ranking with dictionaries and loops, independent of Clew's implementation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.tests.oracles.walks import walk_mass


@dataclass(frozen=True)
class Corpus:
    """Input of the ranking.

    Attributes:
        texts: Title and text of each passage.
        mentions: The phrases of each passage.
        triples: (head, tail, number of passages that state it).
        synonyms: Cosines of pairs of phrases, one entry per pair.
    """

    texts: Mapping[str, str]
    mentions: Mapping[str, set[str]]
    triples: Sequence[tuple[str, str, int]]
    synonyms: Mapping[tuple[str, str], float]


def passage_scores(corpus: Corpus, starts: Sequence[str], damping: float, specificity: bool) -> dict[str, float]:
    """Return the score of every passage for the phrases that the walk starts from."""
    documents = {phrase: sum(phrase in own for own in corpus.mentions.values()) for phrase in starts}
    restart = {phrase: 1 / max(documents[phrase], 1) if specificity else 1.0 for phrase in starts}
    edges: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for head, tail, count in corpus.triples:
        edges[head][tail] += count
        edges[tail][head] += count
    for (one, other), cosine in corpus.synonyms.items():
        edges[one][other] += cosine
        edges[other][one] += cosine
    mass = walk_mass(edges, restart, damping)
    return {
        passage: sum(
            mass.get(phrase, 0.0) * max(corpus.texts[passage].lower().count(phrase.lower()), 1) for phrase in own
        )
        for passage, own in corpus.mentions.items()
    }
