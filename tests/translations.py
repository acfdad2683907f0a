"""Translations that tests of exports share: both shipped weights, every kind of restriction, short and long numbers."""

from __future__ import annotations

from mha.export.translation import TranslationScene
from mha.translator.evaluate import Head
from mha.translator.restrictions import FREE, FirstWords, Halves, HeadPositions, HeadsOff, Rules, Window
from mha.translator.weights import SHIPPED

RULES: dict[str, Rules] = {
    "none": FREE,
    "a head off": Head("cross", 2).off(),
    "heads off in all": Rules((HeadsOff((0,)),), (HeadsOff((1, 3)),), (HeadsOff((2,)),)),
    "every head off": Rules(*[(HeadsOff((0, 1, 2, 3)),)] * 3),
    "first words": Rules(cross=(FirstWords(0),)),
    "first words and one more, a head off": Rules(cross=(FirstWords(1), HeadsOff((0,)))),
    "halves in all": Rules((Halves(),), (Halves(),), (Halves(),)),
    "windows": Rules((Window(1, 1),), (Window(2, 0),), (Window(1, None),)),
    "positions": Rules(
        (HeadPositions(((0, 1), (2, 3), (4,), ())),),
        (HeadPositions(((0, 1), (2, 3), (4, 5), (6, 7, 8, 9, 10, 11))),),
        (HeadPositions(((0,), (), (1, 5), (2, 3))), HeadsOff((0, 1))),
    ),
}
NUMBERS = (0, 34, 21_000, 121_121)  # one word, a crossing, fewer German words than English ones, the most of both

SCENES = {
    f"{rules}, {number}, {weights}": TranslationScene(number, weights, RULES[rules])
    for place, rules in enumerate(RULES)
    for weights in SHIPPED
    for number in (NUMBERS[place % len(NUMBERS)], 234)
}
