"""The colour scales above small matrices: for numbers on both sides of 0, and for weights from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from mha.figures.grid import FONT, SMALL_FONT
from mha.figures.labels import literal_name, text_width
from mha.figures.palette import Colourscale, Theme, colour_at, ink_on
from mha.figures.scale import packed

LINE = 20  # px, height of a row of scales
WEIGHTS = "weights"  # the name of the scale of weights; matrices of any other name have numbers on both sides of 0

_BAR, _END = 96.0, 46.0  # px: a scale, and the number at each of its ends
_NEAR, _GAP = 4.0, 16.0  # px: between a scale and its numbers, and between two scales
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


@dataclass(frozen=True)
class Place:
    """Where a scale stands at the top of a figure. label: what it belongs to; "" where there is one scale alone."""

    label: str
    left: float  # px, of the label
    bar: float  # px, where the colours start
    line: int  # counted from 0


def scale_of(name: str, number: int, bound: float, looks: Theme) -> Scale:
    """The scale of this name: 0 to 1 for weights, else -bound to bound. number: of its colour axis, from 1."""
    axis = f"coloraxis{number if number > 1 else ''}"
    if name == WEIGHTS:
        return Scale(axis, 0.0, 1.0, looks.weights)
    return Scale(axis, -bound, bound, looks.difference)


def placed(labels: Sequence[str], width: float) -> list[Place]:
    """Scales beside each other, in as many lines as they need."""
    found: list[Place] = []
    x, line = 0.0, 0
    for label in labels if len(labels) > 1 else [""]:
        words = text_width(label, FONT) + 3 * _NEAR if label else 0.0
        whole = words + _END + _BAR + _END
        if x and x + whole > width:
            x, line = 0.0, line + 1
        found.append(Place(label, x, x + words + _END, line))
        x += whole + _GAP
    return found


def bars(
    scales: Sequence[Scale], places: Sequence[Place], first: int, width: int, height: float, looks: Theme
) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """The scales as traces on the axes from number `first`, their layout, and their words."""
    plain = {"showgrid": False, "zeroline": False, "fixedrange": True, "showticklabels": False, "ticks": ""}
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    words: list[dict[str, Any]] = []
    for n, (scale, place) in enumerate(zip(scales, places, strict=True), start=first):
        middle = LINE * place.line + 9.5
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
        across = [place.bar / width, (place.bar + _BAR) / width]
        upright = [1 - (middle + 4.5) / height, 1 - (middle - 4.5) / height]
        layout |= {
            f"xaxis{n}": plain | {"domain": across, "anchor": f"y{n}"},
            f"yaxis{n}": plain | {"domain": upright, "anchor": f"x{n}"},
        }
        small = {"size": SMALL_FONT, "color": looks.quiet}
        said = [
            (place.bar - _NEAR, "right", _end(scale.low), small),
            (place.bar + _BAR + _NEAR, "left", _end(scale.high), small),
        ]
        if place.label:
            said.append((place.left, "left", f"<b>{literal_name(place.label)}</b>", {"size": FONT}))
        words += [
            {
                "text": text,
                "x": x / width,
                "y": 1 - middle / height,
                "xref": "paper",
                "yref": "paper",
                "xanchor": anchor,
                "yanchor": "middle",
                "showarrow": False,
                "font": font,
            }
            for x, anchor, text, font in said
        ]
    return traces, layout, words


def _end(value: float) -> str:
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "\u2212")
