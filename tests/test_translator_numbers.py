"""The rules of English and German number words, against num2words; typed numbers; the split."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from mha.translator.numbers import (
    ENGLISH,
    GERMAN,
    LARGEST,
    LONGEST_ENGLISH,
    LONGEST_GERMAN,
    english_words,
    german_words,
    has_crossing,
    read_german,
)
from mha.translator.reading import read_number
from mha.translator.split import held_out_numbers, held_out_sample, is_held_out, number_of_digits

# A number's words are those of its thousands and those of the rest: every one of both, and some pairs.
PARTS = range(1000)
EVERY_PART = sorted({*PARTS, *(1000 * part for part in PARTS), *(1001 * part for part in PARTS), 999_021, 21_999})
numbers = st.integers(0, LARGEST)


def x01_thousand(number: int) -> bool:
    """101,000 to 101,999, 201,000 to 201,999, ...: where num2words writes "einstausend"."""
    return number // 1000 > 1 and number // 1000 % 100 == 1


def german_of_num2words(number: int) -> str:
    """One word. Before "tausend" German has "ein" (eintausend, einhunderteintausend), which num2words only knows
    of 1,000: that it writes otherwise is asserted, so that this exception goes when it does."""
    word: str = num2words(number, lang="de")
    assert ("einstausend" in word) == x01_thousand(number)
    return word.replace("einstausend", "eintausend")


# --- the rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [EVERY_PART[0::3], EVERY_PART[1::3], EVERY_PART[2::3]])
def test_german_words_are_those_of_num2words(numbers: list[int]) -> None:
    for number in numbers:
        assert "".join(german_words(number)) == german_of_num2words(number)


def test_english_words_are_those_of_num2words_without_and() -> None:
    for number in EVERY_PART:
        theirs = num2words(number).replace("-", " ").replace(",", "").split()
        assert list(english_words(number)) == [word for word in theirs if word != "and"]


@given(numbers)
def test_any_number_is_worded_as_num2words_does(number: int) -> None:
    assert "".join(german_words(number)) == german_of_num2words(number)
    assert read_number(num2words(number)) == number


def test_words_by_hand() -> None:
    assert english_words(234) == ("two", "hundred", "thirty", "four")
    assert german_words(234) == ("zwei", "hundert", "vier", "und", "dreißig")
    assert german_words(101_001) == ("ein", "hundert", "ein", "tausend", "eins")
    assert german_words(21_021) == ("ein", "und", "zwanzig", "tausend", "ein", "und", "zwanzig")
    assert (english_words(0), german_words(0)) == (("zero",), ("null",))


def test_the_vocabularies_are_what_occurs_and_the_longest_are_the_longest() -> None:
    english = [english_words(number) for number in EVERY_PART]
    german = [german_words(number) for number in EVERY_PART]
    assert {word for words in english for word in words} == set(ENGLISH)
    assert {word for words in german for word in words} == set(GERMAN)
    # a part's words do not depend on the other part, but for a last one: so the longest has the longest twice
    assert max(map(len, english)) == LONGEST_ENGLISH == len(english_words(121_121))
    assert max(map(len, german)) == LONGEST_GERMAN == len(german_words(121_121))


@given(numbers)
def test_german_words_are_read_back(number: int) -> None:
    words = german_words(number)
    assert read_german(words) == number
    assert read_german((*words, "und")) is None


@given(st.lists(st.sampled_from(GERMAN), max_size=7))
def test_german_words_are_read_as_the_number_that_has_them_or_as_none(words: list[str]) -> None:
    number = read_german(tuple(words))
    assert number is None or list(german_words(number)) == words


@pytest.mark.parametrize(
    "words",
    ["", "und", "vier dreißig", "dreißig und vier", "ein", "eins tausend", "zwei null", "cat", "tausend tausend"],
)
def test_words_that_are_no_german_number_are_none(words: str) -> None:
    assert read_german(tuple(words.split())) is None


@pytest.mark.parametrize(("number", "crosses"), [(20, 0), (21, 1), (19, 0), (1_030, 0), (45_000, 1), (45_030, 1)])
def test_what_is_a_crossing(number: int, crosses: int) -> None:
    assert has_crossing(number) == bool(crosses)


@given(numbers)
def test_a_number_crosses_if_german_has_an_und(number: int) -> None:
    assert has_crossing(number) == ("und" in german_words(number))


@pytest.mark.parametrize("number", [-1, 1_000_000, 2.5, True, "7"])
def test_only_numbers_of_the_range_have_words(number: object) -> None:
    for words in (english_words, german_words):
        with pytest.raises(ValueError, match="a number to be a whole number from 0 to 999999"):
            words(number)  # type: ignore[arg-type]


# --- typed numbers -----------------------------------------------------------------------------------------------


@given(numbers, st.randoms(use_true_random=False))
def test_every_spelling_is_read(number: int, random: object) -> None:
    words = " ".join(english_words(number))
    british = num2words(number)  # "two hundred and thirty-four thousand, five hundred and one"
    for text in (words, words.upper(), f"  {words.title()}\n", words.replace(" ", "-"), british, british.upper()):
        assert read_number(text) == number
    assert read_number(str(number)) == read_number(f"{number:,}") == read_number(f"00{number}") == number


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("twenty eleven", 'expected one to nine, "thousand" or the end after "twenty", got "eleven"'),
        ("cat", 'expected "zero", one to nine, ten to nineteen or twenty to ninety as the first word, got "cat"'),
        ("one one", 'expected "hundred", "thousand" or the end after "one", got "one"'),
        ("two hundred and", 'expected one to nine, ten to nineteen or twenty to ninety after "and", got the end'),
        ("zero one", 'expected the end after "zero", got "one"'),
        (
            "one thousand thousand",
            'expected "and", one to nine, ten to nineteen, twenty to ninety or the end after "thousand", '
            'got "thousand"',
        ),
        ("one thousand two thousand", 'expected "hundred" or the end after "two", got "thousand"'),
        (
            "two hundred hundred",
            'ten to nineteen, twenty to ninety, "thousand" or the end after "hundred", got "hundred"',
        ),
        ("hundred", 'as the first word, got "hundred"'),
        ("and one", 'as the first word, got "and"'),
        ("", "expected a number in words or digits, got nothing"),
        (" \n\t", "got nothing"),
        ("--", "as the first word, got the end"),
        ("one million", 'expected a number from 0 to 999,999, got "million"'),
        ("1000000", "expected a number from 0 to 999,999, got 1000000"),
        ("1,000,000", "expected a number from 0 to 999,999, got 1,000,000"),
        ("-5", "expected a number from 0 to 999,999, got -5"),
        ("\u22125", "expected a number from 0 to 999,999, got \u22125"),
        ("-five", "expected a number from 0 to 999,999, got -five"),
        ("Minus two hundred", "expected a number from 0 to 999,999, got Minus two hundred"),
        ("negative one", "expected a number from 0 to 999,999, got negative one"),
        ("--5", 'expected digits alone, as in 234 or 234,000, got "--5"'),
        ("9" * 4_900, "expected a number from 0 to 999,999, got 9999999999999999999…"),
        ("3.5", 'expected digits alone, as in 234 or 234,000, got "3.5"'),
        ("12,34", 'got "12,34"'),
        ("2 hundred", 'got "2 hundred"'),
        ("\u0663\u0664", 'expected digits alone, as in 234 or 234,000, got "\u0663\u0664"'),
        ("five\u200b", r'as the first word, got "five\u200b"'),
        ("one \u202etwo", r'or the end after "one", got "\u202etwo"'),
        ("x" * 50, 'got "xxxxxxxxxxxxxxxxxxx…"'),
        ("x" * 5_001, "expected at most 5,000 characters, got 5,001"),
        (None, "expected a number as text, got NoneType"),
    ],
)
def test_what_is_no_number_is_refused_by_the_word_that_does_not_fit(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="expected") as refused:
        read_number(text)
    assert str(refused.value).endswith(message)


def number_or_none(text: str) -> int | None:
    """What was read, or None where it was refused in the words that all errors have."""
    try:
        return read_number(text)
    except ValueError as problem:
        return None if str(problem).startswith("expected ") else -1


@given(st.lists(st.sampled_from([*ENGLISH, "and", "cat"]), max_size=9))
def test_words_are_read_as_the_number_that_is_worded_so(words: list[str]) -> None:
    number = number_or_none(" ".join(words))
    assert number is None or [word for word in words if word != "and"] == list(english_words(number))


def test_of_all_pairs_and_triples_of_words_those_are_read_that_are_a_number() -> None:
    worded = {" ".join(english_words(number)): number for number in EVERY_PART}
    for one in ENGLISH:
        for other in ENGLISH:
            assert number_or_none(f"{one} {other}") == worded.get(f"{one} {other}")
            assert number_or_none(f"{one} hundred {other}") == worded.get(f"{one} hundred {other}")
            with_and = number_or_none(f"two hundred and {one} {other}")
            assert with_and == worded.get(f"two hundred {one} {other}" if one != "thousand" else "")


@given(st.text(max_size=30))
def test_any_text_is_a_number_of_the_range_or_refused(text: str) -> None:
    number = number_or_none(text)
    assert number is None or 0 <= number <= LARGEST


# --- the split ---------------------------------------------------------------------------------------------------


def test_held_out_numbers_are_a_fifth_and_the_others_are_not_among_them() -> None:
    held_out = set(held_out_numbers(100_000).tolist())
    others = {number for number in range(100_000) if not is_held_out(number)}
    assert not held_out & others
    assert held_out | others == set(range(100_000))
    # 100,000 tosses of a coin of 1/5: within 4 standard deviations, sqrt(100,000 * 1/5 * 4/5) = 126, of 20,000
    assert abs(len(held_out) - 20_000) <= 4 * 126
    assert sum(map(is_held_out, range(900_000, 1_000_000, 7))) / 14_286 == pytest.approx(1 / 5, abs=0.014)


def test_the_hash_is_that_of_the_digits() -> None:
    # the digest of "7" as `printf 7 | sha256sum` gives it
    assert hashlib.sha256(b"7").hexdigest().startswith("7902699be42c8a8e")
    assert is_held_out(7) == (0x7902699BE42C8A8E % 5 == 0)
    assert [number for number in range(30) if is_held_out(number)] == [7, 8, 9, 10, 19, 22, 29]
    assert is_held_out(np.int64(7))  # type: ignore[arg-type]


def test_a_sample_is_held_out_without_twins_and_spread_over_the_digits() -> None:
    chosen = held_out_sample(499, 3)
    assert len(set(chosen.tolist())) == 499
    assert all(map(is_held_out, chosen.tolist()))
    assert (chosen == held_out_sample(499, 3)).all()
    assert (chosen != held_out_sample(499, 4)).any()
    lengths, counts = np.unique(number_of_digits(chosen), return_counts=True)
    assert lengths.tolist() == [1, 2, 3, 4, 5, 6]
    assert counts[:2].tolist() == [3, 20]  # all there are below 100, by the list of digits above and below
    assert counts[2:].tolist() == [119, 119, 119, 119]  # (499 - 23) / 4


def test_number_of_digits_is_the_length_of_the_decimal_number() -> None:
    some = np.array([0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 99_999, 100_000, LARGEST])
    assert number_of_digits(some).tolist() == [len(str(number)) for number in some]
