"""The pictures of the Translate page: the maps of all three attentions, one step in words, untrained maps beside."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mha import config, figures
from mha.rounding import percent
from mha.translator.findings import Crossing, HeadAtCrossing, crossings, heads_at
from mha.translator.model import Translator
from mha.translator.weights import drawn_like
from mha.ui import address, browser, maps, proof, show
from mha.ui.translate_controls import WHERE
from mha.ui.translate_run import Translated

HEIGHT = 330  # px: text, controls and all maps stand on the first screen
MOST_WORDS = 4  # of the words that might have come


def cross(run: Translated) -> None:
    """A map per head: a row for each German word produced, a column for each English word."""
    _maps(run, "cross", marked_row=run.step)
    show.line("Rows are the German words that are produced, columns the English words looked at.", quiet=True)
    pointed_out(run)
    maps.numbers(run.seen("cross"))


def encoder(run: Translated) -> None:
    """The encoder's self-attention, which is done before the first word is produced."""
    _maps(run, "encoder")
    show.line("English words look at English words, once, before the first German word is produced.", quiet=True)
    maps.numbers(run.seen("encoder"))


def decoder(run: Translated) -> None:
    """The decoder's self-attention: rows are the words produced, columns those that were there before."""
    _maps(run, "decoder", marked_row=run.step)
    show.line(
        "Rows are the German words that are produced, columns the start mark and the words before them.", quiet=True
    )
    maps.numbers(run.seen("decoder"))


def _maps(run: Translated, name: str, **layout: Any) -> None:
    if not browser.is_narrow():  # else two rows of maps, as large as the screen is wide
        layout |= {"columns_per_row": run.translator.weights.num_heads, "height": HEIGHT}
    maps.all_heads(run.seen(name), **layout)


def one_step(run: Translated) -> None:
    """What every head of cross-attention looks at for one word, and what else might have come."""
    word = run.produced[run.step]
    st.html(
        f'<p class="hl-line">While word {run.step + 1}, {show.quoted(word)}, is produced, in cross-attention each '
        "head looks at English words:</p>"
    )
    maps.in_words(run.seen("cross"), run.step)
    chances = run.passes.probabilities[0, run.step]
    best = np.argsort(-chances, kind="stable")[:MOST_WORDS].tolist()
    names = run.translator.weights.target_words
    said = ", ".join(f"{show.quoted(names[v])} {percent(chances[v])}" for v in best)
    st.html(f'<p class="hl-line"><b>The next word:</b> {said}. The most probable one is taken.</p>')


def untrained(run: Translated) -> None:
    """The same cross-attention maps with random weights of the same shape below: what training does to them."""
    seed = address.bound(
        st.number_input,
        "Seed of the untrained weights",
        key="untrained_seed",
        min_value=0,
        max_value=config.MAX_SEED,
        value=0,
        width=220,
        help="Random weights of the same shapes, as PyTorch draws its start values.",
    )
    model = Translator(drawn_like(run.translator.weights, int(seed)))
    [own] = model.translate([run.source], run.chosen.rules)
    beside = model.follow([run.source], [run.produced], run.chosen.rules)
    seen = run.seen("cross")
    names = maps.head_names(run.translator.weights.num_heads)
    panels = [
        figures.Panel(title, attention.trace.weights[0], allowed=attention.trace.mask[0])
        for title, attention in (("Trained", run.passes.cross), ("Untrained", beside.cross))
    ]
    layout: dict[str, Any] = {"columns_per_row": 2 if browser.is_narrow() else len(names), **maps.fitting()}
    draw = partial(figures.stacked_maps, panels, seen.tokens, seen.keys, names=names, **layout)
    alt = " ".join(
        f"{panel.title}. "
        + figures.describe_maps(panel.values, seen.tokens, seen.keys, names=names, allowed=panel.allowed)
        for panel in panels
    )
    show.chart(draw, key="untrained_maps", alt=alt)
    largest = (float(np.max(panel.values)) for panel in panels)
    trained_peak, untrained_peak = (f"{value:.2f}" for value in largest)
    end = "" if own.ended else " (and no end)"
    st.html(
        f'<p class="hl-line">Both are given the same German words. The largest weight is {trained_peak} with trained '
        f"weights and {untrained_peak} with untrained ones. Left alone, the untrained ones write: "
        f"{show.phrase(own.words) if own.words else 'nothing'}{end}.</p>"
    )


def against_pytorch(run: Translated) -> None:
    """The check of one of the three attentions against PyTorch."""
    name = WHERE[
        address.bound(
            st.segmented_control,
            "Attention",
            key="proof_of",
            options=list(WHERE),
            default="Cross-attention",
            required=True,
            label_visibility="collapsed",
        )
    ]
    proof.against_pytorch(run.seen(name))


def pointed_out(run: Translated) -> None:
    """Where heads show that tens and units change places, by their numbers."""
    if not crossings(run.number):
        show.line("No tens and units change places in this number. Try 34 or 21,045.", quiet=True)
    elif not run.is_right:
        show.line("The translation is wrong, so nothing is said about where it crosses.", quiet=True)
    for name, said in crossing_sentences(run).items():
        st.html(f'<p class="hl-line"><b>{name}.</b> {said}</p>')


def crossing_sentences(run: Translated) -> dict[str, str]:
    """A sentence by its name for each pair that changes places, as HTML; none where the translation is wrong."""
    found = crossings(run.number) if run.is_right else ()
    # of two, one is in the thousands, one in the rest
    names = ("The first crossing", "The second crossing") if len(found) > 1 else ("The crossing",) * len(found)
    return {name: _crossing(run, crossing) for name, crossing in zip(names, found, strict=True)}


def _crossing(run: Translated, at: Crossing) -> str:
    tens, units = (show.quoted(run.source[j]) for j in (at.source_tens, at.source_units))
    unit, ten = (show.quoted(run.produced[i]) for i in (at.target_units, at.target_tens))
    said = heads_at(at, run.passes.cross.trace.weights[0])
    shows = [head for head in said if head.shows]
    pair = show.phrase(run.source[at.source_tens : at.source_units + 1])
    turned = show.phrase(run.produced[at.target_units : at.target_tens + 1])
    begin = f"{pair} becomes {turned}: "
    if not shows:
        best = max(said, key=lambda head: head.units + head.tens)
        return (
            f"{begin}no head looks most at {units} for {unit} and most at {tens} for {ten}; head {best.head + 1} comes "
            f"nearest: {_both(best)}."
        )
    who = " and ".join(f"head {head.head + 1} ({_both(head)})" for head in shows)
    return f"{begin}{units} is looked at most while {unit} is produced, and {tens} for {ten}, in {who}."


def _both(head: HeadAtCrossing) -> str:
    return f"weights {head.units:.2f} and {head.tens:.2f}"
