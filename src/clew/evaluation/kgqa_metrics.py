"""Measures of knowledge graph question answering: hits@1, coverage of the answer by paths, and recall of gold paths.

Source: Gao et al., "FRAG" (2025), section 5.1 (Hits@1) and A.4.3 (Wilcoxon's signed-rank test over questions).
Differs from the source: names are compared after normalization; the start of a path counts as covered too.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.evaluation.answer_metrics import normalize_answer
from clew.evaluation.significance import Comparison, mean_interval
from clew.graph.paths.path_entities import path_entities
from clew.types import Path

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

GoldPath = Sequence[tuple[str, str, str]]


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
    retrieved = {tuple((t.head, t.relation, t.tail) for t in path) for path in paths}
    return sum(tuple(map(tuple, path)) in retrieved for path in gold) / len(gold)


def compare_with_wilcoxon(
    names: tuple[str, str],
    measure: str,
    first: "NDArray[np.float64]",
    second: "NDArray[np.float64]",
    generator: "Generator",
) -> Comparison:
    """Compare two systems on the same questions by Wilcoxon's signed-rank test.

    Args:
        names: Names of the two systems.
        measure: Name of the measure.
        first: (n,) values of the first system.
        second: (n,) values of the second system.
        generator: Random generator of the bootstrap interval.

    Returns:
        The difference of the means with its interval, and the two-sided p-value, 1 if no question differs.

    Raises:
        InputError: The lengths differ, there is no value, or a value is not finite.
    """
    if first.shape != second.shape:
        raise InputError(f"{names[0]} has {len(first)} values and {names[1]} {len(second)}; give the same questions")
    differences = first - second
    low, high = mean_interval(differences, generator)
    p = 1.0
    if differences.any():
        from scipy.stats import wilcoxon

        p = float(wilcoxon(differences, zero_method="wilcox", method="approx").pvalue)
    return Comparison(*names, measure, float(differences.mean()), low, high, p)
