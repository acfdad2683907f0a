"""Each rule by its sentence, how rules combine, and which one blocked a cell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from mha import masks
from mha.masks import Mask, Rule, combine
from tests.samples import SHAPE, TK, TQ, B, H

# --- the rules, element by element -------------------------------------------------------------------------------


@pytest.mark.parametrize(("Tq", "Tk"), [(5, 7), (7, 5), (1, 4), (4, 1), (3, 0), (0, 3)])
def test_causal_lets_a_query_see_the_keys_up_to_its_own_position(Tq: int, Tk: int) -> None:
    rule = masks.causal(Tq, Tk)
    assert rule.name == "causal"
    assert rule.allowed.shape == (1, 1, Tq, Tk)
    assert rule.allowed[0, 0].tolist() == [[j <= i for j in range(Tk)] for i in range(Tq)]


def test_valid_lens_of_a_text_blocks_the_keys_beyond() -> None:
    rule = masks.valid_lens([3, 0, 5], 5)
    assert rule.name == "valid_lens"
    assert rule.allowed.shape == (3, 1, 1, 5)
    assert rule.allowed[:, 0, 0].tolist() == [[j < n for j in range(5)] for n in (3, 0, 5)]


def test_valid_lens_of_a_query() -> None:
    lens = [[0, 1, 2, 5], [5, 4, 0, 1]]
    rule = masks.valid_lens(lens, 5)
    assert rule.allowed.shape == (2, 1, 4, 5)
    for b, i, j in product(range(2), range(4), range(5)):
        assert rule.allowed[b, 0, i, j] == (j < lens[b][i])


def test_valid_lens_of_no_texts_and_of_no_queries() -> None:
    assert masks.valid_lens([], 5).allowed.shape == (0, 1, 1, 5)
    assert masks.valid_lens(np.zeros((0, 4)), 5).allowed.shape == (0, 1, 4, 5)
    assert masks.valid_lens(np.zeros((2, 0)), 5).allowed.shape == (2, 1, 0, 5)


@pytest.mark.parametrize("lens", [np.array([3, 2], dtype=np.int8), np.array([3.0, 2.0]), (3, 2)])
def test_valid_lens_are_whole_numbers_of_any_type(lens: object) -> None:
    assert (masks.valid_lens(lens, 6).allowed == masks.valid_lens([3, 2], 6).allowed).all()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        ([3, 7], r"whole numbers from 0 to 6, got 7.0 at \(1,\)"),
        ([-1, 2], r"whole numbers from 0 to 6, got -1.0 at \(0,\)"),
        ([[1, 2], [2.5, 0]], r"whole numbers from 0 to 6, got 2.5 at \(1, 0\)"),
        ([np.nan], r"whole numbers from 0 to 6, got nan at \(0,\)"),
        ([np.inf], r"whole numbers from 0 to 6, got inf at \(0,\)"),
        (3, r"shape \(B,\) or \(B, Tq\), got \(\)"),
        (np.zeros((2, 1, 1)), r"shape \(B,\) or \(B, Tq\), got \(2, 1, 1\)"),
        (["3"], "real numbers"),
        ([[1], [1, 2]], "array of numbers"),
    ],
)
def test_valid_lens_refuses_other_lengths(lens: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        masks.valid_lens(lens, 6)  # type: ignore[arg-type]


@pytest.mark.parametrize("left", [None, 0, 1, 9])
@pytest.mark.parametrize("right", [None, 0, 2, 9])
def test_window_bounds_the_distance_on_each_side(left: int | None, right: int | None) -> None:
    rule = masks.window(TQ, TK, left, right)
    assert rule.name == "window"
    assert rule.allowed.shape == (1, 1, TQ, TK)
    for i, j in product(range(TQ), range(TK)):
        near = (left is None or j >= i - left) and (right is None or j <= i + right)
        assert rule.allowed[0, 0, i, j] == near


def test_window_with_no_bound_left_and_none_after_is_causal() -> None:
    assert (masks.window(TQ, TK, None, 0).allowed == masks.causal(TQ, TK).allowed).all()


@pytest.mark.parametrize(("left", "right"), [(-1, 0), (0, -2), (1.5, 0), (0, True)])
def test_window_refuses_other_bounds(left: int, right: int) -> None:
    with pytest.raises(ValueError, match=r"(left|right) to be a whole number of at least 0"):
        masks.window(TQ, TK, left, right)


def test_heads_gives_each_head_its_own_keys() -> None:
    allowed = np.random.default_rng(1).random((H, TK)) < 0.5
    rule = masks.heads(allowed, TK)
    assert rule.name == "heads"
    assert rule.allowed.shape == (1, H, 1, TK)
    assert (rule.allowed[0, :, 0] == allowed).all()


@pytest.mark.parametrize("shape", [(TK,), (H, TK + 1), (1, H, TK)])
def test_heads_refuses_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"shape \(H, Tk\) with Tk = 7, got"):
        masks.heads(np.ones(shape, dtype=bool), TK)


def test_halves_of_five_positions_are_two_and_three() -> None:
    assert masks.halves(2, 5).allowed[0, :, 0].tolist() == [
        [True, True, False, False, False],
        [False, False, True, True, True],
    ]


@pytest.mark.parametrize(("num_heads", "T"), [(1, 4), (2, 4), (2, 5), (3, 7), (5, 3), (4, 1), (3, 0), (16, 128)])
def test_halves_give_every_position_to_exactly_one_head(num_heads: int, T: int) -> None:
    rule = masks.halves(num_heads, T)
    assert rule.name == "halves"
    assert rule.allowed.shape == (1, num_heads, 1, T)
    assert (rule.allowed.sum(axis=1) == 1).all()
    for h in range(num_heads):  # the design's formula
        first, after = h * T // num_heads, (h + 1) * T // num_heads
        assert np.flatnonzero(rule.allowed[0, h, 0]).tolist() == list(range(first, after))


def test_with_fewer_positions_than_heads_some_heads_own_none() -> None:
    assert masks.halves(5, 3).allowed[0, :, 0].sum(axis=-1).tolist() == [0, 1, 0, 1, 1]


def test_halves_and_causal_leave_the_second_head_without_a_key_at_first() -> None:
    allowed = combine(masks.halves(2, 6), masks.causal(6, 6), shape=(1, 2, 6, 6)).allowed
    assert masks.empty_rows(allowed)[0].tolist() == [[False] * 6, [True] * 3 + [False] * 3]


def test_halves_and_a_length_of_half_leave_the_whole_second_head_empty() -> None:
    allowed = combine(masks.halves(2, 6), masks.valid_lens([3], 6), shape=(1, 2, 6, 6)).allowed
    assert masks.empty_rows(allowed)[0].tolist() == [[False] * 6, [True] * 6]


@pytest.mark.parametrize(
    "rule", [lambda n: masks.causal(n, 3), lambda n: masks.causal(3, n), lambda n: masks.halves(2, n)]
)
@pytest.mark.parametrize("length", [-1, 2.0, "3", None, True])
def test_lengths_are_whole_numbers(rule: Callable[[object], Rule], length: object) -> None:
    with pytest.raises(ValueError, match="a whole number of at least 0"):
        rule(length)


# --- arrays as rules ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (TK,), (1, TK), (TQ, TK), (TQ, 1), (B, 1, 1, TK), (1, H, 1, 1), SHAPE], ids=str)
def test_custom_takes_what_broadcasts(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(2).random(shape) < 0.5
    rule = masks.custom(array)
    assert rule.name == "custom"
    assert rule.allowed.ndim == 4
    assert (combine(rule, shape=SHAPE).allowed == np.broadcast_to(array, SHAPE)).all()


def test_custom_refuses_three_axes_and_says_how_to_write_either() -> None:
    array = np.ones((3, 5, 7), dtype=bool)
    with pytest.raises(ValueError, match="per text or per head") as said:
        masks.custom(array)
    assert "(B, 1, Tq, Tk) for per text, array[:, None]" in str(said.value)
    assert "(1, H, Tq, Tk) for per head, array[None]" in str(said.value)
    # and what the message says works
    assert combine(masks.custom(array[:, None]), shape=(3, 2, 5, 7)).allowed.all()
    assert combine(masks.custom(array[None]), shape=(2, 3, 5, 7)).allowed.all()


def test_custom_refuses_five_axes() -> None:
    with pytest.raises(ValueError, match=r"got \(1, 1, 1, 5, 7\)"):
        masks.custom(np.ones((1, 1, 1, 5, 7), dtype=bool))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_whole_numbers_zero_and_one_are_booleans(dtype: str) -> None:
    rule = masks.custom(np.array([[1, 0]], dtype=dtype))
    assert rule.allowed.dtype == bool
    assert rule.allowed[0, 0].tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1.0, 0.0]]), "got floats of dtype float64; .* pass them as bias="),
        (np.array([[1, 0]], dtype=np.float16), "got floats of dtype float16; .* pass them as bias="),
        ([[0, -np.inf]], "pass them as bias="),
        ([[1, 2]], r"hold only 0 and 1, got 2 at \(0, 1\)"),
        ([[0, -1]], r"hold only 0 and 1, got -1 at \(0, 1\)"),
        ([["True"]], "boolean or 0/1 integers, got dtype <U4"),
        ([[None]], "boolean or 0/1 integers, got dtype object"),
        ([[1j]], "boolean or 0/1 integers, got dtype complex128"),
        ([[True], [True, False]], "array of booleans"),
    ],
)
def test_other_arrays_are_refused(array: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        masks.custom(array)  # type: ignore[arg-type]


def test_a_custom_rule_has_the_name_it_is_given() -> None:
    assert masks.custom([True], name="punctuation").name == "punctuation"
    with pytest.raises(ValueError, match="non-empty str"):
        masks.custom([True], name="")


def test_a_rule_is_four_dimensional() -> None:
    with pytest.raises(ValueError, match=r"rule 'mine' of shape \(B, H, Tq, Tk\), got \(5, 7\)"):
        Rule("mine", np.ones((5, 7), dtype=bool))


def test_rules_and_masks_are_closed_for_writing_and_keep_no_array_of_yours() -> None:
    array = np.ones(SHAPE, dtype=bool)
    rule, mask = Rule("mine", array), Mask(array, ())
    array[:] = False
    assert rule.allowed.all()
    assert mask.allowed.all()
    for allowed in (rule.allowed, mask.allowed, combine(rule, shape=SHAPE).allowed):
        with pytest.raises(ValueError, match="read-only"):
            allowed[0] = False


def test_a_mask_of_your_own_is_checked_like_a_rule() -> None:
    with pytest.raises(ValueError, match=r"a mask of shape \(B, H, Tq, Tk\), got \(5, 7\)"):
        Mask(np.ones((5, 7), dtype=bool), ())
    with pytest.raises(ValueError, match="bias="):
        Mask(np.ones(SHAPE), ())  # type: ignore[arg-type]


# --- combine and blocked_by --------------------------------------------------------------------------------------

RULES = (
    masks.causal(TQ, TK),
    masks.valid_lens([4, 6], TK),
    masks.window(TQ, TK, 2, 2),
    masks.halves(H, TK),
    masks.custom(np.random.default_rng(3).random(SHAPE) < 0.7, name="mine"),
    masks.bias(np.where(np.arange(TK) == 2, -np.inf, 0.5)),
)


def test_rules_combine_with_and() -> None:
    mask = combine(*RULES, shape=SHAPE)
    expected = np.logical_and.reduce([np.broadcast_to(rule.allowed, SHAPE) for rule in RULES])
    assert mask.allowed.shape == SHAPE
    assert (mask.allowed == expected).all()
    assert mask.rules == RULES
    assert 0 < mask.allowed.sum() < mask.allowed.size


def test_no_rules_allow_everything() -> None:
    assert combine(shape=SHAPE).allowed.all()
    assert combine(shape=SHAPE).blocked_by(0, 0, 0, 0) == ()


def test_the_order_of_rules_does_not_matter() -> None:
    assert (combine(*RULES, shape=SHAPE).allowed == combine(*reversed(RULES), shape=SHAPE).allowed).all()


def test_blocked_by_names_every_rule_that_blocks_a_cell() -> None:
    mask = combine(*RULES, shape=SHAPE)
    for b, h, i, j in np.ndindex(*SHAPE):
        blocking = {
            "causal": j > i,
            "valid_lens": j >= (4, 6)[b],
            "window": abs(i - j) > 2,
            "halves": not h * TK // H <= j < (h + 1) * TK // H,
            "mine": not RULES[4].allowed[b, h, i, j],
            "bias": j == 2,
        }
        assert mask.blocked_by(b, h, i, j) == tuple(name for name, blocks in blocking.items() if blocks)
        assert mask.allowed[b, h, i, j] == (not any(blocking.values()))


def test_blocked_by_refuses_a_cell_outside() -> None:
    mask = combine(shape=SHAPE)
    for cell, axis in (((B, 0, 0, 0), "b"), ((0, -1, 0, 0), "h"), ((0, 0, TQ, 0), "i"), ((0, 0, 0, 0.5), "j")):
        with pytest.raises(ValueError, match=f"expected {axis} to be a whole number from 0 to"):
            mask.blocked_by(*cell)


def test_combine_refuses_what_is_no_rule_and_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"expected rules, got ndarray; arrays become rules by masks.custom"):
        combine(np.ones(SHAPE, dtype=bool), shape=SHAPE)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"'causal' to broadcast to \(B, H, Tq, Tk\) = \(2, 3, 5, 7\), got shape \(1, 1, 5, 6\)"
    ):
        combine(masks.causal(5, 6), shape=SHAPE)
    with pytest.raises(ValueError, match=r"'valid_lens' to broadcast"):
        combine(masks.valid_lens([1, 2, 3], TK), shape=SHAPE)
    with pytest.raises(ValueError, match=r"shape \(B, H, Tq, Tk\), got \(5, 7\)"):
        combine(shape=(5, 7))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="H to be a whole number of at least 0, got -1"):
        combine(shape=(2, -1, 5, 7))


# --- bias --------------------------------------------------------------------------------------------------------


def test_the_blocking_part_of_a_bias_is_a_rule_called_bias() -> None:
    array = np.zeros((TQ, TK))
    array[1, 2], array[3, 4] = -np.inf, -1e300
    rule = masks.bias(array)
    assert rule.name == "bias"
    mask = combine(masks.causal(TQ, TK), rule, shape=SHAPE)
    assert np.argwhere(~rule.allowed[0, 0]).tolist() == [[1, 2]]
    assert mask.blocked_by(1, 2, 1, 2) == ("causal", "bias")
    assert mask.blocked_by(1, 2, 3, 4) == ("causal",)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bias_rule_refuses_infinity_and_nan(bad: float) -> None:
    with pytest.raises(ValueError, match=r"bias to be finite, or -inf to block, got (nan|inf) at \(1,\)"):
        masks.bias([0.0, bad])
    with pytest.raises(ValueError, match="per text or per head"):
        masks.bias(np.zeros((2, 5, 7)))


# --- empty rows --------------------------------------------------------------------------------------------------


def test_empty_rows_are_those_without_a_key() -> None:
    assert masks.empty_rows(np.array([[True, False], [False, False]])).tolist() == [False, True]
    assert masks.empty_rows(np.zeros((2, 3, 0), dtype=bool)).tolist() == [[True] * 3] * 2
