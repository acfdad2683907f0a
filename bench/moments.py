"""From a key or a click to what is painted, told by the browser's own clock."""

from __future__ import annotations

from playwright.sync_api import Page

ROUNDS, WARM_UPS = 11, 3

_NOTE = """() => {
  document.addEventListener('keydown', () => { window.keyAt = performance.now() }, true);
  document.addEventListener('mousedown', () => { window.clickAt = performance.now() }, true);
}"""
# A picture stands when its cells are an image; two frames later it is painted.
_PAINTED = """(wanted) => new Promise((done) => {
  const drawn = () => {
    const plot = document.querySelector('.js-plotly-plot');
    return plot && plot.layout && plot.querySelector('.heatmaplayer image') ? plot : null;
  };
  const stands = () => STANDS;
  const look = () => stands()
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - SINCE)))
    : requestAnimationFrame(look);
  look();
})"""


def note(page: Page) -> None:
    """Have the page remember when a key or the mouse was last pressed."""
    page.evaluate(_NOTE)


def after_key(page: Page, stands: str, wanted: object) -> float:
    """ms from the last key until `stands` holds and is painted.

    stands: JavaScript that may use `wanted`, and `drawn()`, which is the picture or null.
    """
    return _after(page, "window.keyAt", stands, wanted)


def after_click(page: Page, stands: str, wanted: object) -> float:
    """The same from the last press of the mouse."""
    return _after(page, "window.clickAt", stands, wanted)


def after_opening(page: Page, stands: str, wanted: object) -> float:
    """The same from when the page was asked for."""
    return _after(page, "0", stands, wanted)


def _after(page: Page, since: str, stands: str, wanted: object) -> float:
    return float(page.evaluate(_PAINTED.replace("STANDS", stands).replace("SINCE", since), wanted))
