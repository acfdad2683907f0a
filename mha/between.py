"""What lies between two passes of the same inputs, of which the second may look at no more than the first.

Axes: see `mha.attention`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mha import measures
from mha.arrays import Array
from mha.attention import Trace
from mha.config import whole_number


class Between(ABC):
    """Two traces, before and after, and what changed from one to the other."""

    @abstractmethod
    def _passes(self) -> tuple[Trace, Trace]:
        """Before and after."""

    @property
    def removed(self) -> Array:
        """The weight that lay, before, on cells that are blocked after, (B, H, Tq), 0 to 1."""
        before, after = self._passes()
        return np.where(after.mask, 0.0, before.weights).sum(axis=-1)

    @property
    def gained(self) -> Array:
        """after - before weight of each cell that is allowed after, (B, H, Tq, Tk); 0 where blocked.

        A row's sum is its `removed`, or 0 with no key left.
        """
        before, after = self._passes()
        return np.where(after.mask, after.weights - before.weights, 0.0)

    @property
    def gained_by_key(self) -> Array:
        """`gained` summed over the queries, (B, H, Tk): where the weight went; 1 is all the weight of one query."""
        return self.gained.sum(axis=2)

    @property
    def entropy_change(self) -> Array:
        """after - before entropy of each row in bits, (B, H, Tq); NaN with no key left."""
        before, after = self._passes()
        return measures.entropy(after.weights, after.mask) - measures.entropy(before.weights, before.mask)

    @property
    def output_change(self) -> Array:
        """after - before output, (B, Tq, D)."""
        before, after = self._passes()
        return after.output - before.output

    @property
    def change_length(self) -> Array:
        """|output_change| at each position, (B, Tq)."""
        return np.linalg.norm(self.output_change, axis=-1)

    @property
    def relative_change(self) -> Array:
        """change_length relative to the output's length before, (B, Tq); NaN where that is 0."""
        before, after = self._passes()
        return measures.relative_change(before.output, after.output)

    @property
    def cosine(self) -> Array:
        """Cosine between the outputs before and after, (B, Tq); NaN with a zero vector."""
        before, after = self._passes()
        return measures.cosine(before.output, after.output)

    def no_key_left(self, b: int) -> tuple[tuple[int, int], ...]:
        """(head, query) of every row of text b that has no key left after; all count from 0."""
        _, after = self._passes()
        whole_number(b, "b", 0, len(after.empty_rows) - 1)
        return tuple((int(h), int(i)) for h, i in np.argwhere(after.empty_rows[b]))
