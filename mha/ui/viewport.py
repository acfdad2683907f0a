"""Whether the page is as narrow as a phone: the one thing Streamlit does not tell, and maps must know."""

from __future__ import annotations

import streamlit as st

NARROW = 640  # CSS px, as wide as Streamlit's own step to one column

# Says so only when it differs from what the server knows, so a wide page costs no second run.
_TELL = """
export default function ({ data, setStateValue }) {
  const query = window.matchMedia(`(max-width: ${data.narrow_below}px)`);
  const tell = () => { if (query.matches !== data.known) setStateValue("narrow", query.matches); };
  query.addEventListener("change", tell);
  tell();
  return () => query.removeEventListener("change", tell);
}
"""

_component = st.components.v2.component("headlight_viewport", html="<span></span>", js=_TELL)


def is_narrow() -> bool:
    """Whether the browser's window is at most 640 px wide; False until it has said so."""
    state = st.session_state.get("viewport") or {}
    known = bool(state.get("narrow", False))
    said = _component(
        key="viewport",
        data={"known": known, "narrow_below": NARROW},
        default={"narrow": known},
        on_narrow_change=_nothing,
        height=1,
    )
    return bool(said.narrow)


def _nothing() -> None:
    """A callback is what makes a state value known to the server."""
