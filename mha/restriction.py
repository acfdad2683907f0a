"""The Day 28 experiment: let each head look at only a part of the positions, and measure what that changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mha import masks, measures
from mha.arrays import Array, boolean_array
from mha.attention import Trace, attend
from mha.weights import Weights


@dataclass(frozen=True, eq=False)
class Restriction:
    """The same forward pass twice: as it was, and with the restriction on top of its mask."""

    baseline: Trace
    restricted: Trace

    @property
    def output_change(self) -> Array:
        """restricted - baseline output, (B, Tq, D)."""
        return self.restricted.output - self.baseline.output

    @property
    def head_changes(self) -> Array:
        """The change of each head's contribution through its rows of W_o, (B, H, Tq, D); they sum to output_change."""
        return self.restricted.contributions - self.baseline.contributions

    @property
    def change_length(self) -> Array:
        """|output_change| per position, (B, Tq)."""
        return np.linalg.norm(self.output_change, axis=-1)

    @property
    def relative_change(self) -> Array:
        """change_length relative to the baseline output's length, (B, Tq); NaN where that is 0."""
        return measures.relative_change(self.baseline.output, self.restricted.output)

    @property
    def cosine(self) -> Array:
        """Cosine between baseline and restricted output, (B, Tq); NaN with a zero vector."""
        return measures.cosine(self.baseline.output, self.restricted.output)

    @property
    def forbidden_weight(self) -> Array:
        """How much of each baseline row lay on keys that are now forbidden, (B, H, Tq), 0 to 1."""
        return np.where(self.restricted.mask, 0.0, self.baseline.weights).sum(axis=-1)


def restrict(
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    weights: Weights,
    restriction: masks.Rule | masks.Mask | ArrayLike,
    *,
    mask: masks.Mask | masks.Rule | ArrayLike | None = None,
    bias: ArrayLike | None = None,
    engine: str = "numpy",
) -> Restriction:
    """`attend` under `mask`, and again under `mask` AND `restriction`.

    restriction: a Rule, a Mask, or boolean (H, Tk), True = that head may look there. The rest as in `attend`;
    raises ValueError as it does.
    """
    baseline = attend(queries, keys, values, weights, mask=mask, bias=bias, engine=engine)
    shape = baseline.mask.shape
    allowed = masks.resolve(_as_rule(restriction, (shape[1], shape[3])), shape)
    restricted = attend(queries, keys, values, weights, mask=baseline.mask & allowed, bias=bias, engine=engine)
    return Restriction(baseline, restricted)


def _as_rule(restriction: masks.Rule | masks.Mask | ArrayLike, shape: tuple[int, int]) -> masks.Rule | masks.Mask:
    if isinstance(restriction, masks.Rule | masks.Mask):
        return restriction
    per_head = boolean_array(restriction, "restriction")
    if per_head.ndim == 3:
        return masks.custom(per_head, "restriction")  # refuses it, and says why
    if per_head.shape != shape:
        raise ValueError(f"expected a Rule, a Mask or a restriction of shape (H, Tk) = {shape}, got {per_head.shape}")
    return masks.heads(per_head, shape[1])
