"""The Steps page in a real browser: the slider walks, the painted numbers are the library's, and it prints."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from mha import Weights, attend, embed
from mha.rounding import written
from tests.e2e.plots import PLOT, cells

SOFTMAX_IS_DRAWN = """() => {
  const plot = document.querySelector('.js-plotly-plot');
  return plot && plot.data && plot.data[0].name.startsWith('Row of query 1');
}"""
TEXT = "the cat sat on the mat"


def trace_of(text, *, seed=0):
    X = embed(text.split(), 64, seed)[None]
    return attend(X, X, X, Weights.draw(64, 8, seed))


@pytest.fixture
def open_steps(open_page):
    """Opens the page by its own link."""

    def opened(**settings):
        page = open_page("steps", **settings)
        page.wait_for_selector("h4.hl-step")
        expect(page).to_have_title(re.compile("Steps"))

    return opened


def walk_to(page, step):
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for now in range(int(slider.input_value()), step):
        slider.press("ArrowRight")
        expect(slider).to_have_value(str(now + 1))
    expect(page.locator("h4.hl-step")).to_have_text(re.compile(f"^{step} "))


def test_the_slider_goes_to_the_softmax_and_its_numbers_are_the_librarys(page, open_steps):
    open_steps(text=TEXT, seed=3)
    walk_to(page, 7)
    page.wait_for_url(re.compile("step=7"))
    row = trace_of(TEXT, seed=3).weights[0, 0, 0]
    page.wait_for_function(SOFTMAX_IS_DRAWN)
    powers, weights = cells(page, 0)
    np.testing.assert_array_equal(weights, row.astype(np.float32))
    np.testing.assert_allclose(powers / powers.sum(), row, rtol=1e-6)
    assert powers.max() == 1
    expect(page.locator("b", has_text=written(float(row[1])))).to_have_count(1)
    formulas = page.locator(".katex annotation").all_text_contents()
    assert any(formula.endswith(f"= {written(float(row[1]))}") for formula in formulas)
    # what must not happen: a formula that KaTeX could not read is drawn in red
    assert page.locator(".katex-error").count() == 0
    assert page.get_by_text("cannot be used").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "turned"), [("light", "none"), ("dark", "invert(1) hue-rotate(180deg)")])
def test_all_steps_print_without_the_controls_on_light_paper(page, open_steps, theme, turned):
    page.emulate_media(color_scheme=theme)
    open_steps(text=TEXT, all_steps="true")
    expect(page.locator("h4.hl-step")).to_have_count(9)
    expect(page.locator(".hl-shares .hl-bar")).to_have_count(8)
    expect(page.locator(PLOT).first).to_be_visible()
    assert page.locator(".katex-error").count() == 0
    page.emulate_media(media="print")
    for hidden in (".stSidebar", ".st-key-text_row", ".st-key-cell_choice", ".st-key-walk", ".stAppHeader"):
        assert page.locator(f"{hidden}:visible").count() == 0, hidden
    expect(page.locator(".hl-on-paper")).to_be_visible()
    expect(page.locator("html")).to_have_css("filter", turned)
    if theme == "dark":  # what html or body paint colours the sheet, and no filter turns that back
        expect(page.locator("html")).to_have_css("background-color", "rgb(255, 255, 255)")
        expect(page.locator("body")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    page.emulate_media(media=None)
    printed = page.pdf(prefer_css_page_size=True)
    # nine steps take several sheets; cut off at the first one would be a page that scrolls inside itself
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3


def test_a_token_is_never_read_as_markup_or_as_maths(page, open_steps):
    open_steps(text="$x$ <b>y</b> :smile: %{x}", all_steps="true")
    expect(page.locator("h4.hl-step")).to_have_count(9)
    expect(page.locator("p.hl-line bdi").first).to_have_text("$x$")
    expect(page.locator("p.hl-line bdi").nth(1)).to_have_text("<b>y</b>")
    assert not any("x$" in formula for formula in page.locator(".katex annotation").all_text_contents())
