"""How far a mean can be trusted: bootstrap intervals and a paired randomisation test.

The resampling is ours rather than that of `scipy.stats`: one set of resamples serves all measures of a run, several
times as fast at 1,000 questions and 10,000 resamples. The tests compare the two.

Sources: Efron and Tibshirani, "An introduction to the bootstrap" (1993), section 13.3 (percentile interval); Smucker,
Allan and Carterette, "A comparison of statistical significance tests for information retrieval evaluation" (2007),
section 3.3 (randomisation test).
Differs from the source: the test is exact when the sign patterns are no more than the resamples.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

RESAMPLES = 10_000
_CELLS = 100_000  # drawn numbers held at once; they stay in the processor's cache
_TOLERANCE = 1e-9  # sums of the same numbers in another order differ by less, real differences by more


@dataclass(frozen=True, slots=True)
class Comparison:
    """How system `a` differs from system `b` in the mean of one measure over the same questions.

    Attributes:
        difference: Mean of `a` minus mean of `b`.
        low: Lower end of the difference's 95 % interval.
        high: Upper end.
        p: Two-sided p-value of the paired randomisation test, above 0, at most 1.
    """

    a: str
    b: str
    measure: str
    difference: float
    low: float
    high: float
    p: float


def mean_intervals(
    values: "DoubleArray", generator: "Generator", level: float = 0.95, resamples: int = RESAMPLES
) -> "DoubleArray":
    """Return the percentile bootstrap interval (m, 2) of the mean of each column, low and high.

    Args:
        values: (n, m), n questions and m measures; all measures share the same resamples.
        generator: Draws the resamples.
        level: Share of the resampled means inside the interval, above 0 and below 1.
        resamples: How many, at least 1.

    Raises:
        InputError: There is no question, a value is not finite, or an argument is out of range.
    """
    _check_values(values, resamples)
    if values.ndim != 2:
        raise InputError(f"values have shape {values.shape}; give (questions, measures)")
    if not 0 < level < 1:
        raise InputError(f"level is {level}; give a share above 0 and below 1, such as 0.95")
    n = len(values)
    means = [_resample_counts(n, rows, generator) @ values / n for rows in _batch_sizes(n, resamples)]
    tail = (1 - level) / 2
    return np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0).T


def mean_interval(
    values: "DoubleArray", generator: "Generator", level: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of `values` (n,), low and high."""
    low, high = mean_intervals(values[:, None], generator, level, resamples)[0]
    return float(low), float(high)


def randomisation_p(differences: "DoubleArray", generator: "Generator", resamples: int = RESAMPLES) -> float:
    """Return the two-sided p-value of a mean difference, were the sign of each question's difference a coin flip.

    Args:
        differences: (n,), one system minus the other on each question.
        generator: Flips the coins.
        resamples: How many flips of all signs, at least 1; all patterns are tried instead when they are no more.

    Raises:
        InputError: There is no question, or a value is not finite.
    """
    _check_values(differences, resamples)
    moved = differences[differences != 0]  # a zero stays zero under either sign
    if not len(moved):
        return 1.0
    exact = len(moved) < 63 and 2 ** len(moved) <= resamples
    bound = abs(moved.sum()) - _TOLERANCE * np.abs(moved).sum()
    extreme = 0
    start = 0
    for rows in _batch_sizes(len(moved), 2 ** len(moved) if exact else resamples):
        signs = _sign_patterns(len(moved), start, rows) if exact else _random_signs(len(moved), rows, generator)
        extreme += int((np.abs(signs @ moved) >= bound).sum())
        start += rows
    return extreme / 2 ** len(moved) if exact else (extreme + 1) / (resamples + 1)


def compare_means(
    names: tuple[str, str],
    measure: str,
    first: "DoubleArray",
    second: "DoubleArray",
    generator: "Generator",
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two systems on the same questions.

    Args:
        names: What the two are called.
        measure: What is compared.
        first: (n,) the first system's values.
        second: (n,) the second's, in the same order.
        generator: Draws the bootstrap's resamples, then the test's.
        resamples: How many of each.

    Raises:
        InputError: The two differ in length, are empty, or hold a value that is not finite.
    """
    if first.shape != second.shape:
        raise InputError(f"{names[0]} has {len(first)} values and {names[1]} {len(second)}; give the same questions")
    differences = first - second
    low, high = mean_interval(differences, generator, resamples=resamples)
    p = randomisation_p(differences, generator, resamples)
    return Comparison(*names, measure, float(differences.mean()), low, high, p)


def _check_values(values: "DoubleArray", resamples: int) -> None:
    if not len(values):
        raise InputError("there are no values; measure at least one question")
    if not np.isfinite(values).all():
        raise InputError("a value is NaN or infinite; leave out questions without gold before asking for a mean")
    if resamples < 1:
        raise InputError(f"resamples is {resamples}; give at least 1, 10000 for a stable interval")


def _batch_sizes(n: int, resamples: int) -> list[int]:
    size = max(1, _CELLS // n)
    return [min(size, resamples - start) for start in range(0, resamples, size)]


def _resample_counts(n: int, rows: int, generator: "Generator") -> "DoubleArray":
    """Return (rows, n) how often each question is drawn in each resample of n questions."""
    drawn = generator.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _random_signs(n: int, rows: int, generator: "Generator") -> "DoubleArray":
    return 2 * generator.integers(0, 2, (rows, n), dtype=np.int8).astype(np.float64) - 1


def _sign_patterns(n: int, start: int, rows: int) -> "DoubleArray":
    numbers = np.arange(start, start + rows, dtype=np.int64)[:, None]
    return 2 * (numbers >> np.arange(n) & 1).astype(np.float64) - 1
