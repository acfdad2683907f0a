"""Texts of different lengths side by side."""

from __future__ import annotations

import numpy as np
import pytest

from mha import Tokens, Weights, attend, embed, masks, tokenize
from mha.attention import tolerance
from mha.batches import PADDING, Batch, embed_batch, pad, read_lines
from mha.config import MAX_TEXTS, MAX_TOKENS, Model

MODEL = Model(seed=3, d_model=15, num_heads=5, positions="sinusoidal", init="normal", bias=True)


def test_a_batch_is_as_long_as_its_longest_text() -> None:
    batch = pad([tokenize("one two"), tokenize("a b c d e"), tokenize("x")])
    assert batch.texts == (("one", "two"), ("a", "b", "c", "d", "e"), ("x",))
    assert batch.T == 5
    assert batch.valid_lens.tolist() == [2, 5, 1]
    assert batch.padded(0) == ("one", "two", PADDING, PADDING, PADDING)
    assert batch.padded(1) == ("a", "b", "c", "d", "e")
    assert batch.is_padding.tolist() == [[j >= n for j in range(5)] for n in (2, 5, 1)]
    assert batch.numbers == (1, 2, 3)
    assert batch.notes == ()


def test_an_empty_text_is_said_and_left_out() -> None:
    batch = read_lines("one two\n\nthree\n \u3000\nfour five six")
    assert batch.texts == (("one", "two"), ("three",), ("four", "five", "six"))
    assert batch.numbers == (1, 3, 5)
    assert batch.notes == ("Text 2 is empty and left out.", "Text 4 is empty and left out.")


def test_many_empty_texts_are_counted() -> None:
    assert read_lines("a" + "\n" * 1_200 + "b").notes == ("1,199 empty texts are left out.",)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system_and_empty_ones_at_the_end_do_not_count(end: str) -> None:
    batch = read_lines(end.join(["a b", "c", "", " ", ""]))
    assert batch.texts == (("a", "b"), ("c",))
    assert batch.notes == ()


def test_only_line_ends_part_texts() -> None:
    # str.splitlines would part them at these too; they are white space inside a text
    assert read_lines("a\u2028b\x0bc\x85d").texts == (("a", "b", "c", "d"),)


@pytest.mark.parametrize("how", ["spaces", "words", "characters"])
def test_lines_are_split_as_tokenize_does(how: str) -> None:
    lines = ["It's 3.14!", "שלום עולם", "👨‍👩‍👧 ok"]
    assert read_lines("\n".join(lines), how).texts == tuple(tokenize(line, how) for line in lines)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000\r\n"])
def test_no_texts_are_an_empty_batch(text: str) -> None:
    batch = read_lines(text)
    assert (batch.texts, batch.T, batch.notes) == ((), 0, ())
    assert batch.valid_lens.shape == (0,)
    assert batch.is_padding.shape == (0, 0)
    assert embed_batch(batch, MODEL).shape == (0, 0, 15)


def test_only_the_first_eight_texts_are_used_and_that_is_said() -> None:
    lines = [f"text {n}" for n in range(MAX_TEXTS)]
    assert read_lines("\n".join(lines)).notes == ()
    more = read_lines("\n".join(["", *lines, "", "one more", "and more"]))
    assert more.texts == tuple(tokenize(line) for line in lines)
    assert more.notes == (
        "Text 1 is empty and left out.",
        "Text 10 is empty and left out.",
        "Only the first 8 texts are used.",
    )


def test_what_is_cut_of_a_text_is_said_with_its_number() -> None:
    batch = read_lines("\n".join(["short", " ".join(["word"] * 300)]))
    assert batch.T == MAX_TOKENS
    assert batch.notes == ("Text 2: Only the first 128 of 300 tokens are used.",)


def test_a_word_that_looks_like_padding_is_a_word() -> None:
    batch = read_lines(f"{PADDING} a\nb c d")
    assert batch.valid_lens.tolist() == [2, 3]
    assert batch.padded(0) == (PADDING, "a", PADDING)
    vectors = embed_batch(batch, MODEL)
    assert vectors[0, 0].any()
    assert not vectors[0, 2].any()


def test_vectors_are_those_of_each_text_then_zeros() -> None:
    batch = pad([tokenize("the cat"), tokenize("the cat sat on the mat")])
    vectors = embed_batch(batch, MODEL)
    assert vectors.shape == (2, 6, 15)
    for b, text in enumerate(batch.texts):
        alone = embed(text, 15, 3, positions="sinusoidal")
        assert (vectors[b, : len(text)] == alone).all()
        assert not vectors[b, len(text) :].any()  # no position is added to padding
    uniform = Model(seed=3, d_model=15, num_heads=5, values="uniform")
    assert (embed_batch(batch, uniform)[1] == embed(batch.texts[1], 15, 3, values="uniform")).all()


def test_a_text_in_a_batch_gives_what_it_gives_alone() -> None:
    batch = read_lines("the cat\nthe cat sat on the mat\nmat")
    weights = Weights.draw(15, 5, 3, init="normal", bias=True)
    x = embed_batch(batch, MODEL)
    together = attend(x, x, x, weights, mask=masks.valid_lens(batch.valid_lens, batch.T))
    for b, text in enumerate(batch.texts):
        n, own = len(text), x[b : b + 1, : len(text)]
        alone = attend(own, own, own, weights)
        assert np.abs(together.output[b, :n] - alone.output[0]).max() <= tolerance(together)
        assert np.abs(together.weights[b, :, :n, :n] - alone.weights[0]).max() <= tolerance(together)
        assert not together.weights[b, :, :, n:].any()


def test_lengths_that_a_person_changes_are_checked_by_the_rule() -> None:
    batch = read_lines("a b c\nd")
    assert masks.valid_lens([0, 3], batch.T).allowed.sum() == 3
    for lens in ([4, 1], [3, -1], [3, 0.5]):
        with pytest.raises(ValueError, match="whole numbers from 0 to 3"):
            masks.valid_lens(lens, batch.T)


def test_plain_lists_of_tokens_are_texts_too() -> None:
    batch = pad([["a", "b"], (), ("c",)])
    assert batch == Batch((Tokens(["a", "b"]), Tokens(["c"])), (1, 3), ("Text 2 is empty and left out.",))
    assert hash(batch) == hash(pad([["a", "b"], (), ("c",)]))


@pytest.mark.parametrize("text", ["a b", 5, ["a", 1], None, {"a"}])
def test_what_is_no_list_of_tokens_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="expected text 2 to be a sequence of tokens, got"):
        pad([["a"], text])  # type: ignore[list-item]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="expected text to be a str, got bytes"):
        read_lines(b"a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="how to be one of spaces, words, characters"):
        read_lines("a", "lines")
