"""What comes in as an array: its type, its layout, and the words for what may not."""

from __future__ import annotations

import numpy as np
import pytest

from mha.arrays import boolean_array, broadcast, finite_array, frozen, real_array


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", ">f8", "float64"])
def test_numbers_become_float64_in_c_order(dtype: str) -> None:
    given = np.asfortranarray(np.arange(30).reshape(2, 3, 5).astype(dtype))
    array = real_array(given, "x")
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.shape == (2, 3, 5)
    assert array[1, 2, 3] == 28  # 1 * 15 + 2 * 5 + 3


def test_a_single_number_keeps_its_shape() -> None:
    assert real_array(3, "x").shape == ()


@pytest.mark.parametrize("given", [True, "3", None, 1j, [[1], [1, 2]], {"a": 1}])
def test_what_is_no_number_is_refused_by_name(given: object) -> None:
    with pytest.raises(ValueError, match="expected x to be"):
        real_array(given, "x")  # type: ignore[arg-type]


def test_the_first_number_that_is_not_finite_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected x to be finite, got -inf at \(0, 2\)"):
        finite_array([[1, 2, -np.inf], [np.nan, 0, 0]], "x")


def test_an_empty_array_is_boolean_whatever_its_type() -> None:
    empty = boolean_array(np.zeros((2, 0)), "mask")
    assert empty.dtype == bool
    assert empty.shape == (2, 0)


def test_booleans_are_a_copy() -> None:
    given = np.ones(3, dtype=bool)
    boolean_array(given, "mask")[0] = False
    assert given.all()


def test_broadcast_names_both_shapes() -> None:
    assert broadcast(np.ones((1, 3)), (2, 3), "x", "(B, T)").shape == (2, 3)
    with pytest.raises(ValueError, match=r"expected x to broadcast to \(B, T\) = \(2, 3\), got shape \(2,\)"):
        broadcast(np.ones(2), (2, 3), "x", "(B, T)")


def test_frozen_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        frozen(np.ones(3))[0] = 2
