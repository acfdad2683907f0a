"""The Masks and Cross-attention pages in a real browser: each rule both ways, and the hover that names it."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mha import Weights, attend, embed, masks
from mha.batches import embed_batch, read_lines
from mha.config import Model
from mha.mask_effects import mask_effect
from mha.ui import custom_mask
from tests.e2e.plots import PLOT

TEXTS = "one two three four\nfive six"
T, H, WIDTH = 4, 2, 8
ROW = 35  # px of a row of Streamlit's tables
BEFORE, AFTER, DIFFERENCE = PANELS = ("Before", "After", "Difference")
ONLY = ""  # a picture that has no panels

# The maps of one panel of the picture: a cell without a number is null in JSON and NaN here.
MAPS = """(panel) => {
  const plot = document.querySelector('.js-plotly-plot');
  if (!plot || !plot.data || !plot.querySelector('.heatmaplayer image')) return null;
  const title = panel ? new RegExp(`^Head [0-9]+ · ${panel}`) : /^Head [0-9]+$/;
  return plot.data.filter((trace) => trace.coloraxis && title.test(trace.name)).map((trace) => trace.z.bdata
    ? {bdata: trace.z.bdata, shape: trace.z.shape}
    : Array.from(trace.z, (row) => Array.from(row, (cell) => Number.isFinite(cell) ? cell : null)));
}"""


# Where a cell of the first map of a panel is on the screen.
CELL = """([panel, i, j]) => {
  const plot = document.querySelector('.js-plotly-plot'), { xaxis, yaxis } = plot._fullLayout;
  const map = plot.data.find((trace) => trace.coloraxis && trace.name.includes(`· ${panel}`));
  const box = plot.querySelector('.nsewdrag').getBoundingClientRect();
  return [box.left + xaxis.d2p(map.x0 + j), box.top + yaxis.d2p(map.y0 + i)];
}"""


def masks_page(open_page, **settings: object) -> Page:
    return open_page("masks", **{"texts": TEXTS, "heads": H, "width": WIDTH, **settings})


def painted(page: Page, panel: str) -> np.ndarray | None:
    found = page.evaluate(MAPS, panel)
    if not found:
        return None
    return np.array([_numbers(z) for z in found], dtype=np.float32)


def _numbers(z) -> np.ndarray:
    if isinstance(z, dict):
        shape = tuple(int(length) for length in z["shape"].split(","))
        return np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape(shape)
    return np.array(z, dtype=np.float32)


def expected(b: int, *on: masks.Rule) -> list[np.ndarray]:
    """Before, after and difference of text b from the library, as float32."""
    X = embed_batch(read_lines(TEXTS), Model(d_model=WIDTH, num_heads=H))
    effect = mask_effect(X, X, X, Weights.draw(WIDTH, H, 0), on)
    before, after = effect.before.weights[b], effect.after.weights[b]
    hidden = np.where(effect.mask.allowed[b], after, np.nan)
    return [values.astype(np.float32) for values in (before, hidden, after - before)]


def wait_until_painted(page: Page, panel: str, wanted: np.ndarray) -> None:
    """Until the panel holds exactly these numbers; what it holds instead is in the error."""
    for _ in range(200):
        found = painted(page, panel)
        if found is not None and np.array_equal(found, wanted, equal_nan=True):
            return
        page.wait_for_timeout(50)  # a poll: the numbers are compared here, bit by bit
    np.testing.assert_array_equal(painted(page, panel), wanted)


def assert_painted(page: Page, b: int, *on: masks.Rule) -> None:
    for panel, wanted in zip(PANELS, expected(b, *on), strict=True):
        wait_until_painted(page, panel, wanted)


def switch(page: Page, label: str) -> None:
    page.get_by_text(label, exact=True).first.click()


OWN = np.array([[True, True, False, False], [False, False, True, True]])
RULES = {
    "Padding": ("padding", lambda: masks.valid_lens([4, 2], T), {}),
    "Causal": ("causal", lambda: masks.causal(T, T), {}),
    "Window": ("window", lambda: masks.window(T, T, 1, 0), {"left": 1, "right": 0}),
    "Key ranges": ("key range", lambda: masks.heads(OWN, T), {}),
}


@pytest.mark.parametrize("label", RULES)
def test_a_rule_is_painted_named_in_the_hover_and_taken_back(open_page, label):
    name, made, settings = RULES[label]
    page = masks_page(open_page, padding="false", text_number=2, **settings)
    assert_painted(page, 1)
    switch(page, label)
    assert_painted(page, 1, made())
    blocked = np.argwhere(~np.broadcast_to(made().allowed, (2, H, T, T))[1, 0])
    hover(page, *blocked[0])
    expect(page.locator(f"{PLOT} .hoverlayer .hovertext").first).to_contain_text(f"blocked by {name}")
    page.mouse.move(5, 5)
    switch(page, label)
    assert_painted(page, 1)
    assert page.get_by_text("cannot be used").count() == 0


def hover(page: Page, i: int, j: int) -> None:
    """Over a cell of head 1 among the weights after."""
    page.locator(PLOT).first.scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate(CELL, [AFTER, int(i), int(j)]), steps=3)


def test_rules_travel_in_the_address(open_page, fresh_page):
    page = masks_page(open_page)
    switch(page, "Causal")
    switch(page, "Key ranges")
    wanted = masks.valid_lens([4, 2], T), masks.causal(T, T), masks.heads(OWN, T)
    assert_painted(page, 0, *wanted)
    page.get_by_role("button", name="4, 2").click()
    type_length(page, "3")
    wanted = masks.valid_lens([3, 2], T), *wanted[1:]
    assert_painted(page, 0, *wanted)
    page.wait_for_url("**lens=3*")
    for typed, got in (("2.5", "2.5"), ("", "nothing"), ("-1", "-1"), ("5", "5")):
        type_length(page, typed)
        expect(page.get_by_text(f"expected a whole number from 0 to 4, got {got}.")).to_be_visible()
        expect(page.get_by_role("spinbutton", name="Text 1")).to_have_value("3")
    assert_painted(page, 0, *wanted)
    page.reload()
    assert_painted(page, 0, *wanted)
    assert page.get_by_text("cannot be used").count() == 0


def type_length(page: Page, typed: str) -> None:
    field = page.get_by_role("spinbutton", name="Text 1")
    field.fill(typed)
    field.press("Enter")


def test_a_check_box_blocks_its_cell_and_opens_it_again(open_page):
    page = masks_page(open_page, custom="true")
    padding = masks.valid_lens([4, 2], T)
    assert_painted(page, 0, padding)
    page.get_by_role("button", name="Choose cells").click()
    canvas = page.locator("[data-testid=stPopoverBody] [data-testid=stDataFrame] canvas").first
    canvas.wait_for()
    for blocked in (True, False):
        click_cell(page, canvas, 2, 1)
        grid = np.ones((T, T), dtype=bool)
        grid[0, 1] = not blocked
        assert_painted(page, 0, padding, masks.custom(grid))
    click_cell(page, canvas, 1, 2)
    grid[1, 0] = False
    assert_painted(page, 0, padding, masks.custom(grid))
    page.keyboard.press("Escape")
    page.get_by_test_id("stMain").get_by_role("radio", name="2", exact=True).click()  # other words on the grid
    assert_painted(page, 1, padding, masks.custom(grid))
    assert page.get_by_test_id("stException").count() == 0


def click_cell(page: Page, canvas, column: int, row: int) -> None:
    """A click on the box in the middle of a cell, counted from 1: below the header, beside the queries."""
    canvas.scroll_into_view_if_needed()  # which waits until the popover stands still
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + custom_mask.QUERIES + custom_mask.BOX * (column - 0.5), box["y"] + ROW * (row + 0.5))


def test_a_file_that_is_no_mask_is_refused_and_changes_nothing(open_page):
    page = masks_page(open_page, custom="true", padding="false")
    assert_painted(page, 0)
    page.get_by_role("button", name="Choose cells").click()
    chooser = page.locator("[data-testid=stPopoverBody] input[type=file]")
    chooser.set_input_files({"name": "<b>.csv", "mimeType": "text/csv", "buffer": b"1,0\n0,1\n"})
    page.get_by_text("<b>.csv is not used: expected a mask of shape").first.wait_for()
    assert_painted(page, 0)
    good = np.tri(T, dtype=int)
    rows = "\n".join(",".join(map(str, row)) for row in good)
    chooser.set_input_files({"name": "good.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    assert_painted(page, 0, masks.custom(good))
    expect(page.get_by_text("is not used")).to_have_count(0)


@pytest.mark.slow
def test_words_on_the_page_are_literal(open_page):
    page = masks_page(
        open_page, texts="<b>x</b> $y$ :smile: <img src=x onerror=document.title=1>\nz", mask_view="Why blocked?"
    )
    said = page.locator("p.hl-line").first
    said.wait_for()
    expect(said).to_contain_text("<b>x</b> $y$ :smile: <img")
    assert said.locator("img, .katex, b bdi").count() == 0
    assert "Masks" in page.title()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masks", "cross"])
def test_a_phone_needs_no_scrolling_sideways(fresh_page, server, name):
    with fresh_page(viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{server}/{name}?causal=true")
        page.locator(f"{PLOT} .heatmaplayer image").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.get_by_test_id("stMain").evaluate("(element) => element.scrollWidth") <= 390


def test_cross_attention_both_ways(open_page):
    page = open_page("cross", text="a b", text2="u v w x", heads=H, width=WIDTH)
    X, Y = embed(["a", "b"], WIDTH, 0)[None], embed(["u", "v", "w", "x"], WIDTH, 0)[None]
    weights, shape = Weights.draw(WIDTH, H, 0), (1, H, 2, 4)

    def wanted(*on: masks.Rule) -> np.ndarray:
        mask = masks.combine(*on, shape=shape)
        found = attend(X, Y, Y, weights, mask=mask).weights
        return np.where(mask.allowed, found, np.nan)[0].astype(np.float32)

    wait_until_painted(page, ONLY, wanted())
    switch(page, "Causal")
    wait_until_painted(page, ONLY, wanted(masks.causal(2, 4)))
    page.get_by_role("spinbutton", name="Valid length").fill("1")
    page.get_by_role("spinbutton", name="Valid length").press("Enter")
    wait_until_painted(page, ONLY, wanted(masks.causal(2, 4), masks.valid_lens([1], 4)))
    switch(page, "Causal")
    wait_until_painted(page, ONLY, wanted(masks.valid_lens([1], 4)))
    page.get_by_role("button", name="NumPy article").click()
    page.locator(f"{PLOT} .ytick text", has_text="q4").first.wait_for()
    drawn = painted(page, ONLY)
    assert drawn is not None
    assert drawn.shape == (5, 4, 6)
    assert np.isnan(drawn[:, :, 3:]).all()
    assert page.get_by_text("cannot be used").count() == 0
