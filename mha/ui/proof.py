"""The check against PyTorch: what was compared, how far apart it lies, and the bound it must keep."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mha import torch_engine
from mha.torch_engine import Check
from mha.ui import address, show
from mha.ui.compute import Pass, freeze

HOW_TO_GET_TORCH = """PyTorch is not installed here, so there is nothing to check against; everything else works without
it. To get its CPU build:

    pip install torch --index-url https://download.pytorch.org/whl/cpu

and start the app again."""


def against_pytorch(run: Pass) -> None:
    """A switch; PyTorch is imported only when it is on."""
    wanted = address.bound(
        st.toggle,
        "Check against PyTorch",
        key="check",
        help="Runs the same arrays through torch.nn.MultiheadAttention and through the same maths written in PyTorch.",
    )
    if not wanted:
        st.caption("Off: PyTorch is loaded only when you ask for it, which takes a second or two the first time.")
        return
    if not torch_engine.is_installed():
        st.info(HOW_TO_GET_TORCH)
        return
    with st.spinner("Checking against PyTorch"):
        _load_torch()
        _report(torch_engine.check(run.trace, run.X, run.key_vectors, run.key_vectors, run.weights))


@st.cache_resource(show_spinner=False)
def _load_torch() -> None:
    """Import PyTorch once; one thread, since many sessions share the machine."""
    torch_engine.load()
    freeze()


def _report(check: Check) -> None:
    verdict = "Everything agrees." if check.passed else "Something does not agree: please report this link."
    st.markdown(f"**{verdict}** Largest absolute differences, and the bound they must keep:")
    rows = [
        {
            "compared with": other.name,
            "weights": other.weights,
            "output": other.output,
            "bound": check.bound,
            "kept": "yes" if other.within(check.bound) else "NO",
        }
        for other in check.differences
    ]
    number = st.column_config.NumberColumn(format="%.1e")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={"weights": number, "output": number, "bound": number},
        alt="Differences to PyTorch",
    )
    with_key = check.rows - check.empty_rows
    lines = [
        f"{with_key:,} of {check.rows:,} rows have a key, and each sums to 1 within {check.worst_row_sum:.1e}.",
        f"{check.empty_rows:,} rows have no key left; their largest weight is {check.largest_in_empty_rows:g}.",
        f"{check.blocked_cells:,} cells are blocked; their largest weight is {check.largest_blocked_weight:g}.",
        *(_left_out(other) for other in check.differences if other.rows_left_out),
        f"The bound is 1e-10 times the largest of 1, the scores and the output ({check.bound / 1e-10:,.1f}).",
    ]
    for text in lines:
        show.line(text)


def _left_out(other: torch_engine.Difference) -> str:
    return (
        f"{other.rows_left_out:,} rows of weights and {other.positions_left_out:,} positions of the output are left "
        f"out: {other.name} gives NaN for a row with no key left, and that spreads to the output of its position."
    )
