"""Arrays and tokens in, plain Plotly figures out: dicts for st.plotly_chart or plotly.io. No Streamlit in here.

Nor Plotly itself, but in `mha.figures.ready`, which stands apart: pictures are drawn from the same dicts without it.
"""

from mha.figures.arrows import MOST_TOKENS as MOST_ARROW_TOKENS
from mha.figures.arrows import arrows, arrows_caption
from mha.figures.bars import position_bars, spread_boxes
from mha.figures.heatmaps import NUMBERS_RULE, WIDTH, describe_maps, head_maps, numbers_fit, stacked_maps
from mha.figures.labels import full_label, plain_label, short_label
from mha.figures.map_input import Panel
from mha.figures.matrices import WIDTH as MATRICES_WIDTH
from mha.figures.matrices import Matrix, Outline, describe_matrices, matrices
from mha.figures.matrix_scale import WEIGHTS
from mha.figures.palette import HEAD_COLOURS, MEAN_COLOUR
from mha.figures.plain import CHART_CONFIG

__all__ = [
    "CHART_CONFIG",
    "HEAD_COLOURS",
    "MATRICES_WIDTH",
    "MEAN_COLOUR",
    "MOST_ARROW_TOKENS",
    "NUMBERS_RULE",
    "WEIGHTS",
    "WIDTH",
    "Matrix",
    "Outline",
    "Panel",
    "arrows",
    "arrows_caption",
    "describe_maps",
    "describe_matrices",
    "full_label",
    "head_maps",
    "matrices",
    "numbers_fit",
    "plain_label",
    "position_bars",
    "short_label",
    "spread_boxes",
    "stacked_maps",
]
