"""Which positions each head may look at in the Day 28 experiment: one small rule for every kind of restriction.

A rule's name is what the hover of a cell says blocked it. Axes: see `mha.attention`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from mha import masks
from mha.config import one_of, whole_number
from mha.masks import Rule

KINDS = ("own blocks", "odd and even", "own position", "nearest", "first token", "all but the first", "ticked")
OFF = "head off"


def of_kind(kind: str, num_heads: int, T: int, *, k: int = 1, allowed: ArrayLike | None = None) -> Rule:
    """The rule of this kind for T positions that look at themselves. k: of "nearest"; allowed: of "ticked", (H, T)."""
    one_of(kind, "kind", KINDS)
    makers: dict[str, Callable[[], Rule]] = {
        "own blocks": lambda: own_blocks(num_heads, T),
        "odd and even": lambda: odd_even(num_heads, T),
        "own position": lambda: own_position(T),
        "nearest": lambda: nearest(T, k),
        "first token": lambda: first_only(T),
        "all but the first": lambda: all_but_first(T),
        "ticked": lambda: ticked(np.ones((num_heads, T), dtype=np.bool_) if allowed is None else allowed, T),
    }
    return makers[kind]()


def own_blocks(num_heads: int, Tk: int) -> Rule:
    """Query i of head h may look at key j if j lies in block h of H equal blocks: the exercise's halves for 2 heads.

    5 keys and 2 heads give 2 + 3; with fewer keys than heads some heads own none (`masks.halves`).
    """
    return Rule("own block only", masks.halves(num_heads, Tk).allowed)


def odd_even(num_heads: int, Tk: int) -> Rule:
    """Query i of head h may look at key j if j and h are both odd or both even, counted from 1.

    So with any number of heads they take turns: heads 1, 3, 5 look at positions 1, 3, 5, heads 2, 4, 6 at 2, 4, 6.
    """
    head = np.arange(whole_number(num_heads, "num_heads", 1))[:, None]
    key = np.arange(whole_number(Tk, "Tk", 0))
    # both counted from 0 gives the same pairs as both counted from 1
    return Rule("odd or even positions only", (key % 2 == head % 2)[None, :, None])


def own_position(T: int) -> Rule:
    """Query i may look at key j if j = i."""
    return Rule("own position only", np.eye(whole_number(T, "T", 0), dtype=np.bool_)[None, None])


def nearest(T: int, k: int) -> Rule:
    """Query i may look at key j if fewer than k keys are nearer to it; of two as near the earlier one counts first.

    Position i itself is the nearest. Every row keeps min(k, T) keys, at the ends of the text too.
    """
    whole_number(k, "k", 1)
    position = np.arange(whole_number(T, "T", 0))
    distance = np.abs(position - position[:, None])
    by_distance = np.argsort(distance, axis=-1, kind="stable")  # stable: the earlier of two as near
    rank = np.argsort(by_distance, axis=-1)
    return Rule(f"nearest {k} only", (rank < k)[None, None])


def first_only(Tk: int) -> Rule:
    """Query i may look at key j if j is the first."""
    return Rule("first token only", (np.arange(whole_number(Tk, "Tk", 0)) == 0)[None, None, None])


def all_but_first(Tk: int) -> Rule:
    """Query i may look at key j if j is not the first."""
    return Rule("all but the first token", (np.arange(whole_number(Tk, "Tk", 0)) > 0)[None, None, None])


def ticked(allowed: ArrayLike, Tk: int) -> Rule:
    """Query i of head h may look at key j if allowed[h, j]: a grid heads x positions, boolean (H, Tk)."""
    return Rule("ticked positions only", masks.heads(allowed, Tk).allowed)


def heads_off(off: Iterable[int], num_heads: int) -> Rule:
    """Query i of head h may look at key j if head h is not in `off` (counted from 0)."""
    H = whole_number(num_heads, "num_heads", 1)
    on = np.ones(H, dtype=np.bool_)
    for h in off:
        on[whole_number(h, "a head that is off", 0, H - 1)] = False
    return Rule(OFF, on[None, :, None, None])
