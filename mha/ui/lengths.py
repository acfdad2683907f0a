"""Valid lengths: how many keys of each text may be looked at; a text's own length, until another is set.

They are kept in the session under "_" and their key, by the number of the text as the person counts: a text keeps its
length while another one is emptied, and a length beyond the longest text counts again when texts have grown.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from mha.ui import address, show, whole_numbers

Lengths = Mapping[int, int]  # number of a text -> tokens


def chosen(own: Lengths, *, key: str) -> dict[int, int]:
    """The valid length of each text: its own, or what was set instead. own: the tokens each has."""
    longest = max(own.values())
    if said := address.given(key):
        put(_read(said, own), key=key)
    wanted: Lengths = st.session_state.get(f"_{key}") or {}
    lengths = {number: min(wanted.get(number, length), longest) for number, length in own.items()}
    address.keep(key, ",".join(map(str, lengths.values())), _expected(own), is_default=lengths == own)
    return lengths


def put(wanted: Lengths, *, key: str) -> None:
    """Set lengths, by the number of their text; every other text follows its own again."""
    st.session_state[f"_{key}"] = dict(wanted)


def field(label: str, own: int, length: int, longest: int, *, key: str, number: int = 1, width: int = 160) -> None:
    """Where one of the lengths of `chosen` is shown and changed."""
    whole_numbers.field(
        label,
        length,
        key=f"{key}_{number}",
        on_change=_take,
        args=(key, number, own, longest),
        help=f"From 0 to {longest}; this text has {own} tokens of its own.",
        width=width,
    )


def refused(key: str) -> None:
    """What was typed last, if it was no length: said until the next thing that is done. It belongs beside the field."""
    show.said_once(f"_{key}_refused")


def _take(key: str, number: int, own: int, longest: int) -> None:
    typed = whole_numbers.typed(f"{key}_{number}", 0, longest, what="a valid length", note=f"_{key}_refused")
    if typed is None:
        return
    others = {n: length for n, length in (st.session_state.get(f"_{key}") or {}).items() if n != number}
    # a length that is the text's own follows the text again
    put(others if typed == own else {**others, number: typed}, key=key)


def _read(said: str, own: Lengths) -> dict[int, int]:
    """As many whole numbers as there are texts, none above the longest, with commas between; else none is set."""
    parts = said.split(",")
    if len(parts) != len(own) or not all(map(is_number, parts)):
        return {}
    lengths = dict(zip(own, map(int, parts), strict=True))
    if max(lengths.values()) > max(own.values()):
        return {}
    return {number: length for number, length in lengths.items() if length != own[number]}


def _expected(own: Lengths) -> str:
    longest = max(own.values())
    return f"{len(own)} whole numbers from 0 to {longest}" if len(own) > 1 else f"a whole number from 0 to {longest}"


def is_number(text: str) -> bool:
    """Whether a part of a link is a whole number, 0 or more."""
    return text.isascii() and text.isdigit() and len(text) < 6
