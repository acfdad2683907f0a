"""A number, the shipped weights that translate it and what they may not look at: the Translate page as one value.

Everything that page gives to take away is made from it, as other pages' files are from a Scene.
"""

from __future__ import annotations

from dataclasses import dataclass

from mha.config import one_of, whole_number
from mha.translator.model import Passes, Translation, Translator, Words
from mha.translator.numbers import LARGEST, english_words
from mha.translator.restrictions import (
    FREE,
    FirstWords,
    Halves,
    HeadPositions,
    HeadsOff,
    Restriction,
    Rules,
    Window,
)
from mha.translator.weights import ATTENTIONS, END, SHIPPED, START, load, shipped

# What a file and a script can say in words; a Restriction may be any function.
RESTRICTIONS: dict[str, type] = {kind.__name__: kind for kind in (HeadsOff, Halves, HeadPositions, Window, FirstWords)}


@dataclass(frozen=True)
class TranslationScene:
    """One number through one of the shipped translators.

    weights: a name of SHIPPED. rules: restrictions of the kinds in RESTRICTIONS. Raises ValueError for anything else.
    """

    number: int
    weights: str
    rules: Rules = FREE

    def __post_init__(self) -> None:
        whole_number(self.number, "number", 0, LARGEST)
        one_of(self.weights, "weights", SHIPPED)
        for name in ATTENTIONS:
            for restriction in self.restrictions(name):
                one_of(type(restriction).__name__, f"a restriction of {name}", tuple(RESTRICTIONS))

    @property
    def source(self) -> Words:
        """The number's English words, without marks."""
        return english_words(self.number)

    def restrictions(self, attention: str) -> tuple[Restriction, ...]:
        """Those of one of ATTENTIONS."""
        found: tuple[Restriction, ...] = getattr(self.rules, attention)
        return found

    def translator(self) -> Translator:
        """The weights, ready to translate; ValueError if their file is damaged."""
        return Translator(load(shipped(self.weights)))

    def followed(self) -> tuple[Translator, Translation, Passes]:
        """The translator, what it makes of the number, and the maps and probabilities of that."""
        translator = self.translator()
        [translation] = translator.translate([self.source], self.rules)
        return translator, translation, translator.follow([self.source], [translation.produced], self.rules)


def seen_words(attention: str, source: Words, produced: Words) -> tuple[Words, Words]:
    """The words of the rows and of the columns of one of ATTENTIONS.

    source: without marks; produced: with its end mark, if it came. The decoder looks at what was there before.
    """
    sources = (*source, END)
    return {
        "encoder": (sources, sources),
        "decoder": (produced, (START, *produced[:-1])),
        "cross": (produced, sources),
    }[attention]
