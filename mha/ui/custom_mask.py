"""The custom mask of the Masks page: check boxes for small texts, files for any; it holds for every text of the batch.

It is kept in the session under `_grid`, as large as it has ever been, and travels packed in the address. A text that
is made shorter and longer again finds its cells as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import masks
from mha.arrays import Booleans
from mha.batches import Batch
from mha.mask_files import KINDS, pack_mask, read_mask, unpack_mask, write_mask
from mha.masks import Rule
from mha.ui import address, maps, show

LARGEST_GRID = 24  # tokens; more check boxes than 24 x 24 nobody wants to click
QUERIES, BOX, WIDEST_GRID = 120, 76, 640  # px: the columns of the grid, and all of it
ALL_HEADS = 0  # of the heads a grid is for: these count from 1


def choose(batch: Batch, b: int, num_heads: int, *, on: bool) -> Rule:
    """The rule, and while it is on the popover that changes it; its labels are those of text b."""
    T = batch.T
    if said := address.given("grid"):
        _set_grid(_unpacked(said, num_heads, T))
    kept: Booleans | None = st.session_state.get("_grid")
    grid = _fitted(kept, num_heads, T)
    if on:
        with st.popover("Choose cells"):
            _scope(num_heads)
            head = int(st.session_state["grid_for"])
            if len(batch.texts) > 1:
                st.caption(f"These cells are for every text; the labels are those of text {batch.numbers[b]}.")
            grid = _check_boxes(grid, head, maps.position_labels(batch.padded(b)))
            st.session_state["_grid"] = _written_into(kept, grid)
            _file(grid)
    alike = _alike(grid)
    packed = "" if grid.all() else pack_mask(grid[0] if alike else grid)
    address.keep("grid", packed, f"a packed mask of {T} x {T} cells", is_default=not packed)
    if not on or grid.all():
        show.line("nothing blocked yet" if grid.all() else "as set", quiet=True)
    return masks.custom(grid[:1][None] if alike else grid[None])


def refused() -> None:
    """Why the last file is not used, if it is not: said until the next thing that is done."""
    show.said_once("_grid_refused")


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
        if _alike(kept):
            grid[H:, :N, :N] = kept[0, :N, :N]
    return grid


def _written_into(kept: Booleans | None, grid: Booleans) -> Booleans:
    """What is kept, with `grid` in its corner: heads and cells that are not there now stay as they were."""
    if kept is None or (len(kept) <= len(grid) and kept.shape[1] <= grid.shape[1]):
        return grid
    H, T = len(grid), grid.shape[1]
    whole = _fitted(kept, max(H, len(kept)), max(T, kept.shape[1]))
    whole[: None if _alike(kept) and _alike(grid) else H, :T, :T] = grid[:1] if _alike(grid) else grid
    return whole


def _alike(grid: Booleans) -> bool:
    """Whether all heads have the same cells."""
    return bool((grid == grid[:1]).all())


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
    array, kind = (grid[0], "csv") if _alike(grid) else (grid[None], "json")
    with st.container(horizontal=True):
        st.download_button("Save this mask", write_mask(array, kind), file_name=f"mask.{kind}", on_click="ignore")
        st.button("Open all cells", on_click=_open_all)


def _take_file(shape: tuple[int, ...]) -> None:
    state = st.session_state
    state["_grid_refused"] = ""
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


def _unpacked(said: str, num_heads: int, T: int) -> Booleans | None:
    for shape in ((T, T), (num_heads, T, T)):
        try:
            return np.broadcast_to(unpack_mask(said, shape), (num_heads, T, T))
        except ValueError:
            continue
    return None
