"""The PyTorch engine, the reference it offers, and a check that can fail."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from mha import Trace, Weights, attend, masks
from mha.attention import tolerance
from mha.torch_engine import NOT_INSTALLED, Check, Difference, check, is_installed, multihead_attention
from tests.samples import (
    RULES,
    SHAPE,
    TK,
    TQ,
    B,
    D,
    H,
    assert_close,
    attention_by_hand,
    drawn,
    inputs,
    run_python,
    some_bias,
)

# --- the engine --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, some_bias()], ids=["no bias", "bias"])
@pytest.mark.parametrize("with_biases", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("rule", RULES)
def test_both_engines_agree_on_every_step(rule: str, with_biases: bool, bias: np.ndarray | None) -> None:
    arrays, weights = inputs(), drawn(bias=with_biases)
    ours = attend(*arrays, weights, mask=RULES[rule](), bias=bias)
    theirs = attend(*arrays, weights, mask=RULES[rule](), bias=bias, engine="torch")
    for field in fields(Trace):
        name = field.name
        assert getattr(theirs, name).dtype == getattr(ours, name).dtype, name
        assert_close(getattr(theirs, name).astype(float), getattr(ours, name).astype(float), tolerance(ours, 1e-10))
    assert not theirs.weights[~theirs.mask].any()
    assert not theirs.weights[theirs.empty_rows].any()


def test_the_engine_leaves_torchs_random_generator_alone() -> None:
    before = torch.random.get_rng_state()
    trace = attend(*inputs(), drawn(), engine="torch")
    check(trace, *inputs(), drawn())
    assert (torch.random.get_rng_state() == before).all()


# --- torch.nn.MultiheadAttention with our weights ----------------------------------------------------------------


@pytest.mark.parametrize("with_biases", [True, False], ids=["biases", "no biases"])
def test_multihead_attention_equals_plain_loops(with_biases: bool) -> None:
    arrays, weights = inputs(), drawn(bias=with_biases)
    allowed = np.random.default_rng(12).random(SHAPE) < 0.6
    allowed[..., 5] = True
    bias = np.where(allowed, some_bias(), 0.0)
    bias[..., 5] = 0.25
    attention, _, output = attention_by_hand(*arrays, weights, allowed, bias)
    their_output, their_weights = multihead_attention(*arrays, weights, allowed, bias)
    bound = tolerance(attend(*arrays, weights, mask=allowed, bias=bias), 1e-10)
    assert_close(their_weights, attention, bound)
    assert_close(their_output, output, bound)


def test_a_single_bias_is_enough_and_the_others_count_as_zero() -> None:
    arrays, drawn_weights = inputs(), drawn()
    only_one = replace(drawn_weights, b_q=None, b_v=None, b_o=None)
    trace = attend(*arrays, only_one)
    output, _ = multihead_attention(*arrays, only_one, trace.mask)
    assert_close(output, trace.output, tolerance(trace, 1e-10))


def test_multihead_attention_gives_rows_without_a_key_as_torch_does() -> None:
    allowed = np.ones(SHAPE, dtype=bool)
    allowed[1, 2, 3] = False
    output, weights = multihead_attention(*inputs(), drawn(), allowed)
    assert np.isnan(weights[1, 2, 3]).all()
    assert np.isnan(output).any()


# --- the check: right traces pass --------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, some_bias()], ids=["no bias", "bias"])
@pytest.mark.parametrize("rule", RULES)
def test_check_passes_on_a_right_trace(rule: str, bias: np.ndarray | None) -> None:
    arrays, weights = inputs(), drawn()
    trace = attend(*arrays, weights, mask=RULES[rule](), bias=bias)
    said = check(trace, *arrays, weights, bias)
    assert said.passed
    assert said.bound == tolerance(trace, 1e-10)
    assert said.rows == B * H * TQ
    assert said.empty_rows == trace.empty_rows.sum()
    assert said.blocked_cells == (~trace.mask).sum()
    theirs, ours = said.differences
    assert (theirs.rows_left_out, theirs.positions_left_out) == (
        trace.empty_rows.sum(),
        trace.empty_rows.any(axis=1).sum(),
    )
    assert (ours.rows_left_out, ours.positions_left_out) == (0, 0)


@pytest.mark.parametrize(("texts", "Tq", "Tk"), [(2, 5, 0), (2, 0, 7), (0, 5, 7)])
def test_check_passes_on_empty_axes(texts: int, Tq: int, Tk: int) -> None:
    queries, keys = np.ones((texts, Tq, D)), np.ones((texts, Tk, D))
    trace = attend(queries, keys, keys, drawn())
    assert check(trace, queries, keys, keys, drawn()).passed


def test_check_passes_where_every_row_is_saturated() -> None:
    # scores in the thousands: an absolute bound of 1e-10 would not hold
    weights = Weights.draw(100, 5, 0, init="uniform")
    x = np.random.default_rng(13).random((2, 6, 100))
    trace = attend(x, x, x, weights)
    assert np.abs(trace.scores).max() > 1000
    assert check(trace, x, x, x, weights).passed


def test_check_takes_what_attend_takes() -> None:
    queries, keys, values = inputs()
    bias = np.where(np.arange(TK) == 4, -np.inf, 0.5)  # (Tk,), for attend to broadcast
    keys[:, 4] = np.nan  # nobody may look there
    trace = attend(queries, keys, values, drawn(), bias=bias)
    assert check(trace, queries.tolist(), keys, np.asfortranarray(values), drawn(), bias).passed


# --- the check: each way to be wrong fails -----------------------------------------------------------------------


def tampered(**arrays: np.ndarray) -> Check:
    """The check of a causal trace in which some arrays were replaced."""
    trace = attend(*inputs(), drawn(), mask=masks.causal(TQ, TK))
    return check(replace(trace, **arrays), *inputs(), drawn())


def causal_trace() -> Trace:
    return attend(*inputs(), drawn(), mask=masks.causal(TQ, TK))


def test_check_fails_on_changed_weights() -> None:
    weights = causal_trace().weights.copy()
    weights[1, 2, 4, [0, 1]] += [1e-8, -1e-8]  # the row still sums to 1
    said = tampered(weights=weights)
    assert not said.passed
    assert [difference.within(said.bound) for difference in said.differences] == [False, False]
    assert said.worst_row_sum <= said.bound


def test_check_fails_on_changed_output() -> None:
    output = causal_trace().output.copy()
    output[1, 3, 32] += 1e-6
    said = tampered(output=output)
    assert not said.passed
    assert said.differences[0].output > said.bound
    assert said.differences[0].weights <= said.bound


def test_check_fails_on_a_blocked_weight_that_is_not_zero_but_tiny() -> None:
    weights = causal_trace().weights.copy()
    weights[0, 1, 2, 6] = 1e-300
    said = tampered(weights=weights)
    assert not said.passed
    assert said.largest_blocked_weight == 1e-300
    assert all(difference.within(said.bound) for difference in said.differences)


def test_check_fails_on_a_row_sum_that_only_many_small_errors_make() -> None:
    trace = attend(*inputs(), drawn())
    bound = tolerance(trace, 1e-10)
    said = check(replace(trace, weights=trace.weights + 0.5 * bound), *inputs(), drawn())
    assert not said.passed
    assert all(difference.within(said.bound) for difference in said.differences)
    assert_close(np.array(said.worst_row_sum), np.array(3.5 * bound), 1e-4 * bound)


@pytest.mark.parametrize("name", ["weights", "output"])
def test_check_fails_on_nan(name: str) -> None:
    array = getattr(causal_trace(), name).copy()
    array[(1,) + (0,) * (array.ndim - 1)] = np.nan
    assert not tampered(**{name: array}).passed


def test_check_fails_on_a_weight_in_an_empty_row() -> None:
    mask = masks.valid_lens([4, 0], TK)
    trace = attend(*inputs(), drawn(), mask=mask)
    weights = trace.weights.copy()
    weights[1, 0, 0, 0] = 1e-300
    said = check(replace(trace, weights=weights), *inputs(), drawn())
    assert not said.passed
    assert said.largest_in_empty_rows == 1e-300


def test_check_fails_on_a_trace_of_other_inputs() -> None:
    trace = causal_trace()
    assert not check(trace, *inputs(seed=1), drawn()).passed
    assert not check(trace, *inputs(), drawn(seed=1)).passed
    assert not check(trace, *inputs(), drawn(), some_bias()).passed


def test_every_number_of_a_check_can_fail_it() -> None:
    good = Check((Difference("other", 0.0, 0.0, 0, 0),), 1e-10, 0.0, 1, 0, 0.0, 0, 0.0)
    assert good.passed
    for wrong in (
        {"differences": (Difference("other", 2e-10, 0.0, 0, 0),)},
        {"differences": (Difference("other", 0.0, 2e-10, 0, 0),)},
        {"differences": (good.differences[0], Difference("another", np.nan, 0.0, 0, 0))},
        {"worst_row_sum": 2e-10},
        {"worst_row_sum": np.nan},
        {"largest_in_empty_rows": 5e-324},
        {"largest_blocked_weight": 5e-324},
    ):
        assert not replace(good, **wrong).passed, wrong


# --- without PyTorch ---------------------------------------------------------------------------------------------


def test_torch_is_installed_here() -> None:
    assert is_installed()


def test_load_keeps_torch_to_one_thread() -> None:
    code = "from mha.torch_engine import load; load(); import torch; print(torch.get_num_threads())"
    assert run_python(code, OMP_NUM_THREADS="2") == "1"


def test_without_torch_all_else_works_and_the_engine_says_how_to_get_it() -> None:
    said = run_python(
        "import sys; sys.modules['torch'] = None\n"  # as if it were not there
        "import numpy as np\n"
        "from mha import Weights, attend, embed, restrict, masks\n"
        "from mha.torch_engine import is_installed, check, load\n"
        "x = embed(['a', 'b', 'c'], 8, 0)[None]\n"
        "weights = Weights.draw(8, 2, 0)\n"
        "trace = restrict(x, x, x, weights, masks.halves(2, 3), mask=masks.causal(3, 3)).restricted\n"
        "print(is_installed(), trace.output.shape)\n"
        "for use in (lambda: attend(x, x, x, weights, engine='torch'), lambda: check(trace, x, x, x, weights), load):\n"
        "    try:\n"
        "        use()\n"
        "    except ValueError as problem:\n"
        "        print(problem)\n"
    )
    assert said.splitlines() == ["False (1, 3, 8)", *[NOT_INSTALLED] * 3]
    assert "pip install torch" in NOT_INSTALLED
