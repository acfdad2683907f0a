"""Bars, boxes and dots of a figure as SVG, where Plotly puts them, and the names of their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mha.figures.grid import FONT
from mha.figures.labels import text_width
from mha.pictures.text import LINE, lines_of, text

Place = Callable[[float], float]  # from a value on an axis to px
Trace = dict[str, Any]

_BOX = 0.49  # width of a box in units of the axis: what the two gaps of 0.3 leave that Plotly has
_WHISKER = 0.5  # of that, for the strokes at its ends
_DIAMOND = 1.3  # half its diagonal, in units of half its size
_LONGEST = 60  # characters of a name
_GAP = 14.0  # px between two names


def bars(traces: Sequence[Trace], x: Place, y: Place, *, gap: float) -> Iterator[str]:
    """Bars of several parts: those above 0 stand on each other, those below hang from 0 ("relative" in Plotly)."""
    ends: dict[tuple[float, bool], float] = {}  # how far the parts of a bar have come, on either side of 0
    wide = x(1 - gap) - x(0)
    for trace in traces:
        for at, value in zip(trace["x"], trace["y"], strict=True):
            if not value:
                continue
            start = ends.get((at, value > 0), 0.0)
            ends[at, value > 0] = start + value
            top, bottom = sorted((y(start), y(start + value)))
            yield (
                f'<rect x="{x(at) - wide / 2:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{bottom - top:.2f}" '
                f'fill="{trace["marker"]["color"]}"/>'
            )


def box(trace: Trace, x: Place, y: Place) -> str:
    """The middle half with the median in it, and lines to both ends."""
    middle, half = x(trace["x"][0]), (x(_BOX) - x(0)) / 2
    low, q1, median, q3, high = (y(trace[name][0]) for name in ("lowerfence", "q1", "median", "q3", "upperfence"))
    stroke = half * _WHISKER
    path = (
        f"M{middle - half:.1f} {q1:.1f}H{middle + half:.1f}V{q3:.1f}H{middle - half:.1f}Z"
        f"M{middle - half:.1f} {median:.1f}H{middle + half:.1f}"
        f"M{middle:.1f} {q1:.1f}V{low:.1f}M{middle:.1f} {q3:.1f}V{high:.1f}"
        f"M{middle - stroke:.1f} {low:.1f}H{middle + stroke:.1f}M{middle - stroke:.1f} {high:.1f}H{middle + stroke:.1f}"
    )
    ink, opacity = trace["fillcolor"][:7], int(trace["fillcolor"][7:], 16) / 255  # not all readers know #rrggbbaa
    line = trace["line"]
    return (
        f'<path d="{path}" fill="{ink}" fill-opacity="{opacity:.2f}" '
        f'stroke="{line["color"]}" stroke-width="{line["width"]:g}"/>'
    )


def diamonds(trace: Trace, x: Place, y: Place) -> Iterator[str]:
    """A diamond for every value."""
    marker = trace["marker"]
    arm = _DIAMOND * marker["size"] / 2
    for at, value in zip(trace["x"], trace["y"], strict=True):
        if value is not None:
            left, top = x(at), y(value)
            yield (
                f'<path d="M{left + arm:.1f} {top:.1f}L{left:.1f} {top + arm:.1f}L{left - arm:.1f} {top:.1f}'
                f'L{left:.1f} {top - arm:.1f}Z" fill="{marker["color"]}" '
                f'stroke="{marker["line"]["color"]}" stroke-width="{marker["line"]["width"]:g}"/>'
            )


def legend(traces: Sequence[Trace], left: float, right: float, top: float, *, ink: str) -> tuple[list[str], float]:
    """The names of parts and dots, which the page says beside the figure: lines between px, and how high they are."""
    parts = [trace for trace in traces if trace["type"] == "bar"]
    named = [(trace, "\u25a0") for trace in parts if len(parts) > 1]
    named += [(trace, "\u25c6") for trace in traces if trace.get("mode") == "markers" and trace["name"]]
    found: list[str] = []
    x, rows = left, 1
    for trace, sign in named:
        [pieces] = lines_of(f'<span style="color:{trace["marker"]["color"]}">{sign}</span> {trace["name"]}')
        wide = text_width("".join(piece.text for piece in pieces), FONT, _LONGEST)
        if x > left and x + wide > right:
            x, rows = left, rows + 1
        found.append(text(pieces, x, top + rows * LINE * FONT, size=FONT, colour=ink))
        x += wide + _GAP
    return found, (rows + 0.5) * LINE * FONT if found else 0.0
