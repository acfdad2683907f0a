"""The Day 28 experiment: let each head look at only a part of the positions, and measure what that changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mha import masks, measures
from mha.arrays import Array, Booleans, boolean_array
from mha.attention import Trace, attend, tolerance
from mha.between import Between
from mha.config import whole_number
from mha.weights import Weights


@dataclass(frozen=True, eq=False)
class Restriction(Between):
    """The same forward pass twice: as it was, and with the restriction on top of its mask."""

    baseline: Trace
    restricted: Trace

    def _passes(self) -> tuple[Trace, Trace]:
        return self.baseline, self.restricted

    @property
    def forbidden_weight(self) -> Array:
        """How much of each baseline row lay on keys that are now forbidden, (B, H, Tq), 0 to 1."""
        return self.removed

    @property
    def head_changes(self) -> Array:
        """The change of each head's contribution through its rows of W_o, (B, H, Tq, D); they sum to output_change."""
        return self.restricted.contributions - self.baseline.contributions

    @property
    def head_change_length(self) -> Array:
        """|head_changes|, (B, H, Tq)."""
        return np.linalg.norm(self.head_changes, axis=-1)

    @property
    def head_shares(self) -> Array:
        """Each head's share of the change of the output, (B, H, Tq); they add up to 1, and one below 0 goes against it.

        NaN where the output does not change (see `measures.shares_of_sum`).
        """
        return measures.shares_of_sum(self.head_changes)

    @property
    def residual(self) -> float:
        """The largest |sum of head_changes - output_change|: exact sums would leave 0."""
        return float(np.abs(self.head_changes.sum(axis=1) - self.output_change).max(initial=0.0))

    @property
    def bound(self) -> float:
        """What `residual` must stay within, and below which a change is rounding: `tolerance` of the larger pass."""
        return max(tolerance(self.baseline), tolerance(self.restricted))

    @property
    def newly_empty(self) -> Booleans:
        """Rows that had a key and have none left, (B, H, Tq)."""
        return self.restricted.empty_rows & ~self.baseline.empty_rows


@dataclass(frozen=True)
class HeadChange:
    """What the restriction did to one head of one text: means over the queries for which a measure is defined."""

    forbidden_weight: float  # 0 to 1, over queries that had a key
    forbidden_if_even: float  # what that would have been had each query looked at all its keys alike, 0 to 1
    entropy_before: float  # bits
    entropy_after: float
    entropy_change: float  # over queries that have a key in both
    change_length: float
    empty_before: int
    empty_after: int


def head_summaries(made: Restriction, b: int = 0) -> tuple[HeadChange, ...]:
    """The measures of every head of text `b`; what is not defined for any query is NaN."""
    whole_number(b, "b", 0, len(made.baseline.weights) - 1)
    before, after = made.baseline, made.restricted
    keys = before.mask[b].sum(axis=-1)  # (H, Tq)
    forbidden_keys = keys - after.mask[b].sum(axis=-1)
    per_row = {
        "forbidden_weight": np.where(before.empty_rows, np.nan, made.forbidden_weight)[b],
        "forbidden_if_even": np.divide(forbidden_keys, keys, where=keys > 0, out=np.full(keys.shape, np.nan)),
        "entropy_before": measures.entropy(before.weights[b], before.mask[b]),
        "entropy_after": measures.entropy(after.weights[b], after.mask[b]),
        "entropy_change": made.entropy_change[b],
        "change_length": made.head_change_length[b],
    }
    means = {name: measures.mean_defined(rows)[0] for name, rows in per_row.items()}
    return tuple(
        HeadChange(
            **{name: float(mean[h]) for name, mean in means.items()},
            empty_before=int(before.empty_rows[b, h].sum()),
            empty_after=int(after.empty_rows[b, h].sum()),
        )
        for h in range(len(keys))
    )


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
