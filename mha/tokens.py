"""Text -> tokens, within limits, at borders that Unicode defines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import regex

from mha.config import MAX_CHARACTERS, MAX_TOKENS, SPLITS, one_of

_CLUSTER = regex.compile(r"\X")
_WHITE_SPACE = regex.compile(r"\p{White_Space}+")
_WORD_START = regex.compile(r"[\p{L}\p{M}\p{N}\p{Pc}]")
# Invisible characters such as the soft hyphen belong to the word they stand in.
_FORMAT = regex.compile(r"\p{Cf}")
_APOSTROPHES = frozenset("'\u2019")
_NUMBER_MARKS = frozenset(".,")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")


class Tokens(tuple[str, ...]):
    """The tokens of one text, in order: a tuple of str.

    `notes` says in plain words what was cut or replaced on the way; it is empty if nothing was.
    """

    notes: tuple[str, ...]

    def __new__(cls, tokens: Iterable[str] = (), notes: Iterable[str] = ()) -> Tokens:
        made = super().__new__(cls, tokens)
        made.notes = tuple(notes)
        return made

    def __getnewargs__(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(self), self.notes


def tokenize(text: str, how: str = "spaces") -> Tokens:
    """Split `text` into at most 128 tokens.

    how: "spaces" splits at any Unicode white space and nowhere else. "words" keeps letters, digits and
    their marks together (so do an apostrophe between letters and a point or comma between digits) and makes
    every other sign a token of its own. "characters" gives grapheme clusters (Unicode annex 29), white space
    dropped. The last two never split a grapheme cluster.

    Over 5,000 characters or 128 tokens the rest is cut, and a lone surrogate, which no file can hold, becomes
    U+FFFD; `Tokens.notes` says so. Raises ValueError if `text` is no str or `how` is none of the three.
    """
    if not isinstance(text, str):
        raise ValueError(f"expected text to be a str, got {type(text).__name__}")
    one_of(how, "how", SPLITS)
    notes: list[str] = []
    text = _within_length(_without_surrogates(text, notes), notes)
    tokens = {"spaces": _spaces, "words": _words, "characters": _characters}[how](text)
    if len(tokens) > MAX_TOKENS:
        notes.append(f"Only the first {MAX_TOKENS} of {len(tokens):,} tokens are used.")
    return Tokens(tokens[:MAX_TOKENS], notes)


def _without_surrogates(text: str, notes: list[str]) -> str:
    replaced = _SURROGATE.sub("\ufffd", text)
    count = replaced.count("\ufffd")  # those that a browser or a link has replaced already count as well
    if count:
        what = "1 character" if count == 1 else f"{count:,} characters"
        notes.append(f"{what} could not be read; \ufffd stands in for {'it' if count == 1 else 'them'}.")
    return replaced


def _within_length(text: str, notes: list[str]) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    notes.append(f"Only the first {MAX_CHARACTERS:,} of {len(text):,} characters are used.")
    end = 0
    for cluster in _CLUSTER.finditer(text):
        if cluster.end() > MAX_CHARACTERS:
            break
        end = cluster.end()
    # One cluster longer than the limit (a letter under thousands of marks) can only be cut inside.
    return text[: end or MAX_CHARACTERS]


def _spaces(text: str) -> list[str]:
    return [piece for piece in _WHITE_SPACE.split(text) if piece]


def _characters(text: str) -> list[str]:
    return [cluster for cluster in _CLUSTER.findall(text) if not _WHITE_SPACE.fullmatch(cluster)]


def _words(text: str) -> list[str]:
    return ["".join(run) for run in _word_runs(_CLUSTER.findall(text))]


def _word_runs(clusters: list[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for cluster, following in pairwise([*clusters, " "]):
        if _WORD_START.match(cluster) or (run and _stays_inside(run[-1], cluster, following)):
            run.append(cluster)
            continue
        if run:
            yield run
            run = []
        if not _WHITE_SPACE.fullmatch(cluster):
            yield [cluster]
    if run:
        yield run


def _stays_inside(before: str, cluster: str, after: str) -> bool:
    """Whether a sign between two clusters of a word belongs to it: don't, 3.14, a soft hyphen."""
    if _FORMAT.match(cluster):
        return True
    if cluster in _APOSTROPHES:
        return before[0].isalpha() and after[0].isalpha()
    return cluster in _NUMBER_MARKS and before[0].isdecimal() and after[0].isdecimal()
