"""Where texts are split, what is kept, and what is said about what is not."""

from __future__ import annotations

import copy
import pickle

import pytest

from mha import Tokens, tokenize
from mha.config import MAX_CHARACTERS, MAX_TOKENS, SPLITS

FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"  # one emoji of five code points
WAVE = "\N{WAVING HAND SIGN}\U0001f3fd"  # with a skin tone


def split(text: str, how: str) -> list[str]:
    return list(tokenize(text, how))


# --- spaces ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat  sat.", ["The", "cat", "sat."]),
        ("  a\tb\nc\r\nd  ", ["a", "b", "c", "d"]),
        ("a\u00a0b\u3000c\u2028d\u2009e\u0085f", ["a", "b", "c", "d", "e", "f"]),  # white space beyond ASCII
        ("a\u200bb\u2060c\ufeffd", ["a\u200bb\u2060c\ufeffd"]),  # zero width, but no White_Space
        ("a\x1fb\x00c", ["a\x1fb\x00c"]),  # str.split would cut at U+001F; Unicode has it as a control
        ("$x$ **b** :smile: <script> 2024-01-01", ["$x$", "**b**", ":smile:", "<script>", "2024-01-01"]),
        ("我 喜欢 茶", ["我", "喜欢", "茶"]),
        ("שלום עולם 123", ["שלום", "עולם", "123"]),
        (f"hi {FAMILY} {WAVE}", ["hi", FAMILY, WAVE]),
        ("the the the", ["the"] * 3),
    ],
)
def test_spaces_split_at_white_space_and_nowhere_else(text: str, tokens: list[str]) -> None:
    assert split(text, "spaces") == tokens


def test_spaces_is_the_default() -> None:
    assert tokenize("don't stop.") == ("don't", "stop.")


# --- words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat sat.", ["The", "cat", "sat", "."]),
        ("don't (really) stop!?", ["don't", "(", "really", ")", "stop", "!", "?"]),
        ("l\u2019eau 'quoted'", ["l\u2019eau", "'", "quoted", "'"]),
        ("3.14 1,000 v2.0. 5,", ["3.14", "1,000", "v2.0", ".", "5", ","]),
        ("a.b a,b", ["a", ".", "b", "a", ",", "b"]),
        ("snake_case well-known", ["snake_case", "well", "-", "known"]),
        ("a<b<c", ["a", "<", "b", "<", "c"]),
        ("cafe\u0301 nai\u0308ve", ["cafe\u0301", "nai\u0308ve"]),  # a combining mark belongs to its word
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        (
            "co\u00adop \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            ["co\u00adop", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
        ),
        ("你好，世界", ["你好", "，", "世界"]),
        (f"hi{FAMILY}{WAVE}ok", ["hi", FAMILY, WAVE, "ok"]),
        ("e\u0301!\u0301", ["e\u0301", "!\u0301"]),  # a mark on a sign stays with the sign
        ("a \u0301b", ["a", " \u0301", "b"]),  # ... and on white space with the white space
        ("\u0301b", ["\u0301b"]),  # with nothing before it, with what follows
        ("$x$ **b**", ["$", "x", "$", "*", "*", "b", "*", "*"]),
        ("a\0b", ["a", "\0", "b"]),
    ],
)
def test_words_keep_words_together_and_signs_apart(text: str, tokens: list[str]) -> None:
    assert split(text, "words") == tokens


# --- characters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a b\r\nc", ["a", "b", "c"]),
        ("cafe\u0301", ["c", "a", "f", "e\u0301"]),
        (f"{FAMILY}{WAVE}x", [FAMILY, WAVE, "x"]),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"]),  # two flags
        ("각\u1100\u1161", ["각", "\u1100\u1161"]),  # a Korean syllable, whole and in its parts
        ("a\0", ["a", "\0"]),
    ],
)
def test_characters_are_grapheme_clusters(text: str, tokens: list[str]) -> None:
    assert split(text, "characters") == tokens


# --- nothing, too much, and what cannot be -----------------------------------------------------------------------


@pytest.mark.parametrize("how", SPLITS)
@pytest.mark.parametrize("text", ["", " ", "\t\r\n \u3000\u00a0"])
def test_no_text_gives_no_tokens(text: str, how: str) -> None:
    assert tokenize(text, how) == ()
    assert tokenize(text, how).notes == ()


@pytest.mark.parametrize(("how", "text"), [("spaces", "a " * 200), ("words", "a!" * 100), ("characters", "b" * 200)])
def test_tokens_over_the_limit_are_cut_and_it_is_said(how: str, text: str) -> None:
    tokens = tokenize(text, how)
    assert len(tokens) == MAX_TOKENS == 128
    assert tokens.notes == ("Only the first 128 of 200 tokens are used.",)


def test_exactly_the_limit_is_not_cut() -> None:
    assert tokenize("a " * 128).notes == ()
    assert tokenize("x" * 5_000).notes == ()
    assert len(tokenize("x" * 5_000)[0]) == 5_000


def test_characters_over_the_limit_are_cut_and_it_is_said() -> None:
    tokens = tokenize("x" * 5_001)
    assert len(tokens[0]) == MAX_CHARACTERS == 5_000
    assert tokens.notes == ("Only the first 5,000 of 5,001 characters are used.",)


def test_the_cut_never_splits_a_cluster() -> None:
    tokens = tokenize("x" * 4_998 + FAMILY)  # it would end at character 5,003
    assert list(tokens) == ["x" * 4_998]
    assert "5,003 characters" in tokens.notes[0]


def test_one_cluster_longer_than_the_limit_is_cut_inside() -> None:
    assert [len(token) for token in tokenize("a" + "\u0301" * 6_000, "characters")] == [5_000]


def test_both_limits_are_said() -> None:
    assert len(tokenize("ab " * 2_000).notes) == 2


@pytest.mark.parametrize("how", SPLITS)
def test_a_lone_surrogate_is_replaced_and_it_is_said(how: str) -> None:
    assert tokenize("\ud800", how) == ("\ufffd",)
    assert tokenize("\ud800", how).notes == ("1 character could not be read; \ufffd stands in for it.",)
    assert tokenize("\udfff \udc00", how).notes == ("2 characters could not be read; \ufffd stands in for them.",)


@pytest.mark.parametrize(("text", "kind"), [(None, "NoneType"), (3, "int"), (b"a b", "bytes"), (["a"], "list")])
def test_what_is_no_text_is_refused(text: object, kind: str) -> None:
    with pytest.raises(ValueError, match=f"expected text to be a str, got {kind}"):
        tokenize(text)  # type: ignore[arg-type]


def test_an_unknown_way_to_split_is_refused_and_the_known_are_listed() -> None:
    with pytest.raises(ValueError, match="how to be one of spaces, words, characters, got 'bytes'"):
        tokenize("a", "bytes")


# --- the type ----------------------------------------------------------------------------------------------------


def test_tokens_are_a_sequence_of_str_with_notes() -> None:
    tokens = Tokens(["a", "b"], ["cut"])
    assert list(tokens) == ["a", "b"]
    assert tokens[1] == "b"
    assert tokens.notes == ("cut",)
    assert hash(tokens) == hash(("a", "b"))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tokens: pickle.loads(pickle.dumps(tokens))])
def test_copies_keep_the_notes(again: object) -> None:
    tokens = tokenize("a " * 200)
    made = again(tokens)  # type: ignore[operator]
    assert type(made) is Tokens
    assert (made, made.notes) == (tokens, tokens.notes)
