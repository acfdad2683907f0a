"""One map per head as a plain Plotly figure: rows are queries, the first at the top, columns are keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mha.figures.grid import FONT, SMALL_FONT, Grid, grid
from mha.figures.labels import full_label, plain_label, plain_name, short_label
from mha.figures.map_input import Maps, Panel, checked
from mha.figures.map_marks import map_shapes, numbers_in, words_on
from mha.figures.map_traces import blocked_traces, map_traces
from mha.figures.palette import Theme, theme_named
from mha.figures.plain import BARE_AXIS, Figure, plain_layout
from mha.figures.scale import Word, scale_trace, scale_words

WIDTH = 820  # px: the main area of a page 1280 px wide, beside the sidebar
HEIGHT = 520  # px

# Text in cells is what Plotly draws slowest: 3.5 s for 8,192 numbers.
MOST_NUMBERS = 1_000
_NUMBER_WIDTH, _NUMBER_HEIGHT = 27, 15  # px of one number in its cell
NUMBERS_RULE = f"Numbers stand in the cells when there are fewer than {MOST_NUMBERS:,} cells, each with room for one."


def head_maps(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: Sequence[str],
    allowed: ArrayLike | None = None,
    rules: Iterable[tuple[str, ArrayLike]] = (),
    empty_rows: ArrayLike | None = None,
    kind: str = "weights",
    bound: float | None = None,
    colours: Sequence[str] | None = None,
    columns_per_row: int | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
    theme: str = "light",
    show_values: bool = False,
    marked_row: int | None = None,
) -> Figure:
    """M maps of (Tq, Tk) cells on one colour scale, as the dict of a Plotly figure.

    values: (M, Tq, Tk); NaN is "not defined". rows: the Tq looking tokens; columns: the Tk tokens looked at. names: M
    titles, each with a mark in its colour (the heads' own if `colours` is None).
    allowed: booleans that broadcast to (M, Tq, Tk), True = may look; the other cells are hatched. rules: name and
    allowed cells of each rule, for the hover of a blocked cell. empty_rows: (M, Tq), rows with no key left; None takes
    those where nothing is allowed.
    kind: "weights" (scale fixed at 0 to 1), "difference" or "scores" (scale from -bound to bound, the same for all
    maps; None takes the largest absolute value).
    columns_per_row, width, height: maps side by side and px of the chart, as in `grid`; maps of Tq = Tk are square at
    that width. show_values writes the numbers into the cells if they fit (`numbers_fit`).
    marked_row: a row, from 0, that a line is drawn around in every map.
    Raises ValueError for shapes that do not fit, and for no token at all.
    """
    maps = checked(values, rows, columns, names, allowed, rules, empty_rows, kind, bound, colours)
    if marked_row is not None:
        if not 0 <= marked_row < len(rows):
            raise ValueError(f"expected marked_row from 0 to {len(rows) - 1}, got {marked_row}")
        maps = replace(maps, marked_row=marked_row)
    place = grid(len(maps.values), rows, columns, columns_per_row=columns_per_row, width=width, height=height)
    return _figure([maps], place, theme_named(theme), show_values=show_values)


def stacked_maps(
    panels: Sequence[Panel],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: Sequence[str],
    colours: Sequence[str] | None = None,
    columns_per_row: int | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
    theme: str = "light",
    show_values: bool = False,
) -> Figure:
    """Several panels of M maps each as one figure: one figure of three panels is painted sooner than three figures.

    The panels have the same rows, columns and names; each distinct scale stands once, beside the first panel that has
    it. All else as in `head_maps`. Raises ValueError for no panel, too.
    """
    if not panels:
        raise ValueError("expected at least one panel, got none")
    made = [
        replace(
            checked(p.values, rows, columns, names, p.allowed, p.rules, p.empty_rows, p.kind, p.bound, colours),
            title=p.title,
        )
        for p in panels
    ]
    place = grid(
        len(names), rows, columns, columns_per_row=columns_per_row, width=width, height=height, panels=len(panels)
    )
    return _figure(made, place, theme_named(theme), show_values=show_values)


def _figure(panels: list[Maps], place: Grid, looks: Theme, *, show_values: bool = False) -> Figure:
    scales = list(dict.fromkeys(maps.scale for maps in panels))
    traces: list[dict[str, Any]] = []
    words: list[Word] = []
    for p, maps in enumerate(panels):
        axis = _colour_axis(scales.index(maps.scale))
        traces += [*map_traces(maps, place, p, axis), *blocked_traces(maps, place, p, looks)]
        words += words_on(maps, place, p, looks)
        if show_values and _numbers_fit(place):
            words += numbers_in(maps, place, p, looks)
    first = {maps.scale: p for p, maps in reversed(list(enumerate(panels)))}
    # on a phone a panel may fill the screen, so each has its scale
    shown = [(maps.scale, p) for p, maps in enumerate(panels) if place.narrow or first[maps.scale] == p]
    for count, (scale, p) in enumerate(shown):
        box = place.scale_box(count if place.across else p, len(scales))
        traces.append(scale_trace(*scale[1:], place, box) | {"coloraxis": _colour_axis(scales.index(scale))})
        words += scale_words(*scale, place, box, looks)
    return {"data": [*traces, _text_trace(words)], "layout": _layout(panels, scales, place, looks)}


def _colour_axis(number: int) -> str:
    return f"coloraxis{number + 1 if number else ''}"


def numbers_fit(
    maps: int,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    columns_per_row: int | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> bool:
    """Whether `head_maps` of the same arguments would write numbers into its cells; `NUMBERS_RULE` says it in words."""
    return _numbers_fit(grid(maps, rows, columns, columns_per_row=columns_per_row, width=width, height=height))


def _numbers_fit(place: Grid) -> bool:
    few = place.panels * place.maps * place.queries * place.keys < MOST_NUMBERS
    return few and place.cell_width >= _NUMBER_WIDTH and place.cell_height >= _NUMBER_HEIGHT


def _layout(panels: list[Maps], scales: list[tuple[str, float, float]], place: Grid, looks: Theme) -> dict[str, Any]:
    kinds = {maps.scale: maps.kind for maps in panels}
    colour_axes = {
        _colour_axis(number): {
            "cmin": scale[1],
            "cmax": scale[2],
            "colorscale": kinds[scale].colours(looks),
            "showscale": False,
        }
        for number, scale in enumerate(scales)
    }
    return plain_layout(looks, FONT) | {
        "height": place.height,
        "margin": {"l": place.left, "r": place.right, "t": place.top, "b": place.bottom, "autoexpand": False},
        **colour_axes,
        "xaxis": _x_axis(panels[0].columns, place, looks),
        "yaxis": _y_axis(panels[0].rows, place, looks),
        "shapes": map_shapes(panels, place, looks),
    }


def _x_axis(columns: Sequence[str], place: Grid, looks: Theme) -> dict[str, Any]:
    if place.across:
        starts = [place.corner(0, panel)[0] for panel in range(place.panels)]
    else:
        starts = [place.corner(m)[0] for m in range(place.columns)]
    title = "key (what is looked at)"
    axis = _axis(columns, starts, place.key_step, place.x_range, title, looks)
    return axis | {"tickangle": place.label_angle}


def _y_axis(rows: Sequence[str], place: Grid, looks: Theme) -> dict[str, Any]:
    panels = range(1 if place.across else place.panels)
    starts = [place.corner(row * place.columns, panel)[1] for panel in panels for row in range(place.rows)]
    return _axis(rows, starts, place.query_step, place.y_range, "query (who looks)", looks)


def _axis(
    tokens: Sequence[str],
    starts: Sequence[float],
    step: int,
    span: tuple[float, float],
    title: str,
    looks: Theme,
) -> dict[str, Any]:
    """An axis with a short label at every `step`-th token and the full one of every token for the hover.

    The hover takes the text of a tick within 1/10,000 of the axis from its cell. Ticks stand twice as far off, a
    fraction of a pixel, so that it finds the full text in `labelalias` instead.
    """
    full = [f"{i + 1} \u201c{full_label(token)}\u201d" for i, token in enumerate(tokens)]
    short = [short_label(token) for token in tokens[::step]]
    off = abs(span[1] - span[0]) / 5_000
    return {
        "range": list(span),
        "tickmode": "array",
        "tickvals": [start + i + off for start in starts for i in range(0, len(tokens), step)],
        "ticktext": short * len(starts),
        "tickformat": ".2f",
        "labelalias": {f"{start + i:.2f}": label for start in starts for i, label in enumerate(full)},
        "tickfont": {"size": SMALL_FONT, "color": looks.text},
        "title": {"text": title, "font": {"size": FONT, "color": looks.quiet}},
        **BARE_AXIS,
    }


def _text_trace(words: list[Word]) -> dict[str, Any]:
    """All words inside the figure as one trace: annotations take three times as long."""
    x, y, texts, places, sizes, colours = (list(column) for column in zip(*words, strict=True))
    return {
        "type": "scatter",
        "mode": "text",
        "name": "words",
        "x": x,
        "y": y,
        "text": texts,
        "textposition": places,
        "textfont": {"size": sizes, "color": colours},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def describe_maps(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: Sequence[str],
    allowed: ArrayLike | None = None,
    kind: str = "weights",
) -> str:
    """The maps in words, for people who do not see them: how many, how large, and the strongest cell of each.

    Arguments as in `head_maps`.
    """
    maps = checked(values, rows, columns, names, allowed, (), None, kind, None, None)
    count = "1 heat map" if len(names) == 1 else f"{len(names)} heat maps"
    said = [f"{count}: {_counted(len(rows), 'query', 'queries')} by {_counted(len(columns), 'key', 'keys')}."]
    said += [f"{plain_name(name)}: {_strongest(maps, m)}" for m, name in enumerate(names)]
    return " ".join(said)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _strongest(maps: Maps, m: int) -> str:
    empty = int(maps.empty[m].sum())
    none_left = f" {_counted(empty, 'query has', 'queries have')} no key left." if empty else ""
    open_cells = ~maps.blocked[m] & np.isfinite(maps.values[m])
    if not open_cells.any():
        return f"nothing is looked at.{none_left}"
    # a query with one key gives it all its weight, which says nothing about the head
    with_choice = open_cells & (open_cells.sum(axis=-1, keepdims=True) > 1)
    counted = with_choice if with_choice.any() else open_cells
    i, j = divmod(int(np.where(counted, np.abs(maps.values[m]), -1).argmax()), len(maps.columns))
    where = "" if counted.sum() == open_cells.sum() else " of a query with several keys"
    pair = f"{plain_label(maps.rows[i])} ({i + 1}) looks at {plain_label(maps.columns[j])} ({j + 1})"
    return f"largest {maps.kind.word}{where} {maps.values[m, i, j]:.2f}, {pair}.{none_left}"
