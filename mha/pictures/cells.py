"""The cells of a map as a tiny PNG of one pixel a cell, inside the SVG: a shape for each would take 60 bytes a cell."""

from __future__ import annotations

import base64

import numpy as np

from mha.arrays import Array
from mha.figures.indexed_png import indexed_png
from mha.figures.palette import Colourscale, colour_at

_LEVELS = 255  # evenly spread over the colours: two neighbours differ by at most 2 of 255 in a channel


def cells_uri(values: Array, scale: Colourscale, low: float, high: float) -> str:
    """The colours of `values` (R, C), of `low` to `high` on `scale`, as a data URI; a cell without a value is empty."""
    defined = np.isfinite(values)
    shares = np.clip((np.where(defined, values, low) - low) / (high - low), 0.0, 1.0)
    stops = np.array([share for share, _ in scale])
    even = np.linspace(0.0, 1.0, len(stops))
    levels = np.rint(np.interp(shares, stops, even) * (_LEVELS - 1)).astype(np.int64)
    used = np.unique(levels[defined])
    places = np.where(defined, np.searchsorted(used, levels) + 1, 0).astype(np.uint8)
    colours = [colour_at(scale, share) for share in np.interp(used / (_LEVELS - 1), even, stops).tolist()]
    encoded = base64.b64encode(indexed_png(places, [scale[0][1], *colours])).decode("ascii")
    return f"data:image/png;base64,{encoded}"


def gaps(left: float, top: float, width: float, height: float, cells: tuple[int, int], gap: float, page: str) -> str:
    """Lines between cells (R, C), `gap` px wide, in the colour of the page."""
    rows, columns = cells
    xs = (left + width * j / columns for j in range(1, columns))
    ys = (top + height * i / rows for i in range(1, rows))
    path = "".join([f"M{x:.2f} {top:.2f}v{height:.2f}" for x in xs] + [f"M{left:.2f} {y:.2f}h{width:.2f}" for y in ys])
    return f'<path d="{path}" stroke="{page}" stroke-width="{gap:g}"/>' if path else ""
