"""What is drawn and written over maps: frames, the lines over blocked cells, names, and numbers in cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from mha.arrays import Booleans
from mha.figures import blocked as marks
from mha.figures.grid import FONT, SMALL_FONT, Grid
from mha.figures.labels import literal_name
from mha.figures.map_input import Maps
from mha.figures.palette import MARKED, Theme, colour_at, ink_on
from mha.figures.scale import Word

_EMPTY_ROW = "no key left"
_EMPTY_ROW_WIDTH = 64  # px


def map_shapes(panels: list[Maps], place: Grid, looks: Theme) -> list[dict[str, Any]]:
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


def words_on(maps: Maps, place: Grid, panel: int, looks: Theme) -> list[Word]:
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


def numbers_in(maps: Maps, place: Grid, panel: int, looks: Theme) -> list[Word]:
    """Every value in its cell, in an ink that can be read on the cell's colour."""
    colours = maps.kind.colours(looks)
    words: list[Word] = []
    for m, i, j in np.argwhere(~maps.blocked & np.isfinite(maps.values)).tolist():
        x, y = place.corner(m, panel)
        value = maps.values[m, i, j]
        share = min(1.0, max(0.0, (value - maps.low) / (maps.high - maps.low)))
        number = f"{value:{maps.kind.in_cell}}"
        if not float(number):
            number = number.lstrip("+-")  # a zero has no sign
        number = number.replace("-", "\u2212")
        words.append((x + j, y + i, number, "middle center", SMALL_FONT, ink_on(colour_at(colours, share))))
    return words
