"""The colour scales above small matrices: for numbers on both sides of 0, and for weights from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from mha.figures.grid import SMALL_FONT
from mha.figures.palette import Colourscale, Theme, colour_at, ink_on
from mha.figures.scale import packed

BAR_ROOM = 20  # px, height of the scales with their numbers

_BAR, _BEFORE, _PITCH = 96.0, 52.0, 164.0  # px: a scale, its first number, and from one scale to the next
_STEPS = 64


@dataclass(frozen=True)
class Scale:
    """Colours from `low` to `high`; axis: what Plotly calls it."""

    axis: str
    low: float
    high: float
    colours: Colourscale

    @property
    def colour_axis(self) -> dict[str, Any]:
        """The scale as the layout of a figure has it."""
        return {"cmin": self.low, "cmax": self.high, "colorscale": self.colours, "showscale": False}

    def ink(self, value: float) -> str:
        """A colour that can be read on the colour of `value`."""
        return ink_on(colour_at(self.colours, (value - self.low) / (self.high - self.low)))

    def in_cell(self, value: float) -> str:
        """Three digits of the largest value; a zero has no sign."""
        decimals = min(3, max(0, 2 - floor(log10(self.high))))
        shown = f"{value:.{decimals}f}"
        return shown.replace("-", "\u2212" if float(shown) else "")


def of_numbers(bound: float, looks: Theme) -> Scale:
    """From -bound to bound."""
    return Scale("coloraxis", -bound, bound, looks.difference)


def of_weights(looks: Theme) -> Scale:
    """From 0 to 1, in the colours of the maps of weights."""
    return Scale("coloraxis2", 0.0, 1.0, looks.weights)


def bars(
    scales: Sequence[Scale], first: int, width: int, height: float, looks: Theme
) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Scales side by side at the top of a figure: traces on the axes from `first`, their layout, and their numbers."""
    plain = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False, "ticks": ""}
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    words: list[dict[str, Any]] = []
    for place, scale in enumerate(scales):
        start, n = _BEFORE + place * _PITCH, first + place
        values = scale.low + (np.arange(_STEPS) + 0.5) / _STEPS * (scale.high - scale.low)
        traces.append(
            {
                "type": "heatmap",
                "name": "scale",
                "z": packed(values[None]),
                "coloraxis": scale.axis,
                "xaxis": f"x{n}",
                "yaxis": f"y{n}",
                "hoverinfo": "skip",
            }
        )
        layout |= {
            f"xaxis{n}": plain | {"domain": [start / width, (start + _BAR) / width], "anchor": f"y{n}"},
            f"yaxis{n}": plain | {"domain": [1 - 14 / height, 1 - 5 / height], "anchor": f"x{n}"},
        }
        ends = ((start - 4, "right", scale.low), (start + _BAR + 4, "left", scale.high))
        words += [_end(x / width, anchor, value, height, looks) for x, anchor, value in ends]
    return traces, layout, words


def _end(x: float, anchor: str, value: float, height: float, looks: Theme) -> dict[str, Any]:
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return {
        "text": text.replace("-", "\u2212"),
        "x": x,
        "y": 1 - 9.5 / height,
        "xref": "paper",
        "yref": "paper",
        "xanchor": anchor,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": SMALL_FONT, "color": looks.quiet},
    }
