"""Masks as small pictures, about a kilobyte each: to stand beside a switch, where a chart would be too much."""

from __future__ import annotations

from math import ceil

import numpy as np

from mha.arrays import Booleans
from mha.figures.indexed_png import indexed_png
from mha.figures.palette import colour_at, theme_named

_GAP, _MAY_LOOK, _BLOCKED, _HATCH = range(4)  # places in the palette
_HATCH_PITCH = 8  # px
_BETWEEN = 8  # px from map to map


def small_mask(allowed: Booleans, *, size: int = 128, theme: str = "light") -> bytes:
    """Maps (M, Tq, Tk) side by side and below each other as a PNG of about `size` px, twice what it is shown at.

    True, may look, is plain; blocked cells are grey and hatched, as in the large maps. The first query is at the top.
    """
    maps, queries, keys = allowed.shape
    side_by_side = ceil(maps**0.5)
    free = (size - (side_by_side - 1) * _BETWEEN) // side_by_side
    scale = max(1, free // max(queries, keys))
    cells = allowed.repeat(scale, axis=1).repeat(scale, axis=2)
    high, wide = cells.shape[1:]
    y, x = np.indices((high, wide))
    blocked = np.where((x + y) % _HATCH_PITCH < 2, _HATCH, _BLOCKED)
    rows = ceil(maps / side_by_side)
    shape = (rows * (high + _BETWEEN) - _BETWEEN, side_by_side * (wide + _BETWEEN) - _BETWEEN)
    picture = np.full(shape, _GAP, dtype=np.uint8)
    for m in range(maps):
        top, left = (m // side_by_side) * (high + _BETWEEN), (m % side_by_side) * (wide + _BETWEEN)
        picture[top : top + high, left : left + wide] = np.where(cells[m], _MAY_LOOK, blocked)
    looks = theme_named(theme)
    return indexed_png(picture, [looks.page, colour_at(looks.weights, 0.25), looks.blocked, looks.hatch])
