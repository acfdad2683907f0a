"""Tokens as text in a Plotly figure: literal whatever they hold, bounded, and never invisible.

Plotly reads a small HTML in every text it draws, and lays tick labels out as they are: a token could turn into a link,
vanish, or push the picture off the page. Everything a person typed goes through this module first.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from html import escape

import regex

TICK_CHARACTERS = 12
FULL_CHARACTERS = 60

EMPTY = "\u2205"  # the empty set
SPACE = "\u2423"  # an open box
UNSEEN = "\u2426"  # stands for one character that has no look of its own, where there is no room to name it
ELLIPSIS = "\u2026"

_CLUSTER = regex.compile(r"\X")
_CONTROL = regex.compile(r"[\p{Cc}\p{Zl}\p{Zp}]")
# U+2800 is a Braille cell without dots; fonts draw it blank.
_BLANK = regex.compile(r"[\p{Zs}\u2800]")
_SURROGATE = regex.compile(r"\p{Cs}")
# Joiners, variation selectors and tags belong inside a cluster (joined emoji, flags, Persian); the others are shown.
_INVISIBLE = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}--[\p{M}\u200c\u200d\U000e0020-\U000e007f]]", regex.V1
)
_ONLY_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]+")
_RIGHT_TO_LEFT = regex.compile(r"[\p{Bidi_Class=R}\p{Bidi_Class=AL}]")
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"
# A letter under hundreds of marks is one cluster; the longest emoji in use have about a dozen code points.
_MOST_CODE_POINTS = 16


# One more letter leaves all other tokens as they were.
_remembered = lru_cache(maxsize=2_048)


@_remembered
def short_label(token: str, limit: int = TICK_CHARACTERS) -> str:
    """`token` for an axis: at most `limit` characters (grapheme clusters), the last an ellipsis if it was longer.

    A token of up to `limit` characters is never shortened. The result is safe Plotly text.
    """
    shown = _bounded([_visible(cluster, brief=True) for cluster in _clusters(token, limit)], limit)
    return escape(_isolated(shown), quote=False)


@_remembered
def full_label(token: str, limit: int = FULL_CHARACTERS) -> str:
    """`token` for a hover: as `short_label` with more room; what cannot be seen is named, as in <U+202E>."""
    return escape(plain_label(token, limit), quote=False)


@_remembered
def plain_label(token: str, limit: int = FULL_CHARACTERS) -> str:
    """`token` as plain text for widgets and sentences: bounded and visible like `full_label`, but not escaped."""
    return _isolated(_bounded([_visible(cluster, brief=False) for cluster in _clusters(token, limit)], limit))


def literal_name(name: str) -> str:
    """The name of a map, a head or a rule as Plotly text; unlike in a token, its spaces stay spaces.

    It may stand in a hover template, where a bare %{...} would be filled in.
    """
    return escape(plain_name(name), quote=False).replace("%{", "&#37;{")


def plain_name(name: str) -> str:
    """The name of a map or a head as plain text, bounded and without control characters."""
    return " ".join(plain_label(word) for word in name.split(" "))


@_remembered
def text_width(token: str, font_size: float, limit: int = TICK_CHARACTERS) -> float:
    """About how many px `short_label(token, limit)` takes: a little too many rather than too few."""
    shown = _bounded(_clusters(token, limit), limit)
    return font_size * sum(_width(cluster[0]) for cluster in _CLUSTER.findall(shown))


# In units of the font size, for the sans-serif font that Streamlit brings.
_CHARACTER_WIDTHS = {
    **dict.fromkeys("abcdefghknopqrsuvxyz0123456789_+=<>~#$?*^-", 0.55),
    **dict.fromkeys("ijlt.,:;'|!()[]{}/\\` ", 0.33),
    **dict.fromkeys("ABCDEFGHIJKLNOPQRSTUVXYZ&", 0.66),
    **dict.fromkeys("mwMW@%", 0.9),
    **dict.fromkeys('fr"', 0.45),
    ELLIPSIS: 0.8,
}


def _width(character: str) -> float:
    known = _CHARACTER_WIDTHS.get(character)
    if known is not None:
        return known
    return 1.05 if unicodedata.east_asian_width(character) in "WF" else 0.65


def _clusters(token: str, limit: int) -> list[str]:
    """The first grapheme clusters of a token, one more than `limit` if there are so many."""
    if token.isascii() and token.isprintable() and token:
        return list(token[: limit + 1])
    found: list[str] = []
    for match in _CLUSTER.finditer(token):
        found.append(match[0])
        if len(found) > limit:
            break
    return found or [EMPTY]


def _bounded(pieces: list[str], limit: int) -> str:
    return "".join(pieces if len(pieces) <= limit else [*pieces[: limit - 1], ELLIPSIS])


def _visible(cluster: str, *, brief: bool) -> str:
    """One grapheme cluster with everything that has no look replaced by a sign for it."""
    if len(cluster) == 1 and " " < cluster < "\x7f":
        return cluster
    if _ONLY_INVISIBLE.fullmatch(cluster):
        return "".join(_sign(character, brief) for character in cluster[:_MOST_CODE_POINTS])
    return "".join(_visible_character(character, brief) for character in cluster[:_MOST_CODE_POINTS])


def _visible_character(character: str, brief: bool) -> str:
    if _BLANK.match(character):
        return SPACE
    if _SURROGATE.match(character):
        return "\ufffd"
    if _CONTROL.match(character) or _INVISIBLE.match(character):
        return _sign(character, brief)
    return character


def _sign(character: str, brief: bool) -> str:
    """A visible sign for an invisible character: Unicode's own pictures of the ASCII controls, or its number."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return UNSEEN if brief else f"<U+{code:04X}>"


def _isolated(text: str) -> str:
    """A right-to-left text set apart: else marks at its ends land on the wrong side, and numbers beside it move."""
    return f"{_ISOLATE}{text}{_END_OF_ISOLATE}" if _RIGHT_TO_LEFT.search(text) else text
