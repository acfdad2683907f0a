"""The views of one computation, one tab each; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from mha.ui import address
from mha.ui.compute import Pass


def open_one(views: Mapping[str, Callable[[Pass], None]], run: Pass) -> str:
    """A tab per view by its name, and the open one drawn from `run`; which one that is."""
    opened = next(iter(views))
    tabs = st.tabs(list(views), key="view", on_change="rerun", bind="query-params")
    for tab, (name, draw) in zip(tabs, views.items(), strict=True):
        if tab.open:
            address.register("view", name)
            opened = name
            with tab:
                draw(run)
    return opened
