"""Several texts of different lengths -> one padded batch.

Padding comes after a text. Its vectors are zeros: `masks.valid_lens` with the batch's `valid_lens` blocks it, and
where a rule is taken away or a length made larger, zeros are what the queries see there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mha.arrays import Array, Booleans, Integers
from mha.config import MAX_TEXTS, Model
from mha.embedding import embed
from mha.tokens import Tokens, tokenize

PADDING = "[pad]"


@dataclass(frozen=True)
class Batch:
    """Texts that are looked at side by side; none is empty.

    numbers: which text of those given each one is, counted from 1, as empty ones are left out. notes: what was
    left out or cut, in plain words.
    """

    texts: tuple[Tokens, ...]
    numbers: tuple[int, ...]
    notes: tuple[str, ...] = ()

    @property
    def T(self) -> int:
        """Tokens of the longest text; 0 of no texts."""
        return max(map(len, self.texts), default=0)

    @property
    def valid_lens(self) -> Integers:
        """Tokens of each text, (B,)."""
        return np.array([len(text) for text in self.texts], dtype=np.int64)

    @property
    def is_padding(self) -> Booleans:
        """Where a text has no token of its own, (B, T)."""
        return np.arange(self.T) >= self.valid_lens[:, None]

    def padded(self, b: int) -> tuple[str, ...]:
        """The T tokens of text b with its padding; a token that a person wrote as "[pad]" is a word like others."""
        return (*self.texts[b], *[PADDING] * (self.T - len(self.texts[b])))


def pad(texts: Iterable[Sequence[str]]) -> Batch:
    """The texts that have tokens, at most 8; `Batch.notes` says which were left out, and what `tokenize` cut.

    texts: the tokens of each text. ValueError for a str instead of tokens.
    """
    kept: dict[int, Tokens] = {}
    empty: list[int] = []
    notes: list[str] = []
    for number, text in enumerate(texts, 1):
        tokens = _tokens(text, number)
        if not tokens:
            empty.append(number)
        elif len(kept) == MAX_TEXTS:
            notes.append(f"Only the first {MAX_TEXTS} texts are used.")
            break
        else:
            kept[number] = tokens
            notes += [f"Text {number}: {note}" for note in tokens.notes]
    return Batch(tuple(kept.values()), tuple(kept), (*_about_empty(empty), *notes))


def read_lines(text: str, how: str = "spaces") -> Batch:
    """A batch of one text per line, split by `tokenize` with `how`; lines without a token at the end do not count."""
    if not isinstance(text, str):
        raise ValueError(f"expected text to be a str, got {type(text).__name__}")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not tokenize(lines[-1], how):
        lines.pop()
    return pad(tokenize(line, how) for line in lines)


def embed_batch(batch: Batch, model: Model) -> Array:
    """The vectors of each text as `embed` gives them, positions included, then zeros for padding: (B, T, D)."""
    vectors = np.zeros((len(batch.texts), batch.T, model.d_model))
    for b, text in enumerate(batch.texts):
        vectors[b, : len(text)] = embed(text, model.d_model, model.seed, positions=model.positions, values=model.values)
    return vectors


def _about_empty(numbers: list[int]) -> list[str]:
    if len(numbers) > 3:
        return [f"{len(numbers):,} empty texts are left out."]
    return [f"Text {number} is empty and left out." for number in numbers]


def _tokens(text: Any, number: int) -> Tokens:
    if isinstance(text, str) or not isinstance(text, Sequence) or not all(isinstance(token, str) for token in text):
        raise ValueError(f"expected text {number} to be a sequence of tokens, got {type(text).__name__}: tokenize it")
    return text if isinstance(text, Tokens) else Tokens(text)
