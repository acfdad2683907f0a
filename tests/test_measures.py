"""Measures: closed forms, and what is not defined."""

from __future__ import annotations

from dataclasses import asdict
from math import e, log2, sqrt

import numpy as np
import pytest

from mha import attend, masks
from mha.attention import tolerance
from mha.measures import (
    cosine,
    distance,
    entropy,
    entropy_share,
    head_share,
    mean_defined,
    overlap,
    peak,
    ranked_keys,
    relative_change,
    saturated,
    score_lead,
    shares_of_sum,
    strongest_key,
    summarise,
    weight_on_first,
    weight_on_previous,
    weight_on_self,
)
from tests.samples import TK, TQ, B, H, assert_close, drawn, inputs, one_head

CLOSE = 1e-12
EMPTY = (np.zeros((1, 4)), np.zeros((1, 4), dtype=bool))  # one row with no key left


def row(*weights: float, blocked: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One row of weights, all allowed, and `blocked` keys after them."""
    allowed = [True] * len(weights) + [False] * blocked
    return np.array([[*weights, *[0.0] * blocked]]), np.array([allowed])


# --- entropy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 128])
def test_entropy_of_n_equal_weights_is_log2_n_bits(n: int) -> None:
    assert_close(entropy(*row(*[1 / n] * n, blocked=3)), np.array([log2(n)]), CLOSE * 7)


def test_entropy_of_uneven_weights() -> None:
    assert entropy(*row(0.5, 0.25, 0.25))[0] == 1.5  # 1/2 * 1 + 2 * 1/4 * 2
    p = e / (1 + e)
    assert_close(entropy(*row(p, 1 - p))[0], -p * log2(p) - (1 - p) * log2(1 - p), CLOSE)


def test_entropy_of_one_key_is_zero_and_not_minus_zero() -> None:
    assert str(entropy(*row(1.0, 0.0))[0]) == "0.0"


def test_entropy_share_is_relative_to_the_allowed_keys() -> None:
    assert_close(entropy_share(*row(0.25, 0.25, 0.25, 0.25, blocked=5)), np.array([1.0]), CLOSE)
    assert_close(entropy_share(*row(0.5, 0.5, 0.0, 0.0)), np.array([0.5]), CLOSE)
    assert entropy_share(*row(1.0, 0.0))[0] == 0


def test_entropy_share_with_one_key_is_not_defined() -> None:
    assert np.isnan(entropy_share(*row(1.0, blocked=3))[0])


# --- keys and places ---------------------------------------------------------------------------------------------


def test_strongest_key_is_the_first_of_equal_ones() -> None:
    assert strongest_key(*row(0.2, 0.4, 0.4)).tolist() == [1]


def test_strongest_key_is_never_a_blocked_one() -> None:
    weights, allowed = np.zeros((1, 3)), np.array([[False, True, True]])  # all underflowed but allowed
    assert strongest_key(weights, allowed).tolist() == [1]


def test_strongest_key_of_an_empty_row_is_minus_one() -> None:
    assert strongest_key(*EMPTY).tolist() == [-1]
    assert strongest_key(np.zeros((3, 0)), np.zeros((3, 0), dtype=bool)).tolist() == [-1] * 3


def test_ranked_keys_are_the_strongest_first_and_never_blocked_ones() -> None:
    weights = np.array([[0.1, 0.5, 0.4, 0.0], [0.25, 0.25, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0] * 4])
    allowed = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    assert ranked_keys(weights, allowed, 3) == [[1, 2, 0], [2, 0, 1], [0], []]
    assert ranked_keys(weights, allowed, 9)[0] == [1, 2, 0, 3]
    assert ranked_keys(np.zeros((2, 0)), np.zeros((2, 0), dtype=bool), 3) == [[], []]


def test_peak_is_the_largest_weight() -> None:
    assert peak(*row(0.2, 0.7, 0.1)).tolist() == [0.7]


def test_distance_is_the_mean_number_of_steps() -> None:
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    assert distance(weights, weights >= 0).tolist() == [0.0, 1.0, 0.25, 3.0]


def test_weight_on_first_self_and_previous() -> None:
    weights = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.7, 0.2, 0.1]])
    allowed = np.ones((3, 3), dtype=bool)
    assert weight_on_first(weights, allowed).tolist() == [0.5, 0.1, 0.7]
    assert weight_on_self(weights, allowed).tolist() == [0.5, 0.6, 0.1]
    previous = weight_on_previous(weights, allowed)
    assert np.isnan(previous[0])  # the first token has none before it
    assert previous[1:].tolist() == [0.1, 0.2]


@pytest.mark.parametrize("measure", [weight_on_self, weight_on_previous])
def test_self_and_previous_need_as_many_queries_as_keys(measure: object) -> None:
    with pytest.raises(ValueError, match="got Tq = 5 and Tk = 7"):
        measure(np.ones((5, 7)) / 7, np.ones((5, 7), dtype=bool))  # type: ignore[operator]


# --- saturation --------------------------------------------------------------------------------------------------


def test_saturated_is_more_than_99_in_100_on_one_of_several_keys() -> None:
    assert saturated(*row(0.991, 0.009)).tolist() == [True]
    assert saturated(*row(0.99, 0.01)).tolist() == [False]
    assert saturated(*row(1.0, 0.0)).tolist() == [True]


def test_a_row_without_a_choice_is_not_saturated() -> None:
    assert saturated(*row(1.0, blocked=3)).tolist() == [False]
    assert saturated(*EMPTY).tolist() == [False]
    assert saturated(np.zeros((2, 0)), np.zeros((2, 0), dtype=bool)).tolist() == [False] * 2


def test_score_lead_is_the_gap_to_the_second_allowed_score() -> None:
    allowed = np.array([[True, True, True, False]])
    assert score_lead(np.array([[1.0, 5.0, 2.5, 99.0]]), allowed).tolist() == [2.5]
    assert score_lead(np.array([[3.0, 3.0, 1.0, 9.0]]), allowed).tolist() == [0.0]


def test_score_lead_below_two_keys_is_not_defined() -> None:
    one = np.array([[True, False, False, False]])
    for allowed in (one, ~np.ones_like(one)):
        assert np.isnan(score_lead(np.array([[1.0, 5.0, 2.5, 99.0]]), allowed)).all()
    assert np.isnan(score_lead(np.zeros((3, 1)), np.ones((3, 1), dtype=bool))).all()


def test_a_lead_of_g_is_a_ratio_of_e_to_the_g() -> None:
    trace = one_head([[1.3], [0.4]])
    weights = trace.weights[0, 0, 0]
    lead = score_lead(trace.scores, trace.mask)[0, 0, 0]
    assert_close(lead, 1.3 * 1.3 - 1.3 * 0.4, CLOSE)
    assert_close(weights[0] / weights[1], e**lead, CLOSE * e**lead)


# --- vectors -----------------------------------------------------------------------------------------------------


def test_head_share_is_the_share_of_lengths() -> None:
    contributions = np.array([[[[3.0, 4.0], [0, 0]], [[0, 0], [0, 0]], [[0.0, -15.0], [0, 0]]]])  # (1, 3, 2, 2)
    shares = head_share(contributions)
    assert shares[0, :, 0].tolist() == [0.25, 0.0, 0.75]  # lengths 5, 0 and 15
    assert np.isnan(shares[0, :, 1]).all()  # nothing to share


def test_head_shares_sum_to_one_over_the_heads() -> None:
    trace = attend(*inputs(), drawn())
    assert head_share(trace.contributions).shape == (B, H, TQ)
    assert_close(head_share(trace.contributions).sum(axis=1), np.ones((B, TQ)), CLOSE)


def test_relative_change_is_the_length_of_the_change_over_that_before() -> None:
    before, after = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[3.0, -1.0], [1.0, 0.0], [1.0, 0.0]])
    changes = relative_change(before, after)
    assert changes[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(changes[1])


def test_cosine_of_the_angle() -> None:
    a = np.array([[1.0, 0.0], [1.0, 0.0], [2.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    b = np.array([[0.0, 3.0], [-5.0, 0.0], [0.5, 0.5], [1.0, 1.0], [1.0, 0.0]])
    angles = cosine(a, b)
    assert_close(angles[:4], np.array([0, -1, 1, 1 / sqrt(2)]), CLOSE)
    assert np.isnan(angles[4])


def test_cosine_never_leaves_its_range() -> None:
    a = np.random.default_rng(1).standard_normal((500, 7))
    assert cosine(a, a * 3.3).max() <= 1  # without a bound some are 1.0000000000000002


# --- means and what is left out ----------------------------------------------------------------------------------


def test_mean_defined_leaves_out_and_counts() -> None:
    values = np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, np.nan]])
    means, left_out = mean_defined(values)
    assert means[0] == 2.5
    assert np.isnan(means[1])
    assert left_out.tolist() == [1, 3]
    means, left_out = mean_defined(values, axis=0)
    assert means[[0, 2]].tolist() == [1.0, 4.0]
    assert np.isnan(means[1])
    assert left_out.tolist() == [1, 2, 1]


def test_the_mean_of_nothing_is_not_defined() -> None:
    mean, left_out = mean_defined(np.zeros(0))
    assert np.isnan(mean)
    assert left_out == 0


@pytest.mark.parametrize("measure", [entropy, entropy_share, peak, distance, weight_on_first])
def test_nothing_about_an_empty_row_is_defined(measure: object) -> None:
    assert np.isnan(measure(*EMPTY)).all()  # type: ignore[operator]
    assert np.isnan(measure(np.zeros((3, 0)), np.zeros((3, 0), dtype=bool))).all()  # type: ignore[operator]


@pytest.mark.parametrize("measure", [weight_on_self, weight_on_previous])
def test_nothing_about_an_empty_row_is_defined_in_self_attention(measure: object) -> None:
    assert np.isnan(measure(np.zeros((4, 4)), np.zeros((4, 4), dtype=bool))).all()  # type: ignore[operator]


@pytest.mark.parametrize("measure", [entropy, entropy_share, strongest_key, peak, distance, weight_on_first, saturated])
def test_measures_keep_the_leading_axes(measure: object) -> None:
    trace = attend(*inputs(), drawn())
    whole = measure(trace.weights, trace.mask)  # type: ignore[operator]
    assert whole.shape == (B, H, TQ)
    assert (whole[1, 2] == measure(trace.weights[1, 2], trace.mask[1, 2])).all()  # type: ignore[operator]


# --- summaries ---------------------------------------------------------------------------------------------------


def test_summary_of_heads_that_share_equally_under_causal_and_halves() -> None:
    # zero vectors: every row shares equally among the keys it may look at. Head 0 owns keys 0-1, head 1 keys 2-3.
    x = np.zeros((1, 4, 4))
    mask = masks.combine(masks.causal(4, 4), masks.halves(2, 4), shape=(1, 2, 4, 4))
    first, second = summarise(attend(x, x, x, drawn(d_model=4, num_heads=2), mask=mask))
    # head 0: rows [1], [1/2 1/2], [1/2 1/2], [1/2 1/2]
    assert first.entropy == 0.75
    assert first.entropy_share == 1.0  # of the three rows with a choice
    assert first.distance == (0 + 0.5 + 1.5 + 2.5) / 4
    assert first.on_first == (1 + 3 * 0.5) / 4
    assert first.on_self == (1 + 0.5 + 0 + 0) / 4
    assert first.on_previous == (0.5 + 0.5 + 0) / 3
    assert first.peak == (1 + 3 * 0.5) / 4
    assert (first.saturated_rows, first.empty_rows) == (0, 0)
    assert first.not_defined == {
        "entropy": 0,
        "entropy_share": 1,
        "distance": 0,
        "on_first": 0,
        "peak": 0,
        "on_self": 0,
        "on_previous": 1,
    }
    # head 1: rows 0 and 1 have no key left; row 2 has one, row 3 two
    assert second.empty_rows == 2
    assert second.entropy == 0.5
    assert second.entropy_share == 1.0
    assert second.distance == (0 + 0.5) / 2
    assert second.on_first == 0
    assert second.on_self == 0.75
    assert second.on_previous == 0.25  # row 2 gives 0 to key 1, which it may not look at; row 3 gives 1/2 to key 2
    assert second.not_defined["entropy"] == 2
    assert second.not_defined["entropy_share"] == 3


def test_summary_of_cross_attention_leaves_self_and_previous_undefined() -> None:
    trace = attend(*inputs(), drawn())
    with pytest.raises(ValueError, match="Tq = 5 and Tk = 7"):
        summarise(trace)
    for summary in summarise(trace, 1, self_attention=False):
        assert np.isnan(summary.on_self)
        assert np.isnan(summary.on_previous)
        assert summary.not_defined["on_self"] == TQ
        assert 0 < summary.entropy < log2(TK)


def test_summary_is_of_the_text_asked_for() -> None:
    queries, keys, values = inputs()
    trace = attend(queries, keys, values, drawn(), mask=masks.valid_lens([TK, 0], TK))
    assert [summary.empty_rows for summary in summarise(trace, 0, self_attention=False)] == [0] * H
    assert [summary.empty_rows for summary in summarise(trace, 1, self_attention=False)] == [TQ] * H
    alone = attend(queries[:1], keys[:1], values[:1], drawn())
    for one, other in zip(
        summarise(trace, 0, self_attention=False), summarise(alone, self_attention=False), strict=True
    ):
        for name in ("entropy", "distance", "peak"):
            assert_close(asdict(one)[name], asdict(other)[name], tolerance(trace) * TK)
    for b in (2, -1):
        with pytest.raises(ValueError, match=f"b to be a whole number from 0 to 1, got {b}"):
            summarise(trace, b, self_attention=False)


def test_every_row_of_a_sharp_head_is_saturated() -> None:
    x = inputs()[0]
    trace = attend(x * 1e3, x * 1e3, x, drawn(bias=False))  # a million times the scores
    assert [summary.saturated_rows for summary in summarise(trace)] == [TQ] * H


def test_overlap_by_hand() -> None:
    # two queries of two heads over three keys: min of (1/2, 1/2, 0) and (1/4, 1/4, 1/2) is 1/2; of (1,0,0), (0,1,0) 0
    maps = np.array([[[0.5, 0.5, 0], [1, 0, 0]], [[0.25, 0.25, 0.5], [0, 1, 0]]])
    everything = np.ones(maps.shape, dtype=bool)
    assert_close(overlap(maps, everything), np.array([[1, 0.25], [0.25, 1]]), 0)
    # without a key in the second head's second query only the first counts
    allowed = everything.copy()
    allowed[1, 1] = False
    assert_close(overlap(np.where(allowed, maps, 0.0), allowed), np.array([[1, 0.5], [0.5, 1]]), 0)


def test_overlap_is_not_defined_without_a_query_that_has_keys_in_both() -> None:
    trace = attend(*inputs(), drawn(), mask=masks.heads(np.eye(H, TK, dtype=bool) & [[True], [False], [True]], TK))
    found = overlap(trace.weights, trace.mask)
    assert found.shape == (B, H, H)
    assert np.isnan(found[:, 1]).all()
    assert np.isnan(found[:, :, 1]).all()
    assert (found[:, [0, 2], [0, 2]] == 1).all()  # one key each, and all of it
    assert (found[:, 0, 2] == 0).all()


def test_shares_of_a_sum_by_hand() -> None:
    # (2, 1) + (1, -1) = (3, 0): 2/3 and 1/3 of it, whatever goes across; (4, 0) + (-1, 0) = (3, 0): 4/3 and -1/3
    parts = np.array([[[[2.0, 1], [4, 0], [1, 1]], [[1.0, -1], [-1, 0], [-1, -1]]]])  # (1, 2, 3, 2)
    shares = shares_of_sum(parts)
    assert_close(shares[..., :2], np.array([[[2, 4], [1, -1]]]) / 3, 1e-15)
    assert np.isnan(shares[..., 2]).all()  # (1, 1) and (-1, -1) leave no sum to have a share of
