"""The figures alone, drawn by Plotly in a real browser: what the eye and the mouse find there."""

from __future__ import annotations

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from mha.figures import arrows, head_maps

TRAPS = [
    "<b>x</b>", "<a", "&lt;", "$x$", "$y$", "%{y}", "2024-01-01", "1", "1", "", "a\x00b", "a\u202eb", "x" * 100,
    "internationalisation", "internationalization", "שלום!", "القطة", "我喜欢", "👨\u200d👩\u200d👧",
]  # fmt: skip
NAMES = ["Head 1", "Head 2", "Head 3"]

# Where cell (i, j) of map m is on the screen, by the frames around the maps, and in cells of the axes.
CELL = """([m, i, j]) => {
  const plot = document.querySelector('#figure'), { xaxis, yaxis, shapes } = plot._fullLayout;
  const frames = shapes.find((shape) => shape.path.includes('Z')).path.split('Z');
  const [left, upper] = frames[m].slice(1).split(/[ HV]/).map(Number);
  const box = plot.querySelector('.nsewdrag').getBoundingClientRect(), x = left + 0.5 + j, y = upper + 0.5 + i;
  return [box.left + xaxis.d2p(x), box.top + yaxis.d2p(y), x, y];
}"""

ON_CELL = """([x, y]) => {
  const point = document.querySelector('#figure')._hoverdata?.[0];
  return point && Math.abs(point.x - x) < 0.01 && Math.abs(point.y - y) < 0.01;
}"""

# Texts that reach over the borders of the figure, or lie outside.
CUT_OFF = """() => {
  const box = document.querySelector('#figure').getBoundingClientRect();
  const inside = (text) => text.left >= box.left && text.right <= box.right
    && text.top >= box.top && text.bottom <= box.bottom;
  return [...document.querySelectorAll('#figure text')].filter((text) => text.textContent.trim())
    .filter((text) => !inside(text.getBoundingClientRect())).map((text) => text.textContent);
}"""


DRAW = """async (figure) => {
  await Plotly.newPlot('figure', figure.data, figure.layout, { displayModeBar: false });
}"""


@pytest.fixture
def draw(page, tmp_path):
    """Draws a figure at a width in px, with nothing around it."""
    path = tmp_path / "figure.html"
    body = "<body style='margin: 0; font-family: sans-serif'><div id='figure'></div>"
    path.write_text(f"<!doctype html><meta charset='utf-8'>{body}<script>{get_plotlyjs()}</script>", encoding="utf-8")
    page.goto(path.as_uri())

    def drawn(figure, width=820):
        page.set_viewport_size({"width": width, "height": 1000})
        page.evaluate(DRAW, figure)

    return drawn


def hovered(page, m, i, j):
    """The lines of the hover over a cell of map m."""
    x, y, *place = page.evaluate(CELL, [m, i, j])
    page.mouse.move(x - 1, y - 1)
    page.mouse.move(x, y)
    page.wait_for_function(ON_CELL, arg=place)
    lines = page.locator(".hoverlayer .hovertext tspan.line").all_text_contents()
    return [line.replace("\u2068", "").replace("\u2069", "") for line in lines]


def weights_of(heads, queries, keys):
    return np.random.default_rng(5).dirichlet(np.ones(keys), (heads, queries))


def test_the_hover_has_the_full_token_of_every_cell_whether_its_label_is_drawn_or_not(page, draw):
    T = len(TRAPS)
    weights = weights_of(3, T, T)
    draw(head_maps(weights, TRAPS, TRAPS, names=NAMES))
    shown = {"": "∅", "a\x00b": "a␀b", "a\u202eb": "a<U+202E>b", "x" * 100: "x" * 59 + "…"}
    for i, token in enumerate(TRAPS):
        m, j = i % 3, T - 1 - i
        said = f"query {i + 1} “{shown.get(token, token)}” looks at key {j + 1} “{shown.get(TRAPS[j], TRAPS[j])}”"
        assert hovered(page, m, i, j) == [NAMES[m], said, f"weight {np.float32(weights[m, i, j]):.4f}"]
    assert page.locator("#figure text a").count() == 0


def test_a_blocked_cell_says_which_rule_and_a_true_zero_says_zero(page, draw):
    causal, first = np.tril(np.ones((4, 4), dtype=bool)), np.arange(4) < 2
    weights = np.zeros((1, 4, 4))
    weights[0, :, 0] = 1
    rules = [("causal", causal), ("a %{x} rule", first)]
    draw(head_maps(weights, list("abcd"), list("abcd"), names=["%{x} & <b>"], allowed=causal & first, rules=rules))
    assert hovered(page, 0, 2, 1)[-1] == "weight 0.0000"
    assert hovered(page, 0, 0, 1) == ["%{x} & <b>", "query 1 “a” may not look at key 2 “b”", "blocked by causal"]
    assert hovered(page, 0, 3, 2)[-1] == "blocked by a %{x} rule"
    assert hovered(page, 0, 0, 3)[-1] == "blocked by causal and a %{x} rule"


def test_every_map_of_one_array_names_its_own_head_in_the_hover(page, draw):
    T, names = 23, ["Head 1", "Head 2", "Mean of <b>"]
    tokens = [f"t{i}" for i in range(T)]
    weights = weights_of(3, T, T)
    figure = head_maps(weights, tokens, tokens, names=names)
    assert len(figure["data"]) == 3  # all maps, the scale, the words
    draw(figure)
    for m, name in enumerate(names):
        said = hovered(page, m, 5, 9)
        assert said == [name, "query 6 “t5” looks at key 10 “t9”", f"weight {np.float32(weights[m, 5, 9]):.4f}"]


WIDE = "我" * 12  # twelve characters are never shortened, and none are wider


@pytest.mark.parametrize("width", [358, 820])
def test_no_text_of_the_maps_is_cut_off(page, draw, width):
    for tokens in (TRAPS, ["W" * 12] * 3, [WIDE] * 12, ["a"], ["w"] * 128):
        T = len(tokens)
        columns_per_row = 2 if width < 500 else None
        figure = head_maps(
            weights_of(3, T, T), tokens, tokens, names=NAMES, width=width, columns_per_row=columns_per_row
        )
        draw(figure, width)
        assert page.evaluate(CUT_OFF) == []
        assert page.locator("#figure .ytick").count() > 0


@pytest.mark.parametrize("width", [358, 820])
def test_no_text_of_the_arrows_is_cut_off(page, draw, width):
    for tokens in (TRAPS, ["the", "cat"], [WIDE] * 3, ["w"] * 40):
        for columns in (tokens, ["je", "sais", "cela"]):
            weights = weights_of(3, len(tokens), len(columns))
            draw(arrows(weights, tokens, columns, names=NAMES, width=width), width)
            assert page.evaluate(CUT_OFF) == []
            assert page.get_by_text("Head 3").count() == 1
