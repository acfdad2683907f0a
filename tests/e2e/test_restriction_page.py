"""The Restriction page in a real browser: the exercise from a fresh start, seeds stopped, sentences that stay."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mha import Weights, embed, restrict
from mha import restriction_rules as rules
from mha.config import PRESETS
from mha.restriction import Restriction
from tests.e2e.plots import PLOT

MODEL = PRESETS[1].model
DAY_28 = {"heads": 2, "width": 8, "init": "normal"}

# The maps of a part of the picture: a cell without a number is null in JSON and NaN here.
MAPS = """(part) => {
  const plot = document.querySelector('.js-plotly-plot');
  if (!plot || !plot.data || !plot.querySelector('.heatmaplayer image')) return null;
  return plot.data.filter((trace) => trace.coloraxis && trace.name.includes(part)).map((trace) => {
    const z = trace.z.bdata ? null : trace.z;
    const [height, width] = z ? [z.length, z[0].length] : trace.z.shape.split(',').map(Number);
    const cells = z ? z.map((row) => Array.from(row)).flat()
      : Array.from(new Float32Array(Uint8Array.from(atob(trace.z.bdata), (c) => c.charCodeAt(0)).buffer));
    const numbers = cells.map((cell) => Number.isFinite(cell) ? cell : null);
    return Array.from({length: height}, (_, i) => numbers.slice(i * width, (i + 1) * width));
  });
}"""


def made(text: str) -> Restriction:
    tokens = text.split()
    X = embed(tokens, MODEL.d_model, 0)[None]
    weights = Weights.draw(MODEL.d_model, MODEL.num_heads, 0, init=MODEL.init)
    return restrict(X, X, X, weights, rules.own_blocks(2, len(tokens)))


def wait_until_painted(page: Page, part: str, wanted: np.ndarray) -> None:
    """Until this part of the picture holds exactly these numbers, (H, T, T) with NaN where blocked."""
    for _ in range(200):
        found = page.evaluate(MAPS, part)
        if found and np.array_equal(np.array(found, dtype=np.float32), wanted.astype(np.float32), equal_nan=True):
            return
        page.wait_for_timeout(50)  # a poll: the numbers are compared here, bit by bit
    np.testing.assert_array_equal(np.array(page.evaluate(MAPS, part), dtype=np.float32), wanted.astype(np.float32))


def assert_painted(page: Page, wanted: Restriction) -> None:
    before, after = wanted.baseline.weights[0], wanted.restricted.weights[0]
    wait_until_painted(page, "Original", before)
    wait_until_painted(page, "Restricted", np.where(wanted.restricted.mask[0], after, np.nan))
    wait_until_painted(page, "Difference", after - before)


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def test_the_exercise_from_a_fresh_start(page, server):
    """As a student does it: open the app, go to the page, one click, the own sentence, look, and write."""
    page.goto(server)
    page.get_by_role("link", name="Restriction").click()
    page.get_by_role("button", name="Day 28", exact=True).click()
    assert_painted(page, made("A B C D"))
    expect(page.get_by_text("The restriction forbids 16 of 32 cells")).to_be_visible()

    field = page.get_by_role("textbox", name="Your text")
    field.fill("my own short sentence here")
    field.press("Enter")
    assert_painted(page, made("my own short sentence here"))

    tab(page, "Heads")
    expect(page.get_by_text("They add up", exact=False)).to_contain_text("within the bound")
    tab(page, "Findings")
    expect(page.get_by_text("changed most: by")).to_be_visible()
    box = page.get_by_role("textbox", name="Your own sentences")
    box.fill("Head 2 <b>lost</b> $most$.")
    # straight to another tab, and to another page, without leaving the field first
    tab(page, "Output")
    page.get_by_text("How far each output moved").wait_for()
    tab(page, "Findings")
    expect(box).to_have_value("Head 2 <b>lost</b> $most$.")
    box.press_sequentially(" And more.")
    page.get_by_role("link", name="Heads", exact=True).click()
    page.get_by_text("Each head decides anew").wait_for()
    page.get_by_role("link", name="Restriction").click()
    tab(page, "Findings")
    kept = "Head 2 <b>lost</b> $most$. And more."
    expect(page.get_by_role("textbox", name="Your own sentences")).to_have_value(kept)
    assert "lost" not in page.url

    # and so does a text that is typed just before: neither it nor the click is lost
    field = page.get_by_role("textbox", name="Your text")
    field.fill("other words")
    page.get_by_role("link", name="Steps", exact=True).click()
    page.get_by_text("One cell of head 1").wait_for()
    expect(page.get_by_role("textbox", name="Your text")).to_have_value("other words")


@pytest.mark.slow
def test_the_first_screen_shows_the_text_and_all_maps(open_page):
    page = open_page("restriction")
    plot = page.locator(PLOT).first
    plot.locator(".heatmaplayer image").first.wait_for()
    expect(page.get_by_role("textbox", name="Your text")).to_be_in_viewport()
    lowest = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.heatmaplayer image')]"
        ".map((image) => image.getBoundingClientRect().bottom))"
    )
    assert lowest <= 800
    assert page.locator(PLOT).count() == 1


def test_the_hover_of_a_forbidden_cell_names_the_restriction(open_page):
    page = open_page("restriction", text="A B C D", **DAY_28)
    assert_painted(page, made("A B C D"))
    # head 1, restricted: query A may not look at key D
    place = page.evaluate(
        """() => {
          const plot = document.querySelector('.js-plotly-plot');
          const map = plot.data.find((trace) => trace.name.includes('Head 1') && trace.name.includes('Restricted'));
          const { xaxis, yaxis, _size: size } = plot._fullLayout;
          const at = plot.getBoundingClientRect();
          return [at.left + size.l + xaxis.l2p(map.x0 + 3), at.top + size.t + yaxis.l2p(map.y0)];
        }"""
    )
    page.mouse.move(*place)
    said = page.locator(f"{PLOT} .hoverlayer .hovertext").first
    expect(said).to_contain_text("blocked by own block only")
    expect(said).not_to_contain_text("weight")


@pytest.mark.slow
def test_ticked_positions_and_heads_off_travel_in_the_address(open_page):
    page = open_page("restriction", text="A B C D", restrict="Ticked", **DAY_28)
    assert_painted(page, made("A B C D"))
    page.get_by_role("button", name="All heads on").click()
    page.get_by_role("button", name="Head 2").click()
    page.get_by_text("The restriction forbids 24 of 32 cells").wait_for()
    page.wait_for_function("() => location.search.includes('off=2')")
    found = parse_qs(urlsplit(page.url).query)
    assert found["restrict"] == ["Ticked"]
    assert "ticks" not in found  # as in equal blocks, which is the default
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Tick positions").click()
    grid = page.get_by_test_id("stPopoverBody").locator("canvas").first
    grid.scroll_into_view_if_needed()  # which waits until the popover stands still
    size = grid.bounding_box()
    assert size is not None
    row = size["height"] / 3  # names, head 1, head 2
    page.mouse.click(size["x"] + size["width"] - 8, size["y"] + 1.5 * row)  # beside the box of D
    page.keyboard.press("Enter")
    page.get_by_text("The restriction forbids 20 of 32 cells").wait_for()
    page.keyboard.press("ArrowLeft")  # C, with the same table before the editor as at first
    page.keyboard.press("Enter")
    page.get_by_text("The restriction forbids 16 of 32 cells").wait_for()
    page.wait_for_function("() => location.search.includes('ticks=')")
    page.goto(page.url)
    page.get_by_text("The restriction forbids 16 of 32 cells").wait_for()


@pytest.mark.slow
def test_many_seeds_show_progress_and_can_be_stopped(open_page):
    # large enough to take a few seconds
    text = " ".join(f"word{i}" for i in range(60))
    page = open_page("restriction", text=text, heads=16, width=256, restrict_view="Many seeds")
    page.get_by_role("button", name="Run 200 seeds").click()
    expect(page.get_by_text("of 200 seeds")).to_be_visible()
    page.get_by_test_id("stTabs").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    page.locator(PLOT).nth(1).wait_for()
    expect(page.get_by_text("Over 200 seeds: the box")).to_have_count(0)
    page.get_by_role("button", name="Go on after").click()
    expect(page.get_by_test_id("stTabs").get_by_role("button", name="Stop")).to_be_visible()
    tab(page, "Output")  # and back while it runs
    page.get_by_text("How far each output moved").wait_for()
    tab(page, "Many seeds")
    expect(page.get_by_text("Over 200 seeds: the box")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Stopped after")).to_have_count(0)
    assert page.get_by_test_id("stException").count() == 0


def test_a_class_predicts_first_by_the_link(open_page):
    page = open_page("restriction", text="A B C D", predict="true", **DAY_28)
    page.get_by_role("button", name="Reveal").wait_for()
    assert page.get_by_text("The restriction forbids").count() == 0
    page.get_by_role("combobox", name="Which output changes most, by its length?").click()
    page.get_by_role("option", name="2 B").click()
    page.get_by_role("button", name="Reveal").click()
    expect(page.get_by_text("You said 2 B: as measured.")).to_be_visible()
    expect(page.get_by_text("The restriction forbids 16 of 32 cells")).to_be_visible()
