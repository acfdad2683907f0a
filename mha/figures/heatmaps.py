"""One map per head as a plain Plotly figure: rows are queries, the first at the top, columns are keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mha import masks
from mha.arrays import Array, Booleans, boolean_array, real_array
from mha.figures import blocked as marks
from mha.figures.grid import FONT, SMALL_FONT, Grid, grid
from mha.figures.labels import full_label, literal_name, plain_label, plain_name, short_label
from mha.figures.palette import MARKED, Colourscale, Theme, colour_at, default_colours, ink_on, theme_named
from mha.figures.plain import BARE_AXIS, plain_layout
from mha.figures.scale import Word, packed, scale_trace, scale_words

Figure = dict[str, Any]

WIDTH = 820  # px: the main area of a page 1280 px wide, beside the sidebar
HEIGHT = 520  # px

# Text in cells is what Plotly draws slowest: 3.5 s for 8,192 numbers.
MOST_NUMBERS = 1_000
_NUMBER_WIDTH, _NUMBER_HEIGHT = 27, 15  # px of one number in its cell
NUMBERS_RULE = f"Numbers stand in the cells when there are fewer than {MOST_NUMBERS:,} cells, each with room for one."

_MAY_NOT = "query %{y} may not look at key %{x}<br>"
_HEAD = "Head "
_MOST_REASONS = 8  # each a trace of its own; with more, the reason stands at every cell
_EMPTY_ROW = "no key left"
_EMPTY_ROW_WIDTH = 64  # px


@dataclass(frozen=True)
class Kind:
    """What a map shows, in words, and how its numbers are written."""

    word: str
    number: str  # d3 format in the hover
    in_cell: str  # Python format


KINDS = {
    "weights": Kind("weight", ".4f", ".2f"),
    "difference": Kind("difference", "+.4f", "+.2f"),
    "scores": Kind("score", ".4f", ".2f"),
}


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several blocks of maps, under a title; all else as in `head_maps`."""

    title: str
    values: ArrayLike
    kind: str = "weights"
    allowed: ArrayLike | None = None
    rules: Sequence[tuple[str, ArrayLike]] = ()
    empty_rows: ArrayLike | None = None
    bound: float | None = None


@dataclass(frozen=True)
class _Maps:
    """Checked input of one panel."""

    values: Array  # (M, Tq, Tk)
    rows: Sequence[str]
    columns: Sequence[str]
    names: Sequence[str]
    colours: Sequence[str]
    blocked: Booleans  # (M, Tq, Tk)
    empty: Booleans  # (M, Tq)
    rules: marks.Rules
    kind: Kind
    low: float  # ends of the colour scale
    high: float
    title: str = ""
    marked_row: int | None = None

    @property
    def scale(self) -> tuple[str, float, float]:
        """What tells one colour scale from another."""
        return self.kind.word, self.low, self.high


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
    maps = _checked(values, rows, columns, names, allowed, rules, empty_rows, kind, bound, colours)
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
    checked = [
        replace(
            _checked(p.values, rows, columns, names, p.allowed, p.rules, p.empty_rows, p.kind, p.bound, colours),
            title=p.title,
        )
        for p in panels
    ]
    place = grid(
        len(names), rows, columns, columns_per_row=columns_per_row, width=width, height=height, panels=len(panels)
    )
    return _figure(checked, place, theme_named(theme), show_values=show_values)


def _figure(panels: list[_Maps], place: Grid, looks: Theme, *, show_values: bool = False) -> Figure:
    scales = list(dict.fromkeys(maps.scale for maps in panels))
    traces: list[dict[str, Any]] = []
    words: list[Word] = []
    for p, maps in enumerate(panels):
        axis = _colour_axis(scales.index(maps.scale))
        traces += [*_map_traces(maps, place, p, axis), *_blocked_traces(maps, place, p, looks)]
        words += _words(maps, place, p, looks)
        if show_values and _numbers_fit(place):
            words += _numbers(maps, place, p, _colours_of(maps.kind, looks))
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


def _colours_of(kind: Kind, looks: Theme) -> Colourscale:
    return looks.weights if kind is KINDS["weights"] else looks.difference


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


def _checked(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    names: Sequence[str],
    allowed: ArrayLike | None,
    rules: Iterable[tuple[str, ArrayLike]],
    empty_rows: ArrayLike | None,
    kind: str,
    bound: float | None,
    colours: Sequence[str] | None,
) -> _Maps:
    values = real_array(values, "values")
    if values.ndim != 3 or not values.size or values.shape[1:] != (len(rows), len(columns)):
        expected = f"(M, Tq, Tk) with Tq = {len(rows)} and Tk = {len(columns)}, all at least 1"
        raise ValueError(f"expected values of shape {expected}, got {values.shape}")
    colours = default_colours(len(names)) if colours is None else colours
    if not len(names) == len(colours) == len(values):
        given = f"{len(names)} names and {len(colours)} colours"
        raise ValueError(f"expected a name and a colour for each of {len(values)} maps, got {given}")
    if kind not in KINDS:
        raise ValueError(f"expected kind to be one of {', '.join(KINDS)}, got {kind!r}")
    may_look = _broadcast(True if allowed is None else allowed, values.shape, "allowed")
    empty = masks.empty_rows(may_look)
    if empty_rows is not None:
        empty = _broadcast(empty_rows, values.shape[:2], "empty_rows")
    blocked = ~may_look | empty[..., None]
    named = [(name, _broadcast(allows, values.shape, f"rule {name!r}")) for name, allows in rules]
    low, high = (0.0, 1.0) if kind == "weights" else _symmetric(values[~blocked], bound)
    return _Maps(values, rows, columns, names, colours, blocked, empty, named, KINDS[kind], low, high)


def _broadcast(array: ArrayLike, shape: tuple[int, ...], name: str) -> Booleans:
    given = boolean_array(array, name)
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"expected {name} to broadcast to {shape}, got {given.shape}") from None


def _symmetric(values: Array, bound: float | None) -> tuple[float, float]:
    if bound is None:
        finite = values[np.isfinite(values)]
        bound = float(np.abs(finite).max(initial=0.0)) or 1.0
    if not bound > 0:
        raise ValueError(f"expected bound to be above 0, got {bound}")
    return -float(bound), float(bound)


def _map_traces(maps: _Maps, place: Grid, panel: int, colour_axis: str) -> list[dict[str, Any]]:
    """The values of a panel; a blocked cell has none."""
    shown = np.where(maps.blocked, np.nan, maps.values).astype("<f4")
    # a difference also has cells that are blocked by now
    pair = "query %{y}, key %{x}" if maps.kind is KINDS["difference"] else "query %{y} looks at key %{x}"
    line = f"{pair}<br>{maps.kind.word} %{{z:{maps.kind.number}}}"
    traces = _traces(maps, place, panel, shown, dict.fromkeys(range(place.maps), line))
    return [trace | {"coloraxis": colour_axis} for trace in traces]


def _blocked_traces(maps: _Maps, place: Grid, panel: int, looks: Theme) -> list[dict[str, Any]]:
    """The blocked cells of a panel, in one grey, and why each is blocked in their hover."""
    if not maps.blocked.any():
        return []
    reason, words = marks.reasons(maps.rules, maps.blocked, maps.empty)
    grey = {"colorscale": [[0, looks.blocked], [1, looks.blocked]], "zmin": 0, "zmax": 1, "showscale": False}
    said = np.array([literal_name(why) for why in words], dtype=object)
    if place.tiled and len(words) - 1 <= _MOST_REASONS:
        each = [
            (np.where(reason == code, np.float32(1.0), np.float32(np.nan)), said[code]) for code in range(1, len(said))
        ]
        return [_tiled_trace(maps, place, panel, z, {_MAY_NOT + why}, None) | grey for z, why in each]
    found = {m: np.flatnonzero(np.bincount(reason[m].ravel())[1:]) + 1 for m in range(place.maps)}
    # a text for each cell costs time, so only where they differ
    lines = {
        m: _MAY_NOT + (said[codes[0]] if len(codes) == 1 else "%{text}") for m, codes in found.items() if len(codes)
    }
    shown = np.where(maps.blocked, np.float32(1.0), np.float32(np.nan))
    return [trace | grey for trace in _traces(maps, place, panel, shown, lines, said[reason])]


def _named(maps: _Maps, m: int) -> str:
    return f"{maps.names[m]} · {maps.title}" if maps.title else maps.names[m]


def _trace(name: str, z: NDArray[Any], corner: tuple[float, float], label: str, line: str) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": literal_name(name),
        "z": packed(z),
        "x0": corner[0],
        "dx": 1,
        "y0": corner[1],
        "dy": 1,
        "hoverongaps": False,
        "hovertemplate": f"<b>{label}</b><br>{line}<extra></extra>",
    }


def _traces(
    maps: _Maps, place: Grid, panel: int, z: Array, lines: dict[int, str], text: NDArray[Any] | None = None
) -> list[dict[str, Any]]:
    """z (M, Tq, Tk) as one heat map, or as one for each map of `lines`, which are what its hover says."""
    if place.tiled:
        return [_tiled_trace(maps, place, panel, z, set(lines.values()), text)]
    return [
        _trace(_named(maps, m), z[m], place.corner(m, panel), literal_name(_named(maps, m)), line)
        | ({"text": text[m].tolist()} if text is not None and "%{text}" in line else {})
        for m, line in lines.items()
    ]


def _tiled_trace(
    maps: _Maps, place: Grid, panel: int, z: Array, lines: set[str], text: NDArray[Any] | None
) -> dict[str, Any]:
    """All maps of a panel as one: a trace costs several times what its cells cost. `customdata` has the maps' names."""
    names = [literal_name(name) for name in maps.names]
    numbers = [name.removeprefix(_HEAD) for name in names]
    prefix = ""
    if all(name.startswith(_HEAD) and number.isdecimal() for name, number in zip(names, numbers, strict=True)):
        prefix = _HEAD  # said once, as it would stand at every cell
    named = np.array([int(number) for number in numbers] if prefix else names, dtype=object)
    label = prefix + "%{customdata}" + (f" · {literal_name(maps.title)}" if maps.title else "")
    line = lines.pop() if len(lines) == 1 else _MAY_NOT + "%{text}"
    trace = _trace(maps.title or "heads", _tiles(z, place, np.nan), place.corner(0, panel), label, line)
    trace["customdata"] = _tiles(np.broadcast_to(named[:, None, None], z.shape), place, 0).tolist()
    if text is not None and "%{text}" in line:
        trace["text"] = _tiles(text, place, "").tolist()
    return trace


def _tiles(array: NDArray[Any], place: Grid, between: Any) -> NDArray[Any]:
    """(M, Tq, Tk) as one 2-D array, the maps where they stand in a panel and `between` in the gaps."""
    high, wide = (round(pitch) for pitch in (place.pitch_y, place.pitch_x))
    tiles = np.full((place.rows * high, place.columns * wide), between, dtype=array.dtype)
    for m, cells in enumerate(array):
        row, column = divmod(m, place.columns)
        tiles[row * high :, column * wide :][: place.queries, : place.keys] = cells
    return tiles[: (place.rows - 1) * high + place.queries, : (place.columns - 1) * wide + place.keys]


def _layout(panels: list[_Maps], scales: list[tuple[str, float, float]], place: Grid, looks: Theme) -> dict[str, Any]:
    kinds = {maps.scale: maps.kind for maps in panels}
    colour_axes = {
        _colour_axis(number): {
            "cmin": scale[1],
            "cmax": scale[2],
            "colorscale": _colours_of(kinds[scale], looks),
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
        "shapes": _shapes(panels, place, looks),
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


def _shapes(panels: list[_Maps], place: Grid, looks: Theme) -> list[dict[str, Any]]:
    """Every mark of one kind in all maps is one path: a shape costs about as much as a map."""
    hatch = frames = strikes = marked = ""
    for p, maps in enumerate(panels):
        for m in range(place.maps):
            x, y = place.corner(m, p)
            xs, ys = marks.edges(x, place.keys), marks.edges(y, place.queries)
            frames += f"M{xs[0]} {ys[0]}H{xs[-1]}V{ys[-1]}H{xs[0]}Z"
            # lines through words would make them hard to read
            hatched = maps.blocked[m] & ~maps.empty[m, :, None]
            if hatched.any():
                hatch += marks.hatch_path(hatched, xs, ys, place.cell_width)
            if maps.marked_row is not None:
                top, bottom = ys[maps.marked_row : maps.marked_row + 2]
                marked += f"M{xs[0]} {top}H{xs[-1]}V{bottom}H{xs[0]}Z"
            struck = [run for run in _empty_runs(maps.empty[m]) if not _empty_row_words_fit(run, place)]
            strikes += "".join(f"M{xs[0]} {y + (run[0] + run[-1]) / 2:.2f}H{xs[-1]}" for run in struck)
    paths = [(hatch, looks.hatch, 1.0), (frames, looks.frame, 1.0), (strikes, looks.quiet, 1.5), (marked, MARKED, 2.5)]
    return [_path(path, colour, width) for path, colour, width in paths if path]


def _empty_runs(empty: Booleans) -> list[range]:
    """Neighbouring rows with no key left, of (Tq,)."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], empty, [False]]).astype(np.int8)))
    return [range(start, stop) for start, stop in ends.reshape(-1, 2).tolist()]


def _path(path: str, colour: str, width: float) -> dict[str, Any]:
    return {"type": "path", "path": path, "line": {"color": colour, "width": width}, "layer": "above"}


def _empty_row_words_fit(run: range, place: Grid) -> bool:
    """Whether such rows can say what they are; else one line goes through them: one in each would be a dark block."""
    return len(run) * place.cell_height >= FONT and place.map_width >= _EMPTY_ROW_WIDTH


def _words(maps: _Maps, place: Grid, panel: int, looks: Theme) -> list[Word]:
    """The panel's title, the maps' names, and "no key left" where it fits."""
    above = 3 / place.cell_height
    words: list[Word] = []
    if maps.title:
        title = f"<b>{literal_name(maps.title)}</b>"
        words.append((*place.title_place(panel), title, "top right", FONT, looks.text))
    for m, (name, colour) in enumerate(zip(maps.names, maps.colours, strict=True)):
        x, y = place.corner(m, panel)
        title = f'<span style="color:{colour}">\u25a0</span> {literal_name(name)}'
        words.append((x - 0.5, y - 0.5 - above, title, "top right", FONT, looks.text))
        middle, words_in_each = x + place.keys / 2 - 0.5, place.cell_height >= FONT
        for run in _empty_runs(maps.empty[m]):
            if _empty_row_words_fit(run, place):
                at = run if words_in_each else [(run[0] + run[-1]) / 2]
                words += [(middle, y + i, _EMPTY_ROW, "middle center", SMALL_FONT, looks.text) for i in at]
    return words


def _numbers(maps: _Maps, place: Grid, panel: int, colours: Colourscale) -> list[Word]:
    """Every value in its cell, in an ink that can be read on the cell's colour."""
    words: list[Word] = []
    for m, i, j in np.argwhere(~maps.blocked & np.isfinite(maps.values)).tolist():
        x, y = place.corner(m, panel)
        value = maps.values[m, i, j]
        share = min(1.0, max(0.0, (value - maps.low) / (maps.high - maps.low)))
        number = f"{value:{maps.kind.in_cell}}".replace("-", "\u2212")
        words.append((x + j, y + i, number, "middle center", SMALL_FONT, ink_on(colour_at(colours, share))))
    return words


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
    maps = _checked(values, rows, columns, names, allowed, (), None, kind, None, None)
    count = "1 heat map" if len(names) == 1 else f"{len(names)} heat maps"
    said = [f"{count}: {_counted(len(rows), 'query', 'queries')} by {_counted(len(columns), 'key', 'keys')}."]
    said += [f"{plain_name(name)}: {_strongest(maps, m)}" for m, name in enumerate(names)]
    return " ".join(said)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _strongest(maps: _Maps, m: int) -> str:
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
