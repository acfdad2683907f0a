"""What a restriction may say about the three attentions of a translator, for texts of any length.

While it decodes, a translator does not know yet how many words there will be, and texts of a batch differ in length.
So a restriction is no array but a function from `Places` to a rule of `mha.masks`: any rule will do. Axes: see
`mha.attention`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mha import masks
from mha.arrays import Integers
from mha.config import whole_number


@dataclass(frozen=True, eq=False)
class Places:
    """What there is to look at. A text's keys come first, then padding.

    lens (B or 1, Tq): the keys that row i of a text has at all. In the encoder and in cross-attention these are the
    source's words and its end mark; in the decoder the start mark and the words produced before row i, i + 1 in all.
    """

    num_heads: int
    lens: Integers
    Tk: int

    @property
    def Tq(self) -> int:
        """Rows."""
        return self.lens.shape[1]


Restriction: TypeAlias = Callable[[Places], masks.Rule]


@dataclass(frozen=True)
class Rules:
    """Restrictions of the encoder's and the decoder's self-attention, and of cross-attention; they join by AND."""

    encoder: tuple[Restriction, ...] = ()
    decoder: tuple[Restriction, ...] = ()
    cross: tuple[Restriction, ...] = ()


FREE = Rules()


@dataclass(frozen=True)
class HeadsOff:
    """A query of head h may look at no key if h is among `heads` (from 0): the head adds nothing."""

    heads: tuple[int, ...]

    def __call__(self, places: Places) -> masks.Rule:
        on = np.ones((places.num_heads, places.Tk), dtype=np.bool_)
        for head in self.heads:
            on[whole_number(head, "a head", 0, places.num_heads - 1)] = False
        return masks.Rule("head off", masks.heads(on, places.Tk).allowed)


@dataclass(frozen=True)
class Halves:
    """Head h may look at key j if floor(h*n/H) <= j < floor((h+1)*n/H), with n the keys that the row has."""

    def __call__(self, places: Places) -> masks.Rule:
        H, key = places.num_heads, np.arange(places.Tk)
        borders = np.arange(H + 1) * places.lens[..., None] // H  # (B, Tq, H + 1)
        owned = (borders[..., :-1, None] <= key) & (key < borders[..., 1:, None])  # (B, Tq, H, Tk)
        return masks.Rule("halves", owned.swapaxes(1, 2))


@dataclass(frozen=True)
class HeadPositions:
    """Head h may look at key j if j is among positions[h] (from 0)."""

    positions: tuple[tuple[int, ...], ...]

    def __call__(self, places: Places) -> masks.Rule:
        if len(self.positions) != places.num_heads:
            raise ValueError(f"expected positions for {places.num_heads} heads, got {len(self.positions)}")
        allowed = [np.isin(np.arange(places.Tk), own) for own in self.positions]
        return masks.Rule("positions", masks.heads(np.array(allowed), places.Tk).allowed)


@dataclass(frozen=True)
class Window:
    """Row i may look at key j if i - left <= j <= i + right; None is no bound on that side."""

    left: int | None
    right: int | None

    def __call__(self, places: Places) -> masks.Rule:
        return masks.window(places.Tq, places.Tk, self.left, self.right)


@dataclass(frozen=True)
class FirstWords:
    """Row i may look at key j if j <= i + ahead, or if key j is the last one of its text, the end mark.

    For cross-attention: the word that is i-th in the translation is made from the first i words of the source, and
    `ahead` further ones.
    """

    ahead: int = 0

    def __call__(self, places: Places) -> masks.Rule:
        seen = masks.window(places.Tq, places.Tk, None, whole_number(self.ahead, "ahead", 0)).allowed[0]
        is_last = np.arange(places.Tk) == places.lens[..., None] - 1  # (B, Tq, Tk)
        return masks.Rule("first words", (seen | is_last)[:, None])
