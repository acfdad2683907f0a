"""One number through a trained translator, its maps as the other pages show maps, and accuracies, remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

import streamlit as st

from mha import Tokens
from mha.arrays import Integers
from mha.export.translation import seen_words
from mha.figures.palette import MARKED
from mha.translator import evaluate
from mha.translator.evaluate import Accuracy, Head
from mha.translator.model import Attention, Passes, Translation, Translator, Words
from mha.translator.numbers import english_words, german_words
from mha.translator.restrictions import Rules
from mha.translator.weights import load, shipped
from mha.ui.cross_views import Crossed

ATTENTIONS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}


@dataclass(frozen=True)
class Chosen:
    """What the controls say."""

    name: str  # of the shipped weights
    rules: Rules
    predict: bool


@dataclass(frozen=True, eq=False)
class Translated:
    """A number, its translation, and the pass that belongs to it; step: the shown row, from 0."""

    number: int
    chosen: Chosen
    translator: Translator
    translation: Translation
    passes: Passes
    step: int = 0

    @property
    def source(self) -> Words:
        return english_words(self.number)

    @property
    def produced(self) -> Words:
        return self.passes.produced[0]

    @property
    def is_right(self) -> bool:
        return self.translation.ended and self.translation.words == german_words(self.number)

    def at(self, step: int) -> Translated:
        """The same at another step."""
        return replace(self, step=step)

    def seen(self, name: str) -> Crossed:
        """One of the three attentions as rows that look and columns that are looked at."""
        attention: Attention = getattr(self.passes, name)
        rows, columns = seen_words(name, self.source, self.produced)
        return Crossed(
            Tokens(rows),
            attention.queries,
            self.translator.weights.attention(name),
            attention.mask,
            attention.trace,
            Tokens(columns),
            attention.keys,
        )


@st.cache_resource(show_spinner=False)
def translator(name: str) -> Translator:
    """The shipped weights of this name; ValueError if their file is damaged, which is not remembered."""
    return Translator(load(shipped(name)))


def translated(number: int, chosen: Chosen) -> Translated:
    """The translation of a number, and the maps of all its steps."""
    model, source = translator(chosen.name), english_words(number)
    [translation] = model.translate([source], chosen.rules)
    passes = model.follow([source], [translation.produced], chosen.rules)
    return Translated(number, chosen, model, translation, passes)


def accuracy(name: str, rules: Rules) -> Accuracy:
    """Which of the 500 held-out numbers come out right; remembered for all sessions."""
    return _accuracy(name, repr(rules), rules)


# At most 1,000 times 4.5 kB.
@st.cache_resource(max_entries=1_000, show_spinner=False)
def _accuracy(name: str, said: str, _rules: Rules) -> Accuracy:  # rules are compared by what they say of themselves
    return evaluate.accuracy(translator(name), _sample(), _rules)


@st.cache_resource(show_spinner=False)
def _sample() -> Integers:
    return evaluate.sample()


def named(head: Head) -> str:
    """ "Cross head 2"."""
    return f"{ATTENTIONS[head.attention]} head {head.head + 1}"


def so_far(run: Translated, step: int) -> None:
    """The words produced, the one of this step marked and those after it pale."""
    words = []
    for i, word in enumerate(run.produced):
        look = f' style="border-bottom:2px solid {MARKED}"' if i == step else ' class="hl-pad"' if i > step else ""
        words.append(f"<span{look}>{escape(word)}</span>")
    st.html(f'<p class="hl-line"><b>Word {step + 1} of {len(run.produced)}:</b> {" ".join(words)}</p>')
