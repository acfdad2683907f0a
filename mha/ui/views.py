"""The views of one computation, one tab each; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st

from mha.ui import address

Run = TypeVar("Run")


def open_one(views: Mapping[str, Callable[[Run], None]], run: Run, *, key: str = "view") -> str:
    """A tab per view by its name, and the open one drawn from `run`; which one that is.

    key: keeps pages with other views apart.
    """
    opened = next(iter(views))
    address.take_opened(key, {"options": list(views)})
    tabs = st.tabs(list(views), key=key, on_change="rerun", bind="query-params")
    for tab, (name, draw) in zip(tabs, views.items(), strict=True):
        if tab.open:
            address.register(key, name)
            opened = name
            with tab:
                draw(run)
    return opened
