"""The arrows show the largest weights, nothing else, and the caption says what is left out."""

from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest

from mha.figures import HEAD_COLOURS, arrows, arrows_caption
from mha.figures.ribbons import arc, drop, thickness

H, T, TK = 3, 5, 7
TOKENS = ["the", "cat", "the", "<s>", "mat"]
KEYS = ["je", "sais", "cela", "%{x}", "", "1", "2024-01-01"]
NAMES = ["Head 1", "Head 2", "Head 3"]


def some_weights(keys=T, queries=T, heads=H):
    return np.random.default_rng(11).dirichlet(np.ones(keys), (heads, queries))


def drawn(figure):
    """Every arrow as (head, query, key) from 0, with its weight, as the hover says it."""
    said = re.compile(r"<b>Head (\d+)</b><br>query (\d+) “.*”? looks at key (\d+) “.*”<br>weight (\d\.\d{4})", re.S)
    found = [match.groups() for match in map(said.fullmatch, figure["data"][0]["text"]) if match]
    assert len(found) == len(figure["data"][0]["text"])
    return {(int(h) - 1, int(i) - 1, int(j) - 1): float(w) for h, i, j, w in found}


def outlines(figure):
    return [
        path for shape in figure["layout"]["shapes"] if "fillrule" in shape for path in shape["path"].split("M")[1:]
    ]


def texts_in(figure):
    return [unescape(re.sub("<[^>]*>", "", text)) for text in figure["data"][1]["text"]]


@pytest.mark.parametrize("top", [1, 2, T, T + 1])
def test_each_query_has_its_largest_weights(top):
    weights = some_weights()
    shown = drawn(arrows(weights, TOKENS, TOKENS, names=NAMES, top=top))
    for h, i in np.ndindex(H, T):
        ranked = sorted(range(T), key=lambda j: -weights[h, i, j])[:top]
        assert {j for hh, ii, j in shown if (hh, ii) == (h, i)} == set(ranked)
    assert all(abs(weights[cell] - weight) < 0.5e-4 for cell, weight in shown.items())  # four digits


def test_of_equal_weights_the_first_keys_are_drawn():
    shown = drawn(arrows(np.full((1, 4, 4), 0.25), list("abcd"), list("abcd"), names=["Head 1"], top=2))
    assert set(shown) == {(0, i, j) for i in range(4) for j in (0, 1)}


def test_a_weight_of_zero_is_never_drawn():
    weights = np.zeros((1, 3, 3))
    weights[0, 1, 2] = 1.0
    assert set(drawn(arrows(weights, list("abc"), list("abc"), names=["Head 1"]))) == {(0, 1, 2)}
    nothing = arrows(np.zeros((1, 3, 3)), list("abc"), list("abc"), names=["Head 1"])  # only rows with no key left
    assert drawn(nothing) == {}
    assert outlines(nothing) == []


def test_every_arrow_has_one_outline_in_its_heads_colour():
    figure = arrows(some_weights(), TOKENS, TOKENS, names=NAMES, top=2)
    shapes = [shape for shape in figure["layout"]["shapes"] if "fillrule" in shape]
    counts = {colour: sum(s["path"].count("M") for s in shapes if s["fillcolor"] == colour) for colour in HEAD_COLOURS}
    assert counts == {colour: 2 * T if h < H else 0 for h, colour in enumerate(HEAD_COLOURS)}
    # a query's first choice in full colour, the other paler
    assert sum(s["path"].count("M") for s in shapes if s["opacity"] == 1) == H * T


def test_one_query_alone():
    figure = arrows(some_weights(), TOKENS, TOKENS, names=NAMES, query=3, top=2)
    assert {i for _, i, _ in drawn(figure)} == {3}
    assert len(drawn(figure)) == H * 2
    assert figure["data"][1]["text"].count("<b>&lt;s&gt;</b>") == H


def test_arrows_to_the_right_pass_above_the_tokens_and_to_the_left_below():
    for i, j, above in ((0, 4, True), (4, 0, False), (2, 2, True)):
        weights = np.zeros((1, T, T))
        weights[0, i, j] = 1
        figure = arrows(weights, TOKENS, TOKENS, names=["Head 1"])
        (row,) = {y for y, text in zip(figure["data"][1]["y"], texts_in(figure), strict=True) if text == "cat"}
        assert (figure["data"][0]["y"][0] < row) is above  # y grows downwards
        heights = [float(y) for y in re.findall(r"-?[\d.]+ (-?[\d.]+)", outlines(figure)[0])]
        assert all(y < row for y in heights) if above else all(y > row for y in heights)


def test_an_arc_to_the_left_is_one_to_the_right_half_a_turn_later():
    def points(path):
        return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]

    right, left = points(arc(0, 40, 0, 20, 3, 1)), points(arc(0, -40, 0, 20, 3, 1))
    # so both turn the same way round, and where they overlap in one path nothing is cut out
    assert left == [(-x, -y) for x, y in right]


@pytest.mark.parametrize("outline", [arc(0, 40, 0, 20, 4, 1), drop(0, 40, 0, 60, 4, 1)])
def test_an_arrow_points_at_what_is_looked_at(outline):
    lines = re.findall(r"L(-?[\d.]+) (-?[\d.]+)", outline)
    tip = (float(lines[1][0]), float(lines[1][1]))
    assert tip == ((40, 0) if outline.count(" 60.0") == 0 else (40, 60))


def test_thickness_grows_evenly_with_the_weight():
    steps = np.diff([thickness(weight) for weight in (0, 0.25, 0.5, 0.75, 1)])
    np.testing.assert_allclose(steps, steps[0])
    assert thickness(0.01) > 0.5  # still seen


def test_c41_cross_attention_has_queries_above_and_keys_below():
    weights = some_weights(keys=TK)
    figure = arrows(weights, TOKENS, KEYS, names=NAMES, top=1)
    assert set(drawn(figure)) == {(h, i, int(weights[h, i].argmax())) for h in range(H) for i in range(T)}
    at = dict(zip(texts_in(figure), figure["data"][1]["y"], strict=True))
    assert at["cat"] < at["sais"]
    assert texts_in(figure).count("∅") == H
    assert "upper row of each head holds the queries" in arrows_caption(weights, TOKENS, KEYS, names=NAMES)


def test_tokens_and_names_are_shown_literally():
    figure = arrows(some_weights(), TOKENS, TOKENS, names=NAMES)
    assert [text for text in texts_in(figure) if not text.startswith("■")] == TOKENS * H
    assert [text for text in texts_in(figure) if text.startswith("■")] == [f"■ {name}" for name in NAMES]
    assert "&lt;s&gt;" in "".join(figure["data"][0]["text"])
    assert "<s>" not in "".join(figure["data"][0]["text"])


def test_tokens_that_do_not_fit_side_by_side_stand_upright_above_and_below():
    long = [f"international{i}" for i in range(20)]
    figure = arrows(some_weights(20, 20, 1), long, long, names=["Head 1"])
    assert texts_in(figure) == ["■ Head 1"]
    for axis in ("xaxis", "xaxis2"):
        assert figure["layout"][axis]["tickangle"] == -90
        assert figure["layout"][axis]["ticktext"] == ["internation…"] * 20


def test_labels_of_what_is_looked_at_go_first_when_room_is_scarce():
    tokens = [f"t{i}" for i in range(120)]
    weights = np.zeros((1, 120, 120))
    weights[0, 60, [7, 81]] = 0.5
    figure = arrows(weights, tokens, tokens, names=["Head 1"], query=60)
    shown = figure["layout"]["xaxis"]["ticktext"]
    assert {"t7", "t81", "<b>t60</b>"} <= set(shown)
    assert len(shown) < 120
    px = 820 * np.diff(np.sort(figure["layout"]["xaxis"]["tickvals"]))
    assert px.min() > 11  # the labels' font size


def test_with_more_than_forty_tokens_one_query_is_drawn_and_the_caption_says_so():
    tokens = [f"t{i}" for i in range(41)]
    weights = some_weights(41, 41, 2)
    names = NAMES[:2]
    assert {i for _, i, _ in drawn(arrows(weights, tokens, tokens, names=names))} == {0}
    said = arrows_caption(weights, tokens, tokens, names=names)
    assert "of token 1, “t0”, are drawn" in said
    assert "With more than 40 tokens" in said
    assert {i for _, i, _ in drawn(arrows(weights[:, :40, :40], tokens[:40], tokens[:40], names=names))} == set(
        range(40)
    )


def test_the_caption_counts_from_one_and_names_the_number_drawn():
    weights = some_weights()
    assert "Only the largest weight of each token is drawn." in arrows_caption(
        weights, TOKENS, TOKENS, names=NAMES, top=1
    )
    said = arrows_caption(weights, TOKENS, TOKENS, names=NAMES, top=2, query=3, theme="dark")
    assert "At most the 2 largest weights of token 4, “<s>”, are drawn." in said


@pytest.mark.parametrize(("tokens", "heads"), [(1, 1), (3, 2), (12, 16), (32, 8), (40, 16), (128, 16)])
@pytest.mark.parametrize("width", [358, 820])
def test_plotly_takes_any_size(tokens, heads, width):
    words = [f"t{i}" for i in range(tokens)]
    names = [f"Head {h + 1}" for h in range(heads)]
    figure = arrows(some_weights(tokens, tokens, heads), words, words, names=names, width=width)
    go.Figure(figure)  # refuses any property that does not exist
    json.dumps(figure, allow_nan=False)
    low, high = figure["layout"]["xaxis"]["range"]
    assert all(low <= x <= high for trace in figure["data"] for x in trace["x"])  # Plotly drops texts outside
    bottom, top = figure["layout"]["yaxis"]["range"]
    assert all(top <= y <= bottom for trace in figure["data"] for y in trace["y"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": TOKENS[:4]}, r"\(H, Tq, Tk\) = \(3, 4, 5\), all at least 1, got \(3, 5, 5\)"),
        ({"query": 5}, "query from 0 to 4, got 5"),
        ({"query": -1}, "query from 0 to 4, got -1"),
        ({"top": 0}, "top to be at least 1, got 0"),
        ({"theme": "sepia"}, "sepia"),
    ],
)
def test_what_does_not_fit_is_refused_in_names_and_numbers(change, message):
    arguments = {"rows": TOKENS, "columns": TOKENS, "names": NAMES, **change}
    with pytest.raises(ValueError, match=message):
        arrows(some_weights(), **arguments)
