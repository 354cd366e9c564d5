"""Measures of knowledge graph question answering: hits@1, coverage of the answer by paths, and recall of gold paths.

Coverage and recall by `paths` are of all paths that a retriever keeps, whose number and length differ by retriever;
those by `first_triples` are of equally many triples, so that retrievers can be compared with each other.

Source: Gao et al., "FRAG" (2025), section 5.1 (Hits@1) and A.4.3 (Wilcoxon's signed-rank test over questions).
Differs from the source: names are compared after normalization; starts and middles of paths count as covered, too.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.evaluation.significance import PairedTest
from clew.graph.paths.simple_paths import path_entities
from clew.text.answer_metrics import normalize_answer
from clew.types import Path, Triple

CHARACTERS_PER_TOKEN = 4
"""Characters of a token, about, in texts whose tokens no reader counts."""
_Fact = tuple[str, str, str]
GoldPath = Sequence[_Fact]


def hits_at_1(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the first answer is a gold answer, else 0."""
    return float(normalize_answer(answer) in {normalize_answer(name) for name in gold}) if answer else 0.0


def answer_coverage(names: Iterable[str], gold: Sequence[str]) -> float:
    """Return 1 if a gold answer is among the names, else 0."""
    keys = {normalize_answer(name) for name in gold}
    return float(any(normalize_answer(name) in keys for name in names))


def path_entity_names(paths: Sequence[Path], topics: Sequence[str]) -> list[str]:
    """Return the distinct entities of paths, in order."""
    return list(dict.fromkeys(name for path in paths for name in path_entities(path, topics)))


def path_recall(paths: Sequence[Path], gold: Sequence[GoldPath]) -> float:
    """Return the share of gold paths that are among `paths` triple by triple; NaN without gold paths."""
    if not gold:
        return math.nan
    retrieved = {tuple(map(_fact, path)) for path in paths}
    return sum(tuple(map(tuple, path)) in retrieved for path in gold) / len(gold)


def first_triples(paths: Iterable[Path], count: int) -> list[Triple]:
    """Return the first `count` distinct triples of paths, the best path first; those of a path in its order."""
    distinct: dict[_Fact, Triple] = {}
    for path in paths:
        for triple in path:
            if len(distinct) >= count:
                return list(distinct.values())
            distinct.setdefault(_fact(triple), triple)
    return list(distinct.values())


def triples_cover_answer(triples: Iterable[Triple], gold: Sequence[str]) -> float:
    """Return 1 if a gold answer is the head or the tail of a triple, else 0."""
    return answer_coverage((name for t in triples for name in (t.head, t.tail, *t.entities)), gold)


def gold_paths_in(triples: Iterable[Triple], gold: Sequence[GoldPath]) -> float:
    """Return the share of gold paths all of whose facts are among the triples; NaN without gold paths."""
    if not gold:
        return math.nan
    facts = {_fact(triple) for triple in triples}
    return sum(facts.issuperset(map(tuple, path)) for path in gold) / len(gold)


def _fact(triple: Triple) -> _Fact:
    head, tail = triple.entities
    return head, triple.relation, tail


def wilcoxon(differences: NDArray[np.float64]) -> PairedTest:
    """Return statistic and two-sided p-value of Wilcoxon's signed-rank test on differences (n,); 0 and 1 if all are 0.

    The statistic is the smaller of the sums of ranks of positive and of negative differences. Zeros are left out, ties
    share their mean rank, and the sum of ranks is taken to be normal: no SciPy is needed to evaluate, and tests hold it
    to SciPy's.
    """
    proper = differences[differences != 0]
    n = len(proper)
    if not n:
        return PairedTest(0.0, 1.0)
    _, tie, sizes = np.unique(np.abs(proper), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[tie]
    smaller = min(ranks[proper > 0].sum(), ranks[proper < 0].sum())
    variance = n * (n + 1) * (2 * n + 1) / 24 - (sizes**3 - sizes).sum() / 48
    p = min(1.0, math.erfc((n * (n + 1) / 4 - smaller) / math.sqrt(2 * variance)))
    return PairedTest(float(smaller), float(p))
