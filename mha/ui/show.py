"""Small pieces of a page. Whatever a person typed is shown literally: as escaped HTML, never as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

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


Figure = dict[str, Any]
Draw = Callable[..., Figure]  # called with theme="light" or "dark"


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure as it was drawn, by its key; or a drawing made for a report alone, as SVG.

    theme, width: what the figure was laid out for; its colours and places fit no other. draw: makes it for a theme.
    """

    key: str
    figure: Figure
    alt: str
    title: str = ""
    svg: str = ""
    theme: str = "light"
    width: int = figures.WIDTH
    draw: Draw | None = None

    def on_paper(self) -> Chart:
        """The same on white, as paper is, if it can be drawn anew."""
        if self.draw is None or self.theme == "light":
            return self
        return replace(self, figure=self.draw(theme="light"), theme="light")


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


def note_chart(figure: Figure, *, key: str, alt: str, title: str = "", draw: Draw | None = None) -> None:
    """Add a figure to those that can be taken away. draw: makes it anew for the white of a report."""
    noted = _CHARTS.get()
    if noted is not None:
        width = browser.PHONE_WIDTH if browser.is_narrow() else figures.WIDTH
        title = title or key.replace("_", " ").capitalize()
        noted.append(Chart(key, figure, alt, title, theme=theme(), width=width, draw=draw))


def chart(
    drawn: Figure | Draw, *, key: str, alt: str, title: str = "", width: int | Literal["stretch"] = "stretch"
) -> None:
    """A figure of ours, or what draws it for a theme, with its text alternative.

    Its title stands above it in a report, which is on white whatever the page is on, if it can be drawn for that.
    width: px, or all there is.
    """
    draw = drawn if callable(drawn) else None
    figure = drawn(theme=theme()) if callable(drawn) else drawn
    note_chart(figure, key=key, alt=alt, title=title, draw=draw)
    # Our figures carry their own looks: Streamlit's theme would only be merged in, drawn over and paid for.
    ready = ReadyFigure(figure)
    st.plotly_chart(ready, key=key, alt=alt, config=figures.CHART_CONFIG, width=width, theme=None)


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
