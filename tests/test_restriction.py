"""The Day 28 experiment: two passes that differ only by the restriction."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, fsum, log2, sqrt

import numpy as np
import pytest

from mha import Weights, attend, embed, masks, restrict
from mha.attention import tolerance
from mha.restriction import head_summaries
from mha.restriction_rules import heads_off
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


# The exercise: 2 heads, halves, T = 4, as the Day 28 preset draws it.


def exercise(text: str = "A B C D", num_heads: int = 2, d_model: int = 8) -> tuple[np.ndarray, Weights]:
    return embed(text.split(), d_model, 0)[None], Weights.draw(d_model, num_heads, 0, init="normal")


def pass_in_loops(
    x: np.ndarray, weights: Weights, may_look: Callable[[int, int, int], bool]
) -> list[list[list[float]]]:
    """What each head adds to the output at each position, [h][i][d], with Python's own floats."""
    T, D = x.shape
    K = D // weights.num_heads

    def through(row: np.ndarray, W: np.ndarray, columns: range) -> list[float]:
        return [fsum(row[d] * W[d, c] for d in range(D)) for c in columns]

    added = []
    for h in range(weights.num_heads):
        columns = range(h * K, (h + 1) * K)
        q, k, v = ([through(row, W, columns) for row in x] for W in (weights.W_q, weights.W_k, weights.W_v))
        of_head = []
        for i in range(T):
            keys = [j for j in range(T) if may_look(h, i, j)]
            scores = [fsum(q[i][c] * k[j][c] for c in range(K)) / sqrt(K) for j in keys]
            powers = [exp(score - max(scores)) for score in scores]
            total = fsum(powers)
            head = [fsum(p / total * v[j][c] for p, j in zip(powers, keys, strict=True)) for c in range(K)]
            # row h*K + c of W_o is the one that column c of head h meets
            of_head.append([fsum(head[c] * weights.W_o[h * K + c, d] for c in range(K)) for d in range(D)])
        added.append(of_head)
    return added


def test_the_exercise_against_plain_loops() -> None:
    x, weights = exercise()
    made = restrict(x, x, x, weights, masks.halves(2, 4))
    before = pass_in_loops(x[0], weights, lambda h, i, j: True)
    after = pass_in_loops(x[0], weights, lambda h, i, j: (j < 2) == (h == 0))
    bound = made.bound
    for i in range(4):
        was, now = ([fsum(passed[h][i][d] for h in range(2)) for d in range(8)] for passed in (before, after))
        moved = [b - a for a, b in zip(was, now, strict=True)]
        length, of_was, of_now = (sqrt(fsum(c * c for c in vector)) for vector in (moved, was, now))
        assert abs(made.change_length[0, i] - length) <= 10 * bound
        assert abs(made.relative_change[0, i] - length / of_was) <= bound
        assert abs(made.cosine[0, i] - fsum(a * b for a, b in zip(was, now, strict=True)) / of_was / of_now) <= bound
        assert_close(made.output_change[0, i], moved, bound)
        for h in range(2):
            moved_by_head = [b - a for a, b in zip(before[h][i], after[h][i], strict=True)]
            assert_close(made.head_changes[0, h, i], moved_by_head, bound)
            along = fsum(a * b for a, b in zip(moved_by_head, moved, strict=True)) / length**2
            assert abs(made.head_shares[0, h, i] - along) <= bound


def test_each_heads_share_comes_through_its_own_rows_of_W_o() -> None:
    arrays, weights = inputs(), drawn()
    made = restrict(*arrays, weights, masks.halves(H, TK), mask=masks.causal(TQ, TK))
    K = D // H
    for h in range(H):
        moved = made.restricted.head_outputs[:, h] - made.baseline.head_outputs[:, h]
        assert_close(made.head_changes[:, h], moved @ weights.W_o[h * K : (h + 1) * K], made.bound)
        assert_close(made.head_change_length[:, h], np.sqrt((made.head_changes[:, h] ** 2).sum(-1)), made.bound)


def test_shares_add_up_and_the_residual_keeps_its_bound() -> None:
    made = restrict(*inputs(), drawn(), masks.halves(H, TK))
    assert_close(made.head_shares.sum(axis=1), np.ones((B, TQ)), made.bound)
    by_hand = max(
        abs(fsum(made.head_changes[b, :, i, d]) - made.output_change[b, i, d]) for b, i, d in np.ndindex(B, TQ, D)
    )
    assert abs(made.residual - by_hand) <= 1e-15 * max(1.0, np.abs(made.baseline.output).max())
    assert 0 < made.residual <= made.bound  # nonzero: with 33 numbers a position something is rounded
    assert made.bound == max(tolerance(made.baseline), tolerance(made.restricted))


def test_shares_are_not_defined_where_nothing_changes() -> None:
    made = restrict(*inputs(), drawn(), np.ones((H, TK), dtype=bool))
    assert np.isnan(made.head_shares).all()
    assert made.residual == 0.0
    assert not made.newly_empty.any()


def test_halves_and_causal_leave_the_second_head_without_a_key_in_the_early_rows() -> None:
    x, weights = exercise("A B C D E F")
    made = restrict(x, x, x, weights, masks.halves(2, 6), mask=masks.causal(6, 6))
    assert made.no_key_left(0) == ((1, 0), (1, 1), (1, 2))
    assert made.newly_empty[0].tolist() == [[False] * 6, [True] * 3 + [False] * 3]
    # those positions keep the first head alone
    assert_close(made.restricted.output[0, :3], made.restricted.contributions[0, 0, :3], made.bound)
    # and where a head lost all its keys, all of its attention had been on what is forbidden
    assert_close(made.forbidden_weight[0, 1, :3], np.ones(3), 1e-12)


def test_halves_and_a_valid_length_leave_the_second_head_nothing() -> None:
    x, weights = exercise("A B C D E F")
    made = restrict(x, x, x, weights, masks.halves(2, 6), mask=masks.valid_lens([3], 6))
    assert made.newly_empty[0].tolist() == [[False] * 6, [True] * 6]
    # the first head keeps its three keys, to the bit: all of the change is the second head's
    assert not made.head_changes[0, 0].any()
    assert_close(made.head_shares[0], np.array([[0.0] * 6, [1.0] * 6]), made.bound)


@pytest.mark.parametrize(("length", "num_heads"), [(1, 2), (2, 4), (3, 8)])
def test_fewer_positions_than_heads_give_numbers(length: int, num_heads: int) -> None:
    x, weights = exercise(" ".join("ABC"[:length]), num_heads)
    made = restrict(x, x, x, weights, masks.halves(num_heads, length))
    # a head that owns no position has none in any row
    assert made.newly_empty[0].all(axis=-1).sum() == num_heads - length
    assert np.isfinite(made.relative_change).all()
    assert_close(made.head_shares.sum(axis=1), np.ones((1, length)), made.bound)


def test_five_positions_are_two_and_three() -> None:
    x, weights = exercise("A B C D E")
    made = restrict(x, x, x, weights, masks.halves(2, 5))
    assert made.restricted.mask[0, :, 0].astype(int).tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    assert not made.newly_empty.any()


def test_all_heads_off_leave_nothing() -> None:
    x, weights = exercise()
    made = restrict(x, x, x, weights, heads_off(range(2), 2))
    assert not made.restricted.output.any()
    assert len(made.no_key_left(0)) == 8
    assert_close(made.relative_change, np.ones((1, 4)), 0)


def test_a_summary_per_head_against_plain_means() -> None:
    causal, halves = masks.causal(TQ, TK), masks.halves(H, TK)
    made = restrict(*inputs(), drawn(), halves, mask=causal)
    before, after = made.baseline, made.restricted
    for b in range(B):
        for h, head in enumerate(head_summaries(made, b)):
            lost = [
                fsum(before.weights[b, h, i, j] for j in range(TK) if not after.mask[b, h, i, j]) for i in range(TQ)
            ]
            even = [
                (before.mask[b, h, i].sum() - after.mask[b, h, i].sum()) / before.mask[b, h, i].sum() for i in range(TQ)
            ]
            both = [i for i in range(TQ) if after.mask[b, h, i].any()]  # causal alone leaves every row a key
            assert head.forbidden_weight == pytest.approx(fsum(lost) / TQ, abs=1e-12)
            assert head.forbidden_if_even == pytest.approx(fsum(even) / TQ, abs=1e-12)
            assert head.empty_before == 0
            assert head.empty_after == TQ - len(both)
            was, now = (
                [-fsum(w * log2(w) for w in trace.weights[b, h, i] if w) for i in both] for trace in (before, after)
            )
            if both:
                assert head.entropy_after == pytest.approx(fsum(now) / len(both), abs=1e-12)
                assert head.entropy_change == pytest.approx((fsum(now) - fsum(was)) / len(both), abs=1e-12)
            else:
                assert np.isnan([head.entropy_after, head.entropy_change]).all()
    with pytest.raises(ValueError, match="b to be a whole number from 0 to 1, got 2"):
        head_summaries(made, 2)


def test_a_summary_leaves_out_queries_that_had_no_key() -> None:
    # 4 equal scores; of the keys 1 and 2, which are all that is not padding, head 2 keeps none
    x = np.zeros((1, 4, 8))
    made = restrict(
        x, x, x, drawn(d_model=8, num_heads=2), masks.halves(2, 4), mask=masks.valid_lens([[2, 2, 0, 0]], 4)
    )
    first, second = head_summaries(made)
    assert first.forbidden_weight == 0.0
    assert second.forbidden_weight == pytest.approx(1.0, abs=1e-12)
    assert (first.empty_before, second.empty_before, second.empty_after) == (2, 2, 4)
    assert np.isnan(second.entropy_change)
