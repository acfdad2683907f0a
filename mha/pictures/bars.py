"""One number for each of a few names, as bars: the change of each position, the share of each head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import Array, real_array
from mha.figures.grid import FONT, SMALL_FONT
from mha.figures.labels import literal_name, short_label, text_width
from mha.figures.palette import colour_at, theme_named
from mha.pictures.text import lines_of, picture, text

WIDTH = 820  # px

_ROW, _LOW_ROW, _MANY = 20.0, 14.0, 40  # px of a bar and its gap; lower from so many bars on
_BAR = 0.7  # of its row
_TOP, _BOTTOM = 26.0, 8.0  # px
_GAP = 6.0  # px between a bar and the words beside it


def bars(
    values: ArrayLike,
    names: Sequence[str],
    *,
    word: str,
    number: str = ".3f",
    colours: Sequence[str] | None = None,
    width: int = WIDTH,
    theme: str = "light",
    title: str = "",
    alt: str = "",
) -> str:
    """N bars with their names and numbers, as an SVG file; to the left of the line of 0 if negative.

    values: (N,); NaN is "not defined". names: "3 cat", "Head 2"; each of their words is shortened as on an axis. word:
    what the numbers are, above the bars. number: how they are written. colours: one #rrggbb per bar. Raises ValueError
    for numbers of names or colours that do not fit, for no bar at all, and for infinity.
    """
    heights = real_array(values, "values")
    if heights.ndim != 1 or not heights.size or len(heights) != len(names):
        raise ValueError(f"expected values of shape (N,) with N = {len(names)}, at least 1, got {heights.shape}")
    if np.isinf(heights).any():
        raise ValueError("expected values to be finite or NaN, got infinity")
    looks = theme_named(theme)
    inks = [colour_at(looks.weights, 0.4)] * len(names) if colours is None else list(colours)
    if len(inks) != len(names):
        raise ValueError(f"expected a colour for each of {len(names)} bars, got {len(inks)}")
    said = [f"{each:{number}}".replace("-", "\u2212") if np.isfinite(each) else "not defined" for each in heights]
    # a label may come isolated already, as `plain_label` gives it; short_label would show these marks
    parts_of = [name.replace("\u2068", "").replace("\u2069", "").split(" ") for name in names]
    shown = [" ".join(map(short_label, parts)) for parts in parts_of]
    left = max(sum(text_width(part, FONT) + 4 for part in parts) for parts in parts_of) + 2 * _GAP
    row = _ROW if len(names) < _MANY else _LOW_ROW
    height = _TOP + row * len(names) + _BOTTOM
    zero, unit = _scale(heights, said, left, width)
    parts = [text(lines_of(literal_name(word))[0], left, _TOP - 10, size=FONT, colour=looks.quiet)]
    for place, (value, ink) in enumerate(zip(heights.tolist(), inks, strict=True)):
        top, length = _TOP + place * row, 0.0 if np.isnan(value) else value * unit
        base = top + row / 2 + 0.35 * SMALL_FONT
        parts.append(
            f'<rect x="{min(zero, zero + length):.1f}" y="{top + row * (1 - _BAR) / 2:.1f}" '
            f'width="{abs(length):.1f}" height="{row * _BAR:.1f}" fill="{ink}"/>'
        )
        parts.append(
            text(lines_of(shown[place])[0], left - _GAP, base, size=SMALL_FONT, colour=looks.text, anchor="end")
        )
        end, anchor = (zero + length - _GAP, "end") if value < 0 else (zero + length + _GAP, "start")
        parts.append(text(lines_of(said[place])[0], end, base, size=SMALL_FONT, colour=looks.quiet, anchor=anchor))
    parts.append(f'<path d="M{zero:.1f} {_TOP:.1f}V{height - _BOTTOM:.1f}" stroke="{looks.frame}"/>')
    return picture(width, height, looks.page, parts, title=title, alt=alt)


def _scale(heights: Array, said: Sequence[str], left: float, width: float) -> tuple[float, float]:
    """Where 0 lies, and how many px one is, so that all bars and their numbers find room."""
    room = max(text_width(each, SMALL_FONT, 40) for each in said) + 2 * _GAP
    known = heights[np.isfinite(heights)]
    lowest, highest = min(0.0, known.min(initial=0.0)), max(0.0, known.max(initial=0.0))
    before = room if lowest < 0 else 0.0
    unit = (width - left - before - room) / ((highest - lowest) or 1.0)
    return left + before - lowest * unit, unit
