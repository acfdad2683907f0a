"""A row with no key left: what to put there has no right answer, so libraries differ. Four conventions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import Array, finite_array, frozen


@dataclass(frozen=True, eq=False)
class Rounding:
    """What is left of a row of scores when a large negative number is added to all of it.

    Floats near `number` lie `spacing` apart, so each sum is rounded to a multiple of it; scores that are closer
    become equal. weights (Tk,): the softmax of the rounded sums, itself in float64, so that nothing else is lost.
    """

    number: float
    dtype: str
    spacing: float
    who: tuple[str, ...]
    weights: Array


@dataclass(frozen=True, eq=False)
class Convention:
    """One way to fill a row with no key left: weights (Tk,) by `formula` (LaTeX; s are the scores)."""

    name: str
    who: tuple[str, ...]
    formula: str
    weights: Array
    roundings: tuple[Rounding, ...] = ()


# Who does it: PyTorch 2.13 and Keras 3.15 were run, the others' source was read.
ZEROS = (
    "Headlight",
    "torch.nn.functional.scaled_dot_product_attention",
    "Keras MultiHeadAttention when it returns scores, and keras.layers.Softmax",
)
NOT_A_NUMBER = (
    "torch.nn.MultiheadAttention when it returns weights",
    "torch.softmax of scores.masked_fill(blocked, -inf)",
    "the NumPy article's class with a valid length of 0",
)
UNIFORM = (
    "The Annotated Transformer (-1e9)",
    "Dive into Deep Learning, masked_softmax (-1e6)",
    "Flax MultiHeadDotProductAttention (the lowest finite float)",
    "Equinox MultiheadAttention (the lowest finite float)",
    "Haiku MultiHeadAttention (-1e30)",
)
ADDED: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (-1e4, "float32", ("BERT's first code",)),
    (-1e9, "float32", ("Tensor2Tensor", "keras.layers.Attention")),
    (-1e9, "float64", ()),
)


def no_key_row(scores_row: ArrayLike) -> tuple[Convention, ...]:
    """The weights of a row whose keys are all blocked, by each convention, this app's first.

    scores_row: (Tk,) finite, the row's scaled scores with any bias, at least one. Weights are float64, NaN where
    a library gives NaN. Raises ValueError for other shapes and for scores that are not finite.
    """
    scores = finite_array(scores_row, "scores_row")
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"expected scores_row of shape (Tk,) with Tk of at least 1, got {scores.shape}")
    added = tuple(_rounding(scores, *how) for how in ADDED)
    return (
        Convention("zeros", ZEROS, r"w_j = 0", frozen(np.zeros_like(scores))),
        Convention(
            "NaN: scores replaced by -inf",
            NOT_A_NUMBER,
            r"w_j = \frac{e^{-\infty - (-\infty)}}{\sum_k e^{-\infty - (-\infty)}}",
            _softmax(np.full_like(scores, -np.inf)),
        ),
        Convention(
            "1/Tk: scores replaced by a large negative number",
            UNIFORM,
            r"w_j = \frac{e^{c}}{\sum_k e^{c}} = \frac{1}{T_k}",
            _softmax(np.full_like(scores, -1e9)),
        ),
        Convention(
            "as if unmasked: a large negative number added to the whole row",
            tuple(f"{name} ({_short(how.number)}, {how.dtype})" for how in added for name in how.who),
            r"w_j = \frac{e^{s_j + c}}{\sum_k e^{s_k + c}} = \frac{e^{s_j}}{\sum_k e^{s_k}}",
            _softmax(scores),
            added,
        ),
    )


def _rounding(scores: Array, number: float, dtype: str, who: tuple[str, ...]) -> Rounding:
    with np.errstate(over="ignore"):  # a score that float32 cannot hold is infinite there
        sums = scores.astype(dtype) + np.array(number, dtype)
    spacing = float(np.spacing(np.array(-number, dtype)))
    return Rounding(number, dtype, spacing, who, _softmax(sums.astype(np.float64)))


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) < 1e6 else f"{number:g}".replace("e+0", "e")


def _softmax(row: Array) -> Array:
    """The plain softmax, which knows nothing of masks: NaN of a row that is all -inf."""
    with np.errstate(invalid="ignore"):
        powers = np.exp(row - row.max())
        return frozen(powers / powers.sum())
