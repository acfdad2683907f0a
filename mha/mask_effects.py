"""What mask rules did to one forward pass, in numbers.

Softmax over fewer keys gives the weight of the blocked ones to those that stay, in proportion to their weights:

    after_ij = before_ij / (1 - removed_i)      where key j is allowed, and row i has a key left

with removed_i the weight of row i that lay on keys now blocked. In a row with no key left it goes nowhere.
Axes: see `mha.attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mha import masks, measures
from mha.arrays import Array, Booleans, Integers, frozen, real_array
from mha.attention import Trace, attend
from mha.between import Between
from mha.weights import Weights


@dataclass(frozen=True, eq=False)
class RuleEffect:
    """What one rule did. Rules overlap: `alone` counts the cells that no other rule blocks."""

    rule: masks.Rule
    blocked: Booleans  # (B, H, Tq, Tk)
    blocked_alone: Booleans  # (B, H, Tq, Tk)
    removed: Array  # (B, H, Tq): the weight that lay, before, on the cells of the row that this rule blocks, 0 to 1
    removed_alone: Array  # (B, H, Tq)

    @property
    def blocked_cells(self) -> Integers:
        """Cells this rule blocks, (B, H)."""
        return self.blocked.sum(axis=(2, 3))

    @property
    def blocked_cells_alone(self) -> Integers:
        """Cells only this rule blocks, (B, H): those that open when it is switched off."""
        return self.blocked_alone.sum(axis=(2, 3))


@dataclass(frozen=True, eq=False)
class MaskEffect(Between):
    """The same forward pass without any rule and with all of them, and what lies between."""

    before: Trace
    after: Trace
    mask: masks.Mask
    rules: tuple[RuleEffect, ...]

    def _passes(self) -> tuple[Trace, Trace]:
        return self.before, self.after


def mask_effect(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, weights: Weights, rules: Sequence[masks.Rule]
) -> MaskEffect:
    """`attend` without any rule and with all `rules`, and what each of them did.

    queries (B, Tq, D), keys and values (B, Tk, D). Raises ValueError as `attend` and `masks.combine` do; since
    every query looks at every key before, no key or value may be NaN or infinite, blocked or not.
    """
    before = attend(queries, keys, values, weights)
    shape = before.weights.shape
    mask = masks.combine(*rules, shape=shape)
    after = attend(queries, keys, values, weights, mask=mask)
    blocked = [~np.broadcast_to(rule.allowed, shape) for rule in mask.rules]
    blockers = sum(blocked, np.zeros(shape, dtype=np.int64))
    return MaskEffect(
        before,
        after,
        mask,
        tuple(
            _rule_effect(rule, cells, cells & (blockers == 1), before.weights)
            for rule, cells in zip(mask.rules, blocked, strict=True)
        ),
    )


def _rule_effect(rule: masks.Rule, blocked: Booleans, alone: Booleans, before: Array) -> RuleEffect:
    removed, removed_alone = (np.where(cells, before, 0.0).sum(axis=-1) for cells in (blocked, alone))
    return RuleEffect(rule, frozen(blocked), frozen(alone), frozen(removed), frozen(removed_alone))


def head_mean(rows: Array, lens: ArrayLike | None = None) -> tuple[Array, Integers]:
    """Each head's mean of a measure of rows, (B, H) from (B, H, Tq), and how many rows were not defined.

    lens: (B,) whole numbers 0..Tq, how many queries of each text are its own; the padding after them counts
    neither in the mean nor as left out. The mean of nothing is NaN.
    """
    B, _, Tq = rows.shape
    lengths = np.full(B, float(Tq)) if lens is None else real_array(lens, "lens")
    if lengths.shape != (B,):
        raise ValueError(f"expected lens of shape (B,) with B = {B}, got {lengths.shape}")
    own = masks.valid_lens(lengths, Tq).allowed[:, :, 0]  # (B, 1, Tq)
    mean, left_out = measures.mean_defined(np.where(own, rows, np.nan))
    return mean, left_out - (~own).sum(axis=-1)
