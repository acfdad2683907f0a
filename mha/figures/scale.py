"""The colour scale beside the maps, drawn as one more map.

It is linear in the value, so it shows honestly how the colours are spread. Plotly's own colour bar takes as long to
draw as eight maps.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha.figures.grid import FONT, SCALE_TEXT_GAP, SMALL_FONT, Grid
from mha.figures.palette import Theme

Box = tuple[float, float, float, float]  # left, right, upper and lower edge, in cells
Word = tuple[float, float, str, str, int, str]  # x and y in cells, text, its place, size in px, colour

_CELLS = 128
_WEIGHT_TICKS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
_TICK_PITCH, _TICK_PITCH_NARROW = 12, 26  # px between the middles of two numbers


def packed(array: NDArray[Any]) -> dict[str, str]:
    """An array as Plotly reads it fastest: base64 of little-endian 32-bit floats."""
    data = np.ascontiguousarray(array, dtype="<f4")
    return {
        "dtype": "f4",
        "bdata": base64.b64encode(data.tobytes()).decode("ascii"),
        "shape": ", ".join(map(str, data.shape)),
    }


def scale_trace(low: float, high: float, place: Grid, box: Box) -> dict[str, Any]:
    """The colours from `low` to `high` in `box`: upwards beside the maps, or to the right above them if narrow."""
    values = low + (np.arange(_CELLS) + 0.5) / _CELLS * (high - low)
    left, right, upper, lower = box
    dx, dy = right - left, lower - upper
    if place.narrow:
        dx /= _CELLS
    else:
        dy /= _CELLS
    return {
        "type": "heatmap",
        "name": "scale",
        "z": packed(values[None, :] if place.narrow else values[::-1, None]),
        "x0": left + dx / 2,
        "dx": dx,
        "y0": upper + dy / 2,
        "dy": dy,
        "hoverinfo": "skip",
    }


def scale_words(word: str, low: float, high: float, place: Grid, box: Box, looks: Theme) -> list[Word]:
    """What the scale shows, and its numbers."""
    left, right, upper, lower = box
    length = (right - left) * place.cell_width if place.narrow else (lower - upper) * place.cell_height
    pitch = (_TICK_PITCH_NARROW if place.narrow else _TICK_PITCH) / length
    shares = [((tick - low) / (high - low), tick) for tick in _ticks(low, high)]
    words: list[Word] = []
    for share, tick in _apart(shares, pitch):
        text = f"{tick:.3g}".replace("-", "\u2212")
        if place.narrow:
            words.append((left + share * (right - left), upper, text, "top center", SMALL_FONT, looks.quiet))
        else:
            beside = right + SCALE_TEXT_GAP / place.cell_width
            words.append((beside, lower + share * (upper - lower), text, "middle right", SMALL_FONT, looks.quiet))
    if place.narrow:
        return [*words, (right + 10 / place.cell_width, (upper + lower) / 2, word, "middle right", FONT, looks.quiet)]
    return [*words, (left, upper - 9 / place.cell_height, word, "top right", FONT, looks.quiet)]


def _ticks(low: float, high: float) -> Iterable[float]:
    if low == 0:
        return _WEIGHT_TICKS
    return (low, low / 2, 0.0, high / 2, high)


def _apart(shares: list[tuple[float, float]], pitch: float) -> list[tuple[float, float]]:
    """Ticks that keep `pitch` (a share of the length) from each other; the last is always there."""
    kept = [shares[-1]]
    for share, tick in shares[:-1]:
        if shares[-1][0] - share >= pitch and (len(kept) == 1 or share - kept[-1][0] >= pitch):
            kept.append((share, tick))
    return kept
