"""Fits of recall or reciprocal rank to the size of a network and of its training data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
EXPONENTS = np.concatenate([np.arange(0.005, 0.2, 0.005), np.arange(0.2, 1.01, 0.02)])
"""Exponents of the joint law that are tried."""


@dataclass(frozen=True, slots=True)
class JointLaw:
    """The law z = a x^p + b y^q of a figure z by training questions x and parameters y, and its R squared."""

    a: float
    p: float
    b: float
    q: float
    explained: float

    def __str__(self) -> str:
        law = f"z = {self.a:.3g} x^{self.p:.3g} + {self.b:.3g} y^{self.q:.3g}"
        return f"{law} (x questions, y parameters), R squared {self.explained:.2f}"

    def predict(self, x: Sequence[float], y: Sequence[float]) -> Values:
        """Return z of each pair."""
        values: Values = self.a * np.power(x, self.p) + self.b * np.power(y, self.q)
        return values


def fit_joint_law(x: Sequence[float], y: Sequence[float], z: Sequence[float]) -> JointLaw:
    """Return the law of least squared error, with a and b of at least 0, over a grid of exponents.

    Source: Luo et al., GFM-RAG (2025), section 4.7. Differs from the source: it states no method of fitting.
    """
    values = np.asarray(z, dtype=np.float64)
    best, least = JointLaw(float(values.mean()), 0.0, 0.0, 0.0, 0.0), np.inf
    for p in EXPONENTS:
        first = np.power(np.asarray(x, dtype=np.float64), p)
        for q in EXPONENTS:
            second = np.power(np.asarray(y, dtype=np.float64), q)
            a, b = _fit_shares(first, second, values)
            error = float(((a * first + b * second - values) ** 2).sum())
            if error < least:
                best, least = JointLaw(a, float(p), b, float(q), 0.0), error
    spread = max(float(((values - values.mean()) ** 2).sum()), 1e-12)
    return JointLaw(best.a, best.p, best.b, best.q, 1.0 - least / spread)


def _fit_shares(first: Values, second: Values, z: Values) -> tuple[float, float]:
    """Return the shares of at least 0 that fit z best; where one would be below 0, the better single term."""
    table = np.stack([first, second], axis=1)
    both = np.linalg.lstsq(table, z, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = [max(float(term @ z / (term @ term)), 0.0) for term in (first, second)]
    errors = [float(((share * term - z) ** 2).sum()) for share, term in zip(alone, (first, second), strict=True)]
    return (alone[0], 0.0) if errors[0] <= errors[1] else (0.0, alone[1])


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """The law z = a x^p of what is missed, and its R squared."""

    a: float
    p: float
    explained: float


def fit_power_law(x: Sequence[float], z: Sequence[float]) -> PowerLaw:
    """Return the law of least squared error of the logarithms."""
    sizes, missed = np.log(x), np.log(z)
    slope, constant = np.polyfit(sizes, missed, 1)
    residual = missed - (slope * sizes + constant)
    spread = missed - missed.mean()
    explained = 1.0 - float(residual @ residual) / max(float(spread @ spread), 1e-12)
    return PowerLaw(float(np.exp(constant)), float(slope), explained)
