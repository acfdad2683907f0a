"""What may come in as an array, and the words for what may not."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
AnyArray = TypeVar("AnyArray", Array, Booleans)


def real_array(array: ArrayLike, name: str) -> Array:
    """`array` as contiguous float64, so that strides cannot change a result; refuses what is no number."""
    try:
        given = np.asarray(array)
    except ValueError as problem:  # ragged lists
        raise ValueError(f"expected {name} to be an array of numbers, got {problem}") from None
    if given.dtype.kind not in "iuf":
        raise ValueError(f"expected {name} to be real numbers, got dtype {given.dtype}")
    return np.ascontiguousarray(given, dtype=np.float64).reshape(given.shape)


def finite_array(array: ArrayLike, name: str) -> Array:
    """`real_array` without NaN or infinity: one of those is refused by its position."""
    given = real_array(array, name)
    refuse_where(~np.isfinite(given), given, f"expected {name} to be finite")
    return given


def boolean_array(array: ArrayLike, name: str) -> Booleans:
    """`array` as booleans: bool, or integers that are all 0 or 1. True means "may attend"."""
    try:
        given = np.asarray(array)
    except ValueError as problem:
        raise ValueError(f"expected {name} to be an array of booleans, got {problem}") from None
    if given.size == 0:
        return given.astype(np.bool_)
    if given.dtype.kind == "f":
        raise ValueError(
            f"expected {name} to be boolean (True = may attend) or 0/1 integers, got floats of dtype {given.dtype}; "
            "to add numbers to the scores pass them as bias="
        )
    if given.dtype.kind not in "biu":
        raise ValueError(f"expected {name} to be boolean or 0/1 integers, got dtype {given.dtype}")
    refuse_where((given != 0) & (given != 1), given, f"expected {name} to hold only 0 and 1")
    return given.astype(np.bool_)


def refuse_where(bad: Booleans, array: NDArray[np.generic], expected: str) -> None:
    """A ValueError that names the first bad element by its position, if there is one."""
    if bad.any():
        place = tuple(int(axis) for axis in np.argwhere(bad)[0])
        raise ValueError(f"{expected}, got {array[place]} at {place}")


def broadcast(array: AnyArray, shape: tuple[int, ...], name: str, axes: str) -> AnyArray:
    """`array` in `shape`, read-only, or a ValueError with both shapes."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"expected {name} to broadcast to {axes} = {shape}, got shape {array.shape}") from None


def frozen(array: AnyArray) -> AnyArray:
    """`array` itself, closed for writing."""
    array.flags.writeable = False
    return array
