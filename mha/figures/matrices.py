"""Small matrices side by side as one plain Plotly figure, on common colour scales, with what matters outlined.

A matrix is never drawn whole if it is large: `shown_around` takes the rows and columns around what is outlined, and
the title says how many more there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mha.arrays import Array, Booleans
from mha.figures import blocked as marks
from mha.figures import matrix_scale
from mha.figures.grid import FONT, SMALL_FONT
from mha.figures.labels import full_label, literal_name, plain_name, short_label, text_width
from mha.figures.matrix_scale import Scale
from mha.figures.palette import Theme, theme_named
from mha.figures.plain import BARE_AXIS, Figure, plain_layout
from mha.figures.scale import packed

MOST_SHOWN = 24  # rows or columns of one matrix
WIDTH = 860  # px, fits beside the sidebar at 1280 and on a sheet of paper

_WIDEST_CELL, _NARROWEST_CELL = 44.0, 6.0  # px
_CELL_HEIGHT, _LOW_CELL_HEIGHT, _MANY_ROWS = 20.0, 15.0, 14  # px, px, and from how many rows cells are lower
_NUMBER_WIDTH = 38  # px of one number in its cell
_MOST_NUMBERS = 320  # text is what Plotly draws slowest
_LINE = 16  # px of one line of a title
_GAP = 26  # px between matrices
_NUMBER_LABEL = 26  # px of "512" as a label, and a gap
_BELOW = 8  # px


@dataclass(frozen=True)
class Outline:
    """A frame around the cells of `rows` x `columns`; None is all of them. Keys are dashed, so that two differ."""

    rows: range | None = None
    columns: range | None = None
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Matrix:
    """One matrix of a figure. `values` is whole: what of it is drawn is decided here."""

    values: Array  # (R, C)
    name: str
    axes: tuple[str, str]  # what its rows and columns are, as in ("T", "d_k")
    rows: Sequence[str] | None = None  # tokens; None: numbers
    columns: Sequence[str] | None = None
    outlines: tuple[Outline, ...] = ()
    blocked: Booleans | None = None  # (R, C)
    first_row: int = 0  # the number of its first row, where it is a part of a larger matrix; counted from 0
    first_column: int = 0
    numbered: bool = True  # whether a row's label starts with its number
    labels_rows: bool = True  # False where a matrix with the same rows stands to its left
    scale: str = ""  # matrices of one name share a colour scale; `matrix_scale.WEIGHTS` is that of the maps, 0 to 1


@dataclass(frozen=True)
class _Panel:
    """One matrix in its place; None among the shown rows and columns is a gap."""

    matrix: Matrix
    rows: list[int | None]
    columns: list[int | None]
    words: tuple[str, ...]  # lines of the title
    left: float  # px, of its first cell
    top: float
    cell: tuple[float, float]  # px, width and height
    labelled: bool  # whether its rows have labels

    @property
    def width(self) -> float:
        return len(self.columns) * self.cell[0]

    @property
    def height(self) -> float:
        return len(self.rows) * self.cell[1]


def matrices(
    shown: Sequence[Matrix], *, width: int = WIDTH, stacked: bool = False, theme: str = "light", numbers: bool = True
) -> Figure:
    """The matrices side by side, or one below the other, as the dict of a Plotly figure of `width` px.

    Those of one `scale` share a diverging one from -bound to bound, the largest absolute value of what is drawn;
    weights have the scale of their maps. numbers: values are written into the cells where there is room. Raises
    ValueError for a matrix that is empty or has another number of labels, and for an outline outside it.
    """
    looks = theme_named(theme)
    for matrix in shown:
        _check(matrix)
    names = list(dict.fromkeys(each.scale for each in shown))
    places = matrix_scale.placed(
        [", ".join(each.name for each in shown if each.scale == name) for name in names], width
    )
    panels, height = _placed(shown, width, stacked, top=matrix_scale.LINE * (places[-1].line + 1))
    values = [_drawn(panel) for panel in panels]
    bounds = {
        name: bound_of([z for each, z in zip(shown, values, strict=True) if each.scale == name]) for name in names
    }
    scales = {name: matrix_scale.scale_of(name, n, bounds[name], looks) for n, name in enumerate(names, start=1)}
    data: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    words: list[dict[str, Any]] = []
    with_numbers = numbers and sum(drawn.size for drawn in values) <= _MOST_NUMBERS
    for n, (panel, drawn) in enumerate(zip(panels, values, strict=True), start=1):
        scale = scales[panel.matrix.scale]
        data.append(_heatmap(panel, drawn, scale, n))
        layout |= _axes(panel, n, width, height, looks)
        words += _title(panel, width, height, looks)
        shapes += _shapes(panel, n, looks)
        if with_numbers and panel.cell[0] >= _NUMBER_WIDTH:
            data.append(_written_numbers(drawn, scale, n))
    of_scales = matrix_scale.bars(list(scales.values()), places, len(panels) + 1, width, height, looks)
    bars, bars_layout, scale_words = of_scales
    layout |= (
        bars_layout
        | plain_layout(looks, FONT)
        | {
            "width": width,
            "height": round(height),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
            **{scale.axis: scale.colour_axis for scale in scales.values()},
            "shapes": shapes,
            "annotations": [*words, *scale_words],
        }
    )
    return {"data": [*data, *bars], "layout": layout}


def describe_matrices(shown: Sequence[Matrix]) -> str:
    """The matrices in words, for people who do not see them."""
    said = [f"{plain_name(each.name)}, {_shape_in_words(each)}." for each in shown]
    return f"{len(shown)} heat map{'s' if len(shown) > 1 else ''}: {' '.join(said)}"


def shown_around(length: int, marked: Iterable[range | None], most: int = MOST_SHOWN) -> list[int | None]:
    """At most about `most` of `length` positions, those around what is marked, in order; None stands for a gap."""
    if length <= most:
        return list(range(length))
    places = sorted({at for marks_ in marked if marks_ for at in (marks_.start, marks_.stop - 1)}) or [0]
    each = most // len(places)
    wanted: set[int] = set()
    for place in places:
        start = min(max(0, place - each // 2), length - each)
        wanted |= set(range(start, start + each))
    # where two windows overlap there is room for more: it grows at the end, then at the front
    for more in (*range(max(wanted) + 1, length), *range(min(wanted) - 1, -1, -1)):
        if len(wanted) >= most:
            break
        wanted.add(more)
    shown: list[int | None] = []
    before = None
    for at in sorted(wanted):
        if before is not None and at > before + 1:
            shown.append(None)
        shown.append(at)
        before = at
    return shown


def bound_of(values: Sequence[Array]) -> float:
    """The largest absolute value of all; 1 if there is none but 0."""
    finite = [float(np.abs(drawn[np.isfinite(drawn)]).max(initial=0.0)) for drawn in values]
    return max(finite, default=0.0) or 1.0


def _check(matrix: Matrix) -> None:
    shape = matrix.values.shape
    if len(shape) != 2 or not matrix.values.size:
        raise ValueError(f"expected {matrix.name} of shape (R, C), both at least 1, got {shape}")
    for labels, count, axis in ((matrix.rows, shape[0], "row"), (matrix.columns, shape[1], "column")):
        if labels is not None and len(labels) != count:
            raise ValueError(f"expected {count} {axis} labels of {matrix.name}, got {len(labels)}")
    if matrix.blocked is not None and matrix.blocked.shape != shape:
        raise ValueError(f"expected blocked of shape {shape} for {matrix.name}, got {matrix.blocked.shape}")
    for outline in matrix.outlines:
        for cells, count, axis in ((outline.rows, shape[0], "rows"), (outline.columns, shape[1], "columns")):
            if cells is not None and not (0 <= cells.start < cells.stop <= count):
                raise ValueError(f"expected an outline within {count} {axis} of {matrix.name}, got {cells}")


def _placed(shown: Sequence[Matrix], width: int, stacked: bool, top: float) -> tuple[list[_Panel], float]:
    """Every matrix in its place, below `top` px, and the height of the figure."""
    rows = [shown_around(each.values.shape[0], [line.rows for line in each.outlines]) for each in shown]
    columns = [shown_around(each.values.shape[1], [line.columns for line in each.outlines]) for each in shown]
    left = [_label_width(each, of_rows, stacked) for each, of_rows in zip(shown, rows, strict=True)]
    titles = [_title_lines(each, *kept) for each, *kept in zip(shown, rows, columns, strict=True)]
    below = [_label_height(each, of_columns) for each, of_columns in zip(shown, columns, strict=True)]
    if stacked:
        cells = [(width - space - 4) / len(kept) for space, kept in zip(left, columns, strict=True)]
    else:
        room = width - sum(left) - _GAP * (len(shown) - 1) - 4
        cells = [room / sum(map(len, columns))] * len(shown)
    cells = [min(_WIDEST_CELL, max(_NARROWEST_CELL, cell)) for cell in cells]
    titles = [_fitted(lines, len(kept) * cell) for lines, kept, cell in zip(titles, columns, cells, strict=True)]
    above = _LINE * max(map(len, titles)) + 6
    panels: list[_Panel] = []
    x, y, lowest = 0.0, top, 0.0
    for n, each in enumerate(shown):
        if stacked and n:
            x, y = 0.0, lowest + _GAP / 2
        top_space = _LINE * len(titles[n]) + 6 if stacked else above
        tall = _CELL_HEIGHT if len(rows[n]) < _MANY_ROWS else _LOW_CELL_HEIGHT
        cell, labelled = (cells[n], tall), each.labels_rows or stacked
        panel = _Panel(each, rows[n], columns[n], titles[n], x + left[n], y + top_space, cell, labelled)
        panels.append(panel)
        lowest = max(lowest, panel.top + panel.height + below[n])
        x = panel.left + max(panel.width, _title_width(titles[n])) + _GAP
    return panels, lowest + _BELOW


def _title_lines(matrix: Matrix, rows: list[int | None], columns: list[int | None]) -> tuple[str, ...]:
    kept = [sum(at is not None for at in each) for each in (rows, columns)]
    more = [
        f"\u2026 {count - shown} more {word}"
        for count, shown, word in zip(matrix.values.shape, kept, ("rows", "columns"), strict=True)
        if count > shown
    ]
    return (matrix.name, _shape_in_words(matrix), *more)


def _fitted(lines: tuple[str, ...], width: float) -> tuple[str, ...]:
    """The small print on one line if the matrix is wide enough."""
    joined = " \u00b7 ".join(lines[1:])
    return (lines[0], joined) if text_width(joined, SMALL_FONT, 200) <= width else lines


def _shape_in_words(matrix: Matrix) -> str:
    count = " \u00d7 ".join(map(str, matrix.values.shape))
    return f"{matrix.axes[0]} \u00d7 {matrix.axes[1]} = {count}"


def _title_width(lines: tuple[str, ...]) -> float:
    return max(text_width(lines[0], FONT * 1.1, 200), *(text_width(text, SMALL_FONT, 200) for text in lines[1:]))


def _label_width(matrix: Matrix, rows: list[int | None], stacked: bool) -> float:
    if not (matrix.labels_rows or stacked):
        return 0.0
    if matrix.rows is None:
        return 0.0 if matrix.values.shape[0] == 1 else _NUMBER_LABEL
    return max(text_width(matrix.rows[at], SMALL_FONT) for at in rows if at is not None) + _NUMBER_LABEL + 4


def _label_height(matrix: Matrix, columns: list[int | None]) -> float:
    if matrix.columns is None:
        return 18.0
    return max(text_width(matrix.columns[at], SMALL_FONT) for at in columns if at is not None) + _NUMBER_LABEL


def _drawn(panel: _Panel) -> Array:
    """The shown cells; blocked ones and gaps have no value."""
    rows, columns = (np.array([-1 if at is None else at for at in each]) for each in (panel.rows, panel.columns))
    drawn = panel.matrix.values[np.ix_(rows, columns)].copy()
    drawn[rows < 0] = np.nan
    drawn[:, columns < 0] = np.nan
    if panel.matrix.blocked is not None:
        drawn[panel.matrix.blocked[np.ix_(rows, columns)]] = np.nan
    return drawn


def _heatmap(panel: _Panel, drawn: Array, scale: Scale, n: int) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": panel.matrix.name,
        "z": packed(drawn),
        "coloraxis": scale.axis,
        "xaxis": f"x{n}",
        "yaxis": f"y{n}",
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": f"{literal_name(panel.matrix.name)}<br>row %{{y}}, column %{{x}}<br>%{{z:.4g}}<extra></extra>",
    }


def _axes(panel: _Panel, n: int, width: int, height: float, looks: Theme) -> dict[str, Any]:
    matrix = panel.matrix
    x = _axis(panel.columns, matrix.columns, matrix.first_column, panel.cell[0], looks)
    y = _axis(panel.rows, matrix.rows, matrix.first_row, panel.cell[1], looks, numbered=matrix.numbered)
    rows, columns = len(panel.rows), len(panel.columns)
    return {
        f"xaxis{n}": x
        | {
            "domain": [panel.left / width, min(1.0, (panel.left + panel.width) / width)],
            "range": [-0.5, columns - 0.5],
            "anchor": f"y{n}",
            "tickangle": 0 if matrix.columns is None else -90,
        },
        f"yaxis{n}": y
        | {
            "domain": [max(0.0, 1 - (panel.top + panel.height) / height), 1 - panel.top / height],
            "range": [rows - 0.5, -0.5],
            "anchor": f"x{n}",
            "showticklabels": panel.labelled and (matrix.rows is not None or rows > 1),
        },
    }


def _axis(
    shown: list[int | None],
    tokens: Sequence[str] | None,
    first: int,
    cell: float,
    looks: Theme,
    *,
    numbered: bool = True,
) -> dict[str, Any]:
    """Numbers from 1, with the token if there are tokens; as many as there is room for.

    As on the maps, a tick stands a little beside its cell, so that the hover takes the full text of `labelalias`.
    """

    def label(at: int, *, full: bool) -> str:
        number = str(first + at + 1)
        if tokens is None:
            return number
        token = full_label(tokens[at]) if full else short_label(tokens[at])
        return f"{number} {token}" if numbered else token

    room = SMALL_FONT + 2 if tokens is not None else 22
    step = max(1, -int(-room // cell)) if cell < room else 1
    ticks = [(p, at) for p, at in enumerate(shown) if at is None or p % step == 0]
    off = len(shown) / 5_000
    return {
        "tickmode": "array",
        "tickvals": [p + off for p, _ in ticks],
        "ticktext": ["\u2026" if at is None else label(at, full=False) for _, at in ticks],
        "tickformat": ".2f",
        "labelalias": {f"{p:.2f}": label(at, full=True) for p, at in enumerate(shown) if at is not None},
        "tickfont": {"size": SMALL_FONT, "color": looks.quiet if tokens is None else looks.text},
        **BARE_AXIS,
    }


def _title(panel: _Panel, width: int, height: float, looks: Theme) -> list[dict[str, Any]]:
    name, *rest = map(literal_name, panel.words)
    text = "<br>".join([f"<b>{name}</b>", *(f'<span style="color:{looks.quiet}">{each}</span>' for each in rest)])
    return [
        {
            "text": text,
            "x": panel.left / width,
            "y": 1 - (panel.top - 4) / height,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "align": "left",
            "showarrow": False,
            "font": {"size": FONT},
        }
    ]


def _shapes(panel: _Panel, n: int, looks: Theme) -> list[dict[str, Any]]:
    """The frames around what is outlined, and the lines over blocked cells."""
    shapes: list[dict[str, Any]] = []
    at = {"xref": f"x{n}", "yref": f"y{n}"}
    blocked = panel.matrix.blocked
    if blocked is not None and blocked.any():
        rows, columns = (np.array([-1 if p is None else p for p in each]) for each in (panel.rows, panel.columns))
        shown = blocked[np.ix_(rows, columns)] & (rows >= 0)[:, None] & (columns >= 0)
        xs, ys = marks.edges(0, len(columns)), marks.edges(0, len(rows))
        fill = "".join(f"M{xs[j]} {ys[i]}H{xs[j + 1]}V{ys[i + 1]}H{xs[j]}Z" for i, j in np.argwhere(shown).tolist())
        hatch = marks.hatch_path(shown, xs, ys, panel.cell[0])
        shapes.append({"type": "path", "path": fill, "fillcolor": looks.blocked, "line": {"width": 0}, **at})
        shapes.append({"type": "path", "path": hatch, "line": {"color": looks.hatch, "width": 1}, **at})
        shapes = [shape for shape in shapes if shape["path"]]
    for outline in panel.matrix.outlines:
        x0, x1 = _ends(outline.columns, panel.columns)
        y0, y1 = _ends(outline.rows, panel.rows)
        line = {"color": looks.text, "width": 2, "dash": "3px,2px" if outline.dashed else "solid"}
        shapes.append({"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, "layer": "above", **at})
    return shapes


def _ends(cells: range | None, shown: list[int | None]) -> tuple[float, float]:
    """Where an outline starts and ends, in drawn positions."""
    if cells is None:
        return -0.5, len(shown) - 0.5
    places = [p for p, at in enumerate(shown) if at is not None and at in cells]
    return places[0] - 0.5, places[-1] + 0.5


def _written_numbers(drawn: Array, scale: Scale, n: int) -> dict[str, Any]:
    """Every value in its cell, in an ink that can be read on the cell's colour."""
    cells = np.argwhere(np.isfinite(drawn)).tolist()
    inks = [scale.ink(float(drawn[i, j])) for i, j in cells]
    return {
        "type": "scatter",
        "mode": "text",
        "name": "numbers",
        "x": [j for _, j in cells],
        "y": [i for i, _ in cells],
        "text": [scale.in_cell(float(drawn[i, j])) for i, j in cells],
        "textfont": {"size": SMALL_FONT, "color": inks},
        "xaxis": f"x{n}",
        "yaxis": f"y{n}",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
