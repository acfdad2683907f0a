"""What only the browser knows or can do, in a few lines of script: the page's width, and text that arrives whole."""

from __future__ import annotations

import streamlit as st

PHONE_WIDTH = 358  # px that a phone of 390 px leaves for a picture
NARROW = 640  # CSS px, as wide as Streamlit's own step to one column

# The width is told only when it differs from what the server knows, so a wide page costs no second run.
# Half a surrogate pair, as a careless cut leaves it on the clipboard, is no UTF-8: Streamlit would lose the connection
# over it. It becomes U+FFFD before Streamlit reads the field, past React's own setter, which would hide the change.
# A field that is left by a click on another page's link tells its text after the link has asked for the page: Streamlit
# then drops one or the other. Such a click is held back until the text is on its way.
_SCRIPT = """
const repair = ({ target }) => {
  const isField = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  if (!isField || target.value.isWellFormed()) return;
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(target), "value");
  set.call(target, target.value.toWellFormed());
};

let typed = false;
let leftAt = -Infinity;
let held;
const noteTyping = () => { typed = true; };
const noteLeaving = () => {
  if (typed) leftAt = performance.now();
  typed = false;
};
const textFirst = (click) => {
  const link = click.target.closest?.('[data-testid$="NavLink"]');
  if (!link || !click.isTrusted) return;
  clearTimeout(held);  // of two links clicked in a row, the later one is meant
  if (performance.now() - leftAt > 1000) return;
  click.preventDefault();
  click.stopImmediatePropagation();
  held = setTimeout(() => link.click(), 300);
};

export default function ({ data, setStateValue }) {
  const query = window.matchMedia(`(max-width: ${data.narrow_below}px)`);
  const tell = () => { if (query.matches !== data.known) setStateValue("narrow", query.matches); };
  query.addEventListener("change", tell);
  document.addEventListener("input", repair, true);
  document.addEventListener("input", noteTyping, true);
  document.addEventListener("focusout", noteLeaving, true);
  document.addEventListener("click", textFirst, true);
  tell();
  return () => {
    query.removeEventListener("change", tell);
    document.removeEventListener("input", repair, true);
    document.removeEventListener("input", noteTyping, true);
    document.removeEventListener("focusout", noteLeaving, true);
    document.removeEventListener("click", textFirst, true);
  };
}
"""

_component = st.components.v2.component("headlight_browser", html="<span></span>", js=_SCRIPT)


def is_narrow() -> bool:
    """Whether the browser's window is at most 640 px wide; False until it has said so."""
    return bool((st.session_state.get("browser") or {}).get("narrow", False))


def listen() -> None:
    """Put the script on the page, once a run."""
    known = is_narrow()
    data = {"known": known, "narrow_below": NARROW}
    _component(key="browser", data=data, default={"narrow": known}, on_narrow_change=_nothing, height=1)


def _nothing() -> None:
    """A callback is what makes a state value known to the server."""
