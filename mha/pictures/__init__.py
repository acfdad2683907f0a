"""Pictures to take away: SVG from our figures and arrays, PNG from SVG. No browser, no Plotly, no Streamlit in here."""

from mha.pictures.bars import bars
from mha.pictures.drawing import svg
from mha.pictures.png import missing_characters, png

__all__ = ["bars", "missing_characters", "png", "svg"]
