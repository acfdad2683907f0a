"""All settings live in the address: widgets bound to it, what of a link could not be used, and the link to share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import streamlit as st

VERSION = "1"
MAX_LINK_BYTES = 6_000
MOST_NAMED = 4  # unusable values of a link that are named

_GIVEN = "_address_given"  # key -> what the link said, until the widget of that key has been drawn
_SHOWN = "_address_shown"  # key -> the widget's value, as text of the address
_VALUES = "_address_values"  # key -> the widget's value
_PAGE = "_address_page"  # the page that was drawn last
_TO_SHOW_AGAIN = "_address_to_show_again"  # key -> value that a widget takes over from the page before
_TO_OPEN = "_address_to_open"  # key -> what an opened file says for a widget, until it is drawn
_EXPECTED = "_address_expected"  # key -> what a link may say for it, in words
_ORIGIN = "_address_origin"  # what said it last: a link or a file
_IGNORED = "_address_ignored"  # key -> (what the link said, what is used instead)


def read(page: str) -> None:
    """Keep what the link said, before the first widget is drawn: Streamlit drops silently what it cannot use."""
    if _GIVEN not in st.session_state:
        for empty in (_SHOWN, _EXPECTED, _VALUES, _TO_SHOW_AGAIN, _TO_OPEN):
            st.session_state[empty] = {}
        _take(st.query_params.to_dict(), "link")
    if st.session_state.get(_PAGE) not in (None, page):
        # what was typed just before may be in the session already, though no run has drawn it yet
        drawn = st.session_state[_VALUES]
        st.session_state[_TO_SHOW_AGAIN] = {key: st.session_state.get(key, value) for key, value in drawn.items()}
        st.session_state[_SHOWN] = {}  # a link names the settings of its own page
    st.session_state[_PAGE] = page


def carry_over(key: str) -> None:
    """Give a widget its value from the page before, if it has not had it yet; what limits a value does this first."""
    if key in st.session_state[_TO_SHOW_AGAIN]:
        st.session_state[key] = st.session_state[_TO_SHOW_AGAIN].pop(key)


def settings() -> dict[str, str]:
    """Every setting of this page by its name in a link, the version of links first."""
    return {"v": VERSION, **st.session_state[_SHOWN]}


def open_settings(found: Mapping[str, str]) -> None:
    """Take settings as if a link had said them; for callbacks, before the widgets are drawn."""
    _take(found, "file")
    st.session_state[_TO_OPEN] = dict(st.session_state[_GIVEN])


def _take(found: Mapping[str, str], origin: str) -> None:
    """What a link or a file says, its version apart."""
    st.session_state[_ORIGIN] = origin
    given = dict(found)
    version = given.pop("v", VERSION)
    st.session_state[_GIVEN] = given
    st.session_state[_IGNORED] = {} if version == VERSION else {"v": (version, VERSION)}
    if version != VERSION:
        st.session_state[_SHOWN]["v"] = VERSION


def take_opened(key: str, options: Mapping[str, Any], widget: Callable[..., Any] | None = None) -> None:
    """Set the widget `key` to what an opened file says, if it can be that; call it before the widget is drawn."""
    said = st.session_state[_TO_OPEN].pop(key, None)
    if said is None:
        return
    named = options.get("format_func") or str
    if "options" in options:
        values = [option for option in options["options"] if named(option) == said]
    elif widget in (st.toggle, st.checkbox):
        values = [said.lower() == "true"] if said.lower() in ("true", "false") else []
    elif widget in (st.number_input, st.slider):
        low, high = options["min_value"], options["max_value"]
        digits = said.lstrip("0") or "0"
        # Python reads no number of thousands of digits, so their count is looked at first
        is_short = said.isascii() and said.isdigit() and len(digits) <= len(str(high))
        values = [int(digits)] if is_short and low <= int(digits) <= high else []
    else:
        values = [said]
    if values:
        st.session_state[key] = values[0]


def bound(widget: Callable[..., Any], label: str, *, key: str, **options: Any) -> Any:
    """Draw `widget` with its value in the address under `key`; the value stays while the widget is not drawn.

    Streamlit keeps such values too, but on the first change of page after a link was opened it shows the defaults.
    """
    take_opened(key, options, widget)
    carry_over(key)
    value = widget(label, key=key, bind="query-params", persist_state="session", **options)
    st.session_state[_VALUES][key] = st.session_state[key]
    register(key, _as_text(st.session_state[key], options.get("format_func")))
    return value


def register(key: str, shown: str) -> None:
    """Note what the widget `key` shows, as text of the address, and whether that is what the link said."""
    st.session_state[_SHOWN][key] = shown
    given = st.session_state[_GIVEN].pop(key, None)
    if given is not None and not _same(given, shown):
        st.session_state[_IGNORED][key] = (given, shown)


def given(key: str) -> str | None:
    """What the link says for a setting that no widget of its own keeps, until `keep` has been called for it."""
    found: str | None = st.session_state[_GIVEN].get(key)
    return found


def keep(key: str, shown: str, expected: str, *, is_default: bool) -> None:
    """Keep such a setting in the address, or nothing where it is the default or too long.

    expected: what a link may say for it, in words.
    """
    register(key, shown)
    st.session_state[_EXPECTED][key] = f" Expected {expected}."
    if is_default or len(shown) > MAX_LINK_BYTES:
        if key in st.query_params:
            del st.query_params[key]
    elif st.query_params.get(key) != shown:
        st.query_params[key] = shown


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
    """One sentence on what of the link or file could not be used, each part until the person changes that setting."""
    shown = st.session_state[_SHOWN]
    unused = {
        key: f"{key} = {given[:40]} ({key} is {used or 'left out'})"
        for key, (given, used) in st.session_state[_IGNORED].items()
        if shown.get(key) == used
    }
    if not unused:
        return []
    more = f", and {len(unused) - MOST_NAMED} more" if len(unused) > MOST_NAMED else ""
    expected = "".join(st.session_state[_EXPECTED].get(key, "") for key in list(unused)[:MOST_NAMED])
    named = f"{', '.join(list(unused.values())[:MOST_NAMED])}{more}"
    return [f"Of this {st.session_state[_ORIGIN]} cannot be used: {named}.{expected}"]


def share_link() -> str:
    """The address of this page with every setting named, defaults included, so that no later default changes it."""
    here = urlsplit(st.context.url or "")
    return urlunsplit((here.scheme, here.netloc, here.path or "/", urlencode(settings(), quote_via=quote), ""))
