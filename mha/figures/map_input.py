"""What maps are made of: the kinds of numbers they show, panels of them, and input that has been checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mha import masks
from mha.arrays import Array, Booleans, boolean_array, real_array
from mha.figures.blocked import Rules
from mha.figures.palette import Colourscale, Theme, default_colours


@dataclass(frozen=True)
class Kind:
    """What a map shows, in words, and how its numbers are written."""

    word: str
    number: str  # d3 format in the hover
    in_cell: str  # Python format
    scale: str  # the colours of a Theme

    def colours(self, looks: Theme) -> Colourscale:
        """The colours of such numbers."""
        colours: Colourscale = getattr(looks, self.scale)
        return colours

    @property
    def diverges(self) -> bool:
        """Whether they lie on both sides of 0; else they are weights, 0 to 1."""
        return self.scale != "weights"


KINDS = {
    "weights": Kind("weight", ".4f", ".2f", "weights"),
    "difference": Kind("difference", "+.4f", "+.2f", "difference"),
    "scores": Kind("score", ".4f", ".2f", "numbers"),
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
class Maps:
    """Checked input of one panel."""

    values: Array  # (M, Tq, Tk)
    rows: Sequence[str]
    columns: Sequence[str]
    names: Sequence[str]
    colours: Sequence[str]
    blocked: Booleans  # (M, Tq, Tk)
    empty: Booleans  # (M, Tq)
    rules: Rules
    kind: Kind
    low: float  # ends of the colour scale
    high: float
    title: str = ""
    marked_row: int | None = None

    @property
    def scale(self) -> tuple[str, float, float]:
        """What tells one colour scale from another."""
        return self.kind.word, self.low, self.high


def checked(
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
) -> Maps:
    """The arguments of `head_maps`, broadcast; ValueError for shapes that do not fit, and for no token at all."""
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
    low, high = _symmetric(values[~blocked], bound) if KINDS[kind].diverges else (0.0, 1.0)
    return Maps(values, rows, columns, names, colours, blocked, empty, named, KINDS[kind], low, high)


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
