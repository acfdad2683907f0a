"""The share control: a link that names every setting."""

from __future__ import annotations

import streamlit as st

from mha.ui import address, show


def control() -> None:
    """A popover with the link; call it last, when every setting of the page has been drawn."""
    with st.popover("Share", icon=":material/link:", help="A link to what you see, with every setting in it."):
        link = address.share_link()
        size = len(link.encode())
        if size > address.MAX_LINK_BYTES:
            show.line(
                f"With this text the link would be {size:,} bytes long; browsers and mail programs are safe "
                f"up to about {address.MAX_LINK_BYTES:,}. A shorter text can be shared."
            )
            return
        show.line("Opens the same text and settings, with the same numbers, on any machine.")
        st.code(link, language=None, wrap_lines=True)
