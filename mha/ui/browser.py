"""What only the browser knows or can do, in a few lines of script: the page's width, and well-formed text."""

from __future__ import annotations

import streamlit as st

NARROW = 640  # CSS px, as wide as Streamlit's own step to one column

# The width is told only when it differs from what the server knows, so a wide page costs no second run.
# A text area tells its text only when it is left. The own sentences are told after every pause in typing, by the keys
# that tell them at any time, Ctrl + Enter: a click that leaves the page at once could come before them.
# Half a surrogate pair, as a careless cut leaves it on the clipboard, is no UTF-8: Streamlit would lose the connection
# over it. It becomes U+FFFD before Streamlit reads the field, past React's own setter, which would hide the change.
_SCRIPT = """
const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
const repair = ({ target }) => {
  if (target instanceof HTMLInputElement && !target.value.isWellFormed()) {
    setValue.call(target, target.value.toWellFormed());
  }
};

let pause = 0;
const tellWhatIsWritten = ({ target }) => {
  if (!(target instanceof HTMLTextAreaElement) || !target.closest(".st-key-own_sentences")) return;
  clearTimeout(pause);
  const keys = { key: "Enter", code: "Enter", keyCode: 13, ctrlKey: true, bubbles: true };
  pause = setTimeout(() => target.dispatchEvent(new KeyboardEvent("keydown", keys)), 400);
};

export default function ({ data, setStateValue }) {
  const query = window.matchMedia(`(max-width: ${data.narrow_below}px)`);
  const tell = () => { if (query.matches !== data.known) setStateValue("narrow", query.matches); };
  query.addEventListener("change", tell);
  document.addEventListener("input", repair, true);
  document.addEventListener("input", tellWhatIsWritten);
  tell();
  return () => {
    query.removeEventListener("change", tell);
    document.removeEventListener("input", repair, true);
    document.removeEventListener("input", tellWhatIsWritten);
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
