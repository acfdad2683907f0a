"""A translator with one encoder layer and one decoder layer, run by `mha.attend`: there is no other attention here.

    encoder   x = words + positions;  x += attend(norm x);  x += feed_forward(norm x);  memory = norm x
    decoder   y = words + positions;  y += attend(norm y), causal;  y += attend(norm y, memory);
              y += feed_forward(norm y);  the next word is the largest of (norm y) W + b

That is the order of "Attention Is All You Need" with the norm before each step ("pre-norm"), and what PyTorch calls
TransformerEncoderLayer and TransformerDecoderLayer with norm_first. Axes: see `mha.attention`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mha import masks
from mha.arrays import Array, Booleans, Integers, refuse_where
from mha.attention import Trace, attend
from mha.embedding import sinusoidal_positions
from mha.translator.restrictions import FREE, Places, Restriction, Rules
from mha.translator.weights import ATTENTIONS, END, PAD, START, TrainedWeights
from mha.weights import Weights

Words: TypeAlias = tuple[str, ...]
NORM_EPSILON = 1e-5  # PyTorch's own


@dataclass(frozen=True)
class Translation:
    """What came out for one text. words: without the end mark; ended: whether the end mark came at all."""

    words: Words
    ended: bool

    @property
    def produced(self) -> Words:
        """The words and, if it came, the end mark: one for each step of decoding."""
        return (*self.words, END) if self.ended else self.words


@dataclass(frozen=True, eq=False)
class Attention:
    """One of the three attentions: every step of it, which rule blocked which cell, and what went in."""

    trace: Trace
    mask: masks.Mask
    queries: Array  # (B, Tq, D)
    keys: Array  # (B, Tk, D), the values too


@dataclass(frozen=True, eq=False)
class Passes:
    """One forward pass over whole texts. Row i of `decoder` and `cross` belongs to the word produced at step i.

    sources: words and end mark, the columns of `cross` and the rows and columns of `encoder`. fed: the start mark and
    all words but the last, the columns of `decoder`. produced: the rows of `decoder` and `cross`. Shorter texts are
    padded, so only the first rows and columns of a map are a text's own.
    """

    sources: tuple[Words, ...]
    fed: tuple[Words, ...]
    produced: tuple[Words, ...]
    encoder: Attention  # trace.weights (B, H, S, S)
    decoder: Attention  # trace.weights (B, H, T, T)
    cross: Attention  # trace.weights (B, H, T, S)
    probabilities: Array  # (B, T, V): of each word of the target's vocabulary at each step


@dataclass(frozen=True, eq=False)
class Translator:
    """Trained weights, ready to translate."""

    weights: TrainedWeights
    _attentions: dict[str, Weights] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_attentions", {name: self.weights.attention(name) for name in ATTENTIONS})

    def translate(self, sources: Iterable[Sequence[str]], rules: Rules = FREE) -> tuple[Translation, ...]:
        """The translation of each text, word by word the most probable one, all texts at once.

        sources: words without marks. rules: who may not look where. A text that has no end mark after the most words
        the weights were trained on is cut off there. ValueError for no words, too many, or unknown ones.
        """
        ids, lens = self._sources(sources)
        memory, _ = self._encode(ids, lens, rules)
        start, end = (self.weights.target_words.index(mark) for mark in (START, END))
        fed = np.full((len(ids), self.weights.longest_target + 2), end)
        fed[:, 0] = start
        going = np.arange(len(ids))  # the texts whose end mark has not come yet
        for step in range(1, fed.shape[1]):
            scores, _, _ = self._decode(fed[going, :step], memory[going], lens[going], rules, first_row=step - 1)
            chosen = scores[:, -1].argmax(axis=-1)
            fed[going, step] = chosen
            going = going[chosen != end]
            if not going.size:
                break
        has_ended = np.isin(np.arange(len(ids)), going, invert=True)
        return tuple(self._translation(row, bool(ended)) for row, ended in zip(fed[:, 1:], has_ended, strict=True))

    def follow(
        self, sources: Iterable[Sequence[str]], produced: Iterable[Sequence[str]], rules: Rules = FREE
    ) -> Passes:
        """The pass in which each word of `produced` (with its end mark) is the next word, right or wrong.

        With `Translation.produced` these are the maps and probabilities of that decoding; other words show what the
        model would have looked at. ValueError as in `translate`.
        """
        texts, rows = _pairs(sources, produced)
        _, scores, encoder, decoder, cross = self._followed(texts, rows, rules)
        fed = tuple((START, *words[:-1]) for words in rows)
        return Passes(tuple((*words, END) for words in texts), fed, rows, encoder, decoder, cross, _softmax(scores))

    def would_produce(
        self, sources: Iterable[Sequence[str]], produced: Iterable[Sequence[str]], rules: Rules = FREE
    ) -> Booleans:
        """Whether `translate` gives exactly the words of `produced`, which end with the end mark, for each text (B,).

        Known from one pass: greedy decoding takes these words if and only if, fed with those before it, each one is
        the most probable. ValueError as in `translate`, and for words without the end mark.
        """
        texts, rows = _pairs(sources, produced)
        for b, words in enumerate(rows):
            if words[-1:] != (END,):
                raise ValueError(f"expected produced to end with {END}, got {words!r} in text {b}")
        ids, scores, *_ = self._followed(texts, rows, rules)
        is_padding = np.arange(ids.shape[1]) >= np.array([[len(words)] for words in rows])
        return ((scores.argmax(axis=-1) == ids) | is_padding).all(axis=-1)

    def _followed(
        self, texts: tuple[Words, ...], rows: tuple[Words, ...], rules: Rules
    ) -> tuple[Integers, Array, Attention, Attention, Attention]:
        """Ids of the words of `rows` (B, T), scores at each (B, T, V), and the three attentions."""
        source_ids, lens = self._sources(texts)
        _refuse_lengths(rows, "produced", self.weights.longest_target + 1)
        ids = _ids(rows, self.weights.target_words, "produced")
        start = np.full((len(rows), 1), self.weights.target_words.index(START))
        memory, encoder = self._encode(source_ids, lens, rules)
        fed = np.concatenate([start, ids[:, :-1]], axis=1)
        scores, decoder, cross = self._decode(fed, memory, lens, rules, first_row=0)
        return ids, scores, encoder, decoder, cross

    def _sources(self, sources: Iterable[Sequence[str]]) -> tuple[Integers, Integers]:
        """Each text's words and end mark as ids (B, S), padded, and how many they are (B,)."""
        texts = [tuple(words) for words in sources]
        _refuse_lengths(texts, "sources", self.weights.longest_source)
        ids = _ids([(*words, END) for words in texts], self.weights.source_words, "sources")
        return ids, np.array([len(words) + 1 for words in texts], dtype=np.int64)

    def _encode(self, ids: Integers, lens: Integers, rules: Rules) -> tuple[Array, Attention]:
        """What the decoder looks at, (B, S, D), and the encoder's attention."""
        B, S = ids.shape
        x = self._embedded("source", ids)
        places = Places(self.weights.num_heads, np.repeat(lens[:, None], S, axis=1), S)
        mask = _mask(rules.encoder, places, B, masks.valid_lens(lens, S))
        normed = self._norm("encoder.attention_norm", x)
        trace = attend(normed, normed, normed, self._attentions["encoder"], mask=mask)
        x = self._feed_forward("encoder", x + trace.output)
        return self._norm("encoder.final_norm", x), Attention(trace, mask, normed, normed)

    def _decode(
        self, fed: Integers, memory: Array, lens: Integers, rules: Rules, *, first_row: int
    ) -> tuple[Array, Attention, Attention]:
        """Scores of the next word (B, rows, V), and both attentions, for the rows from `first_row` on.

        fed: ids (B, T). A row needs no other row but as keys, so a step of decoding computes the last one alone.
        """
        (B, T), S, H = fed.shape, memory.shape[1], self.weights.num_heads
        rows = slice(first_row, None)
        own = Places(H, np.arange(1, T + 1)[None], T)
        mask = _rows(_mask(rules.decoder, own, B, masks.causal(T, T)), rows)
        across = Places(H, np.repeat(lens[:, None], T, axis=1), S)
        cross_mask = _rows(_mask(rules.cross, across, B, masks.valid_lens(lens, S)), rows)

        y = self._embedded("target", fed)
        normed = self._norm("decoder.attention_norm", y)
        trace = attend(normed[:, rows], normed, normed, self._attentions["decoder"], mask=mask)
        own_attention = Attention(trace, mask, normed[:, rows], normed)
        y = y[:, rows] + trace.output
        normed = self._norm("cross.attention_norm", y)
        cross = attend(normed, memory, memory, self._attentions["cross"], mask=cross_mask)
        y = self._feed_forward("decoder", y + cross.output)
        return self._next_word(y), own_attention, Attention(cross, cross_mask, normed, memory)

    def _embedded(self, side: str, ids: Integers) -> Array:
        return self.weights.arrays[f"{side}.embedding"][ids] + sinusoidal_positions(ids.shape[1], self.weights.d_model)

    def _norm(self, name: str, x: Array) -> Array:
        """Each vector with mean 0 and variance 1, then scaled and shifted (layer norm)."""
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + NORM_EPSILON)
        return scaled * self.weights.arrays[f"{name}.gain"] + self.weights.arrays[f"{name}.shift"]

    @np.errstate(over="ignore", invalid="ignore")  # refused by its place, as `attend` does
    def _feed_forward(self, name: str, x: Array) -> Array:
        """x + max(0, norm(x) W_1 + b_1) W_2 + b_2."""
        W_1, b_1, W_2, b_2 = (
            self.weights.arrays[f"{name}.feed_forward.{part}"] for part in ("W_1", "b_1", "W_2", "b_2")
        )
        y = x + np.maximum(self._norm(f"{name}.feed_forward_norm", x) @ W_1 + b_1, 0) @ W_2 + b_2
        refuse_where(~np.isfinite(y), y, f"expected {name}.feed_forward not to overflow")
        return y

    @np.errstate(over="ignore", invalid="ignore")
    def _next_word(self, y: Array) -> Array:
        """norm(y) W + b: the scores of all words (B, rows, V)."""
        arrays = self.weights.arrays
        scores = self._norm("decoder.final_norm", y) @ arrays["output.W"] + arrays["output.b"]
        refuse_where(~np.isfinite(scores), scores, "expected scores of the next word not to overflow")
        return scores

    def _translation(self, ids: Integers, ended: bool) -> Translation:
        words = tuple(self.weights.target_words[i] for i in ids)
        return Translation(words[: words.index(END)] if ended else words, ended)


def _mask(restrictions: tuple[Restriction, ...], places: Places, B: int, rule: masks.Rule) -> masks.Mask:
    """The model's own rule and the restrictions, for B texts."""
    rules = [restriction(places) for restriction in restrictions]
    return masks.combine(rule, *rules, shape=(B, places.num_heads, places.Tq, places.Tk))


def _rows(mask: masks.Mask, rows: slice) -> masks.Mask:
    """The mask of these rows alone."""

    def cut(rule: masks.Rule) -> masks.Rule:
        return rule if rule.allowed.shape[2] == 1 else masks.Rule(rule.name, rule.allowed[:, :, rows])

    return masks.Mask(mask.allowed[:, :, rows], tuple(cut(rule) for rule in mask.rules))


def _ids(texts: Sequence[Words], vocabulary: Words, name: str) -> Integers:
    """(B, T) places of the words in the vocabulary, shorter texts padded."""
    place = {word: i for i, word in enumerate(vocabulary)}
    ids = np.full((len(texts), max(map(len, texts))), place[PAD])
    for b, words in enumerate(texts):
        for i, word in enumerate(words):
            if word not in place:
                raise ValueError(f"expected {name} of words that the model knows, got {word!r} in text {b}")
            ids[b, i] = place[word]
    return ids


def _pairs(
    sources: Iterable[Sequence[str]], produced: Iterable[Sequence[str]]
) -> tuple[tuple[Words, ...], tuple[Words, ...]]:
    texts, rows = tuple(map(tuple, sources)), tuple(map(tuple, produced))
    if len(texts) != len(rows):
        raise ValueError(f"expected as many texts produced as sources, {len(texts)}, got {len(rows)}")
    return texts, rows


def _refuse_lengths(texts: Sequence[Words], name: str, most: int) -> None:
    if not texts:
        raise ValueError(f"expected {name} of at least one text, got none")
    for b, words in enumerate(texts):
        if not 0 < len(words) <= most:
            raise ValueError(f"expected {name} of 1 to {most} words, got {len(words)} in text {b}")


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
