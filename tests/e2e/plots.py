"""What a browser test may ask of a Plotly picture on the page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, TimeoutError

PLOT = ".js-plotly-plot"

# The labels of an axis stand in labelalias by position; an image inside means that the cells are drawn.
DRAWN = """(wanted) => {
  const plot = document.querySelector('.js-plotly-plot');
  if (!plot || !plot.layout || !plot.querySelector('.heatmaplayer image')) return false;
  const labels = Object.values(plot.layout.yaxis.labelalias);
  return wanted.every((token) => labels.some((label) => label.includes(token)));
}"""


def wait_until_drawn(page: Page, *tokens: str) -> None:
    """Until a picture stands whose query axis names all `tokens` (as Plotly has them: escaped)."""
    page.wait_for_function(DRAWN, arg=list(tokens))


def cells(page: Page, trace: int) -> NDArray[np.float32]:
    """The numbers of a heat map as the browser has them, float32."""
    z: Any = page.evaluate(
        """(trace) => {
          const z = document.querySelector('.js-plotly-plot').data[trace].z;
          return z.bdata ? {bdata: z.bdata, shape: z.shape} : Array.from(z, (row) => Array.from(row));
        }""",
        trace,
    )
    if isinstance(z, dict):
        shape = tuple(int(length) for length in z["shape"].split(","))
        return np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape(shape)
    return np.array(z, dtype=np.float32)


# A label shows its token whole up to 12 characters, and a longer one with an ellipsis at its end. Around words of
# another direction stand two invisible signs (U+2068, U+2069) that keep them from reordering what is beside them.
TICKS = """(tokens) => {
  const texts = [...document.querySelectorAll('.js-plotly-plot .ytick text')];
  const shown = texts.map((text) => [text.getBoundingClientRect().top, text.textContent])
    .sort((a, b) => a[0] - b[0])
    .map(([, text]) => text.replace(/[\u2068\u2069]/g, ''));
  const says = (label, token) => label === token
    || ([...token].length > 12 && label.endsWith('…') && token.startsWith(label.slice(0, -1)));
  return shown.length === tokens.length && tokens.every((token, i) => says(shown[i], token));
}"""


def wait_for_ticks(page: Page, tokens: list[str]) -> None:
    """Until the query axis names exactly `tokens`, literally, the first at the top."""
    try:
        page.wait_for_function(TICKS, arg=tokens)
    except TimeoutError as late:
        shown = page.locator(f"{PLOT} .ytick text").all_text_contents()
        raise AssertionError(f"expected the ticks {tokens}, got {shown}") from late
