"""What a person types as a number, read word by word before any model sees it.

Words with or without "and", hyphens and commas, in any case, or digits: "two hundred and thirty-four", "234,000".
At each word it is known what could come there, so an error can say it.
"""

from __future__ import annotations

import re

from mha.config import MAX_CHARACTERS
from mha.translator.numbers import ENGLISH_TEENS, ENGLISH_TENS, ENGLISH_UNITS, LARGEST

RANGE = f"expected a number from 0 to {LARGEST:,}"
END = "the end"
_LONGEST_QUOTE = 20
_DASHES = r"\-\u2010-\u2015\u2212"  # all that Unicode calls a dash: between words they are hyphens, in front a minus

_VALUES = {
    "zero": 0,
    **{word: unit for unit, word in enumerate(ENGLISH_UNITS, 1)},
    **{word: teen for teen, word in enumerate(ENGLISH_TEENS, 10)},
    **{word: 10 * ten for ten, word in enumerate(ENGLISH_TENS, 2)},
}
_KINDS = {
    **dict.fromkeys(ENGLISH_UNITS, "one to nine"),
    **dict.fromkeys(ENGLISH_TEENS, "ten to nineteen"),
    **dict.fromkeys(ENGLISH_TENS, "twenty to ninety"),
    **{word: f'"{word}"' for word in ("zero", "hundred", "thousand", "and")},
}
_TOO_LARGE = {"million", "millions", "billion", "billions", "trillion", "trillions"}

# Where a reader stands -> what kind of word may come -> where that leads.
_BELOW_100 = {"one to nine": "done", "ten to nineteen": "done", "twenty to ninety": "tens"}
_PART = {**_BELOW_100, "one to nine": "units"}
_STATES: dict[str, dict[str, str]] = {
    "start": {'"zero"': "zero", **_PART},
    "zero": {END: ""},
    "units": {'"hundred"': "hundred", '"thousand"': "thousand", END: ""},
    "hundred": {'"and"': "hundred and", **_BELOW_100, '"thousand"': "thousand", END: ""},
    "hundred and": _BELOW_100,
    "tens": {"one to nine": "done", '"thousand"': "thousand", END: ""},
    "done": {'"thousand"': "thousand", END: ""},
    "thousand": {'"and"': "thousand and", **_PART, END: ""},
    "thousand and": _PART,
}


def read_number(text: str) -> int:
    """The number, 0 to 999,999, that was typed in English words or in digits.

    ValueError that names the first word that does not fit and what could come there, or the range.
    """
    if not isinstance(text, str):
        raise ValueError(f"expected a number as text, got {type(text).__name__}")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    text = text.strip()
    if not text:
        raise ValueError("expected a number in words or digits, got nothing")
    if re.match(rf"([{_DASHES}]|(minus|negative)\b)\s*\w", text, re.IGNORECASE):
        raise ValueError(f"{RANGE}, got {_shortened(text)}")
    if re.search(r"\d", text):  # of any script; only 0 to 9 are read
        return _read_digits(text)
    # A comma may follow "thousand".
    return _read_words(re.sub(rf"[{_DASHES},]", " ", text.lower()).split())


def _read_digits(text: str) -> int:
    if re.fullmatch(r"\+?(\d+|\d{1,3}(,\d{3})+)", text, re.ASCII) is None:
        raise ValueError(f"expected digits alone, as in 234 or 234,000, got {_quoted(text)}")
    digits = text.lstrip("+").replace(",", "").lstrip("0") or "0"
    if len(digits) > len(str(LARGEST)):
        raise ValueError(f"{RANGE}, got {_shortened(text)}")
    return int(digits)


def _read_words(words: list[str]) -> int:
    state, total, part, has_thousand = "start", 0, 0, False
    for place, word in enumerate([*words, END]):
        choices = dict(_STATES[state])
        if has_thousand:
            choices.pop('"thousand"', None)
        kind = END if word == END else _KINDS.get(word)
        if kind not in choices:
            raise ValueError(_unfit(words, place, list(choices)))
        state = choices[kind]
        if word == "thousand":
            total, part, has_thousand = 1000 * part, 0, True
        elif word == "hundred":
            part *= 100
        else:
            part += _VALUES.get(word, 0)
    return total + part


def _unfit(words: list[str], place: int, choices: list[str]) -> str:
    """What is wrong with the word at `place`, or with the end that comes there."""
    got = _quoted(words[place]) if place < len(words) else END
    if place < len(words) and words[place] in _TOO_LARGE:
        return f"{RANGE}, got {got}"
    where = f"after {_quoted(words[place - 1])}" if place else "as the first word"
    wanted = f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]
    return f"expected {wanted} {where}, got {got}"


def _quoted(text: str) -> str:
    return f'"{_shortened(text)}"'


def _shortened(text: str) -> str:
    short = text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"
    # A sign that nobody sees, as a space of no width behind "five", may be all that is wrong.
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in short)
