"""Findings as lists, and the field for the student's own sentences."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mha import findings
from mha.findings import Finding
from mha.ui import explain, many_seeds, show
from mha.ui.restriction_views import Restricted

MAX_CHARACTERS = 20_000  # of the student's sentences, in a report
_KEPT = "_own_sentences"  # what was written, whichever page is drawn


def lists(run: Restricted) -> None:
    """What changed, what this suggests, and what the student says to it."""
    _list("What changed", findings.what_changed(run.made, run.tokens))
    _list("What this suggests", findings.what_this_suggests(run.made, run.tokens))
    if done := many_seeds.swept(run):
        _list("With other seeds", findings.over_seeds(many_seeds.changes_of(done), run.tokens))
    show.line("Each sentence is made from this page’s numbers, and stands here only because they carry it.", quiet=True)
    _own()


def own_sentences() -> str:
    """What the student has written, as far as a report takes it; "" at first."""
    return _written()[:MAX_CHARACTERS]


def _written() -> str:
    written: str = st.session_state.get(_KEPT, "")
    return written


def _list(title: str, found: Sequence[Finding]) -> None:
    if not found:
        return
    st.html(f'<p class="hl-line"><b>{title}</b></p>')
    items = "".join(f"<li>{explain.finding(finding)}</li>" for finding in found)
    st.html(f'<ul class="hl-line" style="padding-left:1.2em">{items}</ul>')


def _own() -> None:
    """The field. Not a fragment of its own: a click on a tab would then be run before what was written, and lose it.

    Nor has it a limit of its own: Streamlit's would drop the whole of a longer text that is pasted, and say nothing.
    """
    # never set while the field stands there: that would take back what was typed since
    if "own_sentences" not in st.session_state:
        st.session_state["own_sentences"] = _written()
    st.text_area(
        "Your own sentences",
        key="own_sentences",
        height=140,
        placeholder="What changed, and what does it say about the role of heads?",
        on_change=_take_own,
    )
    if (length := len(_written())) > MAX_CHARACTERS:
        show.notes([f"These are {length:,} characters; a report takes the first {MAX_CHARACTERS:,}."])
    show.line(
        "Kept on all pages for as long as this tab is open. They are not in the link: who opens it does not see them.",
        quiet=True,
    )


def _take_own() -> None:
    st.session_state[_KEPT] = st.session_state["own_sentences"]
