"""Texts of their own lines: the field of the Masks page, the padded batch they make, and the text that is shown."""

from __future__ import annotations

from html import escape

import streamlit as st

from mha import Tokens, config, figures
from mha.batches import PADDING, Batch, read_lines
from mha.ui import address, compute, controls, show

DEFAULT = "The cat sat on the mat\nIt was warm\nShe looked at it"


def field() -> str:
    """One text per line."""
    text: str = address.bound(
        st.text_area,
        "Your texts, one per line",
        key="texts",
        value=DEFAULT,
        height=90,
        placeholder="One text per line",
        help=f"Up to {config.MAX_TEXTS} texts. Press Ctrl + Enter, or click beside the field, when you are done.",
        label_visibility="collapsed",
    )
    return text


def batch(settings: controls.Settings) -> Batch:
    """The texts as one padded batch, with a word on what was left out; no tokens at all: the page stops."""
    found = read_lines(settings.text, settings.split)
    show.notes(found.notes)
    if not found.texts:
        show.line("There are no tokens yet. Write a text on each line above, or take an example:")
        st.button("Three short texts", key="example_lines", on_click=_take_example)
        raise compute.PageEnds
    return found


def _take_example() -> None:
    st.session_state["texts"] = DEFAULT


def choose(found: Batch) -> int:
    """Which text is shown, counted from 0."""
    address.carry_over("text_number")
    chosen = st.session_state.get("text_number")
    if isinstance(chosen, int):
        st.session_state["text_number"] = min(chosen, len(found.texts) - 1)  # texts may have got fewer
    b: int = address.bound(
        st.segmented_control,
        "Text",
        key="text_number",
        options=range(len(found.texts)),
        format_func=lambda b: str(found.numbers[b]),
        default=0,
        required=True,
        label_visibility="collapsed",
    )
    return b


def words(found: Batch, b: int) -> None:
    """The words of a text, as many as two lines hold; what is padding is marked as padding."""
    own = " ".join(f"<bdi>{escape(figures.plain_label(token))}</bdi>" for token in found.texts[b])
    missing = found.T - len(found.texts[b])
    padding = f' <span class="hl-pad">{" ".join([PADDING] * min(missing, 6))}{" …" * (missing > 6)}</span>'
    positions = "1 position" if found.T == 1 else f"{found.T} positions"
    counted = f"{len(found.texts[b])} of its own" + (f" and {missing} of padding" if missing else ", no padding")
    st.html(
        f'<p class="hl-line hl-two-lines"><b>Text {found.numbers[b]}</b> '
        f'<span class="hl-quiet">({positions}: {counted}):</span> {own}{padding if missing else ""}</p>'
    )


def padded(found: Batch, b: int) -> Tokens:
    """The tokens of a text with its padding, as long as the longest text."""
    return Tokens(found.padded(b))
