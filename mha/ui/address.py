"""All settings live in the address: widgets bound to it, what of a link could not be used, and the link to share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import streamlit as st

VERSION = "1"
MAX_LINK_BYTES = 6_000
MOST_NAMED = 4  # unusable values of a link that are named

_GIVEN = "_address_given"  # key -> what the link said, until the widget of that key has been drawn
_SHOWN = "_address_shown"  # key -> the widget's value, as text of the address
_IGNORED = "_address_ignored"  # key -> (what the link said, what is used instead)


def read() -> None:
    """Keep what the link said, before the first widget is drawn: Streamlit drops silently what it cannot use."""
    if _GIVEN not in st.session_state:
        st.session_state[_GIVEN] = st.query_params.to_dict()
        st.session_state[_SHOWN] = {}
        st.session_state[_IGNORED] = {}
        version = st.session_state[_GIVEN].pop("v", VERSION)
        if version != VERSION:
            st.session_state[_IGNORED]["v"] = (version, VERSION)
            st.session_state[_SHOWN]["v"] = VERSION


def bound(widget: Callable[..., Any], label: str, *, key: str, **options: Any) -> Any:
    """Draw `widget` with its value in the address under `key`; the value stays while the widget is not drawn."""
    value = widget(label, key=key, bind="query-params", persist_state="session", **options)
    register(key, _as_text(st.session_state[key], options.get("format_func")))
    return value


def register(key: str, shown: str) -> None:
    """Note what the widget `key` shows, as text of the address, and whether that is what the link said."""
    st.session_state[_SHOWN][key] = shown
    given = st.session_state[_GIVEN].pop(key, None)
    if given is not None and not _same(given, shown):
        st.session_state[_IGNORED][key] = (given, shown)


def _as_text(value: object, format_func: Callable[[Any], str] | None) -> str:
    """A value as Streamlit writes it into the address."""
    if isinstance(value, bool):
        return str(value).lower()
    return format_func(value) if format_func else str(value)


def _same(given: str, shown: str) -> bool:
    if given == shown or given.lower() == shown.lower() in ("true", "false"):
        return True
    try:
        return float(given) == float(shown)  # 08 is 8
    except ValueError:
        return False


def ignored() -> list[str]:
    """One sentence on what of the link could not be used, each part until the person changes that setting."""
    shown = st.session_state[_SHOWN]
    unused = [
        f"{key} = {given[:40]} ({key} is {used})"
        for key, (given, used) in st.session_state[_IGNORED].items()
        if shown.get(key) == used
    ]
    if not unused:
        return []
    more = f", and {len(unused) - MOST_NAMED} more" if len(unused) > MOST_NAMED else ""
    return [f"Of this link cannot be used: {', '.join(unused[:MOST_NAMED])}{more}."]


def share_link() -> str:
    """The address of this page with every setting named, defaults included, so that no later default changes it."""
    settings = {"v": VERSION, **st.session_state[_SHOWN]}
    here = urlsplit(st.context.url or "")
    return urlunsplit((here.scheme, here.netloc, here.path or "/", urlencode(settings, quote_via=quote), ""))
