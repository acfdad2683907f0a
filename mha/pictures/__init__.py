"""Pictures to take away: SVG from our figures and arrays, PNG from SVG. No browser, no Plotly, no Streamlit in here."""

from mha.pictures.bars import bars
from mha.pictures.drawing import WIDTH, svg
from mha.pictures.png import missing_characters, png

__all__ = ["WIDTH", "bars", "missing_characters", "png", "svg"]
