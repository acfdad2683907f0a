"""A bar, or a box over many draws, for every position or head, as plain Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import Array, real_array
from mha.figures.grid import FONT, SMALL_FONT, key_labels
from mha.figures.labels import full_label, literal_name, short_label
from mha.figures.palette import Theme, theme_named
from mha.figures.plain import Figure, plain_layout

WIDTH = 820  # px: the main area of a page 1280 px wide, beside the sidebar
HEIGHT = 190  # px of the bars alone

_LEFT, _RIGHT, _TOP = 62, 12, 8  # px
_TITLE = 22  # px: an axis title
_WIDEST = 84.0  # px of a bar and the gap beside it
BOX = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles: lower end, box, median, box, upper end
_MOST_TICKS = 6
_HEADROOM = 0.05  # of the range, beyond the outermost value


def position_bars(
    parts: ArrayLike,
    tokens: Sequence[str],
    *,
    names: Sequence[str],
    colours: Sequence[str],
    unit: str,
    number: str = ".4f",
    title: str = "position",
    width: int = WIDTH,
    theme: str = "light",
) -> Figure:
    """M parts (M, T) of a bar for each of T tokens: parts above 0 stand on each other, those below hang from 0.

    NaN is "not defined" and has no bar. unit: what the bars measure, the title of the axis. number: its d3 format.
    Raises ValueError for shapes that do not fit.
    """
    values = real_array(parts, "parts")
    if values.ndim != 2 or not values.size or values.shape != (len(names), len(tokens)) or len(colours) != len(names):
        expected = f"(M, T) with M = {len(names)} names, as many colours, and T = {len(tokens)} tokens"
        raise ValueError(f"expected parts of shape {expected}, got {values.shape} and {len(colours)} colours")
    full = _full(tokens)
    hover = f"%{{hovertext}}<br>{literal_name(unit)} %{{y:{number}}}<extra></extra>"
    traces = [
        {
            "type": "bar",
            "name": literal_name(name),
            "x": list(range(len(tokens))),
            "y": [None if np.isnan(value) else float(value) for value in of_part],
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertext": full,
            "hovertemplate": f"<b>{literal_name(name)}</b><br>{hover}",
        }
        for name, colour, of_part in zip(names, colours, values, strict=True)
    ]
    ends = [np.nansum(np.where(side, values, 0.0), axis=0) for side in (values > 0, values < 0)]
    return {"data": traces, "layout": _layout(tokens, unit, title, width, theme, ends) | {"barmode": "relative"}}


def spread_boxes(
    draws: ArrayLike,
    labels: Sequence[str],
    *,
    colours: Sequence[str],
    unit: str,
    names: Sequence[str] | None = None,
    marked: ArrayLike | None = None,
    marked_name: str = "",
    number: str = ".3f",
    title: str = "position",
    width: int = WIDTH,
    theme: str = "light",
) -> Figure:
    """A box for each of N labels over S draws (S, N): its middle half, the median, and lines to 5% and 95%.

    NaN is left out. names: of the labels in the hover, if they are no tokens. marked: (N,), one draw that is shown as a
    dot and called `marked_name`. Raises ValueError for shapes that do not fit.
    """
    values = real_array(draws, "draws")
    if values.ndim != 2 or not values.size or values.shape[1] != len(labels) or len(colours) != len(labels):
        expected = f"(S, N) with N = {len(labels)} labels and as many colours"
        raise ValueError(f"expected draws of shape {expected}, got {values.shape} and {len(colours)} colours")
    looks = theme_named(theme)
    full = _full(labels) if names is None else [literal_name(name) for name in names]
    boxes = [_box(values[:, n], n, full[n], colours[n], number) for n in range(len(labels))]
    dots = [] if marked is None else [_dots(real_array(marked, "marked"), full, marked_name, number, looks)]
    ends = [box[end] for box in boxes if box for end in ("lowerfence", "upperfence")]
    ends += [] if marked is None else [real_array(marked, "marked")]
    return {"data": [*filter(None, boxes), *dots], "layout": _layout(labels, unit, title, width, theme, ends)}


def _box(values: Array, n: int, name: str, colour: str, number: str) -> dict[str, Any] | None:
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, q1, median, q3, high = (float(value) for value in np.quantile(known, BOX))
    said = " to ".join(f"{{:{number.removeprefix('+')}}}".format(value) for value in (q1, q3))
    return {
        "type": "box",
        "name": name,
        "x": [n],
        "q1": [q1],
        "median": [median],
        "q3": [q3],
        "lowerfence": [low],
        "upperfence": [high],
        "fillcolor": f"{colour}55",
        "line": {"color": colour, "width": 1.5},
        "hoverinfo": "text",
        "hovertext": f"<b>{name}</b><br>median {median:{number}}<br>middle half {said}",
        "hoveron": "boxes",
    }


def _dots(values: Array, full: Sequence[str], name: str, number: str, looks: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": literal_name(name),
        "x": list(range(len(values))),
        "y": [None if np.isnan(value) else float(value) for value in values],
        "marker": {"symbol": "diamond", "size": 8, "color": looks.text, "line": {"color": looks.page, "width": 1}},
        "hovertext": list(full),
        "hovertemplate": f"<b>%{{hovertext}}</b><br>{literal_name(name)} %{{y:{number}}}<extra></extra>",
    }


def _full(tokens: Sequence[str]) -> list[str]:
    return [f"{i + 1} “{full_label(token)}”" for i, token in enumerate(tokens)]


def _layout(
    labels: Sequence[str], unit: str, title: str, width: int, theme: str, ends: Sequence[ArrayLike]
) -> dict[str, Any]:
    """All margins and ticks are computed: measured by Plotly they take twice as long, and no picture would have them.

    ends: all that has to find room between the lower and the upper end of the axis, beside 0.
    """
    looks = theme_named(theme)
    free = max(1, width - _LEFT - _RIGHT)
    pitch = min(_WIDEST, free / len(labels))
    angle, step, label_height = key_labels(labels, pitch)
    right = _RIGHT + free - pitch * len(labels)
    quiet = {"size": FONT, "color": looks.quiet}
    axis = {"fixedrange": True, "automargin": False, "showline": False, "ticks": "", "tickmode": "array"}
    (low, high), ticks = _rising(ends)
    bottom = round(label_height) + _TITLE
    return plain_layout(looks, FONT) | {
        "height": HEIGHT + _TOP + bottom,
        "margin": {"l": _LEFT, "r": round(right), "t": _TOP, "b": bottom, "autoexpand": False},
        "bargap": 0.25,
        "xaxis": axis
        | {
            "range": [-0.5, len(labels) - 0.5],
            "tickvals": list(range(0, len(labels), step)),
            "ticktext": [short_label(label) for label in labels[::step]],
            "tickangle": angle,
            "tickfont": {"size": SMALL_FONT, "color": looks.text},
            "title": {"text": title, "font": quiet},
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": axis
        | {
            "range": [low, high],
            "tickvals": ticks,
            "ticktext": [f"{tick:.10g}".replace("-", "\u2212") for tick in ticks],
            "tickfont": {"size": SMALL_FONT, "color": looks.quiet},
            "title": {"text": literal_name(unit), "font": quiet},
            "gridcolor": looks.frame,
            "griddash": "dot",
            "zeroline": True,
            "zerolinecolor": looks.quiet,
        },
    }


def _rising(ends: Sequence[ArrayLike]) -> tuple[tuple[float, float], list[float]]:
    """The ends of an axis with 0 on it, and its ticks, at 1, 2 or 5 times a power of ten."""
    values = np.concatenate([np.zeros(1), *(np.ravel(each) for each in ends)])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low == high:
        high = 1.0  # nothing but 0
    rough = (high - low) / _MOST_TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough)
    ticks = [n * step for n in range(ceil(low / step), floor(high / step) + 1)]
    room = _HEADROOM * (high - low)
    return (low - room if low else 0.0, high + room if high else 0.0), ticks
