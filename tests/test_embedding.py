"""The same word has the same vector anywhere, and positions are the paper's."""

from __future__ import annotations

import hashlib
from math import cos, sin

import numpy as np
import pytest

from mha import embed, tokenize
from mha.config import MAX_SEED
from mha.embedding import sinusoidal_positions


def vector_by_the_rule(token: str, d_model: int, seed: int, values: str) -> np.ndarray:
    """The design's words: default_rng of the first 16 bytes of sha256("seed|d_model|token")."""
    digest = hashlib.sha256(f"{seed}|{d_model}|{token}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
    return rng.standard_normal(d_model) if values == "normal" else rng.random(d_model)


@pytest.mark.parametrize("values", ["normal", "uniform"])
@pytest.mark.parametrize(("d_model", "seed"), [(3, 0), (64, 7), (101, MAX_SEED)])
def test_vectors_follow_the_written_rule(d_model: int, seed: int, values: str) -> None:
    tokens = ("cat", "é", "我", "👨‍👩‍👧", "a|b", "\0")
    vectors = embed(tokens, d_model, seed, values=values)
    assert vectors.shape == (6, d_model)
    assert vectors.dtype == np.float64
    for vector, token in zip(vectors, tokens, strict=True):
        assert (vector == vector_by_the_rule(token, d_model, seed, values)).all()


def test_golden_first_values() -> None:
    # pinned on NumPy 2.4.6, so that a change of its streams is noticed; the test above says where they come from
    assert embed(["cat"], 4, 0).tolist() == [
        [-1.043660935091816, 1.4168204038813696, -0.7004805593300821, -2.2199102409038933]
    ]
    assert embed(["cat"], 4, 0, values="uniform").tolist() == [
        [0.3266204785911444, 0.4628295911337792, 0.11188140696078441, 0.8686865856283906]
    ]


def test_a_word_has_one_vector_in_any_sentence() -> None:
    first, second = embed(["the", "cat", "the"], 8, 5), embed(["a", "the"], 8, 5)
    assert (first[0] == first[2]).all()
    assert (first[0] == second[1]).all()
    assert (first[0] != first[1]).all()


def test_seed_and_width_make_another_vector() -> None:
    assert (embed(["cat"], 8, 0) != embed(["cat"], 8, 1)).all()
    assert (embed(["cat"], 9, 0)[0, :8] != embed(["cat"], 8, 0)[0]).all()


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert (embed(["caf\u00e9"], 8, 0) == embed(["cafe\u0301"], 8, 0)).all()
    assert (embed(["\ufb01"], 8, 0) != embed(["fi"], 8, 0)).all()  # NFC, which keeps ligatures, not NFKC


def test_uniform_values_lie_between_zero_and_one() -> None:
    vectors = embed(tokenize("a b c d e f"), 100, 0, values="uniform")
    assert vectors.min() >= 0
    assert vectors.max() < 1
    assert 0.45 < vectors.mean() < 0.55  # 600 draws: within 4 standard errors


def test_positions_are_added_to_the_vectors() -> None:
    plain = embed(["a", "b", "a"], 8, 0)
    placed = embed(["a", "b", "a"], 8, 0, positions="sinusoidal")
    assert (placed == plain + sinusoidal_positions(3, 8)).all()
    assert (placed[0] != placed[2]).any()


@pytest.mark.parametrize("d_model", [1, 2, 7, 8])
def test_sinusoidal_positions_are_the_papers(d_model: int) -> None:
    table = sinusoidal_positions(5, d_model)
    assert table.shape == (5, d_model)
    for t in range(5):
        for column in range(d_model):
            angle = t / 10000 ** (2 * (column // 2) / d_model)
            assert abs(table[t, column] - (cos(angle) if column % 2 else sin(angle))) <= 1e-12


def test_the_first_position_is_zero_and_one() -> None:
    assert sinusoidal_positions(2, 6)[0].tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("positions", ["none", "sinusoidal"])
def test_no_tokens_give_an_empty_array(positions: str) -> None:
    assert embed([], 8, 0, positions=positions).shape == (0, 8)
    assert embed(tokenize(" "), 8, 0, positions=positions).shape == (0, 8)


def test_global_generators_are_left_alone() -> None:
    before = repr(np.random.get_state())  # noqa: NPY002 - the very thing that must not change
    embed(["cat"], 8, 0)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("tokens", "arguments", "message"),
    [
        ("cat", {}, "sequence of tokens, got one str"),
        (["cat", 3], {}, "token 1 to be a str, got int"),
        (["cat", "\ud800"], {}, "token 1 to be valid Unicode"),
        (["cat"], {"d_model": 0}, "d_model to be a whole number of at least 1, got 0"),
        (["cat"], {"d_model": 8.0}, "d_model to be a whole number"),
        (["cat"], {"seed": -1}, "seed to be a whole number from 0 to 4294967295"),
        (["cat"], {"seed": None}, "seed to be a whole number"),
        (["cat"], {"positions": "learned"}, "positions to be one of none, sinusoidal, got 'learned'"),
        (["cat"], {"values": "zeros"}, "values to be one of normal, uniform, got 'zeros'"),
    ],
)
def test_bad_input_is_refused(tokens: object, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        embed(tokens, **{"d_model": 8, "seed": 0, **arguments})  # type: ignore[arg-type]
