"""How many numbers a translator gets right, whole and with heads switched off or restricted.

A translation is right if it is the number's German words, every one, and then the end mark. Nothing else counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mha.arrays import Booleans, Integers
from mha.translator.model import Translator
from mha.translator.numbers import english_words, german_words, has_crossing
from mha.translator.restrictions import FREE, FirstWords, HeadsOff, Rules
from mha.translator.split import held_out_sample, number_of_digits
from mha.translator.weights import ATTENTIONS, END

SAMPLE, SAMPLE_SEED = 500, 0
_AT_ONCE = 50  # texts: more take more memory, fewer more calls, and both are slower


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Which numbers were translated right: numbers (N,) and right (N,)."""

    numbers: Integers
    right: Booleans

    @property
    def share(self) -> float:
        """Right ones of all, 0 to 1; NaN of none."""
        return float(self.right.mean()) if self.right.size else float("nan")

    def among(self, chosen: Booleans) -> Accuracy:
        """The same for some of the numbers: chosen (N,)."""
        return Accuracy(self.numbers[chosen], self.right[chosen])

    def by_digits(self) -> dict[int, Accuracy]:
        """The same for each number of digits that occurs."""
        digits = number_of_digits(self.numbers)
        return {int(length): self.among(digits == length) for length in np.unique(digits)}

    def by_crossing(self) -> dict[bool, Accuracy]:
        """The same without (False) and with (True) tens and units that change places."""
        crosses = np.array([has_crossing(number) for number in self.numbers.tolist()], dtype=np.bool_)
        return {crossing: self.among(crosses == crossing) for crossing in (False, True)}


@dataclass(frozen=True)
class Head:
    """One head of one of ATTENTIONS; it counts from 0."""

    attention: str
    head: int

    def off(self) -> Rules:
        """The rules by which this head may look nowhere, so that it adds nothing."""
        return Rules(**{self.attention: (HeadsOff((self.head,)),)})


def sample() -> Integers:
    """The 500 held-out numbers that the app, the tables and the tests speak of."""
    return held_out_sample(SAMPLE, SAMPLE_SEED)


def accuracy(translator: Translator, numbers: Integers, rules: Rules = FREE) -> Accuracy:
    """Which of `numbers` come out right under `rules`."""
    right = [
        translator.would_produce(
            map(english_words, some.tolist()), [(*german_words(number), END) for number in some.tolist()], rules
        )
        for some in np.split(numbers, range(_AT_ONCE, len(numbers), _AT_ONCE))
    ]
    return Accuracy(numbers, np.concatenate(right))


def all_heads(num_heads: int) -> tuple[Head, ...]:
    """Every head, in the order of ATTENTIONS, each of which has `num_heads`."""
    return tuple(Head(name, head) for name in ATTENTIONS for head in range(num_heads))


def heads_off(translator: Translator, numbers: Integers) -> Iterator[tuple[Head, Accuracy]]:
    """The accuracy with each head switched off, alone: one after the other, so that a page can show how far it is."""
    for head in all_heads(translator.weights.num_heads):
        yield head, accuracy(translator, numbers, head.off())


def looking_ahead(translator: Translator, numbers: Integers, most: int = 1) -> Iterator[tuple[int, Accuracy]]:
    """The accuracy where word i of the translation is made from source words 1 to i + ahead and the end mark alone.

    ahead: 0 to `most`, one after the other.
    """
    for ahead in range(most + 1):
        yield ahead, accuracy(translator, numbers, Rules(cross=(FirstWords(ahead),)))


def hurts_most(accuracies: Mapping[Head, Accuracy]) -> tuple[Head, ...]:
    """The heads without which fewest numbers come out right: one, or several that are equal."""
    least = min(one.right.sum() for one in accuracies.values())
    return tuple(head for head, one in accuracies.items() if one.right.sum() == least)
