"""The words of the field in our own words, and what the numbers of a page say in sentences."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from mha import measures
from mha.findings import Finding
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


LOOK_FOR = {
    "All heads": "A column that stands out: a token that many look at. A diagonal: tokens that look at themselves.",
    "Arrows": "Thick arrows into one token: many look at it. A loop: a token that looks at itself.",
    "One token": "Heads that name different tokens first look at different things.",
    "Measures": "Low entropy: a head that picks few keys. High entropy: one that looks at all of them.",
    "Proof": "Differences far below the bound are rounding; one above it would be a fault.",
}
LOOK_FOR["One head"] = LOOK_FOR["All heads"]
MAPS = ("All heads", "One head")
MANY = 32  # tokens from which on an even look is pale


def heads() -> None:
    """What the page shows, in one sentence."""
    show.line("Each head decides anew how much every token (query) looks at every other (key).", quiet=True)


def what_to_look_for(run: Pass, view: str) -> None:
    """Where the eye may start in this view, with numbers of this very computation."""
    said = [LOOK_FOR[view], _largest_weight(run)]
    if view in MAPS:
        said += _about_maps(run)
    st.html(
        f'<p class="hl-line"><b>What to look for.</b> {" ".join(filter(None, said))} '
        f'<span class="hl-quiet">{UNTRAINED}</span></p>'
    )


def _about_maps(run: Pass) -> list[str]:
    """What of the maps' looks wants a word: hatching, and pale colours."""
    T = len(run.tokens)
    said = [] if run.mask.allowed.all() else ["Hatched cells are blocked."]
    if T >= MANY:
        said.append(f"An even look at {T} tokens is {1 / T:.3f} each, so a pale map is an even one.")
    return said


def _largest_weight(run: Pass) -> str:
    """The largest weight among rows that have a choice, as HTML; nothing if no row has one."""
    weights, allowed = run.trace.weights[0], run.trace.mask[0]
    with_choice = np.where(allowed.sum(axis=-1, keepdims=True) > 1, weights, 0.0)
    head, query, key = (int(at) for at in np.unravel_index(with_choice.argmax(), weights.shape))
    if not with_choice.any():
        return ""
    return (
        f"The largest weight of a token with a choice is {weights[head, query, key]:.2f}: in head {head + 1}, "
        f"{show.quoted(run.tokens[query])} ({query + 1}) looks at {show.quoted(run.tokens[key])} ({key + 1})."
    )


def saturation(run: Pass) -> None:
    """A note when rows are saturated, with the reason in numbers; nothing if none is."""
    weights, allowed, scores = run.trace.weights[0], run.trace.mask[0], run.trace.scores[0]
    rows = measures.saturated(weights, allowed)
    if not rows.any():
        return
    lead = np.median(measures.score_lead(scores, allowed)[rows])
    show.notes(
        [
            f"{rows.sum():,} of {rows.size:,} rows {'is' if rows.sum() == 1 else 'are'} saturated: one key holds more "
            f"than 99% of the weight. The reason: its score lies {lead:,.1f} above the next (the median of such rows), "
            "and softmax turns a lead of 4.6 into 99 to 1. "
            f"The largest score here is {np.abs(scores[allowed]).max():,.1f}."
        ]
    )


def finding(said: Finding) -> str:
    """A sentence of `mha.findings` as HTML; the tokens in it are literal."""
    return "".join(
        escape(part) if isinstance(part, str) else f"{show.quoted(part.text)} ({part.position})" for part in said.parts
    )
