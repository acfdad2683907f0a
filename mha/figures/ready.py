"""Figures on their way to the page: loaded once, and not checked anew at every keystroke."""

from __future__ import annotations

from typing import Any

from plotly import io, tools  # noqa: F401 - what Streamlit will import at the first chart, and the slowest part of it
from plotly.basedatatypes import BaseFigure


class ReadyFigure(BaseFigure):  # type: ignore[misc] # plotly has no types
    """A figure dict that `st.plotly_chart` sends as it is.

    Given a dict, Streamlit builds a whole `graph_objs.Figure` from it to see whether it is valid, which takes most of
    a rerun's time on the server. Ours are checked that way too, in the tests.
    """

    def __init__(self, figure: dict[str, Any]) -> None:
        self._figure = figure

    def to_dict(self) -> dict[str, Any]:
        return self._figure
