"""The pictures and tables of one trace, each with its own controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import figures, masks, measures
from mha.arrays import Array, Booleans
from mha.ui import address, show
from mha.ui.compute import Pass

MEAN = "Mean of heads"
MOST_ARROWS = 8
IN_WORDS = 4  # keys named per head; the rest is summed up
SMALLEST_NAMED = 0.005  # below it a weight reads 0.00


def head_names(count: int) -> list[str]:
    """ "Head 1", "Head 2", ..."""
    return [f"Head {h + 1}" for h in range(count)]


def position_labels(tokens: tuple[str, ...]) -> list[str]:
    """ "3 cat": a token's position and text, so that repeated tokens stay apart."""
    return [f"{i + 1} {figures.plain_label(token)}" for i, token in enumerate(tokens)]


def _with_mean(weights: Array, allowed: Booleans, names: list[str]) -> tuple[Array, Booleans, list[str]]:
    mean, any_head = weights.mean(axis=0, keepdims=True), allowed.any(axis=0, keepdims=True)
    return np.concatenate([weights, mean]), np.concatenate([allowed, any_head]), [*names, MEAN]


def _draw(run: Pass, weights: Array, allowed: Booleans, names: list[str], colours: list[str], *, key: str) -> None:
    tokens = run.tokens
    figure = figures.head_maps(
        weights,
        tokens,
        tokens,
        names=names,
        allowed=allowed,
        blocked_by=lambda _, i, j: ", ".join(run.mask.blocked_by(0, 0, i, j)),
        empty_rows=masks.empty_rows(allowed),
        colours=colours,
        theme=show.theme(),
    )
    show.chart(figure, key=key, alt=figures.describe_maps(weights, tokens, tokens, names=names, allowed=allowed))


def all_heads(run: Pass, *, with_mean: bool = False) -> None:
    """A map per head, and their mean if wanted."""
    weights, allowed = run.trace.weights[0], run.trace.mask[0]
    names, colours = head_names(len(weights)), list(figures.HEAD_COLOURS[: len(weights)])
    if with_mean:
        weights, allowed, names = _with_mean(weights, allowed, names)
        colours.append(figures.MEAN_COLOUR)
    _draw(run, weights, allowed, names, colours, key="all_heads")


def one_head(run: Pass) -> None:
    """One head, large."""
    h = choose_head(run)
    here = slice(h, h + 1)
    names = [f"Head {h + 1}"]
    _draw(
        run,
        run.trace.weights[0, here],
        run.trace.mask[0, here],
        names,
        [figures.HEAD_COLOURS[h]],
        key="one_head",
    )


def arrows(run: Pass) -> None:
    """Who looks at whom, as arcs over the row of tokens, one row per head."""
    tokens, weights = run.tokens, run.trace.weights[0]
    left, right = st.columns(2)
    with left:
        top = address.bound(
            st.number_input,
            "Arrows per token",
            key="top",
            min_value=1,
            max_value=MOST_ARROWS,
            value=3,
            help="Only the strongest few are drawn; the maps show all.",
        )
    with right:
        only_one = address.bound(
            st.toggle, "Only one token's arrows", key="only", help="Leaves the arrows of one looking token."
        )
        query = choose_token(run, "The token that looks", "query") if only_one else None
    options = {"names": head_names(len(weights)), "top": int(top), "query": query, "theme": show.theme()}
    figure = figures.arrows(weights, tokens, tokens, **options)
    caption = figures.arrows_caption(weights, tokens, tokens, **options)
    show.chart(figure, key="arrows_chart", alt=caption)
    show.line(caption, quiet=True)


def one_token(run: Pass) -> None:
    """What one token looks at, head by head, in words."""
    i = choose_token(run, "The token that looks", "query")
    ranked = measures.ranked_keys(run.trace.weights[0, :, i], run.trace.mask[0, :, i], IN_WORDS)
    rows = [_in_words(run, h, i, keys) for h, keys in enumerate(ranked)]
    st.html(f'<dl class="hl-heads">{"".join(rows)}</dl>')


def _in_words(run: Pass, h: int, i: int, keys: list[int]) -> str:
    weights = run.trace.weights[0, h, i]
    keys = [j for j in keys if weights[j] >= SMALLEST_NAMED]
    named = [f'{show.quoted(run.tokens[j])} <span class="hl-weight">({j + 1}) {weights[j]:.2f}</span>' for j in keys]
    rest = int(run.trace.mask[0, h, i].sum()) - len(keys)
    if rest:
        left_over = weights.sum() - weights[keys].sum()
        named.append(f'<span class="hl-weight">{rest} other{"s" if rest > 1 else ""} {left_over:.2f}</span>')
    said = "looks at " + ", ".join(named) if named else "has no key left: it looks at nothing"
    return f"<dt>{show.swatch(figures.HEAD_COLOURS[h])}Head {h + 1}</dt><dd>{said}</dd>"


def numbers(run: Pass) -> None:
    """Every weight of every head as a table, made only when it is opened."""
    closed = st.expander("The numbers", key="numbers", on_change="rerun")
    if not closed.open:
        return
    with closed:
        weights, allowed = run.trace.weights[0], run.trace.mask[0]
        h, i, j = np.indices(weights.shape).reshape(3, -1)
        labels = np.array(position_labels(run.tokens), dtype=object)
        table = pd.DataFrame(
            {
                "head": h + 1,
                "query": pd.Categorical.from_codes(i, labels),
                "key": pd.Categorical.from_codes(j, labels),
                "score": run.trace.scores[0].ravel(),
                "weight": np.where(allowed, weights, np.nan).ravel(),
            }
        )
        config = {name: st.column_config.NumberColumn(format="%.4f") for name in ("score", "weight")}
        st.dataframe(table, hide_index=True, placeholder="blocked", column_config=config)


def choose_head(run: Pass) -> int:
    """The head that is shown large."""
    return _choose(
        st.segmented_control,
        "Head",
        run.trace.weights.shape[1],
        key="head",
        format_func=lambda h: str(h + 1),
        default=0,
        required=True,
        help="Heads are numbered in the order of their columns in the projections.",
    )


def choose_token(run: Pass, label: str, key: str) -> int:
    """A token by position and text."""
    labels = position_labels(run.tokens)
    return _choose(
        st.selectbox,
        label,
        len(labels),
        key=key,
        format_func=labels.__getitem__,
        help="By position and text, so that repeated tokens stay apart.",
    )


def _choose(widget: Callable[..., int], label: str, count: int, *, key: str, **options: Any) -> int:
    """One of `count`; a choice that is no longer offered, as when tokens get fewer, becomes the last one that is."""
    chosen = st.session_state.get(key)
    if isinstance(chosen, int):
        # Set even when nothing changed: the label belongs to the position, and its text may be another now.
        st.session_state[key] = min(chosen, count - 1)
    return address.bound(widget, label, key=key, options=range(count), **options)
