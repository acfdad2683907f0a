"""Small inputs that broke other tools, with the right answers: those that touch the core.

Numbers with four digits are the list's own; where a closed form exists it stands beside them.
"""

from __future__ import annotations

from math import e, exp, sqrt
from typing import Any

import numpy as np
import pytest
import torch

from mha import Weights, attend, embed, masks, measures, scaled_dot_product_attention, tokenize
from mha.attention import tolerance
from tests.samples import assert_close, one_head, same_bits

X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
# x_1.x_0 = 0 and x_1.x_1 = 1, over sqrt(2): e^0.7071 / (1 + e^0.7071)
TWO_THIRDS = exp(1 / sqrt(2)) / (1 + exp(1 / sqrt(2)))
DIGITS = 0.5e-4  # the list gives four


def equal_scores(*, texts: int = 1, heads: int = 1, Tq: int = 3, Tk: int = 3, **rules: Any) -> np.ndarray:
    """Weights where all scores are 0."""
    D = 2 * heads
    queries, keys = np.zeros((texts, Tq, D)), np.zeros((texts, Tk, D))
    return attend(queries, keys, keys, Weights.draw(D, heads, 0), **rules).weights


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_c01_causal_with_left_padding_leaves_a_row_without_a_key(engine: str) -> None:
    left_padding = masks.custom([0, 1, 1], name="padding")
    mask = masks.combine(masks.causal(3, 3), left_padding, shape=(1, 1, 3, 3))
    trace = one_head(X, mask=mask, engine=engine)
    expected = np.array([[0, 0, 0], [0, 1, 0], [0, 1 - TWO_THIRDS, TWO_THIRDS]])
    assert_close(trace.weights[0, 0], expected, tolerance(trace))
    assert_close(expected[2], np.array([0, 0.3302, 0.6698]), DIGITS)
    assert_close(trace.output[0], np.array([[0, 0], [0, 1], [TWO_THIRDS, 1]]), tolerance(trace))
    assert trace.empty_rows.tolist() == [[[True, False, False]]]
    assert mask.blocked_by(0, 0, 0, 0) == ("padding",)
    assert mask.blocked_by(0, 0, 0, 1) == ("causal",)


def test_c03_true_means_may_attend() -> None:
    lower = np.tril(np.ones((3, 3), dtype=bool))
    assert equal_scores(mask=lower)[0, 0].tolist() == [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    assert equal_scores(mask=~lower)[0, 0].tolist() == [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_c05_padding_given_as_floats_blocks_beside_a_boolean_mask(engine: str) -> None:
    trace = one_head(X, mask=masks.causal(3, 3), bias=[0.0, 0.0, -np.inf], engine=engine)
    expected = np.array([[1, 0, 0], [1 - TWO_THIRDS, TWO_THIRDS, 0], [0.5, 0.5, 0]])
    assert_close(trace.weights[0, 0], expected, tolerance(trace))
    assert_close(trace.output[0], expected @ np.array(X), tolerance(trace))
    both = masks.combine(masks.causal(3, 3), masks.valid_lens([2], 3), shape=(1, 1, 3, 3))
    assert same_bits(trace, one_head(X, mask=both, engine=engine))
    with pytest.raises(ValueError, match="bias="):
        one_head(X, mask=np.array([0.0, 0.0, -np.inf]))


def test_c07_causal_holds_with_weights_and_with_the_output_alone() -> None:
    trace = one_head(X, mask=masks.causal(3, 3))
    powers = np.array([exp(1 / sqrt(2)), exp(1 / sqrt(2)), exp(2 / sqrt(2))])
    expected = np.array([[1, 0, 0], [1 - TWO_THIRDS, TWO_THIRDS, 0], powers / powers.sum()])
    assert_close(trace.weights[0, 0], expected, tolerance(trace))
    assert_close(expected[2], np.array([0.2483, 0.2483, 0.5035]), DIGITS)
    assert_close(trace.output[0], np.array([[1, 0], [0.3302, 0.6698], [0.7517, 0.7517]]), DIGITS)
    output, _ = scaled_dot_product_attention(X, X, X, mask=np.tril(np.ones((3, 3), dtype=bool)))
    assert_close(output, trace.output[0], tolerance(trace))


def test_c09_causal_with_more_queries_than_keys_is_top_left() -> None:
    weights = equal_scores(Tk=2, mask=masks.causal(3, 2))
    assert weights[0, 0].tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5]]


def test_c11_lengths_are_repeated_per_head() -> None:
    weights = equal_scores(texts=2, heads=2, Tq=2, Tk=2, mask=masks.valid_lens([1, 2], 2))
    assert weights[0].tolist() == [[[1, 0], [1, 0]]] * 2
    assert weights[1].tolist() == [[[0.5, 0.5], [0.5, 0.5]]] * 2


def test_c13_padding_blocks_keys_and_never_queries() -> None:
    assert equal_scores(mask=masks.valid_lens([2], 3))[0, 0].tolist() == [[0.5, 0.5, 0]] * 3


def test_c17_padded_keys_in_cross_attention_leave_all_queries() -> None:
    eye = np.eye(2)
    keys = [[[1.0, 2.0], [9.0, 9.0]]]
    trace = attend(np.ones((1, 4, 2)), keys, keys, Weights(eye, eye, eye, eye, 1), mask=masks.valid_lens([1], 2))
    assert trace.weights[0, 0].tolist() == [[1, 0]] * 4
    assert trace.output[0].tolist() == [[1, 2]] * 4


def test_c19_mask_shapes() -> None:
    three = np.array([[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    with pytest.raises(ValueError, match="per text or per head"):
        equal_scores(texts=2, heads=2, Tq=2, Tk=2, mask=three)
    per_text = equal_scores(texts=2, heads=2, Tq=2, Tk=2, mask=three[:, None])
    per_head = equal_scores(texts=2, heads=2, Tq=2, Tk=2, mask=three[None])
    assert per_text[0].tolist() == [[[1, 0], [1, 0]]] * 2
    assert per_head[0].tolist() == three.tolist()
    for shape in ((2,), (2, 2), (2, 1, 1, 2), (2, 2, 2, 2)):
        mask = np.zeros(shape, dtype=bool)
        mask[..., 0] = True
        weights = equal_scores(texts=2, heads=2, Tq=2, Tk=2, mask=mask)
        assert (weights == np.array([1, 0])).all()


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", None], ids=str)
def test_c21_whole_number_masks_behave_like_boolean_ones(dtype: str | None) -> None:
    mask = np.array([[1, 0]], dtype=dtype) if dtype else [[True, False]]  # None: as JSON has it
    assert equal_scores(Tq=1, Tk=2, mask=mask)[0, 0].tolist() == [[1, 0]]


def test_c23_the_scale_is_of_the_head_width() -> None:
    x = [[[1.0] * 4 + [0.0] * 4, [0.0] * 8]]
    eye = np.eye(8)
    trace = attend(x, x, x, Weights(eye, eye, eye, eye, 2))
    assert_close(trace.weights[0, 0, 0], np.array([e**2, 1]) / (1 + e**2), tolerance(trace))
    assert_close(trace.weights[0, 0, 0], np.array([0.8808, 0.1192]), DIGITS)


def test_c25_rows_of_the_shown_weights_sum_to_one() -> None:
    # there is no dropout to be shown by mistake; in train mode PyTorch's own rows do not sum to 1
    trace = one_head(X)
    assert_close(trace.weights.sum(axis=-1), np.ones((1, 1, 3)), tolerance(trace))
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(2, 1, dropout=0.5, batch_first=True, dtype=torch.float64).train()
    x = torch.tensor([X], dtype=torch.float64)
    assert (module(x, x, x)[1].sum(dim=-1) - 1).abs().max() > 0.1


def test_c27_each_head_has_its_own_map() -> None:
    x = [[[2.0, 0.0], [0.0, 0.0]]]
    eye = np.eye(2)
    trace = attend(x, x, x, Weights(eye, eye, eye, eye, 2))
    assert_close(trace.weights[0, 0, 0], np.array([e**4, 1]) / (1 + e**4), tolerance(trace))
    assert_close(trace.weights[0, 0, 0], np.array([0.9820, 0.0180]), DIGITS)
    assert trace.weights[0, 1, 0].tolist() == [0.5, 0.5]
    assert_close(trace.weights[0, :, 0].mean(axis=0), np.array([0.7410, 0.2590]), DIGITS)


def test_c29_memory_layout_changes_no_bit() -> None:
    x = (np.arange(12) % 5).reshape(1, 3, 4).astype(float)
    doubled = np.repeat(x, 2, axis=1)[:, ::2]
    weights = Weights.draw(4, 2, 0, init="normal")
    plain = attend(x, x, x, weights)
    for other in (np.asfortranarray(x), doubled, np.arange(12).reshape(1, 3, 4) % 5):
        assert same_bits(attend(other, other, other, weights), plain)


@pytest.mark.parametrize("text", ["", "   \n\t"])
def test_c31_no_tokens_give_empty_arrays_and_one_token_looks_at_itself(text: str) -> None:
    weights = Weights.draw(8, 4, 0)
    x = embed(tokenize(text), 8, 0)[None]
    assert attend(x, x, x, weights).weights.shape == (1, 4, 0, 0)
    one = embed(tokenize(f"{text}word{text}"), 8, 0)[None]
    assert attend(one, one, one, weights).weights.tolist() == [[[[1.0]]] * 4]


def test_c41_cross_attention_has_a_row_per_query_and_a_column_per_key() -> None:
    queries, keys = (embed(tokenize(text), 8, 0)[None] for text in ("I know", "je sais cela"))
    trace = attend(queries, keys, keys, Weights.draw(8, 2, 0))
    assert trace.weights.shape == (1, 2, 2, 3)
    assert_close(trace.weights.sum(axis=-1), np.ones((1, 2, 2)), tolerance(trace))


def test_c55_joined_emoji_stay_whole() -> None:
    family, wave = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}", "\N{WAVING HAND SIGN}\U0001f3fd"
    for how in ("spaces", "words"):
        assert tokenize(f"hi {family} ok {wave}", how) == ("hi", family, "ok", wave)
    assert tokenize(f"hi {family}", "characters") == ("h", "i", family)


def test_c57_right_to_left_words_come_in_the_order_of_typing() -> None:
    assert tokenize("שלום עולם 123 abc") == ("שלום", "עולם", "123", "abc")
    assert tokenize("שלום עולם 123 abc", "words") == ("שלום", "עולם", "123", "abc")


def test_c59_angle_brackets_are_text() -> None:
    assert tokenize("a<b<c") == ("a<b<c",)
    assert tokenize("a<b<c", "words") == ("a", "<", "b", "<", "c")


def test_c67_a_row_without_a_key_is_left_out_of_means_and_counted() -> None:
    weights = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    allowed = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 0]], dtype=bool)
    mean, left_out = measures.mean_defined(measures.entropy(weights, allowed))
    assert mean == 1.0
    assert left_out == 1


@pytest.mark.parametrize("how", ["spaces", "words"])
def test_c70_a_batch_keeps_the_order_of_its_texts(how: str) -> None:
    texts = [tokenize(text, how) for text in ("two words", "a text of four")]
    x = np.zeros((2, 4, 8))
    for b, tokens in enumerate(texts):
        x[b, : len(tokens)] = embed(tokens, 8, 0)
    weights = Weights.draw(8, 2, 0)
    together = attend(x, x, x, weights, mask=masks.valid_lens([2, 4], 4))
    for b, tokens in enumerate(texts):
        T = len(tokens)
        one = embed(tokens, 8, 0)[None]
        alone = attend(one, one, one, weights)
        assert_close(together.weights[b, :, :T, :T], alone.weights[0], tolerance(alone))
        assert not together.weights[b, :, :, T:].any()
