"""One forward pass: every step against plain loops, PyTorch and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from math import e, sqrt
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from mha import Trace, Weights, attend, masks, scaled_dot_product_attention
from mha.attention import merge_heads, split_heads, tolerance
from mha.config import MAX_CELLS
from tests.samples import (
    RULES,
    SHAPE,
    TK,
    TQ,
    B,
    D,
    H,
    K,
    assert_close,
    attention_by_hand,
    drawn,
    inputs,
    one_head,
    same_bits,
    softmax_by_hand,
    some_bias,
)

# --- against other implementations -------------------------------------------------------------------------------


def torch_multihead(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, weights: Weights, attn_mask: torch.Tensor | None
) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights per head of nn.MultiheadAttention, set up here and not by the code under test."""
    module = torch.nn.MultiheadAttention(
        D, H, bias=weights.b_q is not None, batch_first=True, dtype=torch.float64
    ).eval()
    with torch.no_grad():
        for part, W in enumerate((weights.W_q, weights.W_k, weights.W_v)):
            module.in_proj_weight[part * D : (part + 1) * D] = torch.tensor(W).T
        module.out_proj.weight.copy_(torch.tensor(weights.W_o).T)
        for part, b in enumerate((weights.b_q, weights.b_k, weights.b_v)):
            if b is not None:
                module.in_proj_bias[part * D : (part + 1) * D] = torch.tensor(b)
        if weights.b_o is not None:
            module.out_proj.bias.copy_(torch.tensor(weights.b_o))
        output, attention = module(
            torch.tensor(queries),
            torch.tensor(keys),
            torch.tensor(values),
            attn_mask=attn_mask,
            need_weights=True,
            average_attn_weights=False,
        )
    return output.numpy(), attention.numpy()


@pytest.mark.parametrize("with_bias", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("mask_name", ["none", "causal", "per head", "float"])
@pytest.mark.parametrize("cross", [True, False], ids=["cross", "self"])
def test_equals_torch_multihead_attention_with_copied_weights(cross: bool, mask_name: str, with_bias: bool) -> None:
    queries, keys, values = inputs()
    if not cross:
        queries = values = keys
    Tq = queries.shape[1]
    weights = drawn(bias=with_bias)
    rng = np.random.default_rng(6)
    mask: np.ndarray | None = None
    bias: np.ndarray | None = None
    theirs: torch.Tensor | None = None  # there True means "blocked", a text's heads follow each other
    if mask_name == "causal":
        mask = np.tril(np.ones((Tq, TK), dtype=bool))
        theirs = torch.triu(torch.ones(Tq, TK, dtype=torch.bool), diagonal=1)
    elif mask_name == "per head":
        mask = rng.random((B, H, Tq, TK)) < 0.5
        mask[..., 3] = True  # a key for every row: rows without one are NaN there
        theirs = torch.tensor(~mask).reshape(B * H, Tq, TK)
    elif mask_name == "float":
        bias = rng.standard_normal((Tq, TK))
        bias[1, :4] = -np.inf
        theirs = torch.tensor(bias)
    output, attention = torch_multihead(queries, keys, values, weights, theirs)
    trace = attend(queries, keys, values, weights, mask=mask, bias=bias)
    assert_close(trace.weights, attention, tolerance(trace, 1e-10))
    assert_close(trace.output, output, tolerance(trace, 1e-10))


def test_rows_that_torch_turns_into_nan_are_zero_and_flagged() -> None:
    queries, keys, values = inputs()
    weights = drawn()
    mask = np.random.default_rng(7).random(SHAPE) < 0.5
    mask[..., 0] = True
    mask[1, 2, 3] = False  # one row of one head has no key
    output, attention = torch_multihead(queries, keys, values, weights, torch.tensor(~mask).reshape(B * H, TQ, TK))
    trace = attend(queries, keys, values, weights, mask=mask)
    bound = tolerance(trace, 1e-10)
    assert np.argwhere(trace.empty_rows).tolist() == [[1, 2, 3]]
    assert np.isnan(attention[1, 2, 3]).all()
    assert not trace.weights[1, 2, 3].any()
    assert not trace.head_outputs[1, 2, 3].any()
    assert_close(trace.weights[~trace.empty_rows], attention[~trace.empty_rows], bound)
    assert_close(trace.output[0], output[0], bound)
    # the text's own position 3 lacks one head: the two others and b_o remain
    others = trace.contributions[1, 0, 3] + trace.contributions[1, 1, 3]
    assert_close(trace.output[1, 3], others + weights.b_o, bound)


@pytest.mark.parametrize("rule", RULES)
def test_equals_plain_loops(rule: str) -> None:
    queries, keys, values = inputs()
    weights, bias = drawn(), some_bias()
    trace = attend(queries, keys, values, weights, mask=RULES[rule](), bias=bias)
    allowed = masks.resolve(RULES[rule](), SHAPE)
    attention, contributions, output = attention_by_hand(queries, keys, values, weights, allowed, bias)
    bound = tolerance(trace)
    assert_close(trace.weights, attention, bound)
    assert_close(trace.contributions, contributions, bound)
    assert_close(trace.output, output, bound)
    assert (trace.mask == (allowed & (bias > -np.inf))).all()
    assert (trace.empty_rows == (trace.mask.sum(axis=-1) == 0)).all()


@pytest.mark.parametrize("with_mask", [True, False], ids=["mask", "no mask"])
@pytest.mark.parametrize("scale", [None, 0.37])
def test_scaled_dot_product_attention_equals_torch(with_mask: bool, scale: float | None) -> None:
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal(shape) for shape in [(2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, 13)])
    mask = rng.random((3, 5, 7)) < 0.5
    mask[..., 2] = True
    tensors = torch.tensor(q), torch.tensor(k), torch.tensor(v)
    attn_mask = torch.tensor(mask) if with_mask else None
    theirs = torch_attention(*tensors, attn_mask=attn_mask, scale=scale).numpy()
    output, attention = scaled_dot_product_attention(q, k, v, mask=mask if with_mask else None, scale=scale)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / sqrt(11))
    assert_close(output, theirs, 1e-10 * max(1, np.abs(scores).max(), np.abs(output).max()))
    assert attention.shape == (2, 3, 5, 7)


def test_scaled_dot_product_attention_with_a_bias_equals_torch() -> None:
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal(shape) for shape in [(2, 5, 11), (2, 7, 11), (2, 7, 13)])
    bias = rng.standard_normal((5, 7))
    bias[0, 3:] = -np.inf
    tensors = torch.tensor(q), torch.tensor(k), torch.tensor(v)
    theirs = torch_attention(*tensors, attn_mask=torch.tensor(bias)).numpy()
    output, attention = scaled_dot_product_attention(q, k, v, bias=bias)
    assert_close(output, theirs, 1e-10 * max(1, np.abs(q @ k.swapaxes(1, 2) / sqrt(11)).max(), np.abs(output).max()))
    assert not attention[:, 0, 3:].any()


def test_scaled_dot_product_attention_broadcasts_leading_axes() -> None:
    rng = np.random.default_rng(10)
    q, k, v = (rng.standard_normal(shape) for shape in [(2, 1, 5, 11), (3, 7, 11), (7, 13)])
    output, attention = scaled_dot_product_attention(q, k, v)
    assert output.shape == (2, 3, 5, 13)
    alone, row = scaled_dot_product_attention(q[1, 0], k[2], v)
    assert (output[1, 2] == alone).all()
    assert (attention[1, 2] == row).all()


@pytest.mark.parametrize("lead", [(), (2,), (2, 3, 4, 2)])
def test_scaled_dot_product_attention_takes_any_rank_of_mask(lead: tuple[int, ...]) -> None:
    q, k = np.zeros((*lead, 5, 11)), np.zeros((*lead, 7, 11))
    mask = np.zeros((*lead, 5, 7), dtype=bool)
    mask[..., :2] = True
    _, attention = scaled_dot_product_attention(q, k, k, mask=mask)
    assert (attention[..., :2] == 0.5).all()  # equal scores share equally
    assert not attention[..., 2:].any()


# --- the steps of a trace ----------------------------------------------------------------------------------------


def test_every_array_of_the_trace_has_its_shape_and_type() -> None:
    trace = attend(*inputs(), drawn())
    shapes = {
        "q": (B, H, TQ, K),
        "k": (B, H, TK, K),
        "v": (B, H, TK, K),
        "scores": SHAPE,
        "mask": SHAPE,
        "weights": SHAPE,
        "head_outputs": (B, H, TQ, K),
        "concat": (B, TQ, D),
        "output": (B, TQ, D),
        "empty_rows": (B, H, TQ),
        "contributions": (B, H, TQ, D),
    }
    assert {field.name for field in fields(Trace)} == set(shapes)
    for name, shape in shapes.items():
        array = getattr(trace, name)
        assert array.shape == shape, name
        assert array.dtype == (bool if name in ("mask", "empty_rows") else np.float64), name


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_no_array_of_the_trace_can_be_written(engine: str) -> None:
    trace = attend(*inputs(), drawn(), engine=engine)
    for field in fields(Trace):
        with pytest.raises(ValueError, match="read-only"):
            getattr(trace, field.name)[...] = 0
    with pytest.raises(AttributeError):
        trace.output = trace.concat  # type: ignore[misc]


def test_inputs_are_left_as_they_were() -> None:
    queries, keys, values = inputs()
    before = [array.copy() for array in (queries, keys, values)]
    attend(queries, keys, values, drawn(), mask=masks.causal(TQ, TK))
    assert all((now == then).all() for now, then in zip((queries, keys, values), before, strict=True))
    assert queries.flags.writeable


def test_each_head_owns_its_columns() -> None:
    queries, keys, values = inputs()
    weights = drawn()
    assert weights.b_q is not None
    assert weights.b_k is not None
    assert weights.b_v is not None
    trace = attend(queries, keys, values, weights)
    for h in range(H):
        own = slice(h * K, (h + 1) * K)
        bound = tolerance(trace)
        assert_close(trace.q[:, h], queries @ weights.W_q[:, own] + weights.b_q[own], bound)
        assert_close(trace.k[:, h], keys @ weights.W_k[:, own] + weights.b_k[own], bound)
        assert_close(trace.v[:, h], values @ weights.W_v[:, own] + weights.b_v[own], bound)


def test_each_contribution_goes_through_the_heads_own_rows_of_W_o() -> None:
    queries, keys, values = inputs()
    weights = drawn()
    trace = attend(queries, keys, values, weights, mask=masks.causal(TQ, TK))
    causal = torch.triu(torch.ones(TQ, TK, dtype=torch.bool), diagonal=1)
    _, attention = torch_multihead(queries, keys, values, weights, causal)
    assert weights.b_v is not None
    for h in range(H):
        own = slice(h * K, (h + 1) * K)
        expected = attention[:, h] @ (values @ weights.W_v[:, own] + weights.b_v[own]) @ weights.W_o[own]
        assert_close(trace.contributions[:, h], expected, tolerance(trace, 1e-10))


def test_contributions_sum_to_the_output_less_b_o() -> None:
    weights = drawn()
    assert weights.b_o is not None
    trace = attend(*inputs(), weights)
    assert_close(trace.contributions.sum(axis=1), trace.output - weights.b_o, tolerance(trace))


def test_concat_holds_the_heads_side_by_side() -> None:
    trace = attend(*inputs(), drawn())
    for h in range(H):
        assert (trace.concat[..., h * K : (h + 1) * K] == trace.head_outputs[:, h]).all()


def test_scores_are_scaled_and_before_bias_and_mask() -> None:
    queries, keys, values = inputs()
    plain = attend(queries, keys, values, drawn())
    ruled = attend(queries, keys, values, drawn(), mask=masks.causal(TQ, TK), bias=np.ones((TQ, TK)))
    assert (plain.scores == ruled.scores).all()
    by_hand = sum(plain.q[1, 2, 4, c] * plain.k[1, 2, 6, c] for c in range(K)) / sqrt(K)
    assert_close(plain.scores[1, 2, 4, 6], by_hand, tolerance(plain))


def test_the_trace_without_rules_still_has_the_full_mask() -> None:
    assert attend(*inputs(), drawn()).mask.all()


def test_splitting_and_merging_heads_are_inverse() -> None:
    x = np.arange(B * TQ * D, dtype=float).reshape(B, TQ, D)
    assert (merge_heads(split_heads(x, H)) == x).all()
    assert split_heads(x, H)[1, 2, 3, 4] == x[1, 3, 2 * K + 4]


def test_heads_in_another_order_give_the_same_output() -> None:
    queries, keys, values = inputs()
    weights = drawn()
    trace = attend(queries, keys, values, weights)
    order = [2, 0, 1]
    columns = np.concatenate([np.arange(h * K, (h + 1) * K) for h in order])
    by_columns = {name: getattr(weights, name)[..., columns] for name in ("W_q", "W_k", "W_v", "b_q", "b_k", "b_v")}
    shuffled = Weights(**by_columns, W_o=weights.W_o[columns], b_o=weights.b_o, num_heads=H)
    other = attend(queries, keys, values, shuffled)
    assert_close(other.weights, trace.weights[:, order], tolerance(trace))
    assert_close(other.contributions, trace.contributions[:, order], tolerance(trace))
    assert_close(other.output, trace.output, tolerance(trace))


def test_texts_of_a_batch_do_not_see_each_other() -> None:
    queries, keys, values = inputs()
    mask = RULES["array (B, H, Tq, Tk)"]()
    assert isinstance(mask, np.ndarray)
    together = attend(queries, keys, values, drawn(), mask=mask)
    for b in range(B):
        one = slice(b, b + 1)
        alone = attend(queries[one], keys[one], values[one], drawn(), mask=mask[one])
        assert_close(alone.output, together.output[one], tolerance(together))
        assert_close(alone.weights, together.weights[one], tolerance(together))


# --- closed forms ------------------------------------------------------------------------------------------------


def test_the_scale_is_that_of_the_head_width() -> None:
    # q.k = 4 in the first head of width 4: a lead of 4/sqrt(4) = 2 gives e^2 / (1 + e^2)
    x = np.array([[[1.0] * 4 + [0.0] * 4, [0.0] * 8]])
    eye = np.eye(8)
    trace = attend(x, x, x, Weights(eye, eye, eye, eye, 2))
    assert_close(trace.weights[0, 0, 0], np.array([e**2, 1]) / (1 + e**2), tolerance(trace))
    assert (trace.weights[0, 1] == 0.5).all()


def test_a_lead_of_one_gives_e_to_one() -> None:
    _, weights = scaled_dot_product_attention([[1.0]], [[1.0], [0.0]], [[2.0], [3.0]])
    assert_close(weights, np.array([[e, 1]]) / (1 + e), 1e-12)
    output, _ = scaled_dot_product_attention([[1.0]], [[1.0], [0.0]], [[2.0], [3.0]])
    assert_close(output, np.array([[(2 * e + 3) / (1 + e)]]), 1e-12 * 3)


def test_equal_scores_share_equally() -> None:
    trace = one_head([[0.0, 0.0]] * 8, mask=np.array([1, 1, 0, 1, 0, 0, 1, 0]))
    assert (trace.weights[0, 0] == np.array([0.25, 0.25, 0, 0.25, 0, 0, 0.25, 0])).all()


def test_a_single_key_is_the_output() -> None:
    trace = one_head([[0.25, -3.0]])
    assert trace.weights.tolist() == [[[[1.0]]]]
    assert trace.output.tolist() == [[[0.25, -3.0]]]


def test_large_scores_neither_overflow_nor_change_the_softmax() -> None:
    # softmax does not change when a constant is added to a row: 1000 and 1001 are 0 and 1
    _, weights = scaled_dot_product_attention([[1.0]], [[1000.0], [1001.0]], [[1.0], [1.0]])
    assert_close(weights[0], np.array([1, e]) / (1 + e), 1e-12 * 1001)


def test_a_hopeless_score_has_weight_zero_and_is_not_blocked() -> None:
    trace = one_head([[30.0], [-30.0]])  # scores 900 and -900: e^-1800 is below the smallest float
    assert trace.weights[0, 0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert trace.mask.all()


# --- masks and bias ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_rows_sum_to_one_or_are_empty_and_blocked_cells_are_zero(rule: str) -> None:
    trace = attend(*inputs(), drawn(), mask=RULES[rule]())
    sums = trace.weights.sum(axis=-1)
    assert_close(sums, np.where(trace.empty_rows, 0.0, 1.0), tolerance(trace))
    assert not trace.weights[~trace.mask].any()
    assert not trace.weights[trace.empty_rows].any()
    assert not trace.head_outputs[trace.empty_rows].any()
    assert not trace.contributions[trace.empty_rows].any()


def test_rows_with_no_key_left_in_any_head_leave_only_b_o() -> None:
    weights = drawn()
    trace = attend(*inputs(), weights, mask=masks.valid_lens([4, 0], TK))
    assert weights.b_o is not None
    assert (trace.output[1] == weights.b_o).all()


def test_lengths_are_repeated_for_each_head_not_tiled() -> None:
    # five heads and two texts, so that tiling would give heads 0, 2, 4 another length than 1, 3
    x = np.zeros((2, 6, 10))
    trace = attend(x, x, x, Weights.draw(10, 5, 0), mask=masks.valid_lens([3, 2], 6))
    for h in range(5):
        assert_close(trace.weights[0, h], np.tile([1 / 3] * 3 + [0.0] * 3, (6, 1)), tolerance(trace))
        assert_close(trace.weights[1, h], np.tile([0.5] * 2 + [0.0] * 4, (6, 1)), tolerance(trace))


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_bias_is_added_to_the_scaled_scores(engine: str) -> None:
    queries, keys, values = inputs()
    bias = np.where(np.isneginf(some_bias()), 0.0, some_bias())
    trace = attend(queries, keys, values, drawn(), bias=bias, engine=engine)
    expected = softmax_by_hand(list(trace.scores[1, 2, 3] + bias[1, 2, 3]), [True] * TK)
    assert_close(trace.weights[1, 2, 3], np.array(expected), tolerance(trace, 1e-10))
    assert trace.mask.all()


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_minus_infinity_in_a_bias_blocks(engine: str) -> None:
    queries, keys, values = inputs()
    bias = np.zeros((TQ, TK))
    bias[1, 2] = bias[4] = -np.inf
    trace = attend(queries, keys, values, drawn(), bias=bias, engine=engine)
    masked = attend(queries, keys, values, drawn(), mask=bias == 0, engine=engine)
    assert same_bits(trace, masked)
    assert trace.empty_rows[:, :, 4].all()
    assert trace.empty_rows.sum() == B * H


def test_a_large_negative_bias_does_not_block() -> None:
    trace = one_head([[0.0]] * 2, bias=np.array([0.0, -1e9]))
    assert trace.mask.all()
    assert trace.weights[0, 0, 0].tolist() == [1.0, 0.0]


def test_a_bias_that_is_the_same_along_a_row_changes_nothing() -> None:
    queries, keys, values = inputs()
    plain = attend(queries, keys, values, drawn())
    shifted = attend(queries, keys, values, drawn(), bias=np.arange(TQ)[:, None])
    assert_close(shifted.weights, plain.weights, tolerance(plain))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_infinite_or_missing_bias_is_refused_by_position(bad: float) -> None:
    bias = np.zeros((TQ, TK))
    bias[2, 6] = bad
    with pytest.raises(
        ValueError, match=r"bias to be finite, or -inf to block, got (inf|nan) at \(0, 0, 2, 6\)|\(2, 6\)"
    ):
        attend(*inputs(), drawn(), bias=bias)
    with pytest.raises(ValueError, match=r"\(2, 6\)"):
        scaled_dot_product_attention(np.zeros((TQ, K)), np.zeros((TK, K)), np.zeros((TK, K)), bias=bias)


def test_a_mask_made_for_another_shape_is_refused() -> None:
    mask = masks.combine(shape=(B, H, TQ, TK + 1))
    with pytest.raises(ValueError, match=r"\(2, 3, 5, 7\), got \(2, 3, 5, 8\)"):
        attend(*inputs(), drawn(), mask=mask)
    with pytest.raises(ValueError, match=r"broadcast to \(B, H, Tq, Tk\) = \(2, 3, 5, 7\), got shape \(1, 1, 7, 5\)"):
        attend(*inputs(), drawn(), mask=masks.causal(TK, TQ))


@pytest.mark.parametrize("name", ["mask", "bias"])
def test_three_axes_are_refused_with_both_ways_to_write_them(name: str) -> None:
    array: Any = np.ones((B, TQ, TK), dtype=bool if name == "mask" else float)
    with pytest.raises(ValueError, match="per text or per head") as said:
        attend(*inputs(), drawn(), **{name: array})
    assert "array[:, None]" in str(said.value)
    assert "array[None]" in str(said.value)


def test_a_float_mask_is_refused_and_pointed_to_bias() -> None:
    for mask in (np.ones((TQ, TK)), np.zeros((TQ, TK), dtype=np.float32)):
        with pytest.raises(ValueError, match="bias="):
            attend(*inputs(), drawn(), mask=mask)
        with pytest.raises(ValueError, match="bias="):
            scaled_dot_product_attention(np.zeros((TQ, K)), np.zeros((TK, K)), np.zeros((TK, K)), mask=mask)


# --- what is not finite ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2], ids=["queries", "keys", "values"])
def test_input_that_is_not_finite_is_refused_by_position(which: int, bad: float) -> None:
    arrays = inputs()
    arrays[which][1, 3, 17] = bad
    name = ("queries", "keys", "values")[which]
    with pytest.raises(ValueError, match=rf"expected {name} to be finite.* at \(1, 3, 17\)"):
        attend(*arrays, drawn())


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_keys_and_values_nobody_may_look_at_may_be_anything(engine: str) -> None:
    queries, keys, values = inputs()
    mask = masks.valid_lens([4, 7], TK)
    clean = attend(queries, keys, values, drawn(), mask=mask, engine=engine)
    keys[0, 4:], values[0, 5:] = np.nan, np.inf
    dirty = attend(queries, keys, values, drawn(), mask=mask, engine=engine)
    assert (dirty.weights == clean.weights).all()
    assert (dirty.output == clean.output).all()
    assert all(np.isfinite(getattr(dirty, field.name)).all() for field in fields(Trace))


def test_a_bad_key_that_one_query_of_one_head_may_look_at_is_refused() -> None:
    queries, keys, values = inputs()
    keys[0, 4, 2] = np.nan
    mask = np.ones(SHAPE, dtype=bool)
    mask[0, :, :, 4] = False
    attend(queries, keys, values, drawn(), mask=mask)
    mask[0, 2, 3, 4] = True
    with pytest.raises(ValueError, match=r"keys to be finite where a query may look, got nan at \(0, 4, 2\)"):
        attend(queries, keys, values, drawn(), mask=mask)


def test_blocked_by_the_bias_counts_as_nobody_may_look() -> None:
    queries, keys, values = inputs()
    values[:, 6] = np.nan
    bias = np.where(np.arange(TK) == 6, -np.inf, 0.0)
    assert np.isfinite(attend(queries, keys, values, drawn(), bias=bias).output).all()


def test_scaled_dot_product_attention_has_the_same_exception_per_head() -> None:
    rng = np.random.default_rng(11)
    q, k, v = (rng.standard_normal(shape) for shape in [(3, 5, 11), (3, 7, 11), (3, 7, 13)])
    mask = np.ones((3, 5, 7), dtype=bool)
    mask[1, :, 6] = False
    k[1, 6], v[1, 6] = np.inf, np.nan
    output, _ = scaled_dot_product_attention(q, k, v, mask=mask)
    assert np.isfinite(output).all()
    mask[2, 1:, 6] = False  # the first query still may look there
    v[2, 6, 12] = np.nan
    with pytest.raises(ValueError, match=r"expected v to be finite.* at \(2, 6, 12\)"):
        scaled_dot_product_attention(q, k, v, mask=mask)
    q[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"expected q to be finite"):
        scaled_dot_product_attention(q, k, np.zeros_like(v), mask=mask)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_what_overflows_is_refused_by_either_engine(engine: str) -> None:
    queries, keys, values = inputs()
    eye = np.eye(D)
    plain = Weights(eye, eye, eye, eye, H)
    with pytest.raises(ValueError, match=r"expected scores not to overflow, got (-?inf|nan) at"):
        attend(queries * 1e200, keys * 1e200, values, plain, engine=engine)
    with pytest.raises(ValueError, match=r"expected scores \+ bias not to overflow, got -inf at \(0, 0, 0, 0\)"):
        attend(queries * -1e153, queries * 1e153, queries, plain, bias=np.full((1,), -1.79e308), engine=engine)
    with pytest.raises(ValueError, match=r"expected v not to overflow"):
        attend(queries, keys, values, Weights(eye, eye, eye * 1e308, eye, H), bias=None, engine=engine)
    with pytest.raises(ValueError, match=r"expected output not to overflow"):
        attend(queries, keys, values, Weights(eye, eye, eye * 1e200, eye * 1e200, H), engine=engine)


def test_scaled_dot_product_attention_refuses_what_overflows() -> None:
    with pytest.raises(ValueError, match=r"expected scores not to overflow, got inf at \(0, 1\)"):
        scaled_dot_product_attention([[1e200]], [[0.0], [1e200]], [[1.0], [1.0]])


# --- empty axes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize(("texts", "Tq", "Tk"), [(2, 5, 0), (2, 0, 7), (0, 5, 7), (0, 0, 0)])
def test_empty_axes(texts: int, Tq: int, Tk: int, engine: str) -> None:
    weights = drawn()
    queries, keys = np.zeros((texts, Tq, D)), np.zeros((texts, Tk, D))
    trace = attend(queries, keys, keys, weights, mask=masks.causal(Tq, Tk), engine=engine)
    assert trace.weights.shape == (texts, H, Tq, Tk)
    assert trace.output.shape == (texts, Tq, D)
    assert trace.contributions.shape == (texts, H, Tq, D)
    assert trace.empty_rows.shape == (texts, H, Tq)
    if Tk == 0:
        assert trace.empty_rows.all()
        assert (trace.output == weights.b_o).all()


def test_scaled_dot_product_attention_without_keys() -> None:
    output, weights = scaled_dot_product_attention(np.ones((5, 3)), np.ones((0, 3)), np.ones((0, 4)))
    assert weights.shape == (5, 0)
    assert output.tolist() == [[0.0] * 4] * 5


# --- shapes, sizes and types that do not fit ---------------------------------------------------------------------


def test_errors_name_the_expected_and_the_given_shape() -> None:
    queries, keys, values = inputs()
    weights = drawn()
    wrong = {
        r"queries of shape \(B, Tq, D\) with D = 33, got \(5, 33\)": (queries[0], keys, values),
        r"queries of shape \(B, Tq, D\) with D = 33, got \(2, 5, 32\)": (queries[..., 1:], keys, values),
        r"keys of shape \(B, Tk, D\) with B = 2 and D = 33, got \(1, 7, 33\)": (queries, keys[:1], values),
        r"keys of shape \(B, Tk, D\) with B = 2 and D = 33, got \(2, 7, 31\)": (queries, keys[..., 2:], values),
        r"values of the keys' shape \(B, Tk, D\) = \(2, 7, 33\), got \(2, 6, 33\)": (queries, keys, values[:, 1:]),
    }
    for message, arrays in wrong.items():
        with pytest.raises(ValueError, match=message):
            attend(*arrays, weights)


@pytest.mark.parametrize(
    ("q", "k", "v", "message"),
    [
        ((5,), (7, 3), (7, 3), r"expected q of shape \(\.\.\., Tq, K\), got \(5,\)"),
        ((5, 3), (7, 2), (7, 3), r"of one width K of at least 1, got \(5, 3\) and \(7, 2\)"),
        ((5, 0), (7, 0), (7, 3), r"of one width K of at least 1, got \(5, 0\) and \(7, 0\)"),
        ((5, 3), (7, 3), (6, 3), r"as many values as keys, Tk = 7, got v of shape \(6, 3\)"),
        ((2, 5, 3), (3, 7, 3), (7, 3), r"leading axes that broadcast, got q \(2, 5, 3\)"),
        ((2, 5, 3), (7, 3), (3, 7, 3), r"leading axes that broadcast, got q \(2, 5, 3\)"),
    ],
)
def test_scaled_dot_product_attention_names_shapes_that_do_not_fit(
    q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention(np.zeros(q), np.zeros(k), np.zeros(v))


@pytest.mark.parametrize("scale", [np.nan, np.inf, "0.5", [1.0]])
def test_a_scale_that_is_no_finite_number_is_refused(scale: object) -> None:
    with pytest.raises(ValueError, match="scale to be a finite number"):
        scaled_dot_product_attention(np.zeros((5, 3)), np.zeros((7, 3)), np.zeros((7, 3)), scale=scale)  # type: ignore[arg-type]


def test_input_that_is_no_array_of_numbers_is_refused() -> None:
    _, keys, values = inputs()
    for queries in ([[1.0], [1.0, 2.0]], "text", [[["a"]]], [[[1j]]], [[[True]]], None):
        with pytest.raises(ValueError, match="expected queries to be"):
            attend(queries, keys, values, drawn())  # type: ignore[arg-type]


def test_weights_of_another_type_are_refused() -> None:
    with pytest.raises(ValueError, match="expected weights to be Weights, got ndarray"):
        attend(*inputs(), np.eye(D))  # type: ignore[arg-type]


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="engine to be one of numpy, torch, got 'jax'"):
        attend(*inputs(), drawn(), engine="jax")


def test_the_number_of_cells_is_bounded() -> None:
    # 1 head of width 1; nothing of this size is ever made, the refusal comes first
    eye = np.eye(1)
    one = Weights(eye, eye, eye, eye, 1)
    Tk = MAX_CELLS // 4000 + 1
    queries, keys = np.zeros((1, 4000, 1)), np.zeros((1, Tk, 1))
    with pytest.raises(ValueError, match=r"at most 16,000,000 cells B \* H \* Tq \* Tk, got 16,004,000"):
        attend(queries, keys, keys, one)


# --- memory ------------------------------------------------------------------------------------------------------


def test_memory_layout_changes_no_bit() -> None:
    queries, keys, values = inputs()
    plain = attend(queries, keys, values, drawn())

    def strided(x: np.ndarray) -> np.ndarray:
        return np.repeat(x, 2, axis=-1)[..., ::2]

    def reversed_twice(x: np.ndarray) -> np.ndarray:
        return x[:, ::-1].copy()[:, ::-1]

    def swapped(x: np.ndarray) -> np.ndarray:
        return x.astype(">f8")

    layouts: list[Callable[[np.ndarray], Any]] = [
        np.asfortranarray,
        strided,
        reversed_twice,
        swapped,
        np.ndarray.tolist,
    ]
    for layout in layouts:
        assert same_bits(attend(layout(queries), layout(keys), layout(values), drawn()), plain)


def test_single_precision_input_is_computed_in_double() -> None:
    queries, keys, values = (array.astype(np.float32) for array in inputs())
    double = attend(queries.astype(np.float64), keys.astype(np.float64), values.astype(np.float64), drawn())
    assert same_bits(attend(queries, keys, values, drawn()), double)


def test_the_same_input_twice_gives_the_same_bits() -> None:
    for engine in ("numpy", "torch"):
        first, second = (attend(*inputs(), drawn(), mask=RULES["halves"](), engine=engine) for _ in range(2))
        assert same_bits(first, second)


# --- tolerance ---------------------------------------------------------------------------------------------------


def test_tolerance_is_relative_to_the_largest_score_or_output() -> None:
    small = one_head([[0.5]])  # score 0.25, output 0.5
    assert tolerance(small) == 1e-12
    assert tolerance(one_head([[30.0]])) == 1e-12 * 900  # score 900, output 30
    eye = np.eye(1)
    assert tolerance(attend([[[0.0]]], [[[7.0]]], [[[50.0]]], Weights(eye, eye, eye, eye, 1)), 1e-10) == 1e-10 * 50
    assert (
        tolerance(attend(np.zeros((0, 0, 1)), np.zeros((0, 0, 1)), np.zeros((0, 0, 1)), drawn(d_model=1, num_heads=1)))
        == 1e-12
    )
