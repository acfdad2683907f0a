"""Bars and boxes: the numbers in them, their labels, and what Plotly itself says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha.figures import position_bars, spread_boxes
from mha.figures.palette import THEMES

TOKENS = ("the", "<b>", "the", "القطة", "%{x}", "x" * 30, "")
RED, BLUE = "#aa0000", "#0000aa"


def drawn(parts: np.ndarray, **options: Any) -> dict[str, Any]:
    names, colours = ["Head 1", "Head 2"][: len(parts)], [RED, BLUE][: len(parts)]
    made = position_bars(parts, TOKENS, names=names, colours=colours, unit="change", **options)
    go.Figure(made)  # raises for anything Plotly does not know
    return made


def test_bars_hold_the_numbers_part_by_part() -> None:
    parts = np.random.default_rng(0).standard_normal((2, 7))
    first, second = drawn(parts)["data"]
    assert (first["y"], second["y"]) == (parts[0].tolist(), parts[1].tolist())
    assert first["x"] == second["x"] == list(range(7))
    assert (first["marker"]["color"], second["marker"]["color"]) == (RED, BLUE)
    assert drawn(parts)["layout"]["barmode"] == "relative"  # so that they add up


def test_what_is_not_defined_has_no_bar() -> None:
    parts = np.array([[1.0, np.nan, 0.0, -2.0, 3.0, 4.0, 5.0]])
    assert drawn(parts)["data"][0]["y"] == [1.0, None, 0.0, -2.0, 3.0, 4.0, 5.0]


def test_labels_keep_places_apart_and_are_literal() -> None:
    made = drawn(np.ones((1, 7)))
    axis = made["layout"]["xaxis"]
    assert axis["tickvals"] == [0, 1, 2, 3, 4, 5, 6]
    assert axis["ticktext"][0] == axis["ticktext"][2] == "the"
    assert axis["ticktext"][1] == "&lt;b&gt;"
    hover = made["data"][0]["hovertext"]
    assert hover[0] == "1 “the”"
    assert hover[2] == "3 “the”"
    assert "<b>" not in "".join(hover)
    assert all(hover)


def test_many_labels_are_thinned_out_and_the_hover_has_all() -> None:
    tokens = [f"word{i}" for i in range(128)]
    made = position_bars(np.ones((1, 128)), tokens, names=["a"], colours=[RED], unit="change")
    shown = made["layout"]["xaxis"]["tickvals"]
    assert 10 < len(shown) < 128
    assert made["layout"]["xaxis"]["ticktext"] == [tokens[i] for i in shown]
    assert len(made["data"][0]["hovertext"]) == 128


def test_a_name_cannot_become_a_template() -> None:
    made = position_bars(np.ones((1, 1)), ["a"], names=["%{y} <i>"], colours=[RED], unit="%{x} <u>")
    template = made["data"][0]["hovertemplate"]
    assert template.count("%{") == 2  # the token and the number
    assert "<i>" not in template
    assert "<u>" not in template
    assert "<u>" not in made["layout"]["yaxis"]["title"]["text"]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [358, 820])
def test_every_size_and_theme_is_a_figure(theme: str, width: int) -> None:
    made = drawn(np.ones((2, 7)), theme=theme, width=width)
    margin = made["layout"]["margin"]
    assert margin["l"] + margin["r"] < width
    assert made["layout"]["height"] > 190
    boxes = spread_boxes(np.ones((3, 2)), ["1", "2"], colours=[RED, BLUE], unit="change", theme=theme, width=width)
    go.Figure(boxes)


def test_boxes_are_quantiles_of_the_draws() -> None:
    draws = np.random.default_rng(1).random((200, 3))
    draws[:7, 1] = np.nan
    made = spread_boxes(draws, ["a", "b", "c"], colours=[RED] * 3, unit="change", marked=[0.5, np.nan, 0.25])
    go.Figure(made)
    for n, box in enumerate(made["data"][:3]):
        known = sorted(value for value in draws[:, n].tolist() if not np.isnan(value))

        def quantile(share: float, known: list[float] = known) -> float:
            """By linear interpolation between the sorted draws."""
            place = share * (len(known) - 1)
            low = int(place)
            high = min(low + 1, len(known) - 1)
            return known[low] + (place - low) * (known[high] - known[low])

        found = [box[name][0] for name in ("lowerfence", "q1", "median", "q3", "upperfence")]
        assert found == pytest.approx([quantile(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)], abs=1e-12)
        assert box["x"] == [n]
    assert made["data"][3]["y"] == [0.5, None, 0.25]


def test_what_is_never_defined_has_no_box() -> None:
    draws = np.array([[1.0, np.nan], [2.0, np.nan]])
    made = spread_boxes(draws, ["a", "b"], colours=[RED, BLUE], unit="change")
    assert [box["x"] for box in made["data"]] == [[0]]


def test_heads_are_named_in_the_hover_and_numbered_on_the_axis() -> None:
    options: dict[str, Any] = {"names": ["Head 1", "Head 2"], "colours": [RED, BLUE], "unit": "change", "title": "head"}
    made = spread_boxes(np.ones((2, 2)), ["1", "2"], marked=[1, 1], marked_name="seed 3", **options)
    assert [box["name"] for box in made["data"][:2]] == ["Head 1", "Head 2"]
    assert made["layout"]["xaxis"]["ticktext"] == ["1", "2"]
    assert made["data"][2]["hovertext"] == ["Head 1", "Head 2"]
    assert made["data"][2]["name"] == "seed 3"


@given(st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=2, max_size=6))
def test_the_axis_holds_every_bar_and_0_and_has_few_round_ticks(values: list[float]) -> None:
    parts = np.array([values, values[::-1]])
    made = position_bars(parts, "x" * len(values), names=["a", "b"], colours=[RED, BLUE], unit="u")
    go.Figure(made)
    axis = made["layout"]["yaxis"]
    low, high = axis["range"]
    tops = [sum(v for v in column if v > 0) for column in parts.T]
    depths = [sum(v for v in column if v < 0) for column in parts.T]
    assert low <= min(0, *depths) <= max(0, *tops) <= high
    assert low < high
    ticks = axis["tickvals"]
    assert 2 <= len(ticks) <= 8
    assert 0 in ticks
    assert all(low <= tick <= high for tick in ticks)
    step = f"{ticks[1] - ticks[0]:.3e}"
    assert step[:5] in {"1.000", "2.000", "5.000"}
    said = [float(text.replace("\u2212", "-")) for text in axis["ticktext"]]
    assert said == pytest.approx(ticks, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: position_bars(np.ones(3), "abc", names=["a"], colours=[RED], unit="x"), r"got \(3,\)"),
        (
            lambda: position_bars(np.ones((2, 3)), "abc", names=["a"], colours=[RED], unit="x"),
            r"M = 1 names.*T = 3 tokens, got \(2, 3\)",
        ),
        (lambda: position_bars(np.ones((1, 3)), "abc", names=["a"], colours=[], unit="x"), "got .* and 0 colours"),
        (lambda: position_bars(np.ones((1, 0)), "", names=["a"], colours=[RED], unit="x"), r"got \(1, 0\)"),
        (lambda: spread_boxes(np.ones((2, 3)), "ab", colours=[RED] * 2, unit="x"), r"N = 2 labels.*got \(2, 3\)"),
        (lambda: spread_boxes(np.ones((0, 2)), "ab", colours=[RED] * 2, unit="x"), r"got \(0, 2\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
