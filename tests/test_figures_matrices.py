"""Small matrices as figures: the right cells, the outline where it belongs, never a large matrix."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import numpy as np
import pytest
from plotly import graph_objects as go

from mha.figures.matrices import MOST_SHOWN, Matrix, Outline, describe_matrices, matrices, shown_around
from mha.figures.matrix_scale import WEIGHTS
from mha.figures.palette import THEMES

SMALL = np.random.default_rng(0).standard_normal((5, 7))
LARGE = np.random.default_rng(1).standard_normal((512, 509))


def z(figure, n=0):
    packed = figure["data"][n]["z"]
    shape = tuple(map(int, packed["shape"].split(",")))
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4").reshape(shape)


def frames(figure):
    return [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]


def test_values_go_through_unchanged_on_one_symmetric_scale():
    figure = matrices([Matrix(SMALL, "A", ("T", "d_k")), Matrix(SMALL * -3, "B", ("T", "d_k"))])
    np.testing.assert_array_equal(z(figure), SMALL.astype(np.float32))
    np.testing.assert_array_equal(
        z(figure, 2 if figure["data"][1]["type"] == "scatter" else 1), (SMALL * -3).astype(np.float32)
    )
    scale = figure["layout"]["coloraxis"]
    assert scale["cmax"] == -scale["cmin"] == 3 * np.abs(SMALL).max()
    go.Figure(figure)  # Plotly itself finds nothing to object to
    json.dumps(figure)


def test_weights_have_the_scale_of_their_maps_beside_numbers_that_are_larger():
    weights = np.full((5, 1), 0.2)
    figure = matrices([Matrix(weights, "A", ("Tk", "1"), scale=WEIGHTS), Matrix(SMALL, "v", ("Tk", "d_k"))])
    maps = {trace["name"]: trace["coloraxis"] for trace in figure["data"] if trace["type"] == "heatmap"}
    assert maps["A"] != maps["v"]
    of_weights, of_numbers = (figure["layout"][maps[name]] for name in ("A", "v"))
    assert (of_weights["cmin"], of_weights["cmax"], of_weights["colorscale"]) == (0, 1, THEMES["light"].weights)
    assert of_numbers["cmax"] == np.abs(SMALL).max()
    assert sum(trace["name"] == "scale" for trace in figure["data"]) == 2
    alone = matrices([Matrix(weights, "A", ("Tk", "1"), scale=WEIGHTS)])
    assert [trace["coloraxis"] for trace in alone["data"] if trace["name"] == "scale"] == [maps["A"]]
    go.Figure(figure)


def test_below_each_other_every_matrix_names_its_rows():
    both = [Matrix(SMALL, name, ("T", "d_k"), rows=list("abcde"), labels_rows=name == "q") for name in "qk"]
    for stacked in (False, True):
        layout = matrices(both, stacked=stacked)["layout"]
        assert [layout[f"yaxis{n}"]["showticklabels"] for n in (1, 2)] == [True, stacked]


def test_an_outline_stands_around_its_cells():
    outlines = (Outline(rows=range(2, 3)), Outline(columns=range(4, 5), dashed=True), Outline(range(2, 3), range(4, 5)))
    row, column, cell = frames(matrices([Matrix(SMALL, "A", ("Tq", "Tk"), outlines=outlines)]))
    assert (row["x0"], row["x1"], row["y0"], row["y1"]) == (-0.5, 6.5, 1.5, 2.5)
    assert (column["x0"], column["x1"], column["y0"], column["y1"]) == (3.5, 4.5, -0.5, 4.5)
    assert (cell["x0"], cell["x1"], cell["y0"], cell["y1"]) == (3.5, 4.5, 1.5, 2.5)
    assert row["line"]["dash"] == "solid" != column["line"]["dash"]
    assert {shape["xref"] for shape in (row, column, cell)} == {"x1"}


def test_of_a_large_matrix_only_a_slice_around_the_outline_is_drawn():
    outline = Outline(rows=range(300, 301), columns=range(100, 108))
    figure = matrices([Matrix(LARGE, "W", ("D", "D"), outlines=(outline,))])
    drawn = z(figure)
    assert max(drawn.shape) <= MOST_SHOWN + 1
    frame = frames(figure)[0]
    row, column = round(frame["y0"] + 0.5), round(frame["x0"] + 0.5)
    # what is inside the frame is row 300, columns 100 to 107, and nothing else
    np.testing.assert_array_equal(drawn[row, column : column + 8], LARGE[300, 100:108].astype(np.float32))
    assert frame["x1"] - frame["x0"] == 8
    assert frame["y1"] - frame["y0"] == 1
    title = figure["layout"]["annotations"][0]["text"]
    assert "488 more rows" in title
    assert "485 more columns" in title
    assert "512 × 509" in title
    assert figure["layout"]["yaxis1"]["labelalias"][f"{row:.2f}"] == "301"


def test_two_places_far_apart_are_both_shown_with_a_gap():
    outlines = (Outline(rows=range(1, 2)), Outline(rows=range(50, 51), dashed=True))
    values = np.arange(60.0)[:, None] + 1
    figure = matrices([Matrix(values, "X", ("T", "D"), outlines=outlines)])
    drawn = z(figure)
    assert np.isnan(drawn).sum() == 1
    first, second = frames(figure)
    assert drawn[round(first["y0"] + 0.5), 0] == 2
    assert drawn[round(second["y0"] + 0.5), 0] == 51
    assert "\u2026" in figure["layout"]["yaxis1"]["ticktext"]


@pytest.mark.parametrize("length", [1, 23, 24, 25, 60, 512])
@pytest.mark.parametrize("marked", [[], [0], [-1], [0, -1], [10, 12], [None]])
def test_what_is_shown_holds_what_is_marked_and_is_never_much(length, marked):
    places = [None if at is None else range(at % length, at % length + 1) for at in marked]
    shown = shown_around(length, places)
    kept = [at for at in shown if at is not None]
    assert kept == sorted(set(kept))
    assert len(kept) == min(length, MOST_SHOWN)
    assert {at.start for at in places if at} <= set(kept)
    gaps = sum(later > earlier + 1 for earlier, later in pairwise(kept))
    assert shown.count(None) == gaps


def test_blocked_cells_have_no_value_and_a_mark():
    blocked = np.zeros(SMALL.shape, dtype=bool)
    blocked[1, 3] = True
    figure = matrices([Matrix(SMALL, "s", ("Tq", "Tk"), blocked=blocked)])
    np.testing.assert_array_equal(np.isnan(z(figure)), blocked)
    fill = figure["layout"]["shapes"][0]
    assert fill["path"].startswith("M2.50 0.50")
    assert fill["path"].count("M") == 1


def test_numbers_are_written_when_there_are_few():
    figure = matrices([Matrix(np.array([[0.123, -0.00001], [-1.5, 0.0]]), "A", ("T", "D"))])
    numbers = next(trace for trace in figure["data"] if trace["name"] == "numbers")
    assert numbers["text"] == ["0.12", "0.00", "\u22121.50", "0.00"]
    assert not any(trace["name"] == "numbers" for trace in matrices([Matrix(LARGE, "W", ("D", "D"))])["data"])


def test_labels_are_literal_and_numbered():
    tokens = ["<b>x</b>", "a", "a", "\u0642\u0637\u0629", ""]
    figure = matrices([Matrix(SMALL, "q", ("T", "d_k"), rows=tokens)])
    ticks = figure["layout"]["yaxis1"]["ticktext"]
    assert ticks[:3] == ["1 &lt;b&gt;x&lt;/b&gt;", "2 a", "3 a"]
    assert ticks[4] == "5 \u2205"


def test_a_slice_keeps_its_own_numbers():
    figure = matrices([Matrix(SMALL, "W_q, head 3", ("D", "d_k"), first_column=14)])
    assert list(figure["layout"]["xaxis1"]["labelalias"].values()) == [str(n) for n in range(15, 22)]


def test_all_zero_has_a_scale_too():
    scale = matrices([Matrix(np.zeros((2, 3)), "o", ("1", "d_k"))])["layout"]["coloraxis"]
    assert (scale["cmin"], scale["cmax"]) == (-1, 1)


@pytest.mark.parametrize(("width", "stacked"), [(860, False), (860, True), (340, True)])
def test_everything_stays_inside_the_figure(width, stacked):
    shown = [Matrix(LARGE[:, :24], name, ("D", "d_k"), rows=["word" * 4] * 512) for name in ("W_q", "W_k", "W_v")]
    layout = matrices(shown, width=width, stacked=stacked)["layout"]
    domains = [layout[f"{axis}axis{n}"]["domain"] for axis in "xy" for n in (1, 2, 3)]
    assert all(0 <= low < high <= 1 for low, high in domains)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"values": np.zeros((0, 3))}, "both at least 1"),
        ({"values": np.zeros(3)}, "both at least 1"),
        ({"rows": ["a"]}, "expected 5 row labels"),
        ({"outlines": (Outline(rows=range(5, 6)),)}, "within 5 rows"),
        ({"blocked": np.zeros((2, 2), dtype=bool)}, "expected blocked of shape"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        matrices([Matrix(**{"values": SMALL, "name": "A", "axes": ("T", "D"), **wrong})])


def test_the_words_for_people_who_do_not_see_it():
    said = describe_matrices([Matrix(SMALL, "q", ("T", "d_k"))])
    assert said == "1 heat map: q, T \u00d7 d_k = 5 \u00d7 7."
