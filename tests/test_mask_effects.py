"""What rules did: against closed forms, plain loops and small sums worked out by hand."""

from __future__ import annotations

from math import e, fsum, log2, sqrt

import numpy as np
import pytest

from mha import Weights, attend, masks
from mha.attention import tolerance
from mha.mask_effects import MaskEffect, head_mean, mask_effect

# Distinct primes, so that a swapped axis cannot pass by luck.
B, H, TQ, TK, K = 2, 3, 5, 7, 11
SHAPE = (B, H, TQ, TK)
RULES = (
    masks.causal(TQ, TK),
    masks.valid_lens([4, 6], TK),
    masks.window(TQ, TK, 2, 1),
    masks.halves(H, TK),
    masks.custom(np.random.default_rng(3).random(SHAPE) < 0.7, name="mine"),
)


def inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray, Weights]:
    rng = np.random.default_rng(0)
    # short vectors keep scores moderate, so that no row is one-hot
    queries, keys, values = (rng.standard_normal((B, T, H * K)) / (H * K) for T in (TQ, TK, TK))
    return queries, keys, values, Weights.draw(H * K, H, 1, init="normal", bias=True)


def effect_of(*rules: masks.Rule) -> MaskEffect:
    return mask_effect(*inputs(), rules)


def close(actual: np.ndarray, expected: np.ndarray, bound: float) -> bool:
    return np.shape(actual) == np.shape(expected) and float(np.abs(actual - expected).max(initial=0.0)) <= bound


def test_before_is_without_any_rule_and_after_is_with_all() -> None:
    effect = effect_of(*RULES)
    assert effect.before.output.tobytes() == attend(*inputs()).output.tobytes()
    mask = masks.combine(*RULES, shape=SHAPE)
    assert effect.after.output.tobytes() == attend(*inputs(), mask=mask).output.tobytes()
    assert (effect.mask.allowed == mask.allowed).all()
    assert tuple(rule.rule for rule in effect.rules) == RULES


def test_counts_and_removed_weight_of_each_rule_cell_by_cell() -> None:
    effect = effect_of(*RULES)
    for n, one in enumerate(effect.rules):
        for b, h, i in np.ndindex(B, H, TQ):
            blocked, alone = [], []  # by plain loops, from who blocks each cell
            for j in range(TK):
                names = effect.mask.blocked_by(b, h, i, j)
                if RULES[n].name in names:
                    blocked.append(j)
                if names == (RULES[n].name,):
                    alone.append(j)
            assert np.flatnonzero(one.blocked[b, h, i]).tolist() == blocked
            assert np.flatnonzero(one.blocked_alone[b, h, i]).tolist() == alone
            row = effect.before.weights[b, h, i]
            assert abs(one.removed[b, h, i] - fsum(row[blocked])) <= 1e-15
            assert abs(one.removed_alone[b, h, i] - fsum(row[alone])) <= 1e-15
        assert (one.blocked_cells == one.blocked.sum(axis=(2, 3))).all()
        assert one.blocked_cells_alone.shape == (B, H)
    assert any(one.blocked_cells_alone.any() for one in effect.rules)
    assert sum(one.blocked_cells.sum() for one in effect.rules) > (~effect.mask.allowed).sum()  # they overlap


def test_what_all_rules_removed_lies_between_the_sums_of_the_parts() -> None:
    effect = effect_of(*RULES)
    bound = 1e-15 * TK
    assert (sum(one.removed_alone for one in effect.rules) <= effect.removed + bound).all()
    assert (effect.removed <= sum(one.removed for one in effect.rules) + bound).all()


def test_switching_one_rule_off_opens_the_cells_that_only_it_blocks() -> None:
    effect = effect_of(*RULES)
    for n, one in enumerate(effect.rules):
        without = masks.combine(*RULES[:n], *RULES[n + 1 :], shape=SHAPE).allowed
        assert (without & ~effect.mask.allowed == one.blocked_alone).all()


def test_the_freed_weight_goes_to_the_other_keys_in_proportion() -> None:
    effect = effect_of(masks.window(TQ, TK, 3, 3), RULES[4])
    has_key = ~effect.after.empty_rows
    before, after = effect.before.weights[has_key], effect.after.weights[has_key]
    allowed, removed = effect.mask.allowed[has_key], effect.removed[has_key]
    # the closed form after = before / (1 - removed), times what divides it: near 1 a quotient would lose digits
    assert close(after * (1 - removed[:, None]), np.where(allowed, before, 0.0), tolerance(effect.before))
    moderate = removed < 0.9
    closed_form = np.where(allowed, before, 0.0)[moderate] / (1 - removed[moderate, None])
    assert moderate.sum() > B * H * TQ / 2
    assert close(after[moderate], closed_form, 10 * tolerance(effect.before))


def test_no_weight_is_lost_but_in_rows_with_no_key_left() -> None:
    effect = effect_of(*RULES)
    empty = effect.after.empty_rows
    assert not effect.gained[~effect.mask.allowed].any()
    assert (effect.gained >= -tolerance(effect.before)).all()  # no allowed key ever loses
    assert close(effect.gained.sum(axis=-1), np.where(empty, 0.0, effect.removed), tolerance(effect.before))
    assert close(effect.removed[empty], np.ones(int(empty.sum())), tolerance(effect.before))
    by_loops = [[[fsum(effect.gained[b, h, :, j]) for j in range(TK)] for h in range(H)] for b in range(B)]
    assert close(effect.gained_by_key, np.array(by_loops), 1e-15 * TQ)


def test_equal_scores_by_hand() -> None:
    # Zero queries: all scores 0. Causal on 3 tokens frees 2/3, 1/3 and 0 of the rows 1/3, 1/3, 1/3.
    x, eye = np.eye(3)[None], np.eye(3)
    effect = mask_effect(np.zeros((1, 3, 3)), x, x, Weights(eye, eye, eye, eye, 1), [masks.causal(3, 3)])
    assert close(effect.removed[0, 0], np.array([2, 1, 0]) / 3, 1e-15)
    assert close(effect.gained[0, 0], np.array([[2 / 3, 0, 0], [1 / 6, 1 / 6, 0], [0, 0, 0]]), 1e-15)
    assert close(effect.gained_by_key[0, 0], np.array([5 / 6, 1 / 6, 0]), 1e-15)
    # entropies log2 of 3, 3, 3 keys before and 1, 2, 3 after
    assert close(effect.entropy_change[0, 0], np.array([0, 1, log2(3)]) - log2(3), 1e-15)
    # outputs are the rows of weights, as values and W_o are the identity: |(1,0,0) - (1,1,1)/3| = sqrt(6)/3
    assert close(effect.change_length[0], np.array([sqrt(6) / 3, sqrt(1 / 6), 0]), 1e-15)
    assert close(effect.relative_change[0], np.array([sqrt(6) / 3, sqrt(1 / 6), 0]) / sqrt(1 / 3), 1e-15)
    assert effect.rules[0].blocked_cells.tolist() == [[3]]


def test_one_row_with_e_by_hand() -> None:
    # Scores 1, 0, 0 of the only query: weights e, 1, 1 over e + 2. Blocking the first key leaves 1/2, 1/2.
    keys, eye = np.array([[[1.0], [0.0], [0.0]]]), np.eye(1)
    weights = Weights(eye, eye, eye, eye, 1)
    effect = mask_effect([[[1.0]]], keys, keys, weights, [masks.custom([False, True, True])])
    assert abs(effect.removed[0, 0, 0] - e / (e + 2)) <= 1e-15
    assert close(effect.gained[0, 0, 0], np.array([0, 1, 1]) * (1 / 2 - 1 / (e + 2)), 1e-15)
    assert effect.gained[0, 0, 0, 0] == 0.0
    assert effect.change_length[0, 0] == pytest.approx(e / (e + 2), abs=1e-15)  # the output was that, and is 0
    assert effect.relative_change[0, 0] == 1.0


def test_rows_with_no_key_left_are_listed_by_head_and_query() -> None:
    # The design's finding: halves of 6 keys, causal, leave the second head without a key for the first 3 queries.
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2, 6, 4))
    rules = [masks.halves(2, 6), masks.causal(6, 6), masks.valid_lens([6, 0], 6)]
    effect = mask_effect(x, x, x, Weights.draw(4, 2, 0), rules)
    assert effect.no_key_left(0) == ((1, 0), (1, 1), (1, 2))
    assert effect.no_key_left(1) == tuple((h, i) for h in range(2) for i in range(6))
    assert np.isnan(effect.entropy_change[0, 1]).tolist() == [True] * 3 + [False] * 3
    assert not np.isnan(effect.change_length).any()
    for b in (-1, 2, 0.5):
        with pytest.raises(ValueError, match="b to be a whole number from 0 to 1"):
            effect.no_key_left(b)  # type: ignore[arg-type]


def test_relative_change_is_not_defined_where_the_output_was_zero() -> None:
    x, eye = np.eye(2)[None], np.eye(2)
    effect = mask_effect(x, x, np.zeros((1, 2, 2)), Weights(eye, eye, eye, eye, 1), [masks.causal(2, 2)])
    assert effect.change_length.tolist() == [[0.0, 0.0]]
    assert np.isnan(effect.relative_change).all()


def test_no_rules_and_rules_that_block_nothing_change_nothing() -> None:
    everything = masks.custom(np.ones(SHAPE, dtype=bool))
    for effect in (effect_of(), effect_of(everything)):
        assert effect.after.output.tobytes() == effect.before.output.tobytes()
        for changed in (effect.removed, effect.gained, effect.entropy_change, effect.change_length):
            assert not changed.any()
    assert effect_of().rules == ()
    assert not effect_of(everything).rules[0].blocked_cells.any()


def test_the_same_rule_twice_blocks_nothing_alone() -> None:
    effect = effect_of(masks.causal(TQ, TK), masks.causal(TQ, TK))
    assert [int(one.blocked_cells.sum()) for one in effect.rules] == [B * H * (6 + 5 + 4 + 3 + 2)] * 2
    assert not any(one.blocked_alone.any() or one.removed_alone.any() for one in effect.rules)
    assert (effect.rules[0].removed == effect.removed).all()


def test_lengths_of_nothing_do_not_fail() -> None:
    weights = Weights.draw(6, 2, 0)
    for Tq, Tk in ((0, 3), (3, 0), (0, 0)):
        effect = mask_effect(
            np.zeros((1, Tq, 6)), np.zeros((1, Tk, 6)), np.zeros((1, Tk, 6)), weights, [masks.causal(Tq, Tk)]
        )
        assert effect.gained_by_key.shape == (1, 2, Tk)
        assert effect.no_key_left(0) == tuple((h, i) for h in range(2) for i in range(Tq))


def test_arrays_are_closed_for_writing() -> None:
    one = effect_of(*RULES).rules[0]
    for array in (one.blocked, one.blocked_alone, one.removed, one.removed_alone):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_what_is_no_rule_or_does_not_fit_is_refused() -> None:
    queries, keys, values, weights = inputs()
    with pytest.raises(ValueError, match="expected rules, got ndarray"):
        mask_effect(queries, keys, values, weights, [np.ones(SHAPE, dtype=bool)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'causal' to broadcast"):
        mask_effect(queries, keys, values, weights, [masks.causal(TQ, TK + 1)])
    keys[1, 2, 3] = np.nan  # before, every query looks at it
    with pytest.raises(ValueError, match=r"keys to be finite where a query may look, got nan at \(1, 2, 3\)"):
        mask_effect(queries, keys, values, weights, [masks.valid_lens([2, 2], TK)])


# --- means of heads ----------------------------------------------------------------------------------------------


def test_head_mean_leaves_out_what_is_not_defined_and_counts_it() -> None:
    rows = np.array([[[1.0, np.nan, 3.0, 5.0, np.nan], [np.nan] * 5]])
    mean, left_out = head_mean(rows)
    assert mean[0, 0] == 3.0  # (1 + 3 + 5) / 3
    assert np.isnan(mean[0, 1])
    assert left_out.tolist() == [[2, 5]]


def test_head_mean_leaves_out_padding_without_counting_it() -> None:
    rows = np.array([[[1.0, np.nan, 3.0, 5.0, np.nan]], [[2.0, 4.0, 8.0, 16.0, 32.0]]])
    mean, left_out = head_mean(rows, [3, 0])
    assert mean[0, 0] == 2.0  # (1 + 3) / 2
    assert np.isnan(mean[1, 0])
    assert left_out.tolist() == [[1], [0]]
    full, none = head_mean(rows, [5, 5])
    assert full[1, 0] == 62 / 5
    assert none.tolist() == [[2], [0]]


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        ([1, 2, 3], r"lens of shape \(B,\) with B = 2, got \(3,\)"),
        ([[1], [2]], r"lens of shape \(B,\) with B = 2, got \(2, 1\)"),
        (3, r"got \(\)"),
        ([1, 6], "whole numbers from 0 to 5"),
        ([1, 0.5], "whole numbers from 0 to 5"),
    ],
)
def test_head_mean_refuses_other_lengths(lens: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        head_mean(np.zeros((2, 3, 5)), lens)  # type: ignore[arg-type]
