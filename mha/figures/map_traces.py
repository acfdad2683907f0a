"""Maps as traces of a Plotly figure: the values, and the blocked cells with the reason in their hover."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha.arrays import Array
from mha.figures import blocked as marks
from mha.figures.grid import Grid
from mha.figures.labels import literal_name
from mha.figures.map_input import KINDS, Maps
from mha.figures.palette import Theme
from mha.figures.scale import packed

_MAY_NOT = "query %{y} may not look at key %{x}<br>"
_HEAD = "Head "
_MOST_REASONS = 8  # each a trace of its own; with more, the reason stands at every cell


def map_traces(maps: Maps, place: Grid, panel: int, colour_axis: str) -> list[dict[str, Any]]:
    """The values of a panel; a blocked cell has none."""
    shown = np.where(maps.blocked, np.nan, maps.values).astype("<f4")
    # a difference also has cells that are blocked by now
    pair = "query %{y}, key %{x}" if maps.kind is KINDS["difference"] else "query %{y} looks at key %{x}"
    line = f"{pair}<br>{maps.kind.word} %{{z:{maps.kind.number}}}"
    traces = _traces(maps, place, panel, shown, dict.fromkeys(range(place.maps), line))
    return [trace | {"coloraxis": colour_axis} for trace in traces]


def blocked_traces(maps: Maps, place: Grid, panel: int, looks: Theme) -> list[dict[str, Any]]:
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


def _named(maps: Maps, m: int) -> str:
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
    maps: Maps, place: Grid, panel: int, z: Array, lines: dict[int, str], text: NDArray[Any] | None = None
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
    maps: Maps, place: Grid, panel: int, z: Array, lines: set[str], text: NDArray[Any] | None
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
