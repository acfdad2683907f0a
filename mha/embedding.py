"""Token -> seeded vector, and positional encodings."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mha.arrays import Array, frozen
from mha.config import MAX_SEED, POSITIONS, VALUES, one_of, whole_number


def embed(
    tokens: Sequence[str],
    d_model: int,
    seed: int,
    *,
    positions: str = "none",
    values: str = "normal",
) -> Array:
    """A vector per token, (T, D) float64: the same word has the same vector in any sentence and process.

    values: "normal" draws from the standard normal, "uniform" from [0, 1). positions: "sinusoidal" adds
    `sinusoidal_positions`. Raises ValueError for a bare str, a token that is no text, or a bad number.
    """
    if isinstance(tokens, str):
        raise ValueError("expected a sequence of tokens, got one str: tokenize it first")
    whole_number(d_model, "d_model", 1)
    whole_number(seed, "seed", 0, MAX_SEED)
    one_of(positions, "positions", POSITIONS)
    one_of(values, "values", VALUES)
    vectors = np.empty((len(tokens), d_model))
    for place, token in enumerate(tokens):
        vectors[place] = _token_vector(_normal_form(token, place), d_model, seed, values)
    if positions == "sinusoidal":
        vectors += sinusoidal_positions(len(tokens), d_model)
    return vectors


def _normal_form(token: str, place: int) -> str:
    """The token's NFC text: letters that look the same are the same."""
    if not isinstance(token, str):
        raise ValueError(f"expected token {place} to be a str, got {type(token).__name__}")
    try:
        token.encode()
    except UnicodeEncodeError:
        raise ValueError(f"expected token {place} to be valid Unicode, got {token!r}") from None
    return unicodedata.normalize("NFC", token)


# A generator takes 20 microseconds to seed; of a text that someone types at, all but one token were drawn before.
@lru_cache(maxsize=2048)
def _token_vector(text: str, d_model: int, seed: int, values: str) -> Array:
    name = f"{seed}|{d_model}|{text}".encode()
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name).digest()[:16], "big"))
    return frozen(rng.standard_normal(d_model) if values == "normal" else rng.random(d_model))


def sinusoidal_positions(length: int, d_model: int) -> Array:
    """Sine and cosine positions, (T, D), of "Attention Is All You Need", section 3.5.

    Columns 2m and 2m+1 hold sin and cos of t / 10000^(2m / D); an odd last column holds the sine.
    """
    columns = np.arange(d_model)
    angles = np.arange(length)[:, None] / 10_000.0 ** ((columns - columns % 2) / d_model)
    return np.where(columns % 2, np.cos(angles), np.sin(angles))
