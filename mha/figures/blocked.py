"""Cells that may not be looked at: which rule blocked them, and the lines that mark them without colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mha.arrays import Booleans, Integers

Rules = Sequence[tuple[str, Booleans]]

_HATCH_PITCH = 8.0  # px between two lines


def reasons(rules: Rules, blocked: Booleans, empty: Booleans) -> tuple[Integers, list[str]]:
    """Why each cell is blocked: a place in the list of words, (M, Tq, Tk); 0, which is "", where it is not.

    rules: name and allowed, booleans that broadcast to (M, Tq, Tk), True = may look. empty: (M, Tq).
    """
    codes = np.where(blocked, np.where(empty[..., None], 2, 1), 0)
    for bit, (_, allowed) in enumerate(rules):
        codes |= np.where(allowed | ~blocked, 0, 4 << bit)
    present = np.flatnonzero(np.bincount(codes.ravel()))
    present = present[present > 0]
    places = np.zeros(4 << len(rules), dtype=np.int64)
    places[present] = np.arange(1, len(present) + 1)
    return places[codes], ["", *(_in_words(code, rules) for code in present.tolist())]


def _in_words(code: int, rules: Rules) -> str:
    names = [name for bit, (name, _) in enumerate(rules) if code & (4 << bit)]
    by = f"blocked by {' and '.join(names)}" if names else "blocked"
    if code & 2:
        return f"no key left: {by}" if names else "no key left"
    return by


def edges(start: float, count: int) -> list[str]:
    """The borders of `count` cells as numbers of an SVG path, the first cell's middle at `start`."""
    return [f"{start - 0.5 + i:.2f}" for i in range(count + 1)]


def hatch_path(blocked: Booleans, xs: list[str], ys: list[str], cell: float) -> str:
    """Slanted lines over the blocked cells of one map, (Tq, Tk), as an SVG path: the mark that is not a colour.

    xs, ys: the borders of its columns and rows, from `edges`; cell: the width of a cell in px.
    """
    lines = round(cell / _HATCH_PITCH)
    if lines > 1:
        return _lines_in_each_cell(blocked, float(xs[0]), float(ys[0]), lines)
    return _lines_through_cells(blocked, xs, ys, max(1, round(_HATCH_PITCH / cell)))


def _lines_in_each_cell(blocked: Booleans, x: float, y: float, lines: int) -> str:
    offsets = [step / lines for step in range(1, 2 * lines)]
    ends = [(max(0.0, t - 1), min(1.0, t)) for t in offsets]
    return "".join(
        f"M{x + j + low:.2f} {y + i + high:.2f}L{x + j + high:.2f} {y + i + low:.2f}"
        for i, j in np.argwhere(blocked).tolist()
        for low, high in ends
    )


def _lines_through_cells(blocked: Booleans, xs: list[str], ys: list[str], every: int) -> str:
    """Whole diagonals at once: small cells are many, and a line for each would cost more than the map."""
    queries, keys = blocked.shape
    i, j = np.nonzero(blocked)
    sheared = np.zeros((queries + keys - 1, queries), dtype=np.bool_)  # (i + j, i): one row per diagonal
    sheared[i + j, i] = True
    runs = ((d * every + every - 1, a, b) for d, a, b in _runs(sheared[every - 1 :: every]))
    return "".join(f"M{xs[d - a + 1]} {ys[a]}L{xs[d - b]} {ys[b + 1]}" for d, a, b in runs)


def _runs(cells: Booleans) -> list[tuple[int, int, int]]:
    """Runs of True along the rows of a 2-D array: row, first and last column of each."""
    padded = np.zeros((cells.shape[0], cells.shape[1] + 2), dtype=np.bool_)
    padded[:, 1:-1] = cells
    row, first = np.nonzero(padded[:, 1:-1] & ~padded[:, :-2])
    last = np.nonzero(padded[:, 1:-1] & ~padded[:, 2:])[1]
    return list(zip(row.tolist(), first.tolist(), last.tolist(), strict=True))
