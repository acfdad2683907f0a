"""Who may look where: small named rules, and a mask that knows which rule blocked a cell.

True means "may attend", everywhere. A rule is one sentence about one element: "query i may look at key j if ...".
Rules combine with AND. Axes: see `mha.attention`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import AnyArray, Array, Booleans, Integers, boolean_array, broadcast, frozen, real_array, refuse_where
from mha.config import whole_number

Shape: TypeAlias = tuple[int, int, int, int]  # (B, H, Tq, Tk)
AXES = "(B, H, Tq, Tk)"


@dataclass(frozen=True, eq=False)
class Rule:
    """A named reason: `allowed` is boolean and 4-D, it broadcasts to (B, H, Tq, Tk), and it is read-only."""

    name: str
    allowed: Booleans

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"expected a rule's name to be a non-empty str, got {self.name!r}")
        allowed = boolean_array(self.allowed, f"rule {self.name!r}")
        if allowed.ndim != 4:
            raise ValueError(f"expected rule {self.name!r} of shape {AXES}, got {allowed.shape}")
        object.__setattr__(self, "allowed", frozen(allowed))


@dataclass(frozen=True, eq=False)
class Mask:
    """Rules combined with AND by `combine`: `allowed` (B, H, Tq, Tk) boolean, read-only."""

    allowed: Booleans
    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        allowed = boolean_array(self.allowed, "a mask")
        if allowed.ndim != 4:
            raise ValueError(f"expected a mask of shape {AXES}, got {allowed.shape}")
        object.__setattr__(self, "allowed", frozen(allowed))

    def blocked_by(self, b: int, h: int, i: int, j: int) -> tuple[str, ...]:
        """Names of the rules that block key j for query i in head h of text b (all count from 0); () if none."""
        shape = self.allowed.shape
        cell = tuple(
            whole_number(index, axis, 0, length - 1)
            for axis, index, length in zip("bhij", (b, h, i, j), shape, strict=True)
        )
        return tuple(rule.name for rule in self.rules if not np.broadcast_to(rule.allowed, shape)[cell])


def causal(Tq: int, Tk: int) -> Rule:
    """Query i may look at key j if j <= i. With Tq != Tk the first query meets the first key (top-left)."""
    return Rule("causal", (_keys(Tk) <= _queries(Tq))[None, None])


def valid_lens(lens: ArrayLike, Tk: int) -> Rule:
    """Query i of text b may look at key j if j < lens[b], or j < lens[b, i]: the rest is padding.

    lens: (B,) or (B, Tq) whole numbers 0..Tk. It blocks keys, never queries, and is the same for every head.
    """
    whole_number(Tk, "Tk", 0)
    lengths = real_array(lens, "valid_lens")
    if lengths.ndim not in (1, 2):
        raise ValueError(f"expected valid_lens of shape (B,) or (B, Tq), got {lengths.shape}")
    wrong = ~((lengths >= 0) & (lengths <= Tk) & (lengths == np.floor(lengths)))  # NaN is wrong too
    refuse_where(wrong, lengths, f"expected valid_lens to be whole numbers from 0 to {Tk}")
    per_query = lengths.reshape(len(lengths), 1, *(lengths.shape[1:] or (1,)), 1)
    return Rule("valid_lens", np.arange(Tk) < per_query)


def window(Tq: int, Tk: int, left: int | None, right: int | None) -> Rule:
    """Query i may look at key j if i - left <= j <= i + right; None is no bound on that side."""
    distance = _keys(Tk) - _queries(Tq)
    allowed = np.ones(distance.shape, dtype=np.bool_)
    if left is not None:
        allowed &= distance >= -whole_number(left, "left", 0)
    if right is not None:
        allowed &= distance <= whole_number(right, "right", 0)
    return Rule("window", allowed[None, None])


def heads(allowed: ArrayLike, Tk: int) -> Rule:
    """Head h may look at key j if allowed[h, j]. allowed: boolean (H, Tk)."""
    whole_number(Tk, "Tk", 0)
    per_head = boolean_array(allowed, "allowed")
    if per_head.ndim != 2 or per_head.shape[1] != Tk:
        raise ValueError(f"expected allowed of shape (H, Tk) with Tk = {Tk}, got {per_head.shape}")
    return Rule("heads", per_head[None, :, None])


def halves(num_heads: int, Tk: int) -> Rule:
    """Head h may look at key j if floor(h*Tk/H) <= j < floor((h+1)*Tk/H): each head its own block of the keys.

    5 keys and 2 heads give 2 + 3; with fewer keys than heads some heads own none, and their rows are empty.
    """
    H = whole_number(num_heads, "num_heads", 1)
    borders = np.arange(H + 1) * whole_number(Tk, "Tk", 0) // H
    key = np.arange(Tk)
    owned = (borders[:-1, None] <= key) & (key < borders[1:, None])
    return Rule("halves", owned[None, :, None])


def custom(array: ArrayLike, name: str = "custom") -> Rule:
    """Query i may look at key j if the array says so. Shapes: (Tk,), (Tq, Tk) or anything 4-D that broadcasts.

    A 3-D array is refused: it could mean one map per text or per head.
    """
    return Rule(name, _four_axes(boolean_array(array, name), name))


def bias(array: ArrayLike) -> Rule:
    """Query i may look at key j unless its bias is -inf: the part of a bias that blocks, by the name "bias"."""
    return Rule("bias", _four_axes(bias_array(array), "bias") != -np.inf)


def combine(*rules: Rule, shape: Shape) -> Mask:
    """The cells that every rule allows, as a Mask of `shape` (B, H, Tq, Tk)."""
    shape = _shape(shape)
    allowed = np.ones(shape, dtype=np.bool_)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise ValueError(f"expected rules, got {type(rule).__name__}; arrays become rules by masks.custom")
        allowed &= broadcast(rule.allowed, shape, f"rule {rule.name!r}", AXES)
    return Mask(allowed, rules)


def resolve(mask: Mask | Rule | ArrayLike | None, shape: Shape) -> Booleans:
    """Any mask that `attend` takes as a boolean array (B, H, Tq, Tk)."""
    if isinstance(mask, Mask):
        if mask.allowed.shape != shape:
            raise ValueError(f"expected a mask of shape {AXES} = {shape}, got {mask.allowed.shape}")
        return mask.allowed
    if mask is None:
        return combine(shape=shape).allowed
    return combine(mask if isinstance(mask, Rule) else custom(mask, "mask"), shape=shape).allowed


def bias_array(array: ArrayLike) -> Array:
    """A bias as float64; -inf is allowed (it blocks its cell), +inf and NaN are refused by position."""
    given = real_array(array, "bias")
    refuse_where(np.isnan(given) | (given == np.inf), given, "expected bias to be finite, or -inf to block")
    return given


def resolve_bias(array: ArrayLike | None, shape: Shape) -> Array | None:
    """The bias that `attend` takes, broadcast to (B, H, Tq, Tk); None stays None."""
    if array is None:
        return None
    return broadcast(_four_axes(bias_array(array), "bias"), shape, "bias", AXES)


def empty_rows(allowed: Booleans) -> Booleans:
    """Rows with no key left, (..., Tq) from (..., Tq, Tk)."""
    return ~np.any(allowed, axis=-1)


def _queries(Tq: int) -> Integers:
    return np.arange(whole_number(Tq, "Tq", 0))[:, None]


def _keys(Tk: int) -> Integers:
    return np.arange(whole_number(Tk, "Tk", 0))


def _shape(shape: Shape) -> Shape:
    if not isinstance(shape, tuple | list) or len(shape) != 4:
        raise ValueError(f"expected shape {AXES}, got {shape!r}")
    B, H, Tq, Tk = (whole_number(length, axis, 0) for axis, length in zip(("B", "H", "Tq", "Tk"), shape, strict=True))
    return B, H, Tq, Tk


def _four_axes(array: AnyArray, name: str) -> AnyArray:
    """`array` with axes of length 1 put in front until it is 4-D."""
    if array.ndim == 3:
        raise ValueError(
            f"expected {name} of shape (Tk,), (Tq, Tk) or {AXES}, got {array.shape}, which could mean per text or "
            "per head; write (B, 1, Tq, Tk) for per text, array[:, None], or (1, H, Tq, Tk) for per head, array[None]"
        )
    if array.ndim > 4:
        raise ValueError(f"expected {name} of shape (Tk,), (Tq, Tk) or {AXES}, got {array.shape}")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)
