"""Where cross-attention shows that tens and units change places, by its numbers.

    thirty four -> vier und dreißig

A head shows a crossing if it looks most at "four" while "vier" is produced, and most at "thirty" for "dreißig".
Axes: see `mha.attention`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mha.arrays import Array, Integers
from mha.translator.model import Translator
from mha.translator.numbers import ENGLISH_TENS, ENGLISH_UNITS, english_words, german_words


@dataclass(frozen=True)
class Crossing:
    """Places, from 0, of one pair in the English and in the German words of a number."""

    source_tens: int
    source_units: int
    target_units: int
    target_tens: int


@dataclass(frozen=True)
class HeadAtCrossing:
    """What one head's map says at a crossing: weights from 0 to 1, and whether they are the largest of their rows."""

    head: int  # from 0
    units: float  # the weight on the English units while the German units are produced
    tens: float  # and the same of the tens
    shows: bool


def crossings(number: int) -> tuple[Crossing, ...]:
    """The pairs of `number` that change places, none to two, in order."""
    english, german = english_words(number), german_words(number)
    tens = [j for j in range(len(english) - 1) if english[j] in ENGLISH_TENS and english[j + 1] in ENGLISH_UNITS]
    joints = [i for i, word in enumerate(german) if word == "und"]
    return tuple(Crossing(j, j + 1, i - 1, i + 1) for j, i in zip(tens, joints, strict=True))


def heads_at(crossing: Crossing, weights: Array) -> tuple[HeadAtCrossing, ...]:
    """What each head says: weights (H, T, S) of cross-attention for the number's own German words."""
    units = weights[:, crossing.target_units]  # (H, S)
    tens = weights[:, crossing.target_tens]
    shows = (units.argmax(axis=-1) == crossing.source_units) & (tens.argmax(axis=-1) == crossing.source_tens)
    return tuple(
        HeadAtCrossing(h, float(units[h, crossing.source_units]), float(tens[h, crossing.source_tens]), bool(shows[h]))
        for h in range(len(weights))
    )


def crossings_shown(translator: Translator, numbers: Integers) -> tuple[Integers, int]:
    """How many of the crossings in `numbers` each head of cross-attention shows, (H,), and how many there are.

    Of numbers that come out right: where other words come out, nothing is said about these ones.
    """
    shown, total = np.zeros(translator.weights.num_heads, dtype=np.int64), 0
    sources = [english_words(number) for number in numbers.tolist()]
    translations = translator.translate(sources)
    weights = translator.follow(sources, [one.produced for one in translations]).cross.trace.weights
    for number, translation, maps in zip(numbers.tolist(), translations, weights, strict=True):
        if translation.words == german_words(number):
            for crossing in crossings(number):
                shown += [head.shows for head in heads_at(crossing, maps)]
                total += 1
    return shown, total
