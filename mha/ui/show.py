"""Small pieces of a page. Whatever a person typed is shown literally: as escaped HTML, never as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha import figures
from mha.figures.ready import ReadyFigure

QUOTED = 40  # characters of a token inside a sentence; the rest is an ellipsis


def theme() -> str:
    """ "light" or "dark", as the browser shows the page."""
    return st.context.theme.type or "light"


def row() -> DeltaGenerator:
    """Things side by side; on a narrow screen they wrap."""
    return st.container(horizontal=True, vertical_alignment="center", gap="medium")


def line(text: str, *, quiet: bool = False) -> None:
    """One line of text, literally."""
    st.html(f'<p class="hl-line{" hl-quiet" if quiet else ""}">{escape(text)}</p>', width="content")


def notes(lines: Iterable[str]) -> None:
    """Short notes, one line each; what they quote is shown literally."""
    for text in lines:
        st.html(f'<p class="hl-note">{escape(text)}</p>')


def chart(figure: dict[str, Any], *, key: str, alt: str) -> None:
    """A figure of ours, with its text alternative."""
    # Our figures carry their own looks: Streamlit's theme would only be merged in, drawn over and paid for.
    ready = ReadyFigure(figure)
    st.plotly_chart(ready, key=key, alt=alt, config=figures.CHART_CONFIG, width="stretch", theme=None)


def quoted(token: str) -> str:
    """A token inside a sentence, as HTML: literal, in its own direction of writing."""
    shown = figures.plain_label(token, QUOTED).strip("\u2068\u2069")  # <bdi> isolates it already
    return f"“<bdi>{escape(shown)}</bdi>”"


def phrase(words: Iterable[str]) -> str:
    """Several words inside a sentence, whole, as HTML."""
    return f"“{escape(' '.join(words))}”"


def swatch(colour: str) -> str:
    """A small square in a head's colour, as HTML."""
    return f'<span class="hl-swatch" style="background:{colour}"></span>'
