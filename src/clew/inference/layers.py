"""Layers that the networks share, on float32 arrays."""

from collections.abc import Mapping

import numpy as np

from clew.arrays import FloatArray
from clew.arrays.kernels import njit

LAYER_NORM_EPSILON = np.float32(1e-5)
"""Added to the variance in layer normalisation, as in PyTorch."""


def linear(arrays: Mapping[str, FloatArray], name: str, x: FloatArray) -> FloatArray:
    """Return x (.., in) times the transpose of `name.weight` (out, in), plus `name.bias` (out,) where there is one."""
    product: FloatArray = x @ arrays[f"{name}.weight"].T
    bias = arrays.get(f"{name}.bias")
    return product if bias is None else np.add(product, bias, out=product)


def relu(x: FloatArray) -> FloatArray:
    """Replace the negative numbers of x (...,) by 0, in place; return x."""
    return np.maximum(x, np.float32(0.0), out=x)


def add_normalised(states: FloatArray, x: FloatArray, arrays: Mapping[str, FloatArray], name: str) -> FloatArray:
    """Return states (n, d) plus the positive part of the layer normalisation of x (n, d)."""
    out = np.empty_like(states)
    _add_normalised(states, x, arrays[f"{name}.weight"], arrays[f"{name}.bias"], LAYER_NORM_EPSILON, out)
    return out


def normalised_gradient(gradient: FloatArray, x: FloatArray, arrays: Mapping[str, FloatArray], name: str) -> FloatArray:
    """Return the gradient for x (n, d) of the positive part of its layer normalisation, given the result's (n, d)."""
    out = np.zeros_like(x)
    _normalised_gradient(gradient, x, arrays[f"{name}.weight"], arrays[f"{name}.bias"], LAYER_NORM_EPSILON, out)
    return out


@njit
def _mean_and_scale(row, epsilon):  # type: ignore[no-untyped-def]
    total = np.float64(0.0)
    for value in row:
        total += value
    mean = total / len(row)
    squares = np.float64(0.0)
    for value in row:
        squares += (value - mean) * (value - mean)
    return np.float32(mean), np.float32(1.0 / np.sqrt(squares / len(row) + epsilon))


@njit
def _add_normalised(states, x, gain, shift, epsilon, out):  # type: ignore[no-untyped-def]
    for row in range(len(x)):
        mean, scale = _mean_and_scale(x[row], epsilon)
        for i in range(x.shape[1]):
            value = (x[row, i] - mean) * scale * gain[i] + shift[i]
            out[row, i] = states[row, i] + max(value, np.float32(0.0))


@njit
def _normalised_gradient(gradient, x, gain, shift, epsilon, out):  # type: ignore[no-untyped-def]
    width = x.shape[1]
    unit = np.empty(width, dtype=np.float32)
    passed = np.empty(width, dtype=np.float32)
    for row in range(len(x)):
        if not gradient[row].any():
            continue
        mean, scale = _mean_and_scale(x[row], epsilon)
        total = np.float64(0.0)
        along = np.float64(0.0)
        for i in range(width):
            unit[i] = (x[row, i] - mean) * scale
            passed[i] = gradient[row, i] * gain[i] if unit[i] * gain[i] + shift[i] > 0 else np.float32(0.0)
            total += passed[i]
            along += passed[i] * unit[i]
        for i in range(width):
            out[row, i] = scale * (passed[i] - np.float32(total / width) - unit[i] * np.float32(along / width))
