"""Measures of answers from a graph: hits@1, whether an answer stands on the kept paths, and whether gold paths do.

Source: Gao et al., "FRAG" (2025), section 5.1 (Hits@1) and A.4.3 (Wilcoxon's signed-rank test over questions).
Differs from the source: names are compared after folding; an entity that is the start of a path stands on it too.
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
    """Return 1 when the first answer is one of the gold answers."""
    return float(normalize_answer(answer) in {normalize_answer(name) for name in gold}) if answer else 0.0


def answer_coverage(names: Iterable[str], gold: Sequence[str]) -> float:
    """Return 1 when a gold answer is among some names."""
    wanted = {normalize_answer(name) for name in gold}
    return float(any(normalize_answer(name) in wanted for name in names))


def path_entity_names(paths: Sequence[Path], topics: Sequence[str]) -> list[str]:
    """Return the entities that stand on paths."""
    return list(dict.fromkeys(name for path in paths for name in path_entities(path, topics)))


def path_recall(paths: Sequence[Path], gold: Sequence[GoldPath]) -> float:
    """Return the share of gold paths that are among the kept ones, step by step; NaN without gold paths."""
    if not gold:
        return math.nan
    kept = {tuple((t.head, t.relation, t.tail) for t in path) for path in paths}
    return sum(tuple(map(tuple, path)) in kept for path in gold) / len(gold)


def compare_with_wilcoxon(
    names: tuple[str, str],
    measure: str,
    first: "NDArray[np.float64]",
    second: "NDArray[np.float64]",
    generator: "Generator",
) -> Comparison:
    """Compare two systems on the same questions by Wilcoxon's signed-rank test.

    Args:
        names: What the two are called.
        measure: What is compared.
        first: (n,) the first system's values.
        second: (n,) the second's.
        generator: Draws the interval's resamples.

    Returns:
        The difference of the means with its interval, and the test's two-sided p-value; 1 where nothing differs.

    Raises:
        InputError: The two differ in length, are empty, or hold a value that is not finite.
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
