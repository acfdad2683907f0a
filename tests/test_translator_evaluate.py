"""What heads are worth: accuracies against plain counting, and the crossing in the maps."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from mha.translator.evaluate import (
    Accuracy,
    Head,
    accuracy,
    all_heads,
    heads_off,
    hurts_most,
    looking_ahead,
    sample,
)
from mha.translator.findings import Crossing, crossings, crossings_shown, heads_at
from mha.translator.model import Translator
from mha.translator.numbers import LARGEST, english_words, german_words
from mha.translator.restrictions import FREE, HeadsOff, Rules
from mha.translator.split import is_held_out
from mha.translator.weights import ATTENTIONS, SHIPPED, drawn_like, load, shipped


@lru_cache
def translator(name: str = "shared") -> Translator:
    return Translator(load(shipped(name)))


def counted(translator: Translator, numbers: list[int], rules: Rules) -> list[bool]:
    """One number after the other, each alone: whether the German words, joined, are those of the number."""
    translations = [translator.translate([english_words(number)], rules)[0] for number in numbers]
    return [
        one.ended and " ".join(one.words) == " ".join(german_words(number))
        for one, number in zip(translations, numbers, strict=True)
    ]


# --- accuracies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_weights_know_every_number_of_the_sample(name: str) -> None:
    numbers = sample()
    assert len(numbers) == 500
    assert all(map(is_held_out, numbers.tolist()))
    assert accuracy(translator(name), numbers).share == 1.0


@pytest.mark.parametrize("name", SHIPPED)
def test_the_accuracy_with_a_head_off_is_that_counted_one_number_at_a_time(name: str) -> None:
    numbers = sample()[::20]
    for head in (Head("cross", 2), Head("decoder", 1)):
        result = accuracy(translator(name), numbers, head.off())
        by_hand = counted(translator(name), numbers.tolist(), Rules(**{head.attention: (HeadsOff((head.head,)),)}))
        assert result.right.tolist() == by_hand
        assert result.share == sum(by_hand) / 25
        for digits, part in result.by_digits().items():
            assert part.right.tolist() == [
                right for right, number in zip(by_hand, numbers.tolist(), strict=True) if len(str(number)) == digits
            ]


def test_all_twelve_heads_go_off_one_at_a_time_in_order() -> None:
    numbers = sample()[::25]
    results = dict(heads_off(translator(), numbers))
    assert list(results) == [Head(name, h) for name in ("encoder", "decoder", "cross") for h in range(4)]
    assert list(results) == list(all_heads(translator().weights.num_heads))
    for head, result in results.items():
        assert (result.right == accuracy(translator(), numbers, head.off()).right).all()
    rows = next(heads_off(translator(), numbers))  # one at a time: a page can show how far it is
    assert rows[0] == Head("encoder", 0)


def test_accuracy_of_more_numbers_than_are_translated_at_once() -> None:
    numbers = np.arange(1, 702)
    result = accuracy(translator(), numbers, Head("cross", 0).off())
    assert (result.numbers == numbers).all()
    parts = [accuracy(translator(), some, Head("cross", 0).off()).right for some in (numbers[:300], numbers[300:])]
    assert (result.right == np.concatenate(parts)).all()


def test_a_model_that_was_never_trained_knows_nothing() -> None:
    untrained = Translator(drawn_like(translator().weights, 0))
    assert accuracy(untrained, sample()[::5]).share == 0.0


def test_parts_of_an_accuracy_by_hand() -> None:
    result = Accuracy(np.array([5, 21, 30, 145]), np.array([True, False, True, True]))
    assert result.share == 3 / 4
    assert {digits: part.right.tolist() for digits, part in result.by_digits().items()} == {
        1: [True],
        2: [False, True],
        3: [True],
    }
    assert {crosses: part.numbers.tolist() for crosses, part in result.by_crossing().items()} == {
        False: [5, 30],
        True: [21, 145],
    }
    nothing = result.among(np.zeros(4, dtype=bool))
    assert np.isnan(nothing.share)


def test_the_heads_that_hurt_most_are_those_with_fewest_right() -> None:
    def of(*right: int) -> Accuracy:
        return Accuracy(np.arange(3), np.array(right, dtype=bool))

    one, two, three = Head("encoder", 0), Head("decoder", 3), Head("cross", 1)
    assert hurts_most({one: of(1, 1, 0), two: of(0, 1, 0), three: of(1, 1, 1)}) == (two,)
    assert hurts_most({one: of(1, 0, 0), two: of(0, 1, 0), three: of(1, 1, 1)}) == (one, two)


@pytest.mark.parametrize("name", SHIPPED)
def test_without_looking_ahead_no_number_with_a_crossing_comes_out_right(name: str) -> None:
    # The German units come one word before the English ones: they cannot be known, they are guessed at best.
    numbers = sample()
    results = {ahead: result.by_crossing() for ahead, result in looking_ahead(translator(name), numbers)}
    assert list(results) == [0, 1]
    assert results[0][True].share < 0.01
    assert results[0][False].share > 0.9
    assert results[1][True].share > 0.9


# --- the crossing in the maps ------------------------------------------------------------------------------------


def test_crossings_by_hand() -> None:
    assert crossings(234) == (Crossing(source_tens=2, source_units=3, target_units=2, target_tens=4),)
    assert crossings(30) == crossings(13) == crossings(0) == crossings(40_000) == ()
    # forty five thousand twenty one -> fünf und vierzig tausend ein und zwanzig
    assert crossings(45_021) == (Crossing(0, 1, 0, 2), Crossing(3, 4, 4, 6))


def test_crossings_of_every_part_are_the_words_that_mean_the_same() -> None:
    units = dict(zip(english_units(), german_units(), strict=True))
    for number in range(0, LARGEST, 997):
        english, german = english_words(number), german_words(number)
        for crossing in crossings(number):
            unit = english[crossing.source_units]
            assert german[crossing.target_units] == ("ein" if unit == "one" else units[unit])
            assert german_words(tens_value(english[crossing.source_tens])) == (german[crossing.target_tens],)
        assert len(crossings(number)) == german.count("und")


def english_units() -> list[str]:
    return [english_words(unit)[0] for unit in range(1, 10)]


def german_units() -> list[str]:
    return [german_words(unit)[0] for unit in range(1, 10)]


def tens_value(word: str) -> int:
    [value] = [ten for ten in range(20, 100, 10) if english_words(ten) == (word,)]
    return value


def test_a_head_shows_a_crossing_if_both_rows_look_most_at_their_word() -> None:
    # thirty four [end] -> vier und dreißig [end]; two heads
    crossing = Crossing(0, 1, 0, 2)
    weights = np.zeros((2, 4, 3))
    weights[0, 0], weights[0, 2] = [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]
    weights[1, 0], weights[1, 2] = [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]
    first, second = heads_at(crossing, weights)
    assert (first.head, first.units, first.tens, first.shows) == (0, 0.7, 0.6, True)
    assert (second.head, second.units, second.tens, second.shows) == (1, 0.7, 0.3, False)


def test_crossings_shown_are_counted_head_by_head() -> None:
    numbers = sample()[::10]
    shown, total = crossings_shown(translator(), numbers)
    expected = np.zeros(4, dtype=int)
    for number in numbers.tolist():
        passes = translator().follow([english_words(number)], [(*german_words(number), "[end]")])
        for crossing in crossings(number):
            for h in range(4):
                maps = passes.cross.trace.weights[0, h]
                units = int(np.argmax(maps[crossing.target_units]))
                tens = int(np.argmax(maps[crossing.target_tens]))
                expected[h] += (units, tens) == (crossing.source_units, crossing.source_tens)
    assert shown.tolist() == expected.tolist()
    assert total == sum(len(crossings(number)) for number in numbers.tolist())
    assert shown.max() > 0


def test_crossings_of_numbers_that_come_out_wrong_are_not_counted() -> None:
    untrained = Translator(drawn_like(translator().weights, 0))
    assert crossings_shown(untrained, sample()[::25])[1] == 0


def test_names_of_attentions_are_those_of_the_rules() -> None:
    for name in ATTENTIONS:
        assert Head(name, 1).off() == Rules(**{name: (HeadsOff((1,)),)})
        assert getattr(FREE, name) == ()
