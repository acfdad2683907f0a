"""The words of the field in our own words, and what the numbers of a page say in sentences."""

from __future__ import annotations

import numpy as np
import streamlit as st

from mha import measures
from mha.config import Model
from mha.ui import show
from mha.ui.compute import Pass

WORDS = r"""
**Token** – one piece of your text: a word, a sign, a character. For the computer it is a row of $d$ numbers, $x$.

**Head** – a spotlight on the sentence. Several shine at once, and since each is set up differently, each may light up
other words. Or a detective: all read the same statements, and each asks a question of their own.

**Query, key, value** – as in looking something up in a database. A token's *query* $q$ is what it asks for; every
token's *key* $k$ is the label on its drawer; its *value* $v$ is what lies inside. A database opens the one drawer whose
label fits. Attention opens all of them a little, the better the label fits, the wider.

**Projection** – how one token becomes three things. Its numbers go through a matrix, a lens that brings out one side:
$q = xW_q$, $k = xW_k$, $v = xW_v$. Every head has its own three; $W_o$ puts the heads' results together again.

**Weight** – how wide a drawer is opened, from 0 to 1. The weights of one query add up to 1:
$\mathrm{softmax}(q k^\top / \sqrt{d_k})$.
"""

UNTRAINED = (
    "Nothing here was trained: the start values are random, so what a head looks at says nothing about language."
)


def words() -> None:
    """The popover with the words of the field."""
    with st.popover("Words", icon=":material/menu_book:", help="Head, query, key, value, projection, in plain words."):
        st.markdown(WORDS)


def heads() -> None:
    """What the page shows, in one sentence."""
    show.line(
        "Each map is one head: a row is a token that looks (query), a column is what it looks at (key).",
        quiet=True,
    )


def what_to_look_for(run: Pass) -> None:
    """Where the eye may start, with the largest weight of this very picture."""
    st.html(
        '<p class="hl-line"><b>What to look for.</b> A column that stands out is a token that many look at, '
        "a diagonal are tokens that look at themselves. "
        f'{_largest_weight(run)}<span class="hl-quiet">{UNTRAINED}</span></p>'
    )


def _largest_weight(run: Pass) -> str:
    """The largest weight among rows that have a choice, as HTML; nothing if no row has one."""
    weights, allowed = run.trace.weights[0], run.trace.mask[0]
    with_choice = np.where(allowed.sum(axis=-1, keepdims=True) > 1, weights, 0.0)
    head, query, key = (int(at) for at in np.unravel_index(with_choice.argmax(), weights.shape))
    if not with_choice.any():
        return ""
    return (
        f"The largest weight of a token with a choice is {weights[head, query, key]:.2f}: in head {head + 1}, "
        f"{show.quoted(run.tokens[query])} ({query + 1}) looks at {show.quoted(run.tokens[key])} ({key + 1}). "
    )


def saturation(run: Pass, model: Model) -> None:
    """A note when rows are saturated, with the reason in numbers; nothing if none is."""
    weights, allowed, scores = run.trace.weights[0], run.trace.mask[0], run.trace.scores[0]
    rows = measures.saturated(weights, allowed)
    if not rows.any():
        return
    lead = np.median(measures.score_lead(scores, allowed)[rows])
    show.notes(
        [
            f"{rows.sum():,} of {rows.size:,} rows are saturated: one key holds more than 99% of the weight. "
            f"In half of them its score lies {lead:,.1f} or more above the next, and softmax turns a lead of 4.6 "
            "into 99 to 1. "
            f"Scores reach {np.abs(scores[allowed]).max():,.0f} here: start values "
            f"“{model.init}” are large for a width of {model.d_model}."
        ]
    )
