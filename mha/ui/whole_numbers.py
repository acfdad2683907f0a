"""A field for a whole number that says what is wrong with another, where Streamlit's own would change it silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def field(
    label: str, value: int, *, key: str, on_change: Callable[..., None], args: tuple[Any, ...], **look: Any
) -> None:
    """Where a number is shown and changed; `on_change` asks `typed` for it. look: help, width."""
    st.session_state[key] = float(value)
    st.number_input(
        label,
        step=1.0,
        # With a smallest and a largest value the browser would keep others to itself, and never say the range; with
        # whole numbers alone, 2.5 would silently be 2, and an emptied field 0.
        value=None,
        format="%g",
        key=key,
        on_change=on_change,
        args=args,
        **look,
    )


def typed(key: str, low: int, high: int, *, what: str, note: str) -> int | None:
    """What was typed into a field; None if it is no whole number within low to high: `show.said_once(note)` says so."""
    number = st.session_state[key]
    if number is not None and low <= number <= high and number == int(number):
        return int(number)
    got = "nothing" if number is None else f"{number:g}"
    st.session_state[note] = f"Not used as {what}: expected a whole number from {low} to {high}, got {got}."
    return None
