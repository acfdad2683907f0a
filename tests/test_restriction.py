"""The Day 28 experiment: two passes that differ only by the restriction."""

from __future__ import annotations

import numpy as np
import pytest

from mha import attend, masks, restrict
from mha.attention import tolerance
from tests.samples import SHAPE, TK, TQ, B, D, H, assert_close, drawn, inputs, same_bits, some_bias


def test_baseline_and_restricted_are_two_plain_passes() -> None:
    arrays, weights, bias = inputs(), drawn(), some_bias()
    causal, halves = masks.causal(TQ, TK), masks.halves(H, TK)
    for engine in ("numpy", "torch"):
        made = restrict(*arrays, weights, halves, mask=causal, bias=bias, engine=engine)
        both = masks.combine(causal, halves, shape=SHAPE)
        assert same_bits(made.baseline, attend(*arrays, weights, mask=causal, bias=bias, engine=engine))
        assert same_bits(made.restricted, attend(*arrays, weights, mask=both, bias=bias, engine=engine))


def test_a_restriction_is_a_rule_a_mask_or_an_array_per_head() -> None:
    arrays, weights = inputs(), drawn()
    rule = masks.halves(H, TK)
    by_rule = restrict(*arrays, weights, rule)
    for other in (
        masks.combine(rule, shape=SHAPE),
        rule.allowed[0, :, 0],
        rule.allowed[0, :, 0].astype(int),
        rule.allowed[0, :, 0].tolist(),
    ):
        assert same_bits(restrict(*arrays, weights, other).restricted, by_rule.restricted)


def test_a_restriction_that_allows_all_changes_nothing() -> None:
    made = restrict(*inputs(), drawn(), np.ones((H, TK), dtype=bool))
    assert same_bits(made.baseline, made.restricted)
    assert not made.output_change.any()
    assert not made.relative_change.any()
    assert not made.forbidden_weight.any()
    assert_close(made.cosine, np.ones((B, TQ)), 1e-12)


def test_a_restriction_of_one_head_changes_only_its_contribution() -> None:
    allowed = np.ones((H, TK), dtype=bool)
    allowed[1, 3:] = False
    made = restrict(*inputs(), drawn(), allowed)
    assert not made.head_changes[:, [0, 2]].any()
    assert made.head_changes[:, 1].any()
    assert_close(made.head_changes[:, 1], made.output_change, tolerance(made.baseline))


def test_changes_of_the_heads_sum_to_the_change_of_the_output() -> None:
    made = restrict(*inputs(), drawn(), masks.halves(H, TK), mask=masks.causal(TQ, TK))
    assert made.head_changes.shape == (B, H, TQ, D)
    assert_close(made.head_changes.sum(axis=1), made.output_change, tolerance(made.baseline))
    assert_close(made.output_change, made.restricted.output - made.baseline.output, 0)


def test_measured_changes_against_their_definitions() -> None:
    made = restrict(*inputs(), drawn(), masks.halves(H, TK))
    for b, i in np.ndindex(B, TQ):
        before, after = made.baseline.output[b, i], made.restricted.output[b, i]
        bound = tolerance(made.baseline)
        assert_close(made.change_length[b, i], np.sqrt(sum((after - before) ** 2)), bound)
        assert_close(made.relative_change[b, i], np.sqrt(sum((after - before) ** 2) / sum(before**2)), bound)
        cosine = sum(before * after) / np.sqrt(sum(before**2) * sum(after**2))
        assert_close(made.cosine[b, i], cosine, bound)


def test_forbidden_weight_is_what_lay_on_keys_that_are_now_blocked() -> None:
    # equal scores: 5 keys at 1/5 each, of which head 0 keeps 2 and head 1 keeps 3
    x = np.zeros((1, 5, 8))
    made = restrict(x, x, x, drawn(d_model=8, num_heads=2), masks.halves(2, 5))
    assert_close(made.forbidden_weight, np.array([[[0.6] * 5, [0.4] * 5]]), 1e-12)


def test_what_the_mask_blocks_already_is_not_forbidden_weight() -> None:
    made = restrict(*inputs(), drawn(), masks.valid_lens([3, 3], TK), mask=masks.valid_lens([3, 2], TK))
    assert not made.forbidden_weight.any()


def test_no_key_left_is_a_change_and_not_nan() -> None:
    weights = drawn(bias=False)
    made = restrict(*inputs(), weights, np.zeros((H, TK), dtype=bool))
    assert made.restricted.empty_rows.all()
    assert (made.output_change == -made.baseline.output).all()
    assert_close(made.relative_change, np.ones((B, TQ)), 1e-12)
    assert np.isnan(made.cosine).all()  # no angle to a zero vector
    assert_close(made.forbidden_weight, np.ones((B, H, TQ)), 1e-12)


def test_a_change_from_nothing_is_not_defined() -> None:
    nothing = np.zeros((H, TK), dtype=bool)
    made = restrict(*inputs(), drawn(bias=False), masks.halves(H, TK), mask=masks.heads(nothing, TK))
    assert np.isnan(made.relative_change).all()
    assert np.isnan(made.cosine).all()
    assert not made.change_length.any()


@pytest.mark.parametrize(
    ("restriction", "message"),
    [
        (np.ones((H, TK)), "bias="),
        (np.ones((1, TK), dtype=bool), r"shape \(H, Tk\) = \(3, 7\), got \(1, 7\)"),
        (np.ones((H, TQ), dtype=bool), r"shape \(H, Tk\) = \(3, 7\), got \(3, 5\)"),
        (np.ones(TK, dtype=bool), r"shape \(H, Tk\) = \(3, 7\), got \(7,\)"),
        (np.ones(SHAPE, dtype=bool), r"shape \(H, Tk\) = \(3, 7\), got \(2, 3, 5, 7\)"),
        (np.ones((B, TQ, TK), dtype=bool), "per text or per head"),
        (np.full((H, TK), 2), "hold only 0 and 1"),
        (masks.halves(H, TK + 1), r"got shape \(1, 3, 1, 8\)"),
    ],
)
def test_other_restrictions_are_refused(restriction: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        restrict(*inputs(), drawn(), restriction)  # type: ignore[arg-type]


def test_a_mask_of_three_axes_is_refused() -> None:
    with pytest.raises(ValueError, match="per text or per head"):
        restrict(*inputs(), drawn(), masks.halves(H, TK), mask=np.ones((B, TQ, TK), dtype=bool))
