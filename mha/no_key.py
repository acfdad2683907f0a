"""Rows with no key left, and the rules that together leave them none.

Two rules that each leave keys may leave none in common: halves give the second head the second half, causal gives the
first queries the first keys. Axes: see `mha.attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mha.config import whole_number
from mha.masks import Mask


@dataclass(frozen=True)
class NoKey:
    """Queries of one head that the same rules leave no key; all count from 0."""

    h: int
    queries: tuple[int, ...]
    rules: tuple[str, ...]  # the fewest that do it together, in the order of the mask


def rows_without_key(mask: Mask, b: int = 0) -> tuple[NoKey, ...]:
    """Every row of text b with no key left, by head and by the rules that do it."""
    whole_number(b, "b", 0, len(mask.allowed) - 1)
    blocked = [~np.broadcast_to(rule.allowed, mask.allowed.shape)[b] for rule in mask.rules]
    found: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for h, i in np.argwhere(~mask.allowed[b].any(axis=-1)).tolist():
        names = _fewest([(rule.name, cells[h, i]) for rule, cells in zip(mask.rules, blocked, strict=True)])
        found.setdefault((h, names), []).append(i)
    return tuple(NoKey(h, tuple(queries), names) for (h, names), queries in found.items())


def _fewest(blocked: list[tuple[str, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]]) -> tuple[str, ...]:
    """The names of the fewest rules that together block the whole row; the first of as few."""
    for count in range(1, len(blocked) + 1):
        for some in combinations(blocked, count):
            if np.logical_or.reduce([cells for _, cells in some]).all():
                return tuple(name for name, _ in some)
    return ()  # no keys at all, or a mask that no rule explains


def in_runs(places: Sequence[int]) -> str:
    """Places that count from 0 as people count them, runs drawn together: "1 to 3, 6" of 0, 1, 2, 5."""
    found = np.asarray(places) + 1
    runs = np.split(found, np.flatnonzero(np.diff(found) > 1) + 1) if len(found) else []
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
