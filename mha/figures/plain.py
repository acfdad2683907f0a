"""What the layout of every figure of ours has in common: our own looks, and nothing that costs time."""

from __future__ import annotations

from typing import Any

from mha.figures.palette import Theme

Figure = dict[str, Any]  # data and layout, as Plotly takes them

FONT_FAMILY = '"Source Sans", sans-serif'  # the font that Streamlit brings
CHART_CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}

BARE_AXIS: dict[str, Any] = {
    "ticks": "",
    "showgrid": False,
    "zeroline": False,
    "showline": False,
    "fixedrange": True,
    # The margins are computed. Left to measure labels itself, Plotly takes twice as long for the whole figure.
    "automargin": False,
    "ticklabeloverflow": "allow",
}


def plain_layout(looks: Theme, font_size: int) -> dict[str, Any]:
    """The part of a layout that does not depend on what is shown.

    Streamlit gives every figure to Plotly twice, the second time a copy of the first. With a `datarevision` that stays
    the same Plotly takes the copied numbers for the old ones, and draws its labels anew instead of everything.
    """
    return {
        "datarevision": 1,
        "font": {"family": FONT_FAMILY, "color": looks.text, "size": font_size},
        "hoverlabel": {
            "align": "left",
            "bgcolor": looks.page,
            "bordercolor": looks.frame,
            "font": {"family": FONT_FAMILY, "color": looks.text},
        },
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
