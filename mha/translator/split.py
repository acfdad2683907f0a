"""Which numbers the model never sees in training: about a fifth, by a hash, so the same ones on any machine."""

from __future__ import annotations

import hashlib
from itertools import islice

import numpy as np

from mha.arrays import Integers
from mha.config import whole_number
from mha.translator.numbers import LARGEST

ONE_IN = 5


def is_held_out(number: int) -> bool:
    """Whether a number is kept from training: the first 8 bytes of sha256 of its digits are a multiple of 5.

    Zero is not: its word stands in no other number, so nobody could learn it from the rest.
    """
    return _is_held_out(whole_number(number, "a number", 0, LARGEST))


def _is_held_out(number: int) -> bool:
    digest = hashlib.sha256(str(number).encode("ascii")).digest()
    return number != 0 and int.from_bytes(digest[:8], "big") % ONE_IN == 0


def held_out_numbers(below: int = LARGEST + 1) -> Integers:
    """All numbers below `below` that are held out, in order; all 200,027 take some seconds."""
    return np.fromiter(filter(_is_held_out, range(whole_number(below, "below", 0, LARGEST + 1))), dtype=np.int64)


def held_out_sample(size: int, seed: int) -> Integers:
    """Held-out numbers, in order, none twice: as many of each number of digits, or all where there are fewer.

    Nine in ten numbers have six digits: drawn from all alike, a sample would say next to nothing about the others.
    """
    rng = np.random.default_rng(seed)
    longest = len(str(LARGEST))
    chosen: list[int] = []
    for length in range(1, longest + 1):
        share = (size - len(chosen)) // (longest + 1 - length)
        shuffled = rng.permutation(np.arange(10 ** (length - 1) if length > 1 else 0, 10**length))
        chosen += sorted(islice(filter(_is_held_out, map(int, shuffled)), share))
    return np.array(chosen, dtype=np.int64)


def number_of_digits(numbers: Integers) -> Integers:
    """1 for 0 to 9, 2 for 10 to 99, and so on, element by element."""
    return np.searchsorted(10 ** np.arange(1, len(str(LARGEST))), numbers, side="right") + 1
