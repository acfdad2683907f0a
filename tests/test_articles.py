"""Both articles' programs, by their shapes and by what they show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mha import Weights, attend, embed, masks, measures, restrict, tokenize
from mha.attention import Trace, tolerance
from mha.config import PRESETS
from tests.samples import assert_close

DAY_28, MATHS = PRESETS[1], PRESETS[2]


def draws_of(seed: int, *, normal_inputs: bool = False) -> Trace:
    """The NumPy article's example: 2 texts, 4 queries, 6 key-value pairs, 100 hiddens, 5 heads, lengths 3 and 2."""
    rng = np.random.default_rng([seed, 28])
    draw = rng.standard_normal if normal_inputs else rng.random
    queries, pairs = draw((2, 4, 100)), draw((2, 6, 100))
    weights = Weights.draw(100, 5, seed, init="uniform")
    return attend(queries, pairs, pairs, weights, mask=masks.valid_lens([3, 2], 6))


# --- "The Math Behind Multi-Head Attention" ----------------------------------------------------------------------


def test_numpy_article_has_its_shapes() -> None:
    trace = draws_of(0)
    assert trace.output.shape == (2, 4, 100)
    assert trace.weights.shape == (2, 5, 4, 6)
    assert trace.q.shape == (2, 5, 4, 20)
    assert not trace.empty_rows.any()


def test_numpy_article_repeats_the_lengths_for_each_head() -> None:
    trace = draws_of(0)
    for b, length in enumerate((3, 2)):
        assert trace.mask[b, :, :, :length].all()
        assert not trace.mask[b, :, :, length:].any()
        assert not trace.weights[b, :, :, length:].any()


def test_numpy_article_takes_zero_length_without_nan() -> None:
    x = np.random.default_rng(0).random((2, 6, 100))
    trace = attend(x, x, x, Weights.draw(100, 5, 0, init="uniform"), mask=masks.valid_lens([0, 2], 6))
    assert trace.empty_rows[0].all()
    assert not trace.output[0].any()


def test_all_positive_draws_make_rows_one_hot_and_maps_stripes() -> None:
    traces = [draws_of(seed) for seed in range(40)]
    scores = np.array([trace.scores for trace in traces])
    assert scores.min() > 1_000  # each is about 100 * 100 * 20 * (1/2)^4 / sqrt(20) = 2,800
    assert scores.max() < 5_000
    rows = np.array([measures.saturated(trace.weights, trace.mask) for trace in traces])
    assert rows.mean() > 0.97
    keys = np.array([measures.strongest_key(trace.weights, trace.mask) for trace in traces])  # (40, 2, 5, 4)
    stripes = (keys == keys[..., :1]).all(axis=-1)
    assert stripes.mean() > 0.97  # of 400 heads: every query picks the same key


def test_normal_inputs_make_no_stripes() -> None:
    keys = [measures.strongest_key(t.weights, t.mask) for t in (draws_of(s, normal_inputs=True) for s in range(40))]
    stripes = (np.array(keys) == np.array(keys)[..., :1]).all(axis=-1)
    assert stripes.mean() < 0.5  # 4 queries among 2 or 3 keys fall on one key by chance in 1/8 to 1/27


def test_saturation_hides_even_a_missing_scale() -> None:
    # why these draws are useless to test with: without 1/sqrt(d_k) nearly every row stays as it was
    changes = []
    for seed in range(40):
        trace = draws_of(seed)
        unscaled = np.where(trace.mask, trace.scores * np.sqrt(20), -np.inf)
        powers = np.exp(unscaled - unscaled.max(axis=-1, keepdims=True))
        changes.append(np.abs(powers / powers.sum(axis=-1, keepdims=True) - trace.weights).max(axis=-1))
    assert (np.array(changes) < 0.01).mean() > 0.97


def test_numpy_preset_draws_uniform_vectors_and_its_rows_are_saturated() -> None:
    model = MATHS.model
    tokens = tokenize(MATHS.text)
    x = embed(tokens, model.d_model, model.seed, values=model.values)[None]
    trace = attend(x, x, x, Weights.draw(model.d_model, model.num_heads, model.seed, init=model.init))
    assert x.min() >= 0
    assert measures.saturated(trace.weights, trace.mask).all()


# --- "Day 28" ----------------------------------------------------------------------------------------------------


@pytest.fixture
def day_28() -> tuple[np.ndarray, Weights]:
    """The exercise: 2 texts of 4 tokens, width 8, 2 heads, everything from randn."""
    x = np.random.default_rng(28).standard_normal((2, 4, 8))
    return x, Weights.draw(8, 2, 28, init="normal")


def test_day_28_has_its_shapes(day_28: tuple[np.ndarray, Weights]) -> None:
    x, weights = day_28
    trace = attend(x, x, x, weights)
    assert trace.output.shape == (2, 4, 8)
    assert trace.weights.shape == (2, 2, 4, 4)
    assert trace.q.shape == (2, 2, 4, 4)
    assert trace.concat.shape == (2, 4, 8)


def test_day_28_equals_the_scripts_own_steps_in_torch(day_28: tuple[np.ndarray, Weights]) -> None:
    x, weights = day_28
    W_q, W_k, W_v, W_o = (torch.tensor(getattr(weights, name)) for name in ("W_q", "W_k", "W_v", "W_o"))
    inputs = torch.tensor(x)

    def heads(t: torch.Tensor) -> torch.Tensor:
        return t.view(2, 4, 2, 4).transpose(1, 2)

    q, k, v = heads(inputs @ W_q), heads(inputs @ W_k), heads(inputs @ W_v)
    attention = torch.softmax(q @ k.transpose(-2, -1) / 4**0.5, dim=-1)
    output = (attention @ v).transpose(1, 2).contiguous().view(2, 4, 8) @ W_o
    trace = attend(x, x, x, weights)
    assert_close(trace.weights, attention.numpy(), tolerance(trace, 1e-10))
    assert_close(trace.output, output.numpy(), tolerance(trace, 1e-10))


def test_day_28_restriction_to_halves(day_28: tuple[np.ndarray, Weights]) -> None:
    x, weights = day_28
    made = restrict(x, x, x, weights, masks.halves(2, 4))
    assert not made.restricted.empty_rows.any()
    assert not made.restricted.weights[:, 0, :, 2:].any()
    assert not made.restricted.weights[:, 1, :, :2].any()
    assert (made.change_length > 0).all()


def test_day_28_picture_has_six_tokens() -> None:
    assert tokenize(DAY_28.text) == ("A", "B", "C", "D", "E", "F")
    x = embed(tokenize(DAY_28.text), DAY_28.model.d_model, 0)[None]
    trace = attend(x, x, x, Weights.draw(8, 2, 0, init=DAY_28.model.init))
    assert trace.weights.shape == (1, 2, 6, 6)
