"""Start values: which numbers, in which order, from which seed; and what may be brought instead."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from mha import Weights
from mha.config import INITS
from mha.weights import BIASES, MATRICES

# Pinned on NumPy 2.4.6, so that a change of its streams is noticed; the test after says by which rule they come.
# `default_rng(0).random()` is 0.6369616873214543: W_q starts with it, or with it minus 0.5, times twice the bound.
FIRST_VALUES = {
    # W_q[0, 0], W_k[0, 0], W_v[0, 0], W_o[0, 0]; width 10, since at width 6 the bound of "pytorch" is just 0.5
    "pytorch": (0.10609006681289201, -0.015501287563059962, -0.13967400393852206, 0.2509591344629944),
    "xavier": (0.15003401131985972, -0.02192213110592478, -0.19752887068081093, 0.4346739715134159),
    "normal": (0.1257302210933933, 0.5026828498748657, -0.663535198304047, 1.203258954116498),
    "uniform": (0.6369616873214543, 0.4799879238078322, 0.319681636282665, 0.8968012322637599),
    "uniform_centred": (0.1369616873214543, -0.020012076192167827, -0.180318363717335, 0.39680123226375985),
}
FIRST_BIASES = {
    # b_q[0], b_k[0], b_v[0], b_o[0]
    "pytorch": (0.0, 0.0, 0.0, 0.0),
    "xavier": (0.0, 0.0, 0.0, 0.0),
    "normal": (-0.3604401709908981, 0.05334375570673462, -1.4896453943825119, 1.9512250777434486),
    "uniform": (0.20216809397548463, 0.958409335179392, 0.528282440056993, 0.41395588246519277),
    "uniform_centred": (-0.29783190602451537, 0.458409335179392, 0.028282440056992986, -0.08604411753480723),
}


def firsts(weights: Weights, names: tuple[str, ...]) -> tuple[float, ...]:
    return tuple(float(getattr(weights, name).flat[0]) for name in names)


@pytest.mark.parametrize("init", INITS)
def test_golden_first_values(init: str) -> None:
    weights = Weights.draw(10, 2, 0, init=init, bias=True)
    assert firsts(weights, MATRICES) == FIRST_VALUES[init]
    assert firsts(weights, BIASES) == FIRST_BIASES[init]
    assert firsts(Weights.draw(10, 2, 0, init=init), MATRICES) == FIRST_VALUES[init]  # biases come last


@pytest.mark.parametrize("bias", [False, True])
def test_draws_follow_the_written_rule(bias: bool) -> None:
    D = 10
    for init in INITS:
        rng = np.random.default_rng(42)
        weights = Weights.draw(D, 5, 42, init=init, bias=bias)
        for name in MATRICES:
            if init == "normal":
                expected = rng.standard_normal((D, D))
            elif init == "uniform":
                expected = rng.random((D, D))
            elif init == "uniform_centred":
                expected = rng.random((D, D)) - 0.5
            elif init == "xavier":
                expected = rng.uniform(-sqrt(6 / (2 * D)), sqrt(6 / (2 * D)), (D, D))
            elif name == "W_o":  # nn.Linear: uniform within 1 / sqrt(fan in)
                expected = rng.uniform(-1 / sqrt(D), 1 / sqrt(D), (D, D))
            else:  # Xavier over one (3D, D) matrix: sqrt(6 / (3D + D))
                expected = rng.uniform(-sqrt(6 / (4 * D)), sqrt(6 / (4 * D)), (D, D))
            # rng.uniform may be fused on some machines and then differs by a rounding or two
            assert np.abs(getattr(weights, name) - expected).max() <= 4 * np.finfo(float).eps, (init, name)
        for name in BIASES:
            if not bias:
                assert getattr(weights, name) is None
            elif init in ("xavier", "pytorch"):
                assert not getattr(weights, name).any()
            else:
                drawn = rng.standard_normal(D) if init == "normal" else rng.random(D)
                assert (getattr(weights, name) == drawn - (0.5 if init == "uniform_centred" else 0)).all()


@pytest.mark.parametrize(
    ("init", "low", "high"),
    [
        ("uniform", 0.0, 1.0),
        ("uniform_centred", -0.5, 0.5),
        ("xavier", -sqrt(6 / 128), sqrt(6 / 128)),
        ("pytorch", -sqrt(6 / 256), sqrt(6 / 256)),
    ],
)
def test_uniform_draws_fill_their_range(init: str, low: float, high: float) -> None:
    W = Weights.draw(64, 8, 1, init=init).W_k
    assert low <= W.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < W.max() <= high


def test_pytorch_start_values_have_the_spread_of_nn_multihead_attention() -> None:
    import torch

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(64, 8)
    weights = Weights.draw(64, 8, 0, init="pytorch", bias=True)
    ours = np.concatenate([weights.W_q, weights.W_k, weights.W_v])
    # 12,288 and 4,096 draws: the standard deviation of a uniform sample is known to about 1%
    assert abs(module.in_proj_weight.std().item() / ours.std() - 1) < 0.03
    assert abs(module.out_proj.weight.std().item() / weights.W_o.std() - 1) < 0.05
    assert module.in_proj_weight.abs().max().item() <= sqrt(6 / 256)
    assert module.out_proj.weight.abs().max().item() <= 1 / 8
    assert not module.in_proj_bias.any()
    assert not module.out_proj.bias.any()


def test_another_seed_gives_other_values_and_global_generators_are_left_alone() -> None:
    before = repr(np.random.get_state())  # noqa: NPY002 - the very thing that must not change
    assert (Weights.draw(6, 2, 0).W_q != Weights.draw(6, 2, 1).W_q).all()
    assert repr(np.random.get_state()) == before  # noqa: NPY002


def test_heads_do_not_change_what_is_drawn() -> None:
    assert (Weights.draw(6, 2, 0).W_o == Weights.draw(6, 3, 0).W_o).all()


def test_own_arrays_are_copied_and_closed() -> None:
    W = np.eye(6)
    weights = Weights(W, W, W, W, 3, b_k=[1, 2, 3, 4, 5, 6])  # type: ignore[arg-type]
    W[0, 0] = 9
    assert weights.W_q[0, 0] == 1
    assert (weights.d_model, weights.num_heads, weights.d_k) == (6, 3, 2)
    assert weights.b_k is not None
    assert weights.b_k.dtype == np.float64
    assert weights.b_q is None
    for array in (weights.W_q, weights.W_o, weights.b_k):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        weights.W_q = W  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"W_q": np.ones((6, 4))}, r"expected W_q of shape \(D, D\) with D = 6, got \(6, 4\)"),
        ({"W_q": np.ones(6)}, r"expected W_q of shape \(D, D\)"),
        ({"W_q": 1.0}, r"expected W_q of shape \(D, D\)"),
        ({"W_q": np.ones((0, 0))}, r"expected W_q of shape \(D, D\)"),
        ({"W_q": [[1.0], [1.0, 2.0]]}, "expected W_q to be an array of numbers"),
        ({"W_v": np.ones((4, 4))}, r"expected W_v of shape \(D, D\) with D = 6, got \(4, 4\)"),
        ({"b_o": np.ones((6, 1))}, r"expected b_o of shape \(D,\) with D = 6, got \(6, 1\)"),
        ({"b_q": np.ones(5)}, r"expected b_q of shape \(D,\) with D = 6, got \(5,\)"),
        ({"W_o": np.diag([1, 1, np.nan, 1, 1, 1])}, r"expected W_o to be finite, got nan at \(2, 2\)"),
        ({"b_v": [0, 0, 0, 0, np.inf, 0]}, r"expected b_v to be finite, got inf at \(4,\)"),
        ({"W_k": np.full((6, 6), "x")}, "expected W_k to be real numbers"),
        ({"num_heads": 4}, "num_heads = 4 and d_model = 6"),
        ({"num_heads": 0}, "num_heads to be a whole number of at least 1, got 0"),
        ({"num_heads": 2.0}, "num_heads to be a whole number of at least 1, got 2.0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(changed: dict[str, object], message: str) -> None:
    arrays: dict[str, object] = {**dict.fromkeys(MATRICES, np.eye(6)), "num_heads": 3, **changed}
    with pytest.raises(ValueError, match=message):
        Weights(**arrays)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((6, 4, 0), "num_heads = 4 and d_model = 6"),
        ((6, 2, -1), "seed to be a whole number from 0 to 4294967295, got -1"),
        ((6, 2, 2**32), "seed to be a whole number from 0 to 4294967295"),
        ((6, 2, 0.5), "seed to be a whole number"),
        ((0, 1, 0), "d_model to be a whole number of at least 1, got 0"),
    ],
)
def test_draw_refuses_what_is_out_of_range(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Weights.draw(*arguments)


def test_draw_refuses_an_unknown_rule_and_lists_the_known() -> None:
    with pytest.raises(ValueError, match="init to be one of pytorch, xavier, normal, uniform, uniform_centred, got"):
        Weights.draw(6, 2, 0, init="he")
