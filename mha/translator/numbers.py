"""The task: English number words to German number words, 0 to 999,999, a token a word.

    two hundred thirty four  ->  zwei hundert vier und dreißig

Tens and units change places on the way: that is the crossing. The rules of both languages stand here, and are
checked against `num2words` in the tests. German joins a number's words into one; here they stay apart, as tokens.
A one is "eins" at the end and "ein" before "hundert", "tausend" and "und": ein hundert ein tausend eins.
"""

from __future__ import annotations

from typing import TypeAlias

from mha.config import whole_number

LARGEST = 999_999
Words: TypeAlias = tuple[str, ...]


def _words(text: str) -> Words:
    return tuple(text.split())


ENGLISH_UNITS = _words("one two three four five six seven eight nine")
ENGLISH_TEENS = _words("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
ENGLISH_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
ENGLISH = ("zero", *ENGLISH_UNITS, *ENGLISH_TEENS, *ENGLISH_TENS, "hundred", "thousand")

GERMAN_UNITS = _words("eins zwei drei vier fünf sechs sieben acht neun")
GERMAN_TEENS = _words("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn")
GERMAN_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
GERMAN = ("null", "ein", *GERMAN_UNITS, *GERMAN_TEENS, *GERMAN_TENS, "hundert", "tausend", "und")

# The longest, such as 121,121: nine words in English, eleven in German.
LONGEST_ENGLISH, LONGEST_GERMAN = 9, 11


def english_words(number: int) -> Words:
    """234 -> ("two", "hundred", "thirty", "four"); no "and". ValueError outside 0 to 999,999."""
    thousands, rest = divmod(whole_number(number, "a number", 0, LARGEST), 1000)
    if not number:
        return ("zero",)
    return (*_english_part(thousands), *(("thousand",) if thousands else ()), *_english_part(rest))


def german_words(number: int) -> Words:
    """234 -> ("zwei", "hundert", "vier", "und", "dreißig"). ValueError outside 0 to 999,999."""
    thousands, rest = divmod(whole_number(number, "a number", 0, LARGEST), 1000)
    if not number:
        return ("null",)
    return (*_german_part(thousands, "ein"), *(("tausend",) if thousands else ()), *_german_part(rest, "eins"))


def read_german(words: Words) -> int | None:
    """The number that German words stand for, or None if they are none: the inverse of `german_words`."""
    total = part = 0
    for word in words:
        if word == "tausend":
            total, part = total + 1000 * part, 0
        elif word == "hundert":
            part *= 100
        else:
            part += _GERMAN_VALUES.get(word, 0)
    number = total + part
    # Whatever the order and the words, this sum is one number; only the right words give themselves back.
    return number if number <= LARGEST and german_words(number) == tuple(words) else None


def has_crossing(number: int) -> bool:
    """Whether tens and units change places: somewhere a ten of 20 to 90 has units, as in 21 or 45,000."""
    return any(part % 100 > 20 and part % 10 for part in divmod(number, 1000))


def _english_part(number: int) -> Words:
    """0 to 999; nothing for 0."""
    hundreds, rest = divmod(number, 100)
    words = (ENGLISH_UNITS[hundreds - 1], "hundred") if hundreds else ()
    if rest < 10:
        return (*words, *ENGLISH_UNITS[rest - 1 : rest]) if rest else words
    if rest < 20:
        return (*words, ENGLISH_TEENS[rest - 10])
    tens, units = divmod(rest, 10)
    return (*words, ENGLISH_TENS[tens - 2], *((ENGLISH_UNITS[units - 1],) if units else ()))


def _german_part(number: int, one: str) -> Words:
    """0 to 999; nothing for 0. one: what a last 1 is called, "ein" before "tausend" and "eins" at the end."""
    hundreds, rest = divmod(number, 100)
    words = (_german_unit(hundreds, "ein"), "hundert") if hundreds else ()
    if rest < 10:
        return (*words, _german_unit(rest, one)) if rest else words
    if rest < 20:
        return (*words, GERMAN_TEENS[rest - 10])
    tens, units = divmod(rest, 10)
    return (*words, *((_german_unit(units, "ein"), "und") if units else ()), GERMAN_TENS[tens - 2])


def _german_unit(unit: int, one: str) -> str:
    return one if unit == 1 else GERMAN_UNITS[unit - 1]


_GERMAN_VALUES = {
    "ein": 1,
    **{word: unit for unit, word in enumerate(GERMAN_UNITS, 1)},
    **{word: teen for teen, word in enumerate(GERMAN_TEENS, 10)},
    **{word: 10 * ten for ten, word in enumerate(GERMAN_TENS, 2)},
}
