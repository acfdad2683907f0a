"""Small pieces of a page. Whatever a person typed is shown literally: as escaped HTML, never as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha import figures
from mha.figures.ready import ReadyFigure
from mha.ui import browser

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


def said_once(key: str) -> None:
    """The note that a callback left in the session under `key`, if any: in the run that follows it, and no longer."""
    if said := st.session_state.pop(key, ""):
        notes([said])


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure as it was drawn, by its key; or a drawing made for a report alone, as SVG.

    theme, width: what the figure was laid out for; its colours and places fit no other.
    """

    key: str
    figure: dict[str, Any]
    alt: str
    title: str = ""
    svg: str = ""
    theme: str = "light"
    width: int = figures.WIDTH


_CHARTS: ContextVar[list[Chart] | None] = ContextVar("charts", default=None)


@contextmanager
def charts_noted() -> Iterator[list[Chart]]:
    """A list of what `chart` draws within, to be taken away."""
    noted: list[Chart] = []
    token = _CHARTS.set(noted)
    try:
        yield noted
    finally:
        _CHARTS.reset(token)


def note_chart(figure: dict[str, Any], *, key: str, alt: str, title: str = "") -> None:
    """Add a figure to those that can be taken away."""
    noted = _CHARTS.get()
    if noted is not None:
        width = browser.PHONE_WIDTH if browser.is_narrow() else figures.WIDTH
        noted.append(Chart(key, figure, alt, title or key.replace("_", " ").capitalize(), theme=theme(), width=width))


def chart(figure: dict[str, Any], *, key: str, alt: str, title: str = "") -> None:
    """A figure of ours, with its text alternative; its title stands above it in a report."""
    note_chart(figure, key=key, alt=alt, title=title)
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
