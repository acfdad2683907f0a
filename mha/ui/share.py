"""The share control: a link that names every setting, its QR code, and the same settings as a file."""

from __future__ import annotations

import base64
import re

import streamlit as st

from mha.export import SettingsFile, qr, read_settings, write_settings
from mha.export.settings_file import FILE_NAME
from mha.ui import address, show

_SAID = "_settings_said"  # what is to be said of the file opened last
SIDEBAR_TOO = "sidebar_too"  # set where the next run of the body has to become one of the whole page


def control(title: str) -> None:
    """A popover with the link; call it last, when every setting of the page has been drawn."""
    popover = st.popover(
        "Share",
        icon=":material/link:",
        key="share",
        on_change="rerun",  # the code and the file are made only where they are seen
        help="A link to what you see, with every setting in it.",
    )
    with popover:
        link = address.share_link()
        size = len(link.encode())
        if size > address.MAX_LINK_BYTES:
            show.line(
                f"As a link these settings would be {size:,} bytes long; browsers and mail programs are safe up to "
                f"about {address.MAX_LINK_BYTES:,}. Save them as a file instead: whoever opens it here sees the same."
            )
        else:
            show.line("Opens the same text and settings, with the same numbers, on any machine.")
            st.code(link, language=None, wrap_lines=True)
        if popover.open:
            with st.container(horizontal=True, gap="large"):
                with st.container(width=240):
                    _qr_code(link)
                with st.container(width=320):
                    _file(title)


def said() -> list[str]:
    """What is to be said of the settings file that was opened last, once."""
    return st.session_state.pop(_SAID, [])


def _qr_code(link: str) -> None:
    if not qr.fits(link):
        show.line(f"A QR code is shown for links of up to {qr.MAX_BYTES:,} bytes.", quiet=True)
        return
    picture = base64.b64encode(qr.qr_svg(link).encode()).decode()
    st.html(f'<img class="hl-qr" src="data:image/svg+xml;base64,{picture}" alt="QR code of the link">')


def _file(title: str) -> None:
    settings = SettingsFile(address.settings(), _page(title))
    st.download_button(
        "Save the settings as a file",
        lambda: write_settings(settings),
        file_name=FILE_NAME,
        mime="application/json",
        key="save_settings",
        on_click="ignore",
    )
    st.file_uploader(
        "Open a settings file", type="json", key="open_settings", on_change=_open, args=(title,), max_upload_size=1
    )


def _page(title: str) -> str:
    return re.sub("[^a-z0-9-]", "-", title.lower())


def _open(title: str) -> None:
    file = st.session_state["open_settings"]
    st.session_state[_SAID] = []
    if file is None:
        return
    try:
        found = read_settings(file.getvalue())
    except ValueError as problem:
        st.session_state[_SAID] = [f"{file.name} is not opened: {problem}"]
        return
    if found.page != _page(title):
        st.session_state[_SAID] = [f"{file.name} is not opened: it is for another page, {found.page}."]
        return
    address.open_settings(found.settings)
    st.session_state[SIDEBAR_TOO] = True
