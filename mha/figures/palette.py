"""Colours of every figure, on light and dark pages: a scale for weights, one for differences, a colour per head."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

# Heads 1 to 16, legible on white and on dark; neighbours differ for colour-blind eyes too, as far as 16 colours allow.
# Heads are always numbered in text as well.
HEAD_COLOURS = (
    "#4664cd", "#dc730a", "#0a7364", "#eb6482", "#9146af", "#55a037", "#be3728", "#5591fa",
    "#738255", "#be73dc", "#557391", "#0aa082", "#af4673", "#8291af", "#377319", "#8273be",
)  # fmt: skip
MEAN_COLOUR = "#808080"  # no head's own
MARKED = "#e0820a"  # the line around a marked row: no hue of the weights' scales, seen on light and on dark

Colourscale = list[tuple[float, str]]


@dataclass(frozen=True)
class Theme:
    """The colours of a figure on one kind of page, as #rrggbb; `page` itself is never painted."""

    page: str
    text: str
    quiet: str  # axis titles and other small print
    frame: str  # the thin line around a map
    blocked: str  # neutral grey: every colour of the weight scale has a hue
    hatch: str
    weights: Colourscale
    difference: Colourscale  # of weights
    numbers: Colourscale  # on both sides of 0


# Random weights spread a row's sum of 1 over all keys, so most weights are near 1/T. A scale that is linear in the
# weight would leave such maps blank; this one is linear in its square root: the colours below are evenly spaced in it.
# Differences of weights are as small, and have the same scale to either side.
_WEIGHTS_LIGHT = ("#f1f6fb", "#cfe1f1", "#a3c8e3", "#6ba6d2", "#3a7fba", "#20589a", "#123570", "#091a42")
_WEIGHTS_DARK = ("#19212c", "#1d3a57", "#215b85", "#2a80aa", "#4ba5bb", "#85c6bd", "#c6e3bd", "#fbf8d0")
# Orange for less, blue for more: a pair that stays apart in every common kind of colour-blindness.
_DIFFERENCE_LIGHT = ("#7a3a05", "#b9631a", "#e0a065", "#f5dcc3", "#fbfaf8", "#cfe1f1", "#7fb2da", "#2f78b7", "#10427a")
_DIFFERENCE_DARK = ("#ffd9a8", "#eda657", "#ad6c2a", "#593b22", "#1d2026", "#1f3f5e", "#2f75a8", "#6db2de", "#c4e5fb")
_INKS = ("#0b1320", "#ffffff")
_STEPS = 4  # between two given colours; Plotly mixes linearly in the weight, we in its root


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mix(first: str, second: str, share: float) -> str:
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _fine(colours: tuple[str, ...]) -> list[str]:
    mixed = [_mix(a, b, step / _STEPS) for a, b in pairwise(colours) for step in range(_STEPS)]
    return [*mixed, colours[-1]]


def _square_root_scale(colours: tuple[str, ...]) -> Colourscale:
    fine = _fine(colours)
    return [((i / (len(fine) - 1)) ** 2, colour) for i, colour in enumerate(fine)]


def _square_root_scale_both_ways(colours: tuple[str, ...]) -> Colourscale:
    """As `_square_root_scale`, from the middle to either side."""
    fine = _fine(colours)
    middle = len(fine) // 2
    return [(0.5 + 0.5 * abs(i - middle) * (i - middle) / middle**2, colour) for i, colour in enumerate(fine)]


def _even_scale(colours: tuple[str, ...]) -> Colourscale:
    return [(i / (len(colours) - 1), colour) for i, colour in enumerate(colours)]


THEMES = {
    "light": Theme(
        page="#ffffff",
        text="#1d2530",
        quiet="#5a6572",
        frame="#c5cbd3",
        blocked="#dedede",
        hatch="#9a9a9a",
        weights=_square_root_scale(_WEIGHTS_LIGHT),
        difference=_square_root_scale_both_ways(_DIFFERENCE_LIGHT),
        numbers=_even_scale(_DIFFERENCE_LIGHT),
    ),
    "dark": Theme(
        page="#12161c",
        text="#e4e8ed",
        quiet="#9aa5b1",
        frame="#3c4756",
        blocked="#363636",
        hatch="#646464",
        weights=_square_root_scale(_WEIGHTS_DARK),
        difference=_square_root_scale_both_ways(_DIFFERENCE_DARK),
        numbers=_even_scale(_DIFFERENCE_DARK),
    ),
}


def colour_at(scale: Colourscale, share: float) -> str:
    """The colour at `share` (0 to 1) of a scale, mixed between its stops as Plotly does."""
    for (low, before), (high, after) in pairwise(scale):
        if share <= high:
            return _mix(before, after, (share - low) / (high - low))
    return scale[-1][1]


def ink_on(colour: str) -> str:
    """Near-black or white, whichever is easier to read on `colour`."""
    return max(_INKS, key=lambda ink: contrast(ink, colour))


def default_colours(count: int) -> list[str]:
    """The heads' colours in order; grey for what comes after the last."""
    return [HEAD_COLOURS[m] if m < len(HEAD_COLOURS) else MEAN_COLOUR for m in range(count)]


def theme_named(name: str) -> Theme:
    """The theme called "light" or "dark"; ValueError for any other name."""
    if name not in THEMES:
        raise ValueError(f'expected theme to be "light" or "dark", got {name!r}')
    return THEMES[name]


def relative_luminance(colour: str) -> float:
    """0 for black to 1 for white, of a #rrggbb colour (WCAG 2.2)."""
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (value / 255 for value in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two #rrggbb colours, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((relative_luminance(first), relative_luminance(second)))
    return (light + 0.05) / (dark + 0.05)
