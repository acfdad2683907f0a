"""The text field of the Translate page: a number in words or digits, or one that no training saw."""

from __future__ import annotations

import secrets

import streamlit as st

from mha.translator.evaluate import SAMPLE, sample
from mha.translator.numbers import english_words
from mha.translator.reading import read_number
from mha.ui import address, controls

DEFAULT = "two hundred thirty four"
KEY = "number"


def field() -> str:
    """The field, and a button that fills it."""
    text: str = address.bound(
        st.text_input,
        "A number, in English words or digits",
        key=KEY,
        value=DEFAULT,
        placeholder="A number from 0 to 999,999, in words or digits",
        live=controls.TYPING_PAUSE,
        label_visibility="collapsed",
    )
    st.button(
        "Random held-out number",
        key="random_number",
        on_click=_take_random,
        help=f"One of {SAMPLE} numbers that were kept from training, every length as often as it can be.",
    )
    return text


def number(text: str) -> int:
    """The number that stands in the field; ValueError that says which word does not fit."""
    return read_number(text)


def _take_random() -> None:
    st.session_state[KEY] = " ".join(english_words(secrets.choice(sample().tolist())))
