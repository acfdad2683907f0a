"""What is the same around every page: its name in the browser, and the few styles Streamlit has no setting for."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

# Our own file: a Material icon would be fetched from the network.
ICON = Path(__file__).with_name("icon.svg")

# Text that a person typed goes through st.html, escaped, and never through Markdown: these are its looks.
# currentColor and opacity follow the theme, light or dark.
STYLES = """<style>
/* Whole pixels: a chart of 928.8 px would be drawn twice, since Streamlit and Plotly round its width differently. */
.stMainBlockContainer { padding-left: 1.5rem; padding-right: 1.5rem; max-width: 76rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding-left: 1rem; padding-right: 1rem; } }
/* On a phone the text keeps a line of its own, and the buttons go below it. */
.st-key-text_row > div:has(.stTextInput, .stTextArea) { min-width: min(20rem, 100%); }
.hl-line { margin: 0; line-height: 1.5; overflow-wrap: anywhere; }
.hl-two-lines { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.hl-quiet { opacity: .75; font-size: .9rem; }
.hl-note { margin: 0; padding: .4rem .8rem; border-left: 3px solid currentColor; font-size: .9rem;
  overflow-wrap: anywhere; }
.hl-heads { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 0; }
.hl-heads dt { font-weight: 600; white-space: nowrap; }
.hl-heads dd { margin: 0; overflow-wrap: anywhere; }
.hl-heads .hl-swatch { display: inline-block; width: .8em; height: .8em; margin-right: .5em; border-radius: 2px; }
.hl-pad { opacity: .55; font-style: italic; }
.hl-qr { display: block; width: 220px; background: #fff; }
.hl-small { display: block; width: 64px; }
/* What a rule is set to stands as high as the button that changes it, and does not move when the rule is switched. */
[class*="st-key-card_"] p.hl-quiet { padding: .5rem 0; }
/* Whole numbers that may be typed wrongly to be told so, but are never to be nothing. */
[data-testid="stNumberInputClearButton"] { display: none; }
.hl-who { padding-left: 1.1em; margin: 0; opacity: .75; font-size: .9rem; overflow-wrap: anywhere; }
.hl-weight { font-variant-numeric: tabular-nums; opacity: .75; }
</style>"""


def _sidebar() -> Literal["collapsed", "auto"]:
    """Inside another site's page there is no room for the settings until someone asks for them."""
    return "collapsed" if st.context.is_embedded else "auto"


def run_the_router_first() -> None:
    """Start again with the router, and so with the menu, where Streamlit has begun with the page itself.

    It takes a folder called pages/ for the old kind of an app with many pages until `st.navigation` has run once on
    this server. Whoever opens a page's own address first would find no way to the others. Call it when the link has
    been read: the second run no longer sees what Streamlit cannot use of it.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def set_up(title: str) -> None:
    """Page settings and styles; the first Streamlit call of every page."""
    st.set_page_config(
        page_title=f"{title} · Headlight", page_icon=str(ICON), layout="wide", initial_sidebar_state=_sidebar()
    )
    st.html(STYLES)
