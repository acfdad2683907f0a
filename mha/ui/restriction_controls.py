"""The controls of the Restriction page: which positions each head may look at, and what else is blocked.

What has no widget that Streamlit could keep in the address (heads that are off, ticked positions, the valid length) is
kept in the session under `_off`, `_ticks` and `_valid`, and travels as text. None there means the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import Tokens, config, masks, restriction_rules
from mha.arrays import Booleans
from mha.config import PRESETS
from mha.mask_files import pack_mask, unpack_mask
from mha.masks import Rule
from mha.ui import address, controls, lengths, maps

EXERCISE, EXERCISE_TEXT = PRESETS[1].model, "A B C D"
NOTHING = "Nothing"  # no restriction but heads that are off
KINDS = {
    "Equal blocks": "own blocks",
    "Odd and even": "odd and even",
    "Own position": "own position",
    "Nearest": "nearest",
    "First token": "first token",
    "All but the first": "all but the first",
    "Ticked": "ticked",
}
SAYS = {
    "Equal blocks": "each head its own block of the positions: the exercise’s halves",
    "Odd and even": "heads 1, 3, 5 … at positions 1, 3, 5 …, the others at 2, 4, 6 …",
    "Own position": "every token at itself alone",
    "Nearest": "the k nearest positions, its own first; of two as near the earlier one",
    "First token": "all at the first token",
    "All but the first": "all but the first token",
    "Ticked": "what you tick, head by head",
    NOTHING: "no restriction, but for heads that are off",
}
MOST_NAMED = 4  # from so many heads on they are only counted
TICK = 64  # px of a column of the grid
WIDEST_GRID = 640  # px


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rules that hold for both passes, and those of the restriction."""

    base: tuple[Rule, ...]
    restriction: tuple[Rule, ...]
    predict: bool  # questions come before the numbers


def choose(tokens: Tokens, num_heads: int) -> Chosen:
    """All controls in one row; on a narrow screen they wrap."""
    T = len(tokens)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="restriction"):
        kind = _kind()
        restriction = _restriction(kind, tokens, num_heads)
        off = _heads_off(num_heads)
        length = lengths.chosen({1: T}, key="valid")[1]
        lengths.field("Valid length", T, length, T, key="valid", width=105)
        with st.container(width="content", gap=None):
            causal = controls.causal("Causal")
            predict = predict_first()
        _exercise()
    lengths.refused("valid")
    base = [Rule("padding", masks.valid_lens([length], T).allowed)] if length < T else []
    return Chosen(
        base=(*base, *([masks.causal(T, T)] if causal else [])),
        restriction=(*restriction, *([restriction_rules.heads_off(off, num_heads)] if off else [])),
        predict=predict,
    )


def _kind() -> str:
    kind: str = address.bound(
        st.selectbox,
        "Each head may look at",
        key="restrict",
        options=[*KINDS, NOTHING],
        width=165,
        help="; ".join(f"**{name}**: {says}" for name, says in SAYS.items()) + ".",
    )
    return kind


def _restriction(kind: str, tokens: Tokens, num_heads: int) -> list[Rule]:
    if kind == NOTHING:
        return []
    options: dict[str, Any] = {}
    if kind == "Nearest":
        options["k"] = address.bound(
            st.number_input,
            "How many (k)",
            key="nearest",
            min_value=1,
            max_value=config.MAX_TOKENS,
            value=3,
            width=110,
            help="So many keys, the nearest to each query, its own position among them.",
        )
    if kind == "Ticked":
        options["allowed"] = _ticks(tokens, num_heads)
    return [restriction_rules.of_kind(KINDS[kind], num_heads, len(tokens), **options)]


def _heads_off(num_heads: int) -> tuple[int, ...]:
    """Heads that are switched off, counted from 0."""
    if said := address.given("off"):
        st.session_state["_off"] = _read_heads(said, num_heads)
    off = tuple(h for h in st.session_state.get("_off") or () if h < num_heads)
    with st.popover(_in_few_words(off), help="A head that is off may look at nothing and puts out 0."):
        st.session_state["off_heads"] = list(off)
        st.pills(
            "Switch these heads off",
            options=range(num_heads),
            selection_mode="multi",
            format_func=lambda h: f"Head {h + 1}",
            key="off_heads",
            on_change=_take_off,
        )
    packed = ",".join(str(h + 1) for h in off)
    expected = f"numbers of heads from 1 to {num_heads}, rising, with commas between"
    address.keep("off", packed, expected, is_default=not off)
    return off


def _in_few_words(off: tuple[int, ...]) -> str:
    if not off:
        return "All heads on"
    return f"Off: {', '.join(str(h + 1) for h in off)}" if len(off) < MOST_NAMED else f"Off: {len(off)} heads"


def _take_off() -> None:
    st.session_state["_off"] = tuple(sorted(st.session_state["off_heads"]))


def _read_heads(said: str, num_heads: int) -> tuple[int, ...] | None:
    parts = said.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        return None
    heads = [int(part) - 1 for part in parts]
    fits = heads == sorted(set(heads)) and heads[0] >= 0 and heads[-1] < num_heads
    return tuple(heads) if fits else None


def _ticks(tokens: Tokens, num_heads: int) -> Booleans:
    """The grid heads x positions, (H, T); until something is ticked it is equal blocks."""
    T, state = len(tokens), st.session_state
    if said := address.given("ticks"):
        state["_ticks"] = _unpacked(said, num_heads, T)
        state["_ticks_version"] = state.get("_ticks_version", 0) + 1
    blocks = masks.halves(num_heads, T).allowed[0, :, 0]
    grid = _fitted(state.get("_ticks"), blocks)
    with st.popover("Tick positions"):
        st.caption("Ticked: the head may look there.")
        grid = _check_boxes(grid, maps.position_labels(tokens))
    as_blocks = bool((grid == blocks).all())
    state["_ticks"] = None if as_blocks else grid
    expected = f"a packed grid of {num_heads} x {T} boxes"
    address.keep("ticks", "" if as_blocks else pack_mask(grid), expected, is_default=as_blocks)
    return grid


def _fitted(kept: Booleans | None, blocks: Booleans) -> Booleans:
    """The ticks; where text or heads have grown, as in equal blocks."""
    if kept is None:
        return blocks
    grid = blocks.copy()
    H, T = np.minimum(kept.shape, grid.shape)
    grid[:H, :T] = kept[:H, :T]
    return grid


def _check_boxes(grid: Booleans, labels: list[str]) -> Booleans:
    # The editor keeps its clicks against the table it was opened with, so that table must stay the same.
    state = st.session_state
    key = f"ticks_{state.get('_ticks_version', 0)}_{grid.shape[0]}_{grid.shape[1]}"
    if state.get("_ticks_base_of") != key or key not in state:
        state["_ticks_base"], state["_ticks_base_of"] = grid, key
    base: Booleans = state["_ticks_base"]
    columns = [str(j) for j in range(len(labels))]
    names = pd.Index(maps.head_names(len(grid)), name="head")
    edited = st.data_editor(
        pd.DataFrame(base, columns=columns, index=names),
        key=key,
        column_config={
            column: st.column_config.CheckboxColumn(label, width=TICK)
            for column, label in zip(columns, labels, strict=True)
        },
        width=min(90 + TICK * len(labels), WIDEST_GRID),
        alt="Positions of each head: ticked = may look",
    )
    ticked: Booleans = edited.to_numpy(dtype=np.bool_)
    return ticked


def _unpacked(said: str, num_heads: int, T: int) -> Booleans | None:
    try:
        return unpack_mask(said, (num_heads, T))
    except ValueError:
        return None


def _exercise() -> None:
    st.button(
        "Day 28",
        key="day_28",
        on_click=_take_exercise,
        args=(EXERCISE_TEXT,),
        help="The exercise as given: 2 heads, each its half of 4 tokens, and nothing else blocked.",
    )
    st.button(
        "Day 28, my text",
        key="day_28_own",
        on_click=_take_exercise,
        help="The same with the sentence that stands above.",
    )


def _take_exercise(text: str | None = None) -> None:
    """Only the text stays, if it is the person's own."""
    st.session_state.update({"_off": None, "_valid": {}})
    words = {} if text is None else {"text": text}
    controls.take(EXERCISE, restrict="Equal blocks", causal=False, **words)


def predict_first(what: str = "what will happen before it shows the numbers") -> bool:
    """Whether questions come before the numbers; what: is asked."""
    on: bool = address.bound(
        st.toggle,
        "Predict first",
        key="predict",
        help=f"Asks {what}. A link keeps this, for a class.",
    )
    return on
