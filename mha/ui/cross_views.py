"""Cross-attention: the second text, its forward pass, and the maps of one text that looks at another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from mha import Tokens, attend, embed, masks, measures, tokenize
from mha.arrays import Array
from mha.config import PRESETS, Model
from mha.masks import Rule
from mha.ui import address, compute, controls, lengths, maps, show, tables
from mha.ui.compute import Pass

DEFAULT = "Die Katze saß auf der Matte weil es warm war"
ARTICLE = PRESETS[2].model
ARTICLE_QUERIES, ARTICLE_KEYS, ARTICLE_LENGTH = "q1 q2 q3 q4", "k1 k2 k3 k4 k5 k6", 3
HEIGHT = 430  # px: below two texts, all eight heads still stand on the first screen
DEFINED = ("entropy", "entropy_share", "peak", "on_first")  # of the measures, those that need no common positions


@dataclass(frozen=True, eq=False)
class Crossed(Pass):
    """One text that looks at another: `tokens` are the queries."""

    other: Tokens
    Y: Array  # (1, Tk, D)

    @property
    def keys(self) -> Tokens:
        return self.other

    @property
    def key_vectors(self) -> Array:
        return self.Y


def second_text(settings: controls.Settings) -> Tokens:
    """What is looked at; no tokens: said, and the page stops."""
    text = address.bound(
        st.text_input,
        "The text that is looked at",
        key="text2",
        value=DEFAULT,
        placeholder="Type a few words to look at",
        live=controls.TYPING_PAUSE,
        help="Its tokens are the keys and values; those of the text above are the queries.",
    )
    found = tokenize(text, settings.split)
    show.notes(found.notes)
    if not found:
        show.line("There is nothing to look at yet. Type a few words, or take this:")
        st.button(DEFAULT, key="example_keys", on_click=_take_example)
        raise compute.PageEnds
    return found


def _take_example() -> None:
    st.session_state["text2"] = DEFAULT


def article_shapes() -> None:
    """The shapes that the NumPy article works with, by one click."""
    st.button(
        "NumPy article’s shapes",
        key="article",
        on_click=_take_article,
        help="4 queries, 6 keys, width 100, 5 heads, valid length 3, everything drawn from 0 to 1.",
    )


def _take_article() -> None:
    controls.take(ARTICLE, text=ARTICLE_QUERIES, text2=ARTICLE_KEYS, causal=False)
    lengths.put({1: ARTICLE_LENGTH}, key="lens2")


def choose_rules(queries: Tokens, keys: Tokens) -> tuple[Rule, ...]:
    """A valid length of the keys, and causal."""
    Tq, Tk = len(queries), len(keys)
    length = lengths.chosen({1: Tk}, key="lens2")[1]
    with show.row():
        lengths.field(f"Valid length, 0 to {Tk}", Tk, length, Tk, key="lens2", width=190)
        causal = controls.causal("Causal")
        article_shapes()
    lengths.refused("lens2")
    if causal:
        show.line(
            "Causal starts at the top left: query 1 sees key 1, query 2 sees keys 1 and 2, whatever the lengths. "
            "The last query need not see the last key.",
            quiet=True,
        )
    padding = [Rule("padding", masks.valid_lens([length], Tk).allowed)] if length < Tk else []
    return (*padding, *([masks.causal(Tq, Tk)] if causal else []))


def crossed(queries: Tokens, keys: Tokens, model: Model, chosen: tuple[Rule, ...]) -> Crossed:
    """`queries` looking at `keys`."""
    X, Y = (
        embed(tokens, model.d_model, model.seed, positions=model.positions, values=model.values)[None]
        for tokens in (queries, keys)
    )
    weights = compute.drawn_weights(model.d_model, model.num_heads, model.seed, model.init, model.bias)
    mask = masks.combine(*chosen, shape=(1, model.num_heads, len(queries), len(keys)))
    return Crossed(queries, X, weights, mask, attend(X, Y, Y, weights, mask=mask), keys, Y)


def about() -> None:
    """What the page shows, in one sentence."""
    show.line(
        "Rows are the tokens of the first text, which look; columns are those of the second, which are looked at.",
        quiet=True,
    )


def all_heads(run: Crossed, *, with_mean: bool = False) -> None:
    """A map per head, and their mean if wanted, a little lower than elsewhere: two texts stand above them."""
    maps.all_heads(run, with_mean=with_mean, height=HEIGHT)


def measured(run: Crossed) -> None:
    """The measures that need no common positions, a row per head."""
    means = {name: _means(run)[name] for name in DEFINED}
    names = maps.head_names(run.trace.weights.shape[1])
    table = pd.DataFrame(means, index=pd.Index(names, name="Head"))
    columns = {
        name: st.column_config.NumberColumn(label, format=form, help=help_text)
        for name, (label, form, help_text) in tables.COLUMNS.items()
        if name in DEFINED
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt="Measures of every head")
    left_out = int(run.trace.empty_rows[0, 0].sum())
    show.line(
        f"Means over the {len(run.tokens)} queries"
        + (f", {left_out} of them left out because they have no key left" if left_out else "")
        + ". Distance, “on itself” and “on previous token” are not defined here: a place in one text is no place in "
        "the other.",
        quiet=True,
    )


def _means(run: Crossed) -> dict[str, Array]:
    weights, allowed = run.trace.weights[0], run.trace.mask[0]
    of_rows = {
        "entropy": measures.entropy(weights, allowed),
        "entropy_share": measures.entropy_share(weights, allowed),
        "peak": measures.peak(weights, allowed),
        "on_first": np.where(run.trace.empty_rows[0], np.nan, measures.weight_on_first(weights, allowed)),
    }
    return {name: measures.mean_defined(rows)[0] for name, rows in of_rows.items()}


def what_to_look_for(run: Crossed) -> None:
    """The largest weight of all, and rows with no key left."""
    weights = run.trace.weights[0]
    if run.trace.empty_rows.all():
        show.line("Everything is blocked: no query has a key left, so all weights are 0.")
        return
    # a query with one key gives it all its weight, which says nothing about the head
    with_choice = run.trace.mask[0].sum(axis=-1, keepdims=True) > 1
    counted = np.where(with_choice, weights, 0.0) if with_choice.any() else weights
    h, i, j = (int(at) for at in np.unravel_index(counted.argmax(), weights.shape))
    empty = int(run.trace.empty_rows[0, 0].sum())
    left = f" {empty} of {len(run.tokens)} queries have no key left." if empty else ""
    largest = "of a query that has a choice" if with_choice.any() else "of all, where no query has a choice,"
    st.html(
        f'<p class="hl-line"><b>What to look for.</b> A word looks for its like only where its query and key fit, and '
        f"these come from two matrices. The largest weight {largest} is {weights[h, i, j]:.2f}: in head "
        f"{h + 1}, {show.quoted(run.tokens[i])} ({i + 1}) looks at {show.quoted(run.keys[j])} ({j + 1}).{left}</p>"
    )
