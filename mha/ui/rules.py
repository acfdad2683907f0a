"""The rules of the Masks page: a switch, a small picture and what can be set, for each; out come rules of mha.masks.

Key ranges have no widget that Streamlit could keep in the address: they are kept here, in the session under `_keys`,
and travel packed. `None` there means the default, which follows the text. See also `lengths` and `custom_mask`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from mha import config, masks
from mha.arrays import Booleans
from mha.batches import Batch
from mha.figures.small_mask import small_mask
from mha.masks import Rule
from mha.ui import address, controls, custom_mask, lengths, show, whole_numbers

CARD = 128  # px
FARTHEST = config.MAX_TOKENS - 1
REACH = 2  # keys to either side, until something else is set
ENDS = ("from", "to")
Ranges = tuple[tuple[int, int], ...]  # first and last key of each head, from 1; last below first is no key


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
            found.append((on, picture, custom_mask.choose(batch, b, num_heads, on=on)))
        for on, picture, rule in found:
            _picture(picture, rule.name, _of_text(rule, b), on=on)
        chosen = tuple(rule for on, _, rule in found if on)
        with _card("together"):
            st.html('<p class="hl-line"><b>All together</b></p>')
            together = masks.combine(*chosen, shape=(len(batch.texts), num_heads, T, T)).allowed[b]
            alike = bool((together == together[:1]).all())
            _picture(st.empty(), "all rules together", together[:1] if alike else together, on=True)
            show.line("all heads alike" if alike else "one map a head", quiet=True)
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


def _padding_lengths(batch: Batch, *, on: bool) -> list[int]:
    own = dict(zip(batch.numbers, map(len, batch.texts), strict=True))
    valid = lengths.chosen(own, key="lens")
    said = _in_few_words(list(valid.values()))
    if on:
        with st.popover(said, type="tertiary"):
            st.caption(f"valid_lens, from 0 to {batch.T}: the first so many keys of a text may be looked at.")
            with st.container(horizontal=True):
                for number, length in valid.items():
                    lengths.field(f"Text {number}", own[number], length, batch.T, key="lens", number=number, width=130)
            lengths.refused("lens")
            st.button("Back to their own lengths", on_click=_own_lengths, disabled=valid == own)
    else:
        show.line(said, quiet=True)
    return list(valid.values())


def _own_lengths() -> None:
    lengths.put({}, key="lens")


def _in_few_words(lens: Sequence[int]) -> str:
    return ", ".join(map(str, lens)) if len(lens) <= 4 else f"{lens[0]}, {lens[1]}, … {lens[-1]}"


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
    if lengths.is_number(linked) and int(linked) <= FARTHEST:
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
                with st.container(horizontal=True):
                    # a head that owns no key may start one behind the last
                    for end, (value, low, high) in enumerate(((first, 1, T + 1), (last, 0, T))):
                        whole_numbers.field(
                            f"Head {h + 1} {ENDS[end]}",
                            value,
                            key=f"{ENDS[end]}_{h}",
                            on_change=_take_range,
                            args=(ranges, h, end, low, high),
                            width=130,
                        )
            show.said_once("_keys_refused")
            st.button("Each head its own block", on_click=_own_blocks, disabled=ranges == blocks)
    else:
        show.line("own blocks" if ranges == blocks else "as set", quiet=True)
    packed = ",".join(f"{first}-{last}" for first, last in ranges)
    address.keep("keys", packed, f"{num_heads} pairs within 1 to {T}, such as 1-2", is_default=kept is None)
    key = np.arange(1, T + 1)
    return masks.heads(np.array([(first <= key) & (key <= last) for first, last in ranges]), T)


def _take_range(ranges: Ranges, h: int, end: int, low: int, high: int) -> None:
    typed = whole_numbers.typed(f"{ENDS[end]}_{h}", low, high, what="the end of a range", note="_keys_refused")
    if typed is not None:
        ranges = st.session_state.get("_keys") or ranges  # two fields may have changed at once
        changed = (typed, ranges[h][1]) if end == 0 else (ranges[h][0], typed)
        st.session_state["_keys"] = (*ranges[:h], changed, *ranges[h + 1 :])


def _own_blocks() -> None:
    st.session_state["_keys"] = None


def _read_ranges(said: str, num_heads: int, T: int) -> Ranges | None:
    pairs = [part.split("-") for part in said.split(",")]
    if len(pairs) != num_heads or not all(len(pair) == 2 and all(map(lengths.is_number, pair)) for pair in pairs):
        return None
    ranges = tuple((int(first), int(last)) for first, last in pairs)
    return ranges if all(1 <= first <= T + 1 and last <= T for first, last in ranges) else None
