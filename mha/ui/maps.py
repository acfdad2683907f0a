"""The pictures and tables of one trace, each with its own controls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import figures, measures
from mha.arrays import Array
from mha.ui import address, browser, show
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


def all_heads(run: Pass, *, with_mean: bool = False, **layout: Any) -> None:
    """A map per head, and their mean if wanted; layout: as `figures.head_maps` has it, where there is room."""
    heads = list(range(run.trace.weights.shape[1]))
    layout |= {"columns_per_row": 2} if browser.is_narrow() else {}
    _draw(run, heads, key="all_heads", with_mean=with_mean, **layout)


def one_head(run: Pass) -> None:
    """One head, large."""
    h = choose_head(run)
    _draw(run, [h], key="one_head", show_values=True, height=500)


def behind(run: Pass) -> show.Chart:
    """The maps of all heads on white, for a view that shows none."""
    draw, alt = _of_heads(run, list(range(run.trace.weights.shape[1])))
    return show.Chart("all_heads", draw(theme="light"), alt, "All heads")


def _draw(run: Pass, heads: list[int], *, key: str, **options: Any) -> None:
    draw, alt = _of_heads(run, heads, **options | fitting())
    show.chart(draw, key=key, alt=alt)


def _of_heads(run: Pass, heads: list[int], *, with_mean: bool = False, **layout: Any) -> tuple[show.Draw, str]:
    """What draws the maps of these heads, and says them in words."""

    def picked(per_head: Any, mean: Callable[..., Any]) -> Any:
        """The chosen heads of (H, ...), and what stands for their mean behind them."""
        chosen = per_head[heads]
        return np.concatenate([chosen, mean(per_head, axis=0)[None]]) if with_mean else chosen

    shape = run.mask.allowed.shape[1:]
    rules = [(rule.name, picked(np.broadcast_to(rule.allowed[0], shape), np.any)) for rule in run.mask.rules]
    values, allowed = picked(run.trace.weights[0], np.mean), picked(run.mask.allowed[0], np.any)
    names = [f"Head {h + 1}" for h in heads] + [MEAN] * with_mean
    colours = [figures.HEAD_COLOURS[h] for h in heads] + [figures.MEAN_COLOUR] * with_mean
    texts = values, run.tokens, run.keys
    draw = partial(figures.head_maps, *texts, names=names, allowed=allowed, rules=rules, colours=colours, **layout)
    return draw, figures.describe_maps(*texts, names=names, allowed=allowed)


def panels(run: Pass, shown: list[figures.Panel], heads: list[int], *, key: str, **layout: Any) -> None:
    """Several panels of maps of these heads as one picture."""
    draw, alt, title = _of_panels(run, shown, heads, **layout | fitting())
    show.chart(draw, key=key, alt=alt, title=title)


def panels_chart(run: Pass, shown: list[figures.Panel], heads: list[int], *, key: str, **layout: Any) -> show.Chart:
    """The same on white, with its text alternative."""
    draw, alt, title = _of_panels(run, shown, heads, **layout)
    return show.Chart(key, draw(theme="light"), alt, title)


def _of_panels(run: Pass, shown: list[figures.Panel], heads: list[int], **layout: Any) -> tuple[show.Draw, str, str]:
    """What draws them, says them in words, and names them."""
    names = [f"Head {h + 1}" for h in heads]
    colours = [figures.HEAD_COLOURS[h] for h in heads]
    draw = partial(figures.stacked_maps, shown, run.tokens, run.keys, names=names, colours=colours, **layout)
    said = [
        f"{panel.title}. "
        + figures.describe_maps(panel.values, run.tokens, run.keys, names=names, allowed=panel.allowed, kind=panel.kind)
        for panel in shown
    ]
    return draw, " ".join(said), ", ".join(panel.title for panel in shown)


def fitting() -> dict[str, Any]:
    """The width that a picture is laid out for, if it is a phone's; its builder's own otherwise."""
    return {"width": browser.PHONE_WIDTH} if browser.is_narrow() else {}


def arrows(run: Pass) -> None:
    """Who looks at whom, as arcs over the row of tokens, one row per head."""
    weights = run.trace.weights[0]
    draw_arrows(run, weights, head_names(len(weights)), key="arrows_chart")


def draw_arrows(run: Pass, weights: Array, names: list[str], *, key: str, colours: list[str] | None = None) -> None:
    """A row of arrows for each of `weights` (M, Tq, Tk), with the controls for how many are drawn."""
    with show.row():
        top = address.bound(
            st.number_input,
            "Arrows per token",
            key="top",
            min_value=1,
            max_value=MOST_ARROWS,
            value=3,
            help="Only the strongest few are drawn; the maps show all.",
            width=160,
        )
        only_one = len(run.tokens) > figures.MOST_ARROW_TOKENS or address.bound(
            st.toggle, "Only one token's arrows", key="only", help="Leaves the arrows of one looking token."
        )
        query = choose_token(run, "The token that looks", "query") if only_one else None
    options: dict[str, Any] = {"names": names, "top": int(top), "query": query, **fitting()}
    caption = figures.arrows_caption(weights, run.tokens, run.keys, **options)
    draw = partial(figures.arrows, weights, run.tokens, run.keys, colours=colours, **options)
    show.chart(draw, key=key, alt=caption, title="Arrows")
    show.line(caption, quiet=True)


def one_token(run: Pass) -> None:
    """What one token looks at, head by head, in words."""
    in_words(run, choose_token(run, "The token that looks", "query"))


def in_words(run: Pass, i: int) -> None:
    """What query i (from 0) looks at, head by head."""
    ranked = measures.ranked_keys(run.trace.weights[0, :, i], run.trace.mask[0, :, i], IN_WORDS)
    rows = [_in_words(run, h, i, keys) for h, keys in enumerate(ranked)]
    st.html(f'<dl class="hl-heads">{"".join(rows)}</dl>')


def _in_words(run: Pass, h: int, i: int, keys: list[int]) -> str:
    weights = run.trace.weights[0, h, i]
    keys = [j for j in keys if weights[j] >= SMALLEST_NAMED]
    named = [f'{show.quoted(run.keys[j])} <span class="hl-weight">({j + 1}) {weights[j]:.2f}</span>' for j in keys]
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
        labels, key_labels = (np.array(position_labels(tokens), dtype=object) for tokens in (run.tokens, run.keys))
        table = pd.DataFrame(
            {
                "head": h + 1,
                "query": labels[i],
                "key": key_labels[j],
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


def choose_token(run: Pass, label: str, key: str, *, default: int = 0) -> int:
    """A token by position and text; `default`, or the last one there is, stands there at first."""
    labels = position_labels(run.tokens)
    return _choose(
        st.selectbox,
        label,
        len(labels),
        key=key,
        format_func=labels.__getitem__,
        index=min(default, len(labels) - 1),
        help="By position and text, so that repeated tokens stay apart.",
    )


def _choose(widget: Callable[..., int], label: str, count: int, *, key: str, **options: Any) -> int:
    """One of `count`; a choice that is no longer offered, as when tokens get fewer, becomes the last one that is."""
    address.carry_over(key)
    chosen = st.session_state.get(key)
    if isinstance(chosen, int):
        # Set even when nothing changed: the label belongs to the position, and its text may be another now.
        st.session_state[key] = min(chosen, count - 1)
    return address.bound(widget, label, key=key, options=range(count), **options)
