"""The pictures and tables of the Restriction page: every head as it was, restricted, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from mha import Tokens, embed, figures, masks, measures, restrict
from mha.config import Model
from mha.masks import Rule
from mha.restriction import Restriction
from mha.rounding import percent, written
from mha.ui import browser, compute, explain, maps, show
from mha.ui.compute import Pass
from mha.ui.restriction_controls import Chosen

HEIGHT = 440  # px: below the controls all maps of eight heads still stand on the first screen
MOST_SIDE_BY_SIDE = 8  # heads in one row
PERCENT = "%.1f %%"
DIFFERENCE = "The difference is restricted minus original; hatched cells are blocked."
NUMBER = "%.4g"


@dataclass(frozen=True, eq=False)
class Restricted(Pass):
    """One text under the restriction: `trace` and `mask` are those with it, `made.baseline` is the pass without."""

    made: Restriction
    base: tuple[Rule, ...]  # rules of both passes
    restriction: tuple[Rule, ...]  # those on top
    model: Model

    @property
    def labels(self) -> list[str]:
        return maps.position_labels(self.tokens)

    @property
    def H(self) -> int:
        return len(self.trace.weights[0])

    @property
    def names(self) -> list[str]:
        return maps.head_names(self.H)


def restricted(tokens: Tokens, model: Model, chosen: Chosen) -> Restricted:
    """The text before and after."""
    T = len(tokens)
    X = embed(tokens, model.d_model, model.seed, positions=model.positions, values=model.values)[None]
    weights = compute.drawn_weights(model.d_model, model.num_heads, model.seed, model.init, model.bias)
    shape = (1, model.num_heads, T, T)
    base = masks.combine(*chosen.base, shape=shape)
    made = restrict(X, X, X, weights, masks.combine(*chosen.restriction, shape=shape), mask=base)
    mask = masks.combine(*chosen.base, *chosen.restriction, shape=shape)
    return Restricted(tokens, X, weights, mask, made.restricted, made, chosen.base, chosen.restriction, model)


def measured(run: Restricted) -> None:
    """What the restriction did, in one sentence."""
    st.html(f'<p class="hl-line">{sentence(run)}</p>')


def sentence(run: Restricted) -> str:
    """The measured sentence, as HTML: what is forbidden, what had lain there, how far the outputs moved."""
    before, after = run.made.baseline, run.made.restricted
    open_before, open_after = int(before.mask.sum()), int(after.mask.sum())
    if open_before == open_after:
        largest = float(run.made.change_length.max())
        return (
            f"This restriction forbids none of {open_before:,} cells: the largest change of an output is {largest:g}."
        )
    lost = run.made.forbidden_weight[~before.empty_rows]
    said = (
        f"The restriction forbids {open_before - open_after:,} of {open_before:,} cells, which had held "
        f"{percent(lost.mean())} of a row’s attention on average. {_outputs(run)}"
    )
    empty = int(after.empty_rows.sum())
    return said + (f" {empty:,} of {after.empty_rows.size:,} rows have no key left." if empty else "")


def _outputs(run: Restricted) -> str:
    length, relative = run.made.change_length[0], run.made.relative_change[0]
    if len(length) == 1:
        share = "" if np.isnan(relative[0]) else f", {percent(relative[0])} of its length before"
        return f"The output changes by {written(length[0])}{share}."
    mean = float(measures.mean_defined(relative)[0])
    average = "" if np.isnan(mean) else f"The outputs change by {percent(mean)} of their length on average; that of "
    i = int(length.argmax())
    who = f"{show.quoted(run.tokens[i])} ({i + 1}) changes most: by {written(length[i])}"
    return f"{average or 'The output of '}{who}{'' if np.isnan(relative[i]) else f', {percent(relative[i])}'}."


def all_heads(run: Restricted) -> None:
    """Three maps of every head: original, restricted, difference."""
    layout: dict[str, Any] = {"height": HEIGHT}
    if run.H > 3:
        layout["columns_per_row"] = 2 if browser.is_narrow() else MOST_SIDE_BY_SIDE
    heads = list(range(run.H))
    maps.panels(run, panels(run, heads), heads, key="restriction_all", show_values=run.H <= 3, **layout)
    show.line(DIFFERENCE, quiet=True)


def one_head(run: Restricted) -> None:
    """The same three maps of one head, larger, with their numbers, and what each query of it lost."""
    h = maps.choose_head(run)
    maps.panels(run, panels(run, [h]), [h], key="restriction_one", show_values=True)
    show.line(DIFFERENCE, quiet=True)
    made, before, after = run.made, run.made.baseline, run.made.restricted
    table = pd.DataFrame(
        {
            "lost": np.where(before.empty_rows[0, h], np.nan, 100 * made.forbidden_weight[0, h]),
            "before": measures.entropy(before.weights[0, h], before.mask[0, h]),
            "after": measures.entropy(after.weights[0, h], after.mask[0, h]),
            "change": made.head_change_length[0, h],
        },
        index=pd.Index(run.labels, name="Query"),
    )
    number = st.column_config.NumberColumn
    columns = {
        "lost": number("On forbidden keys, before", format=PERCENT, help="Of this query’s attention."),
        "before": number("Entropy before, bits", format="%.2f"),
        "after": number("Entropy now, bits", format="%.2f"),
        "change": number("Change of what the head adds", format=NUMBER, help="Its length, through its rows of W_o."),
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt=f"What each query of head {h + 1} lost")


def panels(run: Restricted, heads: list[int]) -> list[figures.Panel]:
    """Original, restricted and difference of these heads."""
    was, now = run.made.baseline.weights[0], run.trace.weights[0]
    before, after = run.made.baseline.mask[0], run.trace.mask[0]
    bound = float(np.abs(now - was).max()) or 1.0  # the same for all heads

    def of_heads(rules: Sequence[Rule]) -> list[tuple[str, Any]]:
        return [(rule.name, np.broadcast_to(rule.allowed[0], after.shape)[heads]) for rule in rules]

    return [
        figures.Panel("Original", was[heads], allowed=before[heads], rules=of_heads(run.base)),
        figures.Panel("Restricted", now[heads], allowed=after[heads], rules=of_heads([*run.base, *run.restriction])),
        figures.Panel(
            "Difference",
            (now - was)[heads],
            kind="difference",
            allowed=before[heads],
            rules=of_heads(run.base),
            bound=bound,
        ),
    ]


def arrows(run: Restricted) -> None:
    """Who looks at whom, original and restricted, two rows of arcs per head."""
    both = np.stack([run.made.baseline.weights[0], run.trace.weights[0]], axis=1)  # (H, 2, T, T)
    names = [f"{name}, {which}" for name in run.names for which in ("original", "restricted")]
    colours = [figures.HEAD_COLOURS[h] for h in range(run.H) for _ in range(2)]
    maps.draw_arrows(run, both.reshape(-1, *both.shape[2:]), names, key="restriction_arrows", colours=colours)


def untrained() -> None:
    """What random start values can and cannot show."""
    show.line(f"{explain.UNTRAINED} One seed is one draw: “Many seeds” shows others.", quiet=True)
    with suppress(StreamlitAPIException):  # a page that is run by its own file has no others to link to
        st.page_link("pages/translate.py", label="The same with heads that learned: a translator")
