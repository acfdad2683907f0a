"""A figure as the pages show it, drawn as SVG: what is taken away is what was on the screen.

The figure is the plain dict that a builder of `mha.figures` returns. Of Plotly's language only what those builders
speak is read: heat maps, texts, bars, boxes, single dots, paths and rectangles, notes, and the labels, lines and titles
of axes. Anything else is refused, so that nothing can be missing from a picture unnoticed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from math import cos, radians, sin
from typing import Any

import numpy as np

from mha.arrays import Array
from mha.figures.labels import text_width
from mha.figures.palette import theme_named
from mha.pictures import marks
from mha.pictures.cells import cells_uri, gaps
from mha.pictures.text import LINE, lines_of, picture, text

WIDTH = 820  # px: what the figures are laid out for if nothing else is said
EDGE = 10.0  # px around it, since fonts differ in how wide they are

_CLEAR = "rgba(0,0,0,0)"
_TICK_GAP = 4.0  # px between a map and its labels
_TITLE_GAP = 12.0  # px between labels and the title of their axis
_LONGEST = 40  # characters of a label, more than any has
_ANCHORS = {"left": "end", "center": "middle", "right": "start"}  # Plotly says where the text is, SVG where it starts
_AXIS = re.compile(r"([xy])axis(\d*)")
_COMMAND = re.compile(r"([MLHVCZ])([^MLHVCZ]*)")


@dataclass(frozen=True)
class _Axis:
    """Where the values of one axis lie, in px from the left or upper edge."""

    settings: dict[str, Any]
    first: float  # value at `start`
    last: float  # value at `end`
    start: float  # px
    end: float

    def px(self, value: float) -> float:
        return self.start + (value - self.first) / (self.last - self.first) * (self.end - self.start)


@dataclass(frozen=True)
class _Frame:
    """The sheet: its size, margins and axes."""

    width: float
    height: float
    layout: dict[str, Any]
    axes: dict[str, _Axis]  # "x", "y", "x2", ...
    page: str
    ink: str
    size: float  # px, of a text that says nothing else

    def axis(self, name: str | None, letter: str) -> _Axis:
        return self.axes[_plain(name or letter)]


def _plain(name: str) -> str:
    """The name of an axis: "x1" is another name of "x"."""
    return name[0] if name[1:] == "1" else name


def svg(figure: dict[str, Any], *, width: float = WIDTH, theme: str = "light", title: str = "", alt: str = "") -> str:
    """A figure of `mha.figures` as an SVG file, on the ground of its theme.

    width: px that the figure was laid out for, unless it says so itself. title, alt: its name, and its words for
    people who do not see it. Raises ValueError for a figure with parts that cannot be drawn here.
    """
    frame = _frame(figure, width, theme)
    shapes = figure["layout"].get("shapes", [])
    maps = [trace for trace in figure["data"] if _kind(trace) == "heatmap"]
    words = [trace for trace in figure["data"] if _kind(trace) == "text"]
    legend, below = marks.legend(figure["data"], frame.layout["margin"]["l"], frame.width, frame.height, ink=frame.ink)
    parts = [
        *(line for name, axis in frame.axes.items() for line in _grid_lines(name, axis, frame)),
        *(_shape(shape, frame) for shape in shapes if shape.get("layer") == "below"),
        *(_map(trace, frame) for trace in maps),
        *_marks(figure, frame),
        *(word for trace in words for word in _words(trace, frame)),
        *(_shape(shape, frame) for shape in shapes if shape.get("layer") != "below"),
        *(line for note in figure["layout"].get("annotations", []) for line in _note(note, frame)),
        *(label for name, axis in frame.axes.items() for label in _labels(name, axis, frame)),
        *legend,
    ]
    return picture(frame.width, frame.height + below, frame.page, parts, title=title, alt=alt, edge=EDGE)


def _kind(trace: dict[str, Any]) -> str:
    """ "heatmap", "bar", "box", "markers", "text", or "" for what only answers to the mouse."""
    if trace["type"] in ("heatmap", "bar", "box"):
        return str(trace["type"])
    if trace["type"] == "scatter" and trace.get("mode") in ("text", "markers"):
        return str(trace["mode"])
    if trace["type"] == "scatter" and trace.get("mode") == "lines" and trace["line"]["color"] == _CLEAR:
        return ""
    raise ValueError(
        f"expected heat maps, bars, boxes, dots and texts, got {trace['type']} with mode {trace.get('mode')!r}"
    )


def _frame(figure: dict[str, Any], width: float, theme: str) -> _Frame:
    layout = figure["layout"]
    looks = theme_named(theme)
    wide, high, margin = layout.get("width", width), layout["height"], layout["margin"]
    inner = {"x": (margin["l"], wide - margin["r"]), "y": (high - margin["b"], margin["t"])}
    drawn_on = {_plain(trace.get(f"{letter}axis", letter)): trace for trace in figure["data"] for letter in "xy"}
    axes = {}
    for letter, number in (found.groups() for found in map(_AXIS.fullmatch, layout) if found):
        name = _plain(letter + number)
        settings = layout[f"{letter}axis{number}"]
        first, last = settings.get("range") or _covered(drawn_on[name], letter)
        start, end = inner[letter]
        shares = [start + share * (end - start) for share in settings.get("domain", (0.0, 1.0))]
        axes[name] = _Axis(settings, first, last, *shares)
    font = layout.get("font", {})
    return _Frame(wide, high, layout, axes, looks.page, font.get("color", looks.text), font.get("size", 12))


def _covered(trace: dict[str, Any], letter: str) -> tuple[float, float]:
    """What a map alone on its axis covers."""
    count = _values(trace).shape[1 if letter == "x" else 0]
    return -0.5, count - 0.5


def _values(trace: dict[str, Any]) -> Array:
    """The numbers of a map as they are packed for Plotly, (R, C)."""
    z = trace["z"]
    shape = [int(length) for length in z["shape"].split(",")]
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape(shape).astype(np.float64)


def _map(trace: dict[str, Any], frame: _Frame) -> str:
    x, y = frame.axis(trace.get("xaxis"), "x"), frame.axis(trace.get("yaxis"), "y")
    values = _values(trace)
    left, right = _ends(trace.get("x0", 0), trace.get("dx", 1), values.shape[1], x)
    top, bottom = _ends(trace.get("y0", 0), trace.get("dy", 1), values.shape[0], y)
    if bottom < top:
        values, top, bottom = values[::-1], bottom, top
    colours = frame.layout[trace["coloraxis"]] if "coloraxis" in trace else trace
    low, high = (colours[f"{'c' if 'coloraxis' in trace else 'z'}{end}"] for end in ("min", "max"))
    uri = cells_uri(values, [(share, colour) for share, colour in colours["colorscale"]], low, high)
    image = (
        f'<image x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
        # the attribute is what SVG has had all along, the style what browsers go by
        f'preserveAspectRatio="none" image-rendering="optimizeSpeed" style="image-rendering:pixelated" href="{uri}"/>'
    )
    if not trace.get("xgap"):
        return image
    rows, columns = values.shape
    return image + gaps(left, top, right - left, bottom - top, (rows, columns), trace["xgap"], frame.page)


def _ends(first: float, step: float, count: int, axis: _Axis) -> tuple[float, float]:
    """The borders of `count` cells, in px."""
    return axis.px(first - step / 2), axis.px(first + (count - 0.5) * step)


def _marks(figure: dict[str, Any], frame: _Frame) -> Iterator[str]:
    """Bars, boxes and dots, the dots on top."""
    of_kind = {kind: [t for t in figure["data"] if _kind(t) == kind] for kind in ("bar", "box", "markers")}
    if not any(of_kind.values()):
        return
    x, y = frame.axis(None, "x"), frame.axis(None, "y")
    yield from marks.bars(of_kind["bar"], x.px, y.px, gap=frame.layout.get("bargap", 0.0))
    for box in of_kind["box"]:
        yield marks.box(box, x.px, y.px)
    for dots in of_kind["markers"]:
        yield from marks.diamonds(dots, x.px, y.px)


def _grid_lines(name: str, axis: _Axis, frame: _Frame) -> Iterator[str]:
    """The lines behind bars and boxes: one for every tick, dotted, and that of 0."""
    settings = axis.settings
    if name[0] == "x" or "gridcolor" not in settings:
        return
    across = frame.axis(settings.get("anchor"), "x")
    for tick in {0.0, *settings["tickvals"]}:
        looks = f'"{settings["gridcolor"]}" stroke-dasharray="3,3"' if tick else f'"{settings["zerolinecolor"]}"'
        yield f'<path d="M{across.start:.1f} {axis.px(tick):.1f}H{across.end:.1f}" stroke={looks}/>'


def _words(trace: dict[str, Any], frame: _Frame) -> Iterator[str]:
    """Texts at points, placed by Plotly's own rule."""
    x, y = frame.axis(trace.get("xaxis"), "x"), frame.axis(trace.get("yaxis"), "y")
    count = len(trace["text"])
    font = trace.get("textfont", {})
    places, sizes, inks = (
        each if isinstance(each, list) else [each] * count
        for each in (
            trace.get("textposition", "middle center"),
            font.get("size", frame.size),
            font.get("color", frame.ink),
        )
    )
    for at_x, at_y, markup, place, size, ink in zip(
        trace["x"], trace["y"], trace["text"], places, sizes, inks, strict=True
    ):
        vertical, side = place.split()
        base = y.px(at_y) + {"top": -0.25, "middle": 0.25, "bottom": 0.75}[vertical] * size
        yield _lines(markup, x.px(at_x), base, size, ink, _ANCHORS[side])


def _lines(markup: str, x: float, y: float, size: float, ink: str, anchor: str, angle: float = 0) -> str:
    """A text of a figure; the base line of its last line is at y."""
    lines = lines_of(markup)
    return "".join(
        text(pieces, x, y - (len(lines) - 1 - n) * LINE * size, size=size, colour=ink, anchor=anchor, angle=angle)
        for n, pieces in enumerate(lines)
    )


def _shape(shape: dict[str, Any], frame: _Frame) -> str:
    x, y = frame.axis(shape.get("xref"), "x"), frame.axis(shape.get("yref"), "y")
    if shape["type"] == "path":
        path = _path_px(shape["path"], x, y)
    elif shape["type"] == "rect":
        left, right, top, bottom = x.px(shape["x0"]), x.px(shape["x1"]), y.px(shape["y0"]), y.px(shape["y1"])
        path = f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"
    else:
        raise ValueError(f"expected a shape to be a path or a rect, got {shape['type']!r}")
    line = shape.get("line", {})
    looks = [f'fill="{shape.get("fillcolor", "none")}"']
    if shape.get("fillrule", "evenodd") == "evenodd" and "fillcolor" in shape:
        looks.append('fill-rule="evenodd"')
    if line.get("width", 2):
        looks.append(f'stroke="{line.get("color", frame.ink)}" stroke-width="{line.get("width", 2):g}"')
    if "dash" in line and line["dash"] != "solid":
        looks.append(f'stroke-dasharray="{line["dash"].replace("px", "")}"')
    if shape.get("opacity", 1) != 1:
        looks.append(f'opacity="{shape["opacity"]:g}"')
    return f'<path d="{path}" {" ".join(looks)}/>'


def _path_px(path: str, x: _Axis, y: _Axis) -> str:
    """A path in values of the axes as one in px."""
    parts = []
    for command, given in _COMMAND.findall(path):
        numbers = [float(number) for number in given.replace(",", " ").split()]
        axes = {"H": (x,), "V": (y,)}.get(command, (x, y))
        moved = [axes[place % len(axes)].px(number) for place, number in enumerate(numbers)]
        parts.append(command + " ".join(f"{number:.1f}" for number in moved))
    return "".join(parts)


def _note(note: dict[str, Any], frame: _Frame) -> Iterator[str]:
    """A note at a share of the sheet, from the left and from below."""
    if note.get("xref") != "paper" or note.get("yref") != "paper" or note.get("showarrow", True):
        raise ValueError("expected a note to stand at a share of the sheet and to have no arrow")
    margin = frame.layout["margin"]
    x = margin["l"] + note["x"] * (frame.width - margin["l"] - margin["r"])
    y = margin["t"] + (1 - note["y"]) * (frame.height - margin["t"] - margin["b"])
    size = note["font"]["size"]
    below = {"bottom": -0.3, "middle": 0.35}[note["yanchor"]] * size
    anchor = {"left": "start", "center": "middle", "right": "end"}[note["xanchor"]]
    yield _lines(note["text"], x, y + below, size, note["font"].get("color", frame.ink), anchor)


def _labels(name: str, axis: _Axis, frame: _Frame) -> Iterator[str]:
    """The labels of an axis and its title."""
    settings = axis.settings
    font = settings.get("tickfont", {})
    size, ink = font.get("size", frame.size), font.get("color", frame.ink)
    shown = settings.get("ticktext", []) if settings.get("showticklabels", True) else []
    for at, markup in zip(settings["tickvals"] if shown else [], shown, strict=True):
        if name[0] == "x":
            yield _key_label(markup, axis, at, frame, size, ink)
        else:
            yield _lines(markup, _beside(name, frame) - _TICK_GAP, axis.px(at) + 0.35 * size, size, ink, "end")
    if "title" in settings:
        longest = max((text_width(unescape(markup), size, _LONGEST) for markup in shown), default=0.0)
        yield _title(name, axis, frame, longest, size)


def _title(name: str, axis: _Axis, frame: _Frame, longest: float, size: float) -> str:
    """The title of an axis, beside its labels, of which the longest is `longest` px."""
    words, looks = axis.settings["title"]["text"], axis.settings["title"]["font"]
    middle = (axis.start + axis.end) / 2
    if name[0] == "y":
        x = _beside(name, frame) - _TICK_GAP - longest - _TITLE_GAP
        return _lines(words, max(looks["size"], x), middle, looks["size"], looks["color"], "middle", -90)
    angle = radians(abs(axis.settings.get("tickangle", 0)))
    rows = frame.axis(axis.settings.get("anchor"), "y")
    below = max(rows.start, rows.end) + _TICK_GAP + longest * sin(angle) + size * cos(angle)
    return _lines(words, middle, below + _TITLE_GAP + size / 2, looks["size"], looks["color"], "middle")


def _beside(name: str, frame: _Frame) -> float:
    """Where the maps begin whose rows a y axis names, in px."""
    return frame.axis(frame.axes[name].settings.get("anchor"), "x").start


def _key_label(markup: str, axis: _Axis, at: float, frame: _Frame, size: float, ink: str) -> str:
    """A label below the maps, or above them; a slanted one ends there, an upright one too."""
    settings = axis.settings
    rows = frame.axis(settings.get("anchor"), "y")
    angle = settings.get("tickangle", 0)
    above = settings.get("side") == "top"
    x = axis.px(at)
    edge = min(rows.start, rows.end) - _TICK_GAP if above else max(rows.start, rows.end) + _TICK_GAP
    if not angle:
        return _lines(markup, x, edge if above else edge + 0.8 * size, size, ink, "middle")
    # turned to the left, the middle of the letters is to the right of the base line
    side = "start" if above else "end"
    return _lines(markup, x + 0.35 * size, edge + (0 if angle == -90 else 0.35 * size), size, ink, side, angle)
