"""The rules of the Masks page: a switch, a small picture and what can be set, for each; out come rules of mha.masks.

What has no widget that Streamlit could keep in the address (lengths, key ranges, the custom mask) is kept here, in the
session under `_lens`, `_keys` and `_grid`, and travels packed. `None` there means the default, which follows the texts.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import config, masks
from mha.arrays import Booleans
from mha.batches import Batch
from mha.figures.small_mask import small_mask
from mha.mask_files import KINDS, pack_mask, read_mask, unpack_mask, write_mask
from mha.masks import Rule
from mha.ui import address, controls, maps, show

LARGEST_GRID = 24  # tokens; more check boxes than 24 x 24 nobody wants to click
CARD = 128  # px
QUERIES, BOX, WIDEST_GRID = 120, 76, 640  # px: the columns of the grid, and all of it
FARTHEST = config.MAX_TOKENS - 1
REACH = 2  # keys to either side, until something else is set
Ranges = tuple[tuple[int, int], ...]  # first and last key of each head, from 1; last below first is no key

ALL_HEADS = 0  # of the heads a grid is for: these count from 1


def choose(batch: Batch, b: int, num_heads: int) -> tuple[Rule, ...]:
    """The rules that are switched on, each for the whole batch: (B or 1, H or 1, T, T)."""
    T, found = batch.T, []
    with st.container(horizontal=True, gap="medium", key="rules"):
        with _card("padding"):
            on = _switch("Padding", "padding", "Blocks the keys that only fill up a shorter text.", value=True)
            picture = st.empty()
            lens = _padding_lengths(batch, on=on)
            found.append((on, picture, Rule("padding", masks.valid_lens(lens, T).allowed)))
        with _card("causal"):
            on = controls.causal("Causal")
            picture = st.empty()
            found.append((on, picture, masks.causal(T, T)))
        with _card("window"):
            on = _switch("Window", "window", "Blocks the keys that stand farther away than the window reaches.")
            picture = st.empty()
            found.append((on, picture, masks.window(T, T, *_window())))
        with _card("ranges"):
            on = _switch("Key ranges", "ranges", "Gives each head its own stretch of the keys, and blocks the others.")
            picture = st.empty()
            found.append((on, picture, Rule("key range", _key_ranges(num_heads, T, on=on).allowed)))
        with _card("custom"):
            on = _switch("Custom", "custom", "Blocks the cells that you choose: by check boxes, or from a file.")
            picture = st.empty()
            found.append((on, picture, _custom(batch, b, num_heads, on=on)))
        for on, picture, rule in found:
            _picture(picture, rule.name, _of_text(rule, b), on=on)
        chosen = tuple(rule for on, _, rule in found if on)
        with _card("together"):
            st.html('<p class="hl-line"><b>All together</b></p>')
            together = masks.combine(*chosen, shape=(len(batch.texts), num_heads, T, T)).allowed[b]
            alike = bool((together == together[:1]).all())
            _picture(st.empty(), "all rules together", together[:1] if alike else together, on=True)
            show.line("all heads alike" if alike else "one map a head", quiet=True)
    _refused_file()
    return chosen


def _card(key: str) -> Any:
    return st.container(key=f"card_{key}", width=CARD, gap="xsmall")


def _switch(label: str, key: str, help_text: str, *, value: bool = False) -> bool:
    on: bool = address.bound(st.toggle, label, key=key, value=value, help=help_text)
    return on


def _of_text(rule: Rule, b: int) -> Booleans:
    """What a rule says for one text: (1 or H, T, T)."""
    of_text = rule.allowed[b if len(rule.allowed) > 1 else 0]
    length = rule.allowed.shape[-1]
    return np.broadcast_to(of_text, (len(of_text), length, length))


def _picture(place: Any, name: str, allowed: Booleans, *, on: bool) -> None:
    """A rule as a small map per head, pale while it is off."""
    share = f"{int(allowed.sum()):,} of {allowed.size:,} cells may be looked at"
    said = f"{name}{'' if on else ' (off)'}: {share}"
    data = base64.b64encode(small_mask(allowed, theme=show.theme())).decode()
    looks = "" if on else ' style="opacity:.3"'
    place.html(f'<img class="hl-small" src="data:image/png;base64,{data}" alt="{escape(said)}"{looks}>')


def lengths(own: Sequence[int], *, key: str) -> list[int]:
    """The valid length of each text: its own, or what was set instead."""
    T = max(own)
    if said := address.given(key):
        st.session_state[f"_{key}"] = _read_numbers(said, len(own), T)
    changed: dict[int, int] = st.session_state.get(f"_{key}") or {}
    # a length that is the text's own follows the text again
    changed = {b: min(length, T) for b, length in changed.items() if b < len(own) and min(length, T) != own[b]}
    st.session_state[f"_{key}"] = changed
    lens = [changed.get(b, own[b]) for b in range(len(own))]
    expected = f"{len(own)} whole numbers from 0 to {T}" if len(own) > 1 else f"a whole number from 0 to {T}"
    address.keep(key, ",".join(map(str, lens)), expected, is_default=not changed)
    return lens


def length_field(label: str, own: int, length: int, longest: int, *, key: str, b: int = 0, width: int = 160) -> None:
    """Where a valid length of `lengths` is shown and changed."""
    st.session_state[f"{key}_{b}"] = length
    st.number_input(
        label,
        min_value=0,
        max_value=longest,
        key=f"{key}_{b}",
        on_change=_take_length,
        args=(key, b),
        help=f"From 0 to {longest}; this text has {own} tokens of its own.",
        width=width,
    )


def _padding_lengths(batch: Batch, *, on: bool) -> list[int]:
    own = [len(text) for text in batch.texts]
    lens = lengths(own, key="lens")
    if not on:
        show.line(_in_few_words(lens), quiet=True)
        return lens
    with st.popover(_in_few_words(lens), type="tertiary"):
        st.caption(f"valid_lens, from 0 to {batch.T}: the first so many keys of a text may be looked at.")
        with st.container(horizontal=True):
            for b, number in enumerate(batch.numbers):
                length_field(f"Text {number}", own[b], lens[b], batch.T, key="lens", b=b, width=130)
        st.button("Back to their own lengths", on_click=_own_lengths, args=("lens",), disabled=lens == own)
    return lens


def _in_few_words(lens: Sequence[int]) -> str:
    return ", ".join(map(str, lens)) if len(lens) <= 4 else f"{lens[0]}, {lens[1]}, … {lens[-1]}"


def _take_length(key: str, b: int) -> None:
    st.session_state[f"_{key}"] = {**st.session_state[f"_{key}"], b: st.session_state[f"{key}_{b}"]}


def _own_lengths(key: str) -> None:
    st.session_state[f"_{key}"] = {}


def _read_numbers(said: str, count: int, high: int) -> dict[int, int] | None:
    """`count` whole numbers from 0 to `high` with commas between; None of anything else."""
    parts = said.split(",")
    if len(parts) != count or not all(map(_is_number, parts)):
        return None
    numbers = dict(enumerate(map(int, parts)))
    return numbers if max(numbers.values()) <= high else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def _window() -> tuple[int, int]:
    with st.popover(f"{_reach('left')} left, {_reach('right')} right", type="tertiary"):
        left, right = (
            address.bound(
                st.number_input,
                f"Keys to the {side}",
                key=side,
                min_value=0,
                max_value=FARTHEST,
                value=REACH,
                help=f"A query may look at so many keys to its {side}, and at its own position.",
            )
            for side in ("left", "right")
        )
    return int(left), int(right)


def _reach(side: str) -> int:
    """What the field of this side will show, known before it is drawn: it stands below the label that says it."""
    linked = address.given(side) or ""
    if _is_number(linked) and int(linked) <= FARTHEST:
        return int(linked)
    return st.session_state.get(side, REACH)


def halves(num_heads: int, T: int) -> Ranges:
    """Each head its own block of the keys, as in the Day 28 exercise."""
    borders = [h * T // num_heads for h in range(num_heads + 1)]
    return tuple((borders[h] + 1, borders[h + 1]) for h in range(num_heads))


def _key_ranges(num_heads: int, T: int, *, on: bool) -> Rule:
    blocks = halves(num_heads, T)
    if said := address.given("keys"):
        st.session_state["_keys"] = _read_ranges(said, num_heads, T)
    kept: Ranges | None = st.session_state.get("_keys")
    if kept is not None and (len(kept) != num_heads or kept == blocks):
        kept = st.session_state["_keys"] = None
    ranges = blocks if kept is None else tuple((min(first, T + 1), min(last, T)) for first, last in kept)
    if on:
        with st.popover("own blocks" if ranges == blocks else "as set", type="tertiary"):
            st.caption(f"The keys that each head may look at, within 1 to {T}. “To” before “from”: none.")
            for h, (first, last) in enumerate(ranges):
                st.session_state[f"from_{h}"], st.session_state[f"to_{h}"] = first, last
                with st.container(horizontal=True):
                    # a head that owns no key may start one behind the last
                    for end, low, high in (("from", 1, T + 1), ("to", 0, T)):
                        st.number_input(
                            f"Head {h + 1} {end}",
                            min_value=low,
                            max_value=high,
                            key=f"{end}_{h}",
                            on_change=_take_ranges,
                            args=(num_heads,),
                            width=130,
                        )
            st.button("Each head its own block", on_click=_own_blocks, disabled=ranges == blocks)
    else:
        show.line("own blocks" if ranges == blocks else "as set", quiet=True)
    packed = ",".join(f"{first}-{last}" for first, last in ranges)
    address.keep("keys", packed, f"{num_heads} pairs within 1 to {T}, such as 1-2", is_default=kept is None)
    key = np.arange(1, T + 1)
    return masks.heads(np.array([(first <= key) & (key <= last) for first, last in ranges]), T)


def _take_ranges(num_heads: int) -> None:
    state = st.session_state
    state["_keys"] = tuple((state[f"from_{h}"], state[f"to_{h}"]) for h in range(num_heads))


def _own_blocks() -> None:
    st.session_state["_keys"] = None


def _read_ranges(said: str, num_heads: int, T: int) -> Ranges | None:
    pairs = [part.split("-") for part in said.split(",")]
    if len(pairs) != num_heads or not all(len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
        return None
    ranges = tuple((int(first), int(last)) for first, last in pairs)
    return ranges if all(1 <= first <= T + 1 and last <= T for first, last in ranges) else None


def _custom(batch: Batch, b: int, num_heads: int, *, on: bool) -> Rule:
    T = batch.T
    if said := address.given("grid"):
        st.session_state["_grid"] = _unpacked(said, num_heads, T)
    grid = _fitted(st.session_state.get("_grid"), num_heads, T)
    if on:
        with st.popover("Choose cells"):
            _scope(num_heads)
            head = int(st.session_state["grid_for"])
            grid = _check_boxes(grid, head, maps.position_labels(batch.padded(b)))
            st.session_state["_grid"] = grid
            _file(grid)
    alike = bool((grid == grid[:1]).all())
    packed = "" if grid.all() else pack_mask(grid[0] if alike else grid)
    address.keep("grid", packed, f"a packed mask of {T} x {T} cells", is_default=not packed)
    if not on or grid.all():
        show.line("nothing blocked yet" if grid.all() else "as set", quiet=True)
    return masks.custom(grid[:1][None] if alike else grid[None])


def _scope(num_heads: int) -> None:
    chosen = st.session_state.get("grid_for")
    if isinstance(chosen, int):
        st.session_state["grid_for"] = min(chosen, num_heads)
    address.bound(
        st.selectbox,
        "The boxes are for",
        key="grid_for",
        options=range(num_heads + 1),
        format_func=lambda h: f"Head {h}" if h else "All heads",
        help="What you change holds for all heads, or for one head only.",
    )


def _fitted(kept: Booleans | None, num_heads: int, T: int) -> Booleans:
    """The custom mask (H, T, T); where texts or heads have grown, the new cells are open."""
    grid = np.ones((num_heads, T, T), dtype=np.bool_)
    if kept is not None:
        H, N = min(num_heads, len(kept)), min(T, kept.shape[1])
        grid[:H, :N, :N] = kept[:H, :N, :N]
        if (kept == kept[:1]).all():
            grid[H:, :N, :N] = kept[0, :N, :N]
    return grid


def _check_boxes(grid: Booleans, head: int, labels: Sequence[str]) -> Booleans:
    """The grid after what is clicked; a box of all heads is checked where all heads may look."""
    T = grid.shape[-1]
    if T > LARGEST_GRID:
        show.line(f"Check boxes end at {LARGEST_GRID} x {LARGEST_GRID}; this is {T} x {T}. A file can be larger.")
        return grid
    st.caption("A row is a query, a column a key. Checked: it may look.")
    state = st.session_state
    # The editor keeps its clicks against the table it was opened with, so that table must stay the same.
    version = (state.get("_grid_version", 0), head, grid.shape)
    key = f"grid_{state.get('_grid_version', 0)}_{head}_{len(grid)}_{T}"
    if state.get("_grid_base_of") != version or key not in state:
        state["_grid_base"], state["_grid_base_of"] = grid, version
    base: Booleans = state["_grid_base"]
    shown: Booleans = np.all(base, axis=0) if head == ALL_HEADS else base[head - 1]
    columns = [str(j) for j in range(T)]
    table = pd.DataFrame(shown, columns=columns, index=pd.Index(labels, name="query \\ key"))
    config_of: dict[str, Any] = {
        column: st.column_config.CheckboxColumn(label, width=BOX) for column, label in zip(columns, labels, strict=True)
    }
    config_of["_index"] = st.column_config.TextColumn(width=QUERIES)
    edited = st.data_editor(
        table,
        key=key,
        column_config=config_of,
        width=min(QUERIES + BOX * T + 4, WIDEST_GRID),
        alt="Custom mask: checked = may look",
    )
    clicked = edited.to_numpy(dtype=np.bool_) != shown
    if not clicked.any():
        return base
    changed = base.copy()
    changed[slice(None) if head == ALL_HEADS else head - 1, clicked] = ~shown[clicked]
    return changed


def _file(grid: Booleans) -> None:
    st.file_uploader(
        "Or a file: CSV or JSON of 0 and 1",
        type=list(KINDS),
        key="mask_file",
        on_change=_take_file,
        args=(grid.shape,),
        help="A row per query, a cell per key, 1 = may look, no headings; JSON may hold one table per head.",
    )
    _refused_file()
    alike = bool((grid == grid[:1]).all())
    array, kind = (grid[0], "csv") if alike else (grid[None], "json")
    with st.container(horizontal=True):
        st.download_button("Save this mask", write_mask(array, kind), file_name=f"mask.{kind}", on_click="ignore")
        st.button("Open all cells", on_click=_open_all)


def _take_file(shape: tuple[int, ...]) -> None:
    state = st.session_state
    state["_grid_refused"] = None
    uploaded = state["mask_file"]
    if uploaded is None:
        return
    kind = uploaded.name.rpartition(".")[2].lower()
    try:
        allowed = read_mask(uploaded.getvalue(), kind, shape)
    except ValueError as problem:
        state["_grid_refused"] = f"{uploaded.name[:60]} is not used: {problem}"
        return
    _set_grid(np.broadcast_to(allowed if allowed.ndim == 2 else allowed[0], shape))


def _open_all() -> None:
    _set_grid(None)


def _set_grid(grid: Booleans | None) -> None:
    state = st.session_state
    state["_grid"], state["_grid_version"] = grid, state.get("_grid_version", 0) + 1


def _refused_file() -> None:
    refused = st.session_state.get("_grid_refused")
    if refused and st.session_state.get("custom"):
        show.notes([refused])


def _unpacked(said: str, num_heads: int, T: int) -> Booleans | None:
    for shape in ((T, T), (num_heads, T, T)):
        try:
            return np.broadcast_to(unpack_mask(said, shape), (num_heads, T, T))
        except ValueError:
            continue
    return None
