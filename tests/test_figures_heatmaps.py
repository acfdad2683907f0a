"""The maps say what the arrays say: right cell, right order, right label, and a reason for every blocked cell."""

from __future__ import annotations

import base64
import json
import re
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest

from mha import Weights, attend, embed, masks
from mha.config import MAX_HEADS, MAX_TOKENS
from mha.figures import (
    HEAD_COLOURS,
    NUMBERS_RULE,
    Panel,
    describe_maps,
    full_label,
    head_maps,
    numbers_fit,
    stacked_maps,
)
from mha.figures.palette import THEMES
from mha.figures.scale import packed

M, TQ, TK = 3, 5, 7  # all different, so that a swapped axis cannot pass by luck
ROWS = ["the", "cat", "the", "mat", "<s>"]
COLUMNS = ["1", "2", "5", "2024-01-01", "", "x" * 100, "the"]
NAMES = ["Head 1", "Head 2", "Head 3"]


def some_weights(maps=M, queries=TQ, keys=TK):
    return np.random.default_rng(7).dirichlet(np.ones(keys), (maps, queries))


def figure(values=None, rows=ROWS, columns=COLUMNS, names=NAMES, **options):
    return head_maps(some_weights() if values is None else values, rows, columns, names=names, **options)


def cells(trace):
    """The numbers of a trace as Plotly decodes them."""
    z = trace["z"]
    assert z["dtype"] == "f4"
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape([int(n) for n in z["shape"].split(",")])


def boxes(shown):
    """Left, upper, right and lower edge of every map, from the frames around them."""
    frames = next(shape["path"] for shape in shown["layout"]["shapes"] if "Z" in shape["path"])
    return [tuple(map(float, found)) for found in re.findall(r"M(\S+) (\S+?)H(\S+?)V(\S+?)H", frames)]


def cut(shown, traces):
    """One trace per map, also where several maps stand in one: cut out along the frames, in their order."""
    pieces = []
    for left, upper, right, lower in boxes(shown):
        for trace in traces:
            z = cells(trace)
            column, row = round(left + 0.5 - trace["x0"], 6), round(upper + 0.5 - trace["y0"], 6)
            if 0 <= column < z.shape[1] and 0 <= row < z.shape[0]:
                assert column == int(column)
                assert row == int(row)
                part = z[int(row) :, int(column) :][: round(lower - upper), : round(right - left)]
                pieces.append({**trace, "z": packed(part), "x0": left + 0.5, "y0": upper + 0.5})
    return pieces


def maps_of(shown):
    return cut(shown, [trace for trace in shown["data"] if trace.get("coloraxis") and trace["name"] != "scale"])


def blocked_of(shown):
    return cut(shown, [trace for trace in shown["data"] if trace["type"] == "heatmap" and "coloraxis" not in trace])


def words_of(shown):
    return shown["data"][-1]


def texts_in(shown):
    return [unescape(re.sub("<[^>]*>", "", text)) for text in words_of(shown)["text"]]


def hover(shown, m, i, j):
    """What the hover of cell (i, j) of map m says, filled in as Plotly does: the last trace with a value there."""
    here = [t for t in shown["data"] if t["type"] == "heatmap" and t["name"] == NAMES[m]]
    trace = [t for t in here if not np.isnan(cells(t)[i, j])][-1]
    layout = shown["layout"]
    filled = {
        "x": layout["xaxis"]["labelalias"][f"{trace['x0'] + j * trace['dx']:.2f}"],
        "y": layout["yaxis"]["labelalias"][f"{trace['y0'] + i * trace['dy']:.2f}"],
        "z:.4f": f"{cells(trace)[i, j]:.4f}",
        "text": trace["text"][i][j] if "text" in trace else "",
    }
    said = re.sub(r"%\{(.*?)\}", lambda found: filled[found[1]], trace["hovertemplate"])
    return unescape(re.sub("<(b|/b|extra|/extra)>", "", said).replace("<br>", "\n"))


def ticks(axis):
    """Position in cells and text of each tick, without the fraction of a pixel they stand off."""
    return [(round(at, 2), text) for at, text in zip(axis["tickvals"], axis["ticktext"], strict=True)]


def test_every_value_stands_in_its_cell_and_blocked_cells_hold_none():
    weights = some_weights()
    allowed = np.random.default_rng(1).random((M, TQ, TK)) < 0.6
    allowed[..., 0] = True
    shown = figure(weights, allowed=allowed)
    for m, trace in enumerate(maps_of(shown)):
        expected = np.where(allowed[m], weights[m], np.nan).astype(np.float32)
        np.testing.assert_array_equal(cells(trace), expected)
    for m, trace in enumerate(blocked_of(shown)):
        np.testing.assert_array_equal(~np.isnan(cells(trace)), ~allowed[m])


def test_maps_do_not_touch_and_lie_row_by_row():
    shown = figure(columns_per_row=2)
    corners = [(trace["x0"], trace["y0"]) for trace in maps_of(shown)]
    (x0, y0), (x1, y1), (x2, y2) = corners
    assert (x0, y0) == (0, 0)
    assert y1 == y0
    assert x1 > TK
    assert x2 == x0
    assert y2 > TQ
    assert all(trace["dx"] == trace["dy"] == 1 for trace in maps_of(shown))


def test_c35_the_first_query_is_at_the_top():
    lower, upper = figure()["layout"]["yaxis"]["range"]
    assert upper < 0 < TQ - 1 < lower  # Plotly draws a range from its first end, below, to its last
    left, right = figure()["layout"]["xaxis"]["range"]
    assert left < 0 < right


def test_c33_repeated_tokens_keep_their_own_rows_and_columns():
    words = ["the", "cat", "the", "mat"]
    values = np.arange(16.0).reshape(1, 4, 4) / 15
    shown = figure(values, words, words, ["Head 1"])
    np.testing.assert_array_equal(cells(maps_of(shown)[0]), values[0].astype(np.float32))
    for axis in ("xaxis", "yaxis"):
        assert ticks(shown["layout"][axis]) == list(enumerate(words))


def test_c39_labels_that_shorten_alike_keep_three_rows_and_differ_in_the_hover():
    words = ["internationalisation", "internationalization", "internationale"]
    shown = figure(some_weights(3, 3, 3), words, words)
    assert [text for _, text in ticks(shown["layout"]["yaxis"])][:3] == ["internation…"] * 3
    assert cells(maps_of(shown)[0]).shape == (3, 3)
    assert [hover(shown, 0, i, i).split("\n")[1] for i in range(3)] == [
        f"query {i + 1} “{word}” looks at key {i + 1} “{word}”" for i, word in enumerate(words)
    ]


def test_c41_cross_attention_has_each_texts_own_axis():
    queries, keys = ["I", "know"], ["je", "sais", "cela"]
    weights = attend(
        embed(queries, 8, 0)[None], embed(keys, 8, 0)[None], embed(keys, 8, 0)[None], Weights.draw(8, 1, 0)
    )
    shown = figure(weights.weights[0], queries, keys, ["Head 1"])
    assert cells(maps_of(shown)[0]).shape == (2, 3)
    np.testing.assert_allclose(cells(maps_of(shown)[0]).sum(axis=1), 1, rtol=1e-6)
    assert [text for _, text in ticks(shown["layout"]["yaxis"])] == queries
    assert [text for _, text in ticks(shown["layout"]["xaxis"])] == keys


def test_c44_equal_maps_of_one_token_are_all_there():
    shown = figure(np.ones((4, 1, 1)), ["a"], ["a"], ["Head 1", "Head 2", "Head 3", "Head 4"])
    assert [cells(trace).tolist() for trace in maps_of(shown)] == [[[1.0]]] * 4
    assert len({(trace["x0"], trace["y0"]) for trace in maps_of(shown)}) == 4


def test_c57_right_to_left_words_stand_in_typing_order():
    words = ["שלום", "עולם", "123", "abc"]
    shown = figure(some_weights(1, 4, 4), words, words, ["Head 1"])
    assert [text.strip("\u2068\u2069") for _, text in ticks(shown["layout"]["xaxis"])] == words


def test_c59_a_token_of_html_signs_is_shown_literally():
    shown = figure(some_weights(1, 1, 1), ["a<b<c"], ["a<b<c"], ["Head 1"])
    assert shown["layout"]["xaxis"]["ticktext"] == ["a&lt;b&lt;c"]


def test_the_hover_names_head_positions_full_tokens_and_the_weight():
    weights = some_weights()
    said = hover(figure(weights), 1, 4, 5)
    assert said == f"Head 2\nquery 5 “<s>” looks at key 6 “{'x' * 59}…”\nweight {np.float32(weights[1, 4, 5]):.4f}"
    assert "key 5 “∅”" in hover(figure(), 2, 0, 4)


def test_ticks_are_too_far_from_their_cells_to_stand_in_for_the_full_label():
    # Plotly's hover takes a tick's text within 1/10,000 of the axis; 0.5 px of an axis of 1,000 px is 1/2,000
    for axis in (figure()["layout"]["xaxis"], figure(rows=ROWS)["layout"]["yaxis"]):
        length = abs(axis["range"][1] - axis["range"][0])
        off = [min(abs(at - float(alias)) for alias in axis["labelalias"]) for at in axis["tickvals"]]
        assert all(length / 10_000 < gap < length / 2_000 for gap in off)


@pytest.mark.parametrize("T", [1, 2, 31, 32, 67, MAX_TOKENS])
@pytest.mark.parametrize("maps", [1, 3, 8, MAX_HEADS + 1])
def test_every_cell_has_a_label_for_the_hover_and_ticks_do_not_overlap(T, maps):
    tokens = [f"token{i}" for i in range(T)]
    shown = figure(some_weights(maps, T, T), tokens, tokens, [f"Head {m}" for m in range(maps)])
    layout = shown["layout"]
    for axis, start in (("xaxis", "x0"), ("yaxis", "y0")):
        known = layout[axis]["labelalias"]
        for trace in maps_of(shown):
            assert [known[f"{trace[start] + i:.2f}"] for i in range(T)] == [f"{i + 1} “token{i}”" for i in range(T)]
    margin = layout["margin"]
    px = {
        "xaxis": (820 - margin["l"] - margin["r"]) / (layout["xaxis"]["range"][1] - layout["xaxis"]["range"][0]),
        "yaxis": (layout["height"] - margin["t"] - margin["b"])
        / (layout["yaxis"]["range"][0] - layout["yaxis"]["range"][1]),
    }
    for axis, size in px.items():
        gaps = np.diff(layout[axis]["tickvals"]) * size
        assert (gaps >= 11).all()  # the labels' font size
    assert px["xaxis"] == pytest.approx(px["yaxis"], rel=0.02)  # square cells, so square maps


def test_c37_a_blocked_cell_looks_and_reads_unlike_a_zero_and_an_empty_row_says_so():
    causal = masks.causal(TQ, TQ).allowed[0]
    weights = np.tril(some_weights(M, TQ, TQ))
    weights[0, 4, 0] = 0.0
    allowed = np.broadcast_to(causal, weights.shape).copy()
    allowed[2, 1] = False
    shown = figure(weights, ROWS, ROWS, allowed=allowed, rules=[("causal", causal)])
    assert "looks at" in hover(shown, 0, 4, 0)
    assert "weight 0.0000" in hover(shown, 0, 4, 0)
    assert hover(shown, 0, 0, 4) == "Head 1\nquery 1 “the” may not look at key 5 “<s>”\nblocked by causal"
    # 1 of row 2 is blocked by causal too; 0 and 1 only by what was said of this row, which has no name here
    assert hover(shown, 2, 1, 4).endswith("\nno key left: blocked by causal")
    assert hover(shown, 2, 1, 0).endswith("\nno key left")
    assert texts_in(shown).count("no key left") == 1
    grey = {colour for _, colour in blocked_of(shown)[0]["colorscale"]}
    assert grey == {THEMES["light"].blocked}
    assert not grey & {colour for _, colour in shown["layout"]["coloraxis"]["colorscale"]}


def test_the_hover_of_a_blocked_cell_names_just_the_rules_that_block_it():
    H = M
    mask = masks.combine(masks.causal(TQ, TK), masks.valid_lens([4], TK), masks.halves(H, TK), shape=(1, H, TQ, TK))
    weights = some_weights() * mask.allowed[0]
    shown = figure(weights, allowed=mask.allowed[0], rules=[(rule.name, rule.allowed[0]) for rule in mask.rules])
    empty = masks.empty_rows(mask.allowed[0])
    for m, i, j in np.ndindex(H, TQ, TK):
        names = mask.blocked_by(0, m, i, j)  # counted cell by cell, elsewhere
        last = hover(shown, m, i, j).split("\n")[-1]
        if names:
            assert last == ("no key left: " if empty[m, i] else "") + f"blocked by {' and '.join(names)}"
        else:
            assert last == f"weight {np.float32(weights[m, i, j]):.4f}"


def test_blocked_cells_carry_a_mark_that_is_not_a_colour():
    def strokes(shown):
        return sum(shape["path"].count("L") for shape in shown["layout"]["shapes"])

    T = 30
    tokens = [str(i) for i in range(T)]
    allowed = masks.causal(T, T).allowed[0]
    assert strokes(figure(some_weights(3, T, T), tokens, tokens)) == 0
    # cells of about 7 px: one line along each diagonal i + j that a blocked cell j > i lies on, 1 to 2T - 3
    assert strokes(figure(some_weights(3, T, T), tokens, tokens, allowed=allowed)) == 3 * (2 * T - 3)


@pytest.mark.parametrize("T", [4, 11, 23, 61])
def test_the_lines_cover_blocked_cells_and_no_others(T):
    tokens = [str(i) for i in range(T)]
    allowed = np.random.default_rng(T).random((M, T, T)) < 0.5
    allowed[..., 0] = True
    shown = figure(some_weights(M, T, T), tokens, tokens, allowed=allowed)
    lines = [shape["path"] for shape in shown["layout"]["shapes"] if "L" in shape["path"]]
    ends = np.array(re.findall(r"M(\S+) (\S+?)L(\S+) (\S+?)(?=M|$)", lines[0]), dtype=float).reshape(-1, 2, 2)
    corners = np.array([(trace["x0"], trace["y0"]) for trace in maps_of(shown)])
    touched = np.zeros_like(allowed)
    for start, end in ends:
        crossed = max(1, round(abs(end[0] - start[0])))  # cells; a line in one large cell is shorter than it
        for k in range(crossed):
            point = start + (k + 0.5) / crossed * (end - start)
            m = np.flatnonzero((corners <= point + 0.5).all(axis=1))[-1]
            j, i = np.rint(point - corners[m]).astype(int)
            touched[m, i, j] = True
    assert not (touched & allowed).any()
    # above 4 px a cell, every blocked cell has a line; smaller ones share them
    assert touched.sum() == (~allowed).sum() if T < 30 else touched.any()


def test_a_row_without_a_key_is_struck_out_where_the_words_do_not_fit():
    T = 61
    tokens = [str(i) for i in range(T)]
    allowed = np.ones((8, T, T), dtype=bool)
    allowed[5, 3:5] = False  # neighbours share a line: one in each would be a dark block
    names = [f"Head {m + 1}" for m in range(8)]
    shown = figure(some_weights(8, T, T), tokens, tokens, names, allowed=allowed)
    assert "no key left" not in texts_in(shown)
    strike = shown["layout"]["shapes"][-1]["path"]
    assert strike.count("M") == 1
    trace = maps_of(shown)[5]
    assert strike == f"M{trace['x0'] - 0.5:.2f} {trace['y0'] + 3.5:.2f}H{trace['x0'] + T - 0.5:.2f}"


def test_many_rows_with_no_key_left_say_so_once_in_their_middle():
    T = 60
    tokens = [str(i) for i in range(T)]
    allowed = np.ones((M, T, T), dtype=bool)
    allowed[1, 20:50] = allowed[2, 7] = False
    shown = figure(some_weights(M, T, T), tokens, tokens, allowed=allowed)
    words = next(trace for trace in shown["data"] if trace["name"] == "words")
    [at] = [i for i, text in enumerate(words["text"]) if text == "no key left"]
    assert words["y"][at] == maps_of(shown)[1]["y0"] + (20 + 49) / 2
    struck = shown["layout"]["shapes"][-1]["path"]
    assert re.findall("[MLZ]", struck) == ["M"]  # row 8 of the last map, too low for words
    assert f" {maps_of(shown)[2]['y0'] + 7:.2f}H" in struck


@pytest.mark.parametrize(("width", "scales"), [(340, 3), (820, 2)])
def test_on_a_phone_every_panel_has_its_scale_elsewhere_each_scale_stands_once(width, scales):
    panels = [
        Panel("Before", some_weights()),
        Panel("After", some_weights()),
        Panel("By", some_weights(), "difference"),
    ]
    shown = stacked_maps(panels, ROWS, COLUMNS, names=NAMES, width=width, columns_per_row=2)
    assert sum(trace["name"] == "scale" for trace in shown["data"]) == scales


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    values = np.array([[[-0.001, 0.004], [-0.5, 0.25]]])
    shown = head_maps(values, ["a", "b"], ["c", "d"], names=["Head 1"], kind="difference", show_values=True)
    assert {"0.00", "\u22120.50", "+0.25"} <= set(texts_in(shown))
    assert not {"+0.00", "\u22120.00"} & set(texts_in(shown))


@pytest.mark.parametrize("heads", [1, 2, 3, 8])
@pytest.mark.parametrize("width", [340, 820])
def test_no_word_stands_outside_where_plotly_would_drop_it(width, heads):
    for T in range(1, 40):
        tokens = [str(i) for i in range(T)]
        values = some_weights(heads, T, T)
        panels = [Panel("Before", values), Panel("After", values), Panel("By", values, "difference")]
        shown = stacked_maps(panels, tokens, tokens, names=[f"Head {m + 1}" for m in range(heads)], width=width)
        words = next(trace for trace in shown["data"] if trace["name"] == "words")
        for axis in "xy":
            low, high = sorted(shown["layout"][f"{axis}axis"]["range"])
            assert low <= min(words[axis])
            assert max(words[axis]) <= high


def test_weights_have_the_same_scale_whatever_they_are():
    for values in (some_weights(), some_weights() / 1000):
        axis = figure(values)["layout"]["coloraxis"]
        assert (axis["cmin"], axis["cmax"]) == (0, 1)


@pytest.mark.parametrize("theme", THEMES)
def test_scores_have_the_even_colours_of_numbers_and_differences_those_of_weights(theme):
    for kind, colours in (("scores", THEMES[theme].numbers), ("difference", THEMES[theme].difference)):
        assert figure(kind=kind, theme=theme)["layout"]["coloraxis"]["colorscale"] == colours


@pytest.mark.parametrize("kind", ["difference", "scores"])
def test_differences_and_scores_are_centred_with_one_bound_for_all_maps(kind):
    values = some_weights() - 0.5
    values[2, 4, 6] = -3.0
    values[0, 0, 0] = 9.0
    allowed = np.ones(values.shape, dtype=bool)
    allowed[0, 0, 0] = False
    free, given = figure(values, kind=kind, allowed=allowed), figure(values, kind=kind, bound=0.25)
    # the largest allowed one: the blocked 9 does not count
    assert [free["layout"]["coloraxis"][end] for end in ("cmin", "cmax")] == [-3, 3]
    assert [given["layout"]["coloraxis"][end] for end in ("cmin", "cmax")] == [-0.25, 0.25]
    assert figure(np.zeros((M, TQ, TK)), kind=kind)["layout"]["coloraxis"]["cmax"] == 1


def test_the_colour_scale_shows_every_value_once_in_order():
    shown = figure()
    scale = next(trace for trace in shown["data"] if trace["name"] == "scale")
    values = cells(scale).ravel()
    # beside the maps it grows upwards: the first row is the highest
    np.testing.assert_allclose(values, (127.5 - np.arange(128)) / 128, rtol=1e-6)
    assert scale["coloraxis"] == "coloraxis"
    assert {"0", "0.25", "0.5", "1", "weight"} <= set(texts_in(shown))


def test_names_carry_their_heads_colour():
    shown = figure(colours=[HEAD_COLOURS[5], HEAD_COLOURS[0], "#808080"], names=["Head 6", "Head 1", "Mean <b>"])
    titles = words_of(shown)["text"][:3]
    assert [re.findall("#[0-9a-f]{6}", title) for title in titles] == [
        [HEAD_COLOURS[5]],
        [HEAD_COLOURS[0]],
        ["#808080"],
    ]
    assert texts_in(shown)[:3] == ["■ Head 6", "■ Head 1", "■ Mean <b>"]


def test_c43_numbers_stay_when_labels_are_thinned_and_go_by_a_stated_rule():
    def numbers(T, maps=1, **options):
        tokens = [f"t{i}" for i in range(T)]
        names = [f"Head {m + 1}" for m in range(maps)]
        shown = figure(some_weights(maps, T, T), tokens, tokens, names, show_values=True, **options)
        written = [text for text in texts_in(shown) if re.fullmatch(r"\d\.\d\d", text) and text not in ("0.05", "0.25")]
        return len(written) > T, numbers_fit(maps, tokens, tokens, **options)

    assert numbers(12) == (True, True)
    assert numbers(3, maps=8) == (True, True)
    assert numbers(40) == (False, False)  # the case's own: 1,600 cells
    assert numbers(12, maps=8) == (False, False)  # 1,152 cells
    assert numbers(31, height=2000) == (False, False)  # 961 cells of 15 px: no room
    assert "1,000" in NUMBERS_RULE


def test_numbers_are_the_cells_own():
    weights = some_weights()
    shown = figure(weights, show_values=True, allowed=masks.causal(TQ, TK).allowed[0])
    words = words_of(shown)
    inside = {(x, y): t for x, y, t in zip(words["x"], words["y"], words["text"], strict=True)}
    for m, trace in enumerate(maps_of(shown)):
        for i, j in np.ndindex(TQ, TK):
            here = inside.get((trace["x0"] + j, trace["y0"] + i))
            assert here == (f"{weights[m, i, j]:.2f}" if j <= i else None)


@pytest.mark.parametrize("maps", [8, 9, MAX_HEADS, MAX_HEADS + 1])
def test_all_heads_fit_the_first_screen(maps):
    # DESIGN.md: text field and all eight heads at 1280 x 800; the bar, the title and the field take about 250 px
    tokens = ["internationalisation"] * 12
    names = [f"Head {m + 1}" for m in range(maps)]
    assert figure(some_weights(maps, 12, 12), tokens, tokens, names)["layout"]["height"] <= 530


def test_a_phone_has_two_maps_in_a_row_and_the_scale_above():
    names = [f"Head {m + 1}" for m in range(8)]
    shown = figure(some_weights(8), names=names, width=358, columns_per_row=2)
    assert len({trace["x0"] for trace in maps_of(shown)}) == 2
    assert len({trace["y0"] for trace in maps_of(shown)}) == 4
    scale = next(trace for trace in shown["data"] if trace["name"] == "scale")
    np.testing.assert_allclose(cells(scale)[0], (np.arange(128) + 0.5) / 128, rtol=1e-6)
    assert scale["y0"] < -0.5


@pytest.mark.parametrize("options", [{}, {"kind": "difference"}, {"theme": "dark"}, {"width": 358}])
def test_plotly_takes_the_figure_and_json_does(options):
    shown = figure(allowed=masks.causal(TQ, TK).allowed[0], **options)
    go.Figure(shown)  # refuses any property that does not exist
    json.dumps(shown, allow_nan=False)


SMALL = [f"t{i}" for i in range(23)]  # on 820 px, cells of less than 30 px: the maps of a panel stand in one array


@pytest.mark.parametrize(("tokens", "heads", "traces"), [(ROWS, 2, 6), (SMALL, 5, 3)])
def test_panels_hold_their_own_values_and_each_scale_stands_once(tokens, heads, traces):
    T = len(tokens)
    before, allowed = some_weights(heads, T, T), masks.causal(T, T).allowed[0]
    after = before * allowed / (before * allowed).sum(axis=-1, keepdims=True)
    shown = stacked_maps(
        [
            Panel("Before", before),
            Panel("After", after, allowed=allowed, rules=[("causal", allowed)]),
            Panel("Change", after - before, kind="difference", bound=0.5),
        ],
        tokens,
        tokens,
        names=[f"Head {h + 1}" for h in range(heads)],
        columns_per_row=heads,
    )
    hidden = np.where(allowed, after, np.nan)
    drawn = [cells(trace) for trace in maps_of(shown)]
    np.testing.assert_array_equal(drawn, np.concatenate([before, hidden, after - before]).astype(np.float32))
    assert [trace["coloraxis"] for trace in maps_of(shown)] == ["coloraxis"] * 2 * heads + ["coloraxis2"] * heads
    assert (shown["layout"]["coloraxis2"]["cmin"], shown["layout"]["coloraxis2"]["cmax"]) == (-0.5, 0.5)
    scales = [trace["coloraxis"] for trace in shown["data"] if trace["name"] == "scale"]
    assert scales == ["coloraxis", "coloraxis2"]
    assert [word for word in texts_in(shown) if word in ("Before", "After", "Change")] == ["Before", "After", "Change"]
    values = [trace for trace in shown["data"] if trace.get("coloraxis") and trace["name"] != "scale"]
    assert len(values) == traces
    go.Figure(shown)


def test_the_hover_of_a_map_among_many_in_one_array_names_its_head_and_its_rule():
    T = len(SMALL)
    own = np.array([np.arange(T) < 7, np.arange(T) >= 7, np.ones(T)], dtype=bool)[:, None]
    causal = masks.causal(T, T).allowed[0, 0]
    allowed = own & causal
    shown = figure(some_weights(M, T, T), SMALL, SMALL, allowed=allowed, rules=[("own", own), ("causal", causal)])
    [_, *blocked] = [trace for trace in shown["data"] if trace["type"] == "heatmap" and trace["name"] != "scale"]
    said = np.full((M, T, T), "", dtype=object)
    for trace in blocked:
        z, head = cells(trace), np.array(trace["customdata"])
        assert trace["hovertemplate"].startswith("<b>Head %{customdata}</b>")
        for m, (left, upper, *_) in enumerate(boxes(shown)):
            j, i = round(left + 0.5 - trace["x0"]), round(upper + 0.5 - trace["y0"])
            assert (head[i : i + T, j : j + T] == m + 1).all()
            here = ~np.isnan(z[i : i + T, j : j + T])
            assert (said[m][here] == "").all()  # no cell has two
            said[m][here] = trace["hovertemplate"].removesuffix("<extra></extra>").split("<br>")[-1]
    for m, i, j in np.ndindex(M, T, T):
        names = [name for name, rule in (("own", own[m, 0]), ("causal", causal[i])) if not rule[j]]
        empty = "no key left: " if not allowed[m, i].any() else ""
        assert said[m, i, j] == (f"{empty}blocked by {' and '.join(names)}" if names else "")


def test_no_panel_is_refused():
    with pytest.raises(ValueError, match="at least one panel, got none"):
        stacked_maps([], ROWS, COLUMNS, names=NAMES)


def test_nothing_painted_hides_the_page():
    layout = figure()["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"


def test_the_same_arguments_give_the_same_figure():
    assert figure() == figure()


def test_maps_in_words():
    weights = np.array([[[0.1, 0.9], [0.6, 0.4]], [[1.0, 0.0], [0.0, 0.0]]])
    allowed = np.array([[[1, 1], [1, 1]], [[1, 0], [0, 0]]], dtype=bool)
    said = describe_maps(weights, ["a", "b"], ["c", "<d>"], names=["Head 1", "Head 2"], allowed=allowed)
    assert said == (
        "2 heat maps: 2 queries by 2 keys. Head 1: largest weight 0.90, a (1) looks at <d> (2). "
        "Head 2: largest weight 1.00, a (1) looks at c (1). 1 query has no key left."
    )


def test_words_pass_over_queries_that_have_no_choice():
    weights = np.array([[[1.0, 0.0], [0.3, 0.7]]])  # causal: the first query's 1 says nothing about the head
    allowed = masks.causal(2, 2).allowed[0]
    said = describe_maps(weights, ["a", "b"], ["a", "b"], names=["Head 1"], allowed=allowed)
    assert said.endswith("largest weight of a query with several keys 0.70, b (2) looks at b (2).")


def test_a_token_does_not_break_the_words():
    said = describe_maps(np.ones((1, 1, 1)), ["a\nb"], ["c" * 100], names=["Head 1"])
    assert "\n" not in said
    assert full_label("c" * 100) in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": ROWS[:4]}, r"\(M, Tq, Tk\) with Tq = 4 and Tk = 7, all at least 1, got \(3, 5, 7\)"),
        ({"names": ["Head 1"]}, "a name and a colour for each of 3 maps, got 1 names and 1 colours"),
        ({"values": np.zeros((0, 5, 7)), "names": []}, r"got \(0, 5, 7\)"),
        ({"values": np.zeros((3, 5, 0)), "columns": []}, "Tk = 0, all at least 1"),
        ({"allowed": np.ones((3, 5), dtype=bool)}, r"allowed to broadcast to \(3, 5, 7\), got \(3, 5\)"),
        ({"rules": [("causal", np.ones((2, 2), dtype=bool))]}, "rule 'causal' to broadcast"),
        ({"kind": "heat"}, "one of weights, difference, scores, got 'heat'"),
        ({"kind": "difference", "bound": 0}, "bound to be above 0, got 0"),
        ({"theme": "sepia"}, "sepia"),
        ({"columns_per_row": 0}, "columns_per_row to be a whole number of at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_names_and_numbers(change, message):
    with pytest.raises(ValueError, match=message):
        figure(**change)
