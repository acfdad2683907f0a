"""One cell's way through a trace, against plain Python loops, and how its numbers are written."""

from __future__ import annotations

from dataclasses import fields, replace
from math import exp, fsum, sqrt
from typing import Any

import numpy as np
import pytest

from mha import Weights, attend, masks
from mha.rounding import written, written_sum
from mha.steps import Steps, steps
from tests.samples import (
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
    softmax_by_hand,
    some_bias,
)

BOUND = 1e-12 * 100  # the numbers of these inputs stay below 100
CELLS = [(0, 0, 0, 0), (1, 2, 4, 6), (0, 1, 3, 5), (1, 0, 2, 0)]


def followed(cell, *, rules=(), added=None, weights=None):
    b, h, i, j = cell
    weights = weights or drawn()
    mask = masks.combine(*rules, shape=SHAPE)
    trace = attend(*inputs(), weights, mask=mask, bias=added)
    return steps(*inputs(), weights, trace, b=b, h=h, i=i, j=j, mask=mask, bias=added), trace


@pytest.mark.parametrize("added", [None, some_bias()], ids=["no bias", "bias"])
@pytest.mark.parametrize(
    "rules", [[], [masks.causal(TQ, TK)], [masks.valid_lens([4, 0], TK)]], ids=["all", "causal", "padding"]
)
@pytest.mark.parametrize("cell", CELLS)
def test_every_number_is_what_plain_loops_give(cell, rules, added):
    b, h, i, j = cell
    weights = drawn()
    found, _ = followed(cell, rules=rules, added=added, weights=weights)
    queries, keys, values = inputs()
    columns = range(h * K, (h + 1) * K)

    def through(x, W, bias):
        return [fsum([*(float(x[d]) * float(W[d, c]) for d in range(D)), float(bias[c])]) for c in columns]

    q, k, v = (
        through(queries[b, i], weights.W_q, weights.b_q),
        through(keys[b, j], weights.W_k, weights.b_k),
        through(values[b, j], weights.W_v, weights.b_v),
    )
    assert_close(found.q_i, q, BOUND)
    assert_close(found.k_j, k, BOUND)
    assert_close(found.v_j, v, BOUND)
    assert found.columns == columns
    np.testing.assert_array_equal(found.W_q, weights.W_q[:, h * K : (h + 1) * K])
    assert weights.b_k is not None
    np.testing.assert_array_equal(found.b_k, weights.b_k[h * K : (h + 1) * K])
    assert_close(found.products, [one * other for one, other in zip(q, k, strict=True)], BOUND)
    assert_close(found.raw, fsum(one * other for one, other in zip(q, k, strict=True)), BOUND)
    assert_close(found.score, found.raw / sqrt(K), BOUND)

    allowed = np.ones(SHAPE, dtype=bool)
    for rule in rules:
        allowed &= rule.allowed
    full_bias = np.zeros(SHAPE) if added is None else added
    row_allowed = [bool(free) for free in allowed[b, h, i] & (full_bias[b, h, i] > -np.inf)]
    all_k = [through(keys[b, m], weights.W_k, weights.b_k) for m in range(TK)]
    row = [
        fsum(a * c for a, c in zip(q, each, strict=True)) / sqrt(K) + full_bias[b, h, i, m]
        for m, each in enumerate(all_k)
    ]
    by_hand = softmax_by_hand(row, row_allowed)
    assert found.row_allowed.tolist() == row_allowed
    assert found.allowed == row_allowed[j]
    assert found.no_key_left == (not any(row_allowed))
    assert_close(found.row_weights, by_hand, BOUND)
    assert found.weight == found.row_weights[j]
    if any(row_allowed):
        top = max(score for score, free in zip(row, row_allowed, strict=True) if free)
        powers = [exp(score - top) if free else 0.0 for score, free in zip(row, row_allowed, strict=True)]
        assert_close(found.peak, top, BOUND)
        assert_close(found.powers, powers, BOUND)
        assert_close(found.total, fsum(powers), BOUND)
    all_v = [through(values[b, m], weights.W_v, weights.b_v) for m in range(TK)]
    head = [fsum(by_hand[m] * all_v[m][c] for m in range(TK)) for c in range(K)]
    assert_close(found.head_output, head, BOUND)
    assert_close(found.weighted_values, [[by_hand[m] * each for each in all_v[m]] for m in range(TK)], BOUND)

    attention, contributions, output = attention_by_hand(queries, keys, values, weights, allowed, full_bias)
    assert_close(found.row_weights, attention[b, h, i], BOUND)
    assert_close(found.contributions, contributions[b, :, i], BOUND)
    assert_close(found.output, output[b, i], BOUND)
    lengths = [sqrt(fsum(each * each for each in contributions[b, g, i])) for g in range(H)]
    if any(lengths):
        assert_close(found.shares, [length / fsum(lengths) for length in lengths], BOUND)
    else:
        assert np.isnan(found.shares).all()


@pytest.mark.parametrize("cell", CELLS)
def test_the_parts_add_up_to_the_trace(cell):
    b, h, i, j = cell
    found, trace = followed(cell, rules=[masks.causal(TQ, TK)])
    assert_close(found.products.sum() / sqrt(K), trace.scores[b, h, i, j], BOUND)
    assert_close(found.powers / found.total, trace.weights[b, h, i], BOUND)
    assert_close(found.weighted_values.sum(axis=0), trace.head_outputs[b, h, i], BOUND)
    assert_close(found.concat[found.columns.start : found.columns.stop], found.head_output, 0)
    assert_close(found.contributions.sum(axis=0) + found.b_o, trace.output[b, i], BOUND)
    assert_close(found.shares.sum(), 1.0, BOUND)
    assert all(share > 0 for share in found.shares)


def test_a_blocked_cell_names_its_rules_and_weighs_nothing():
    found, _ = followed((0, 1, 2, 5), rules=[masks.causal(TQ, TK), masks.valid_lens([4, 7], TK)])
    assert found.blocked_by == ("causal", "valid_lens")
    assert (found.allowed, found.weight, found.powers[5]) == (False, 0.0, 0.0)
    assert not found.no_key_left
    assert np.isfinite(found.score)


def test_a_row_with_no_key_left_is_all_zero():
    found, _ = followed((1, 1, 2, 5), rules=[masks.valid_lens([4, 0], TK)])
    assert found.no_key_left
    assert found.total == 0
    assert found.peak == -np.inf
    assert not found.row_weights.any()
    assert not found.head_output.any()
    assert np.isnan(found.shares).all()  # nothing reaches the output in any head


def test_what_nobody_may_look_at_may_be_not_a_number():
    queries, keys, values = inputs()
    keys[0, 6] = values[0, 6] = np.nan
    mask = masks.combine(masks.valid_lens([6, 7], TK), shape=SHAPE)
    weights = drawn()
    trace = attend(queries, keys, values, weights, mask=mask)
    found = steps(queries, keys, values, weights, trace, b=0, h=1, i=2, j=6, mask=mask)
    assert found.blocked_by == ("valid_lens",)
    assert all(np.isfinite(np.asarray(getattr(found, name))).all() for name in ("k_j", "products", "raw", "score"))


def test_no_bias_counts_as_zero():
    found, _ = followed((0, 0, 0, 0), weights=drawn(bias=False))
    assert not found.b_q.any()
    assert found.b_o.shape == (D,)
    assert not found.b_o.any()


def test_numbers_cannot_be_changed_afterwards():
    found, _ = followed((0, 0, 1, 1))
    arrays = [getattr(found, field.name) for field in fields(Steps)]
    assert not any(array.flags.writeable for array in arrays if isinstance(array, np.ndarray))


@pytest.mark.parametrize(("axis", "at"), [("b", B), ("h", H), ("i", TQ), ("j", TK), ("i", -1), ("j", 1.5)])
def test_a_place_outside_the_trace_is_refused(axis, at):
    weights = drawn()
    trace = attend(*inputs(), weights)
    with pytest.raises(ValueError, match=f"expected {axis} to be a whole number from 0 to"):
        steps(*inputs(), weights, trace, **{"b": 0, "h": 0, "i": 0, "j": 0, axis: at})


def test_numbers_that_do_not_lead_to_the_trace_are_refused():
    weights = drawn()
    trace = attend(*inputs(), weights)
    place: dict[str, Any] = {"h": 0, "i": 0, "j": 0}
    with pytest.raises(ValueError, match="q lies"):
        steps(*inputs(seed=9), weights, trace, **place)
    with pytest.raises(ValueError, match="output lies"):
        steps(*inputs(), weights, replace(trace, output=trace.output + 1e-6), **place)
    with pytest.raises(ValueError, match="score lies"):
        steps(*inputs(), weights, replace(trace, scores=trace.scores * 1.0001), **place)
    with pytest.raises(ValueError, match="what the trace was made of"):
        steps(*inputs(Tk=3), weights, attend(*inputs(), weights, mask=None), **place)
    with pytest.raises(ValueError, match="weights lies"):  # a bias that was left out
        steps(*inputs(), weights, attend(*inputs(), weights, bias=np.arange(TK) * 0.5), **place)
    with pytest.raises(ValueError, match="the mask that the trace was made with"):
        steps(*inputs(), weights, trace, **place, mask=masks.combine(masks.causal(TQ, TK), shape=SHAPE))


@pytest.mark.parametrize("init", ["pytorch", "xavier", "normal", "uniform", "uniform_centred"])
def test_large_models_pass_their_own_check(init):
    x = np.random.default_rng(1).standard_normal((1, 5, 512))
    weights = Weights.draw(512, 1, 0, init=init)
    trace = attend(x, x, x, weights)
    assert steps(x, x, x, weights, trace, h=0, i=4, j=2).weight == trace.weights[0, 0, 4, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.41199, "0.4120"),
        (-12.3456, "-12.35"),
        (9.99961, "10.00"),  # rounding carries
        (123456.7, "123457"),
        (1.2e-7, "1.200e-07"),
        (3e6, "3.000e+06"),
        (1.0, "1.000"),
        (float("-inf"), "-inf"),
    ],
)
def test_a_number_is_written_with_four_digits(value, text):
    assert written(value) == text


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("count", [1, 2, 6, 7, 64])
def test_what_is_written_adds_up_to_the_written_total(count, seed):
    rng = np.random.default_rng([seed, count])
    terms = rng.standard_normal(count) * 10 ** rng.uniform(-2, 3)
    total = float(terms.sum())
    shown = written_sum(terms, total)
    assert shown.total == written(total)
    decimals = len(shown.total.partition(".")[2])
    assert f"{fsum(float(part.text) for part in shown.parts):.{decimals}f}" == shown.total
    assert sum(part.count for part in shown.parts) == count
    assert max(part.count for part in shown.parts) == (count - 5 if count > 6 else 1)
    assert len(shown.parts) <= 6


def test_the_first_three_and_the_last_two_are_written_out():
    shown = written_sum([1, 2, 3, 4, 5, 6, 7, 8], 36)
    assert [part.text for part in shown.parts] == ["1.00", "2.00", "3.00", "15.00", "7.00", "8.00"]
    assert [part.count for part in shown.parts] == [1, 1, 1, 3, 1, 1]
    assert shown.total == "36.00"


@pytest.mark.parametrize(
    ("keep", "parts"),
    [
        (5, ["1.0", "2.0", "3.0", "9.0 of 2", "6.0", "15.0 of 2", "9.0", "10.0"]),
        (3, ["1.0", "2.0", "3.0", "4.0", "26.0 of 4", "9.0", "10.0"]),
        (7, ["1.0", "2.0", "3.0", "22.0 of 4", "8.0", "9.0", "10.0"]),
        (0, ["1.0", "2.0", "3.0", "30.0 of 5", "9.0", "10.0"]),
    ],
)
def test_a_term_that_is_kept_is_written_wherever_it_stands(keep, parts):
    shown = written_sum(range(1, 11), 55, keep=[keep], digits=3)
    assert [part.text + (f" of {part.count}" if part.count > 1 else "") for part in shown.parts] == parts
    assert keep in [part.first for part in shown.parts if part.count == 1]
