"""What holds for any text, any settings and any rules; and in any process."""

from __future__ import annotations

import unicodedata
from dataclasses import fields
from itertools import accumulate

import numpy as np
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mha import Tokens, Trace, Weights, attend, embed, masks, tokenize
from mha.attention import tolerance
from mha.config import INITS, MAX_CHARACTERS, MAX_TOKENS, POSITIONS, SPLITS, VALUES, Model
from tests.samples import assert_close, run_python, same_bits

# --- what is drawn -----------------------------------------------------------------------------------------------

# Letters with marks, joined emoji, flags, syllables, signs and every kind of space, beside any code point at all.
WHOLE = ["e\u0301", "\u0301", "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea", "\u1100\u1161", "क्षि", "שלום"]
SIGNS = ["'", "3.14", "<b>", "_", "a", "\u00ad", "\u200d", "\ufe0f", "\u202e", "\0", "\ud800"]
SPACES = [" ", "\r\n", "\u00a0", "\u3000", "\u200b"]
TRICKY = st.sampled_from([*WHOLE, *SIGNS, *SPACES])
ANY_CHARACTER = st.characters()  # surrogates and NUL included
TEXTS = st.lists(st.one_of(TRICKY, ANY_CHARACTER), max_size=40).map("".join)
HOW = st.sampled_from(SPLITS)


@st.composite
def models(draw: st.DrawFn) -> Model:
    num_heads = draw(st.integers(1, 5))
    return Model(
        seed=draw(st.integers(0, 2**32 - 1)),
        d_model=num_heads * draw(st.integers(1, 5)),
        num_heads=num_heads,
        init=draw(st.sampled_from(INITS)),
        bias=draw(st.booleans()),
        positions=draw(st.sampled_from(POSITIONS)),
        values=draw(st.sampled_from(VALUES)),
    )


def rules(num_heads: int, length: int) -> st.SearchStrategy[list[masks.Rule]]:
    """Some rules for one text of this length with itself."""
    bounds = st.none() | st.integers(0, 3)
    return st.lists(
        st.one_of(
            st.just(masks.causal(length, length)),
            st.just(masks.halves(num_heads, length)),
            st.integers(0, length).map(lambda n: masks.valid_lens([n], length)),
            st.tuples(bounds, bounds).map(lambda sides: masks.window(length, length, *sides)),
            st.integers(0, 2**32).map(
                lambda seed: masks.custom(np.random.default_rng(seed).random((1, num_heads, length, length)) < 0.6)
            ),
        ),
        max_size=3,
    )


def trace_of(tokens: Tokens, model: Model, mask: masks.Mask | None, engine: str = "numpy") -> Trace:
    x = embed(tokens, model.d_model, model.seed, positions=model.positions, values=model.values)[None]
    weights = Weights.draw(model.d_model, model.num_heads, model.seed, init=model.init, bias=model.bias)
    return attend(x, x, x, weights, mask=mask, engine=engine)


# --- texts -------------------------------------------------------------------------------------------------------


def clusters(text: str) -> list[str]:
    found: list[str] = regex.findall(r"\X", text)
    return found


def without_white_space(text: str) -> str:
    return regex.sub(r"\p{White_Space}", "", text)


@given(TEXTS, HOW)
def test_nothing_but_white_space_is_lost(text: str, how: str) -> None:
    tokens = tokenize(text, how)
    assume(len(tokens) < MAX_TOKENS)
    kept = regex.sub("[\ud800-\udfff]", "\ufffd", text)
    assert without_white_space("".join(tokens)) == without_white_space(kept)
    assert bool(tokens.notes) == (kept != text)
    assert all(tokens)


@given(TEXTS, st.sampled_from(["words", "characters"]))
def test_no_grapheme_cluster_is_split(text: str, how: str) -> None:
    text = regex.sub("[\ud800-\udfff]", "\ufffd", text)
    borders = {0, *accumulate(map(len, clusters(text)))}
    end = 0
    for token in tokenize(text, how):
        start = text.index(token, end)
        end = start + len(token)
        assert {start, end} <= borders


@given(TEXTS)
def test_characters_are_single_clusters(text: str) -> None:
    assert all(len(clusters(token)) == 1 for token in tokenize(text, "characters"))


@given(TEXTS)
def test_tokens_of_spaces_hold_no_white_space(text: str) -> None:
    assert all(without_white_space(token) == token for token in tokenize(text))


@given(TEXTS, st.integers(1, 400), HOW)
def test_limits_hold_for_any_text(text: str, times: int, how: str) -> None:
    tokens = tokenize(text * times, how)
    assert len(tokens) <= MAX_TOKENS
    assert sum(map(len, tokens)) <= MAX_CHARACTERS
    if len(text) * times > MAX_CHARACTERS:
        assert any("characters are used" in note for note in tokens.notes)


@given(TEXTS, HOW, st.integers(1, 9))
def test_any_tokens_have_vectors_that_depend_on_their_nfc_text_alone(text: str, how: str, d_model: int) -> None:
    tokens = tokenize(text, how)
    vectors = embed(tokens, d_model, 0)
    assert np.isfinite(vectors).all()
    by_text = {unicodedata.normalize("NFC", token): vector for token, vector in zip(tokens, vectors, strict=True)}
    for token, vector in zip(tokens, vectors, strict=True):
        assert (vector == by_text[unicodedata.normalize("NFC", token)]).all()
    assert (embed([unicodedata.normalize("NFD", token) for token in tokens], d_model, 0) == vectors).all()


# --- any text, any settings, any rules ---------------------------------------------------------------------------


@given(st.data(), TEXTS, HOW, models(), st.sampled_from(["numpy", "torch"]))
@example(None, "", "spaces", Model(), "numpy")
@example(None, "\ud800 \0", "characters", Model(d_model=100, num_heads=5, init="uniform", values="uniform"), "torch")
def test_rows_sum_to_one_or_are_empty_and_nothing_is_nan(
    data: st.DataObject | None, text: str, how: str, model: Model, engine: str
) -> None:
    tokens = tokenize(text, how)
    T = len(tokens)
    chosen = data.draw(rules(model.num_heads, T)) if data else []
    mask = masks.combine(*chosen, shape=(1, model.num_heads, T, T))
    trace = trace_of(tokens, model, mask, engine)
    assert (trace.empty_rows == ~mask.allowed.any(axis=-1)).all()
    assert_close(trace.weights.sum(axis=-1), np.where(trace.empty_rows, 0.0, 1.0), tolerance(trace))
    assert not trace.weights[~mask.allowed].any()
    assert (trace.weights >= 0).all()
    assert all(np.isfinite(getattr(trace, field.name)).all() for field in fields(Trace))
    assert same_bits(trace, trace_of(tokens, model, mask, engine))


@given(st.data(), TEXTS, HOW, models())
def test_engines_agree(data: st.DataObject, text: str, how: str, model: Model) -> None:
    tokens = tokenize(text, how)
    T = len(tokens)
    mask = masks.combine(*data.draw(rules(model.num_heads, T)), shape=(1, model.num_heads, T, T))
    ours, theirs = (trace_of(tokens, model, mask, engine) for engine in ("numpy", "torch"))
    for name in ("scores", "weights", "head_outputs", "output", "contributions"):
        assert_close(getattr(theirs, name), getattr(ours, name), tolerance(ours, 1e-10))


# --- masks -------------------------------------------------------------------------------------------------------


@st.composite
def passes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, Weights]:
    """Random queries (B, Tq, D), keys and values (B, Tk, D), with weights."""
    B, H, Tq, Tk, K = (draw(st.integers(1, most)) for most in (3, 4, 5, 6, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    queries, keys, values = (rng.standard_normal((B, T, H * K)) for T in (Tq, Tk, Tk))
    return queries, keys, values, Weights.draw(H * K, H, draw(st.integers(0, 99)), init="normal", bias=True)


def random_mask(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 1]).random(shape) < 0.6


@given(passes())
def test_an_all_true_mask_equals_no_mask_exactly(arrays: tuple) -> None:
    queries, keys, _, weights = arrays
    everything = np.ones((len(queries), weights.num_heads, queries.shape[1], keys.shape[1]), dtype=bool)
    assert same_bits(attend(*arrays, mask=everything), attend(*arrays))


@given(passes(), st.integers(0, 99), st.data())
def test_blocking_a_key_equals_deleting_it(arrays: tuple, seed: int, data: st.DataObject) -> None:
    queries, keys, values, weights = arrays
    Tk = keys.shape[1]
    j = data.draw(st.integers(0, Tk - 1))
    mask = random_mask((len(queries), weights.num_heads, queries.shape[1], Tk), seed)
    mask[..., j] = False
    blocked = attend(queries, keys, values, weights, mask=mask)
    keys, values, mask = np.delete(keys, j, axis=1), np.delete(values, j, axis=1), np.delete(mask, j, axis=3)
    deleted = attend(queries, keys, values, weights, mask=mask)
    assert not blocked.weights[..., j].any()
    assert_close(np.delete(blocked.weights, j, axis=3), deleted.weights, tolerance(blocked))
    assert_close(blocked.output, deleted.output, tolerance(blocked))
    assert (blocked.empty_rows == deleted.empty_rows).all()


@given(passes(), st.randoms(use_true_random=False))
def test_keys_in_another_order_give_the_same_output(arrays: tuple, random: np.random.Generator) -> None:
    queries, keys, values, weights = arrays
    order = list(range(keys.shape[1]))
    random.shuffle(order)
    plain, shuffled = attend(*arrays), attend(queries, keys[:, order], values[:, order], weights)
    assert_close(shuffled.weights, plain.weights[..., order], tolerance(plain))
    assert_close(shuffled.output, plain.output, tolerance(plain))


@given(st.data(), st.integers(1, 4), st.integers(0, 6))
def test_rules_commute_and_blocked_by_agrees_with_the_mask(data: st.DataObject, num_heads: int, length: int) -> None:
    chosen = data.draw(rules(num_heads, length))
    shape = (1, num_heads, length, length)
    mask = masks.combine(*chosen, shape=shape)
    assert (masks.combine(*reversed(chosen), shape=shape).allowed == mask.allowed).all()
    for cell in np.ndindex(*shape):
        names = mask.blocked_by(*cell)
        assert bool(names) == (not mask.allowed[cell])
        assert names == tuple(rule.name for rule in chosen if not np.broadcast_to(rule.allowed, shape)[cell])


@given(passes(), st.integers(0, 99))
def test_a_bias_of_minus_infinity_equals_a_mask(arrays: tuple, seed: int) -> None:
    queries, keys, _, weights = arrays
    mask = random_mask((len(queries), weights.num_heads, queries.shape[1], keys.shape[1]), seed)
    assert same_bits(attend(*arrays, bias=np.where(mask, 0.0, -np.inf)), attend(*arrays, mask=mask))


# --- processes ---------------------------------------------------------------------------------------------------

EVERY_DRAW_AND_A_TRACE = """
from dataclasses import fields
from hashlib import sha256
from mha import Trace, Weights, attend, embed, masks, tokenize
from mha.config import INITS, VALUES
drawn = [embed(tokenize("The cat, the m\\u00e9t\\u00e9o \\u6211"), 15, 7, values=values) for values in VALUES]
for init in INITS:
    weights = Weights.draw(15, 5, 7, init=init, bias=True)
    drawn += [weights.W_q, weights.W_k, weights.W_v, weights.W_o, weights.b_q, weights.b_k, weights.b_v, weights.b_o]
print(sha256(b"".join(array.tobytes() for array in drawn)).hexdigest())
x = embed(tokenize("The cat sat on the mat"), 15, 7, positions="sinusoidal")[None]
trace = attend(x, x, x, Weights.draw(15, 5, 7), mask=masks.causal(6, 6))
print(sha256(b"".join(getattr(trace, field.name).tobytes() for field in fields(Trace))).hexdigest())
"""


def test_two_fresh_processes_agree_to_the_last_bit() -> None:
    first, second = (run_python(EVERY_DRAW_AND_A_TRACE, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert len(first.split()) == 2
