"""Four ways to fill a row with no key left, each against PyTorch where PyTorch does it, or a closed form."""

from __future__ import annotations

from math import exp, fsum

import numpy as np
import pytest

from mha import attend, masks
from mha.conventions import Convention, no_key_row
from mha.weights import Weights

torch = pytest.importorskip("torch")

SCORES = np.array([1.0, 2.0, -3.0, 30.0, 33.0, 0.5, 0.25])


def named(scores: np.ndarray, start: str) -> Convention:
    (found,) = (one for one in no_key_row(scores) if one.name.startswith(start))
    return found


def softmax_by_hand(scores: np.ndarray) -> np.ndarray:
    """The definition, with Python's own floats."""
    powers = [exp(score - max(scores)) for score in scores]
    return np.array([power / fsum(powers) for power in powers])


def test_there_are_four_with_this_app_first() -> None:
    conventions = no_key_row(SCORES)
    assert [one.name.split(":")[0] for one in conventions] == ["zeros", "NaN", "1/Tk", "as if unmasked"]
    assert conventions[0].who[0] == "Headlight"
    for one in conventions:
        assert one.weights.shape == SCORES.shape
        assert one.weights.dtype == np.float64
        assert one.who
        assert one.formula


def test_zeros_are_what_this_app_does() -> None:
    eye = np.eye(2)
    x = np.random.default_rng(0).standard_normal((1, 7, 2))
    ours = attend(x, x, x, Weights(eye, eye, eye, eye, 1), mask=masks.valid_lens([0], 7))
    assert (named(ours.scores[0, 0, 0], "zeros").weights == ours.weights[0, 0, 0]).all()


def test_zeros_are_what_scaled_dot_product_attention_of_pytorch_does() -> None:
    # with the identity as values the output is the weights
    q, k, v = torch.tensor(SCORES)[None], torch.eye(7, dtype=torch.float64), torch.eye(7, dtype=torch.float64)
    nothing = torch.zeros(1, 7, dtype=torch.bool)
    output = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=nothing)
    assert (named(SCORES, "zeros").weights == output[0].numpy()).all()


def test_nan_is_what_a_softmax_of_minus_infinity_gives_in_pytorch() -> None:
    given = torch.softmax(torch.tensor(SCORES).masked_fill(torch.ones(7, dtype=torch.bool), -torch.inf), dim=0)
    assert np.isnan(given.numpy()).all()
    assert np.isnan(named(SCORES, "NaN").weights).all()


def test_nan_is_what_multihead_attention_of_pytorch_gives_with_its_weights() -> None:
    module = torch.nn.MultiheadAttention(6, 2, batch_first=True, device="meta").to_empty(device="cpu").eval()
    for parameter in module.parameters():
        torch.nn.init.constant_(parameter, 0.5)
    x = torch.ones(1, 3, 6)
    _, weights = module(x, x, x, key_padding_mask=torch.ones(1, 3, dtype=torch.bool), average_attn_weights=False)
    assert weights.isnan().all()


@pytest.mark.parametrize("number", [-1e6, -1e9, -1e30, float(np.finfo(np.float32).min)])
def test_replaced_by_any_large_negative_number_it_is_one_over_tk(number: float) -> None:
    # the numbers that the libraries named use, in float32 as they have it
    filled = torch.tensor(SCORES, dtype=torch.float32).masked_fill(torch.ones(7, dtype=torch.bool), number)
    given = torch.softmax(filled, dim=0).numpy()
    ours = named(SCORES, "1/Tk").weights
    assert np.abs(given - ours).max() <= np.finfo(np.float32).eps
    assert (ours == 1 / 7).all()


def test_as_if_unmasked_is_the_plain_softmax() -> None:
    assert np.abs(named(SCORES, "as if").weights - softmax_by_hand(SCORES)).max() <= 1e-15


def test_what_adding_loses_is_what_it_loses_in_pytorch() -> None:
    roundings = named(SCORES, "as if").roundings
    assert [(one.number, one.dtype) for one in roundings] == [(-1e4, "float32"), (-1e9, "float32"), (-1e9, "float64")]
    for one in roundings:
        dtype = getattr(torch, one.dtype)
        given = torch.softmax(torch.tensor(SCORES, dtype=dtype) + one.number, dim=0).numpy()
        assert np.abs(given - one.weights).max() <= 2 * torch.finfo(dtype).eps


def test_the_spacing_says_what_can_be_told_apart() -> None:
    # IEEE 754: 24 and 53 binary digits; 10^4 lies between 2^13 and 2^14, 10^9 between 2^29 and 2^30
    spacings = [one.spacing for one in named(SCORES, "as if").roundings]
    assert spacings == [2.0**-10, 2.0**6, 2.0**-23]
    # scores of less than half a spacing vanish: exactly 1/Tk, as if replaced
    by_float32 = named(np.array([0.0, 1.0, -31.0]), "as if").roundings[1]
    assert (by_float32.weights == 1 / 3).all()
    # 32.5 is rounded up to 64: a gap of 1.5 became one of 64, weights 1 and e^-64
    torn = named(np.array([31.0, 32.5]), "as if").roundings[1]
    assert np.abs(torn.weights - [exp(-64), 1]).max() <= 1e-15
    assert torn.weights[0] == pytest.approx(exp(-64), rel=1e-12)


def test_who_adds_is_named_with_number_and_type() -> None:
    who = named(SCORES, "as if").who
    assert who == (
        "BERT's first code (-10,000, float32)",
        "Tensor2Tensor (-1e9, float32)",
        "keras.layers.Attention (-1e9, float32)",
    )


def test_one_key_and_scores_far_apart() -> None:
    assert [one.weights.tolist() for one in no_key_row([5.0])[2:]] == [[1.0], [1.0]]
    assert named(np.array([0.0, 37_000.0]), "as if").weights.tolist() == [0.0, 1.0]
    # float32 cannot hold the first: it is infinite there, and its softmax is NaN, which is shown as it is
    beyond = named(np.array([1e200, 0.0]), "as if")
    assert np.isnan(beyond.roundings[0].weights).any()
    assert beyond.weights.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], r"shape \(Tk,\) with Tk of at least 1, got \(0,\)"),
        ([[1.0, 2.0]], r"got \(1, 2\)"),
        (1.0, r"got \(\)"),
        ([1.0, np.nan], r"finite, got nan at \(1,\)"),
        ([-np.inf, 0.0], r"finite, got -inf at \(0,\)"),
        (["a"], "real numbers"),
    ],
)
def test_other_rows_are_refused(row: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        no_key_row(row)  # type: ignore[arg-type]


def test_weights_are_closed_for_writing_and_the_scores_stay() -> None:
    scores = SCORES.copy()
    for one in no_key_row(scores):
        with pytest.raises(ValueError, match="read-only"):
            one.weights[0] = 1.0
    scores[0] = 0.0  # still the caller's own
