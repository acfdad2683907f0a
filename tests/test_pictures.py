"""What is taken away as a picture is what the figure says: right cell, right colour, right words, and nothing more.

No font is needed here: what only fonts can show is tested with the browser, which brings them.
"""

from __future__ import annotations

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mha import masks, pictures
from mha.figures import Matrix, Outline, Panel, arrows, head_maps, matrices, position_bars, spread_boxes, stacked_maps
from mha.figures.labels import plain_label
from mha.figures.palette import HEAD_COLOURS, THEMES, colour_at
from mha.pictures.apart import Run, apart, in_visual_order
from mha.pictures.drawing import EDGE
from mha.pictures.fonts import BASE, runs

M, TQ, TK = 3, 5, 7  # all different, so that a swapped axis cannot pass by luck
ROWS = ["the", "cat", "the", "mat", "<s>"]
COLUMNS = ["1", "2024-01-01", "", "x" * 12, "y" * 13, "a&b", "the"]
NAMES = ["Head 1", "Head 2", "Head 3"]
SVG = "{http://www.w3.org/2000/svg}"
PNG_URI = "data:image/png;base64,"


def some_weights(maps=M, queries=TQ, keys=TK):
    return np.random.default_rng(7).dirichlet(np.ones(keys), (maps, queries))


def figure(values=None, rows=ROWS, columns=COLUMNS, names=NAMES, **options):
    return head_maps(some_weights() if values is None else values, rows, columns, names=names, **options)


def parsed(svg):
    return ElementTree.fromstring(svg)


def images(svg):
    """Each image: left, top, width, height in px, and its pixels (R, C, 4)."""
    found = []
    for image in parsed(svg).iter(f"{SVG}image"):
        assert image.get("href").startswith(PNG_URI)
        data = base64.b64decode(image.get("href").removeprefix(PNG_URI))
        box = [float(image.get(name)) for name in ("x", "y", "width", "height")]
        found.append((box, np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))))
    return found


def texts(svg):
    """Every line of text with its place and turn."""
    return [
        ("".join(line.itertext()), float(line.get("x")), float(line.get("y")), line.get("transform"))
        for line in parsed(svg).iter(f"{SVG}text")
    ]


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


# --- maps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["weights", "difference"])
def test_every_cell_has_the_colour_of_its_value(theme, kind):
    values = some_weights() if kind == "weights" else some_weights() - 0.3
    svg = pictures.svg(figure(values, kind=kind, theme=theme), theme=theme)
    *maps, (_, scale) = images(svg)
    assert len(maps) == M
    colours = THEMES[theme].weights if kind == "weights" else THEMES[theme].difference
    bound = np.abs(values).max()
    for (_, pixels), each in zip(maps, values, strict=True):
        assert pixels.shape == (TQ, TK, 4)
        for i, j in np.ndindex(TQ, TK):
            share = each[i, j] if kind == "weights" else (each[i, j] / bound + 1) / 2
            # 255 levels over a scale whose channels change by less than 450 of 255 in all
            assert np.abs(pixels[i, j, :3] - rgb(colour_at(colours, share))).max() <= 2
    assert scale.shape == (128, 1, 4)
    assert np.abs(scale[0, 0, :3] - rgb(colour_at(colours, 127.5 / 128))).max() <= 2  # the largest value is at the top


@pytest.mark.parametrize("T", [5, 23])  # a map of its own for each head, and all heads in one
def test_each_panel_has_the_colours_of_its_own_scale(T):
    weights, tokens = some_weights(5, T, T), [f"t{i}" for i in range(T)]
    change = weights[:, ::-1] - weights
    drawn = pictures.svg(
        stacked_maps(
            [Panel("Before", weights), Panel("Change", change, kind="difference", bound=1.0)],
            tokens,
            tokens,
            names=[f"Head {h + 1}" for h in range(5)],
            columns_per_row=5,
        )
    )
    looks = THEMES["light"]
    first = [colour_at(looks.weights, weights[0, 0, 0]), colour_at(looks.difference, (change[0, 0, 0] + 1) / 2)]
    upper_left = [pixels[0, 0, :3] for (left, *_), pixels in images(drawn) if pixels.shape[0] >= T]
    assert len(upper_left) >= 2
    for wanted in first:
        assert any(np.abs(corner.astype(int) - rgb(wanted)).max() <= 2 for corner in upper_left)


def test_maps_stand_side_by_side_in_px_where_the_figure_has_them():
    shown = figure(columns_per_row=2)
    boxes = [box for box, _ in images(pictures.svg(shown))][:M]
    margin, height = shown["layout"]["margin"], shown["layout"]["height"]
    (x0, x1), (y1, y0) = shown["layout"]["xaxis"]["range"], shown["layout"]["yaxis"]["range"]
    px = (820 - margin["l"] - margin["r"]) / (x1 - x0), (height - margin["t"] - margin["b"]) / (y1 - y0)
    for (left, top, width, high), trace in zip(boxes, shown["data"], strict=False):
        assert left == pytest.approx(margin["l"] + (trace["x0"] - 0.5 - x0) * px[0], abs=0.01)
        assert top == pytest.approx(margin["t"] + (trace["y0"] - 0.5 - y0) * px[1], abs=0.01)
        assert (width, high) == (pytest.approx(TK * px[0], abs=0.01), pytest.approx(TQ * px[1], abs=0.01))
    assert boxes[0][1] == boxes[1][1] < boxes[2][1]
    assert boxes[0][0] == boxes[2][0] < boxes[1][0]


def test_blocked_cells_have_a_look_of_their_own():
    looks = THEMES["light"]
    allowed = np.ones((M, TQ, TK), dtype=bool)
    allowed[1, 0, 3:] = False
    drawn = images(pictures.svg(figure(allowed=allowed)))
    own, grey = drawn[1][1], drawn[M][1]
    assert drawn[M][0] == drawn[1][0]  # the grey lies on the map it belongs to
    np.testing.assert_array_equal(own[..., 3] == 0, ~allowed[1])
    np.testing.assert_array_equal(grey[..., 3] == 255, ~allowed[1])
    assert (grey[~allowed[1]][:, :3] == rgb(looks.blocked)).all()

    def hatched(svg):
        return [path for path in parsed(svg).iter(f"{SVG}path") if path.get("stroke") == looks.hatch]

    assert len(hatched(pictures.svg(figure(allowed=allowed)))) == 1
    assert hatched(pictures.svg(figure())) == []


def test_a_value_that_is_not_defined_is_left_empty():
    values = some_weights()
    values[2, 4, 6] = np.nan
    pixels = images(pictures.svg(figure(values)))[2][1]
    np.testing.assert_array_equal(np.argwhere(pixels[..., 3] == 0), [[4, 6]])


def test_a_figure_whose_axis_goes_upwards_is_drawn_upwards():
    shown = figure()
    turned = shown | {"layout": shown["layout"] | {"yaxis": shown["layout"]["yaxis"] | {"range": [-1, TQ]}}}
    for (_, down), (_, up) in zip(images(pictures.svg(shown)), images(pictures.svg(turned)), strict=True):
        np.testing.assert_array_equal(down, up[::-1])


def test_every_token_stands_at_its_row_and_column():
    svg = pictures.svg(figure(columns_per_row=3))
    boxes = [box for box, _ in images(svg)][:M]
    said = texts(svg)
    rows = [(x, y) for word, x, y, _ in said if x < boxes[0][0] and word in ROWS]
    left, top, width, height = boxes[0]
    assert [round((y - top) / height * TQ - 0.5, 1) for _, y in rows] == pytest.approx(list(range(TQ)), abs=0.3)
    shown = ["1", "2024-01-01", "\u2205", "x" * 12, "y" * 11 + "\u2026", "a&b", "the"]
    below = [(word, x) for word, x, y, _ in said if y > top + height and word in shown]
    assert [word for word, _ in below] == shown * M
    places = [(x - box[0]) / width * TK - 0.5 for (_, x), box in zip(below, np.repeat(boxes, TK, axis=0), strict=True)]
    assert places == pytest.approx(list(range(TK)) * M, abs=0.3)
    titles = {word: turn for word, _, _, turn in said}
    assert titles["key (what is looked at)"] is None
    assert titles["query (who looks)"].startswith("rotate(-90 ")
    assert left > EDGE


def test_heads_are_named_in_their_colours_and_the_scale_in_numbers():
    svg = pictures.svg(figure())
    spans = [(span.text.strip(), span.get("fill")) for span in parsed(svg).iter(f"{SVG}tspan") if span.get("fill")]
    assert spans == [("\u25a0", colour) for colour in HEAD_COLOURS[:M]]
    words = [word for word, *_ in texts(svg)]
    assert {"\u25a0 Head 1", "\u25a0 Head 2", "\u25a0 Head 3", "weight", "0", "0.05", "0.25", "1"} <= set(words)


def test_markup_in_tokens_and_names_is_literal():
    evil = ["<script>x</script>", "]]>", "&amp;", '"onload="x', "\u202eab", "\x00", "\ufffe", "\ud800"]
    svg = pictures.svg(
        figure(some_weights(1, 8, 8), evil, evil, ["<b>Head</b>"]), title="<title>", alt='"<desc>" \x01 \ud800'
    )
    names = {element.tag.removeprefix(SVG) for element in parsed(svg).iter()}
    assert names == {"svg", "title", "desc", "rect", "image", "path", "text", "tspan"}
    words = [word for word, *_ in texts(svg)]
    assert "\u25a0 <b>Head</b>" in words
    assert {"<script>x</\u2026", "]]>", "&amp;", '"onload="x', "\u2426ab", "\u2400", "\ufffd"} <= set(words)
    assert "\u202e" not in svg
    assert parsed(svg).find(f"{SVG}title").text == "<title>"
    assert parsed(svg).find(f"{SVG}desc").text == '"<desc>" \ufffd \ufffd'


@settings(max_examples=25)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_any_tokens_make_a_file_that_xml_can_read(tokens):
    svg = pictures.svg(figure(some_weights(1, len(tokens), len(tokens)), tokens, tokens, ["Head 1"]))
    parsed(svg)
    svg.encode()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_ground_is_painted_so_that_the_picture_can_lie_anywhere(theme):
    svg = pictures.svg(figure(theme=theme), theme=theme)
    root = parsed(svg)
    ground = root.find(f"{SVG}rect")
    assert ground.get("fill") == THEMES[theme].page
    left, top, width, height = map(float, root.get("viewBox").split())
    assert [float(ground.get(name)) for name in ("x", "y", "width", "height")] == [left, top, width, height]
    assert (left, width) == (-EDGE, 820 + 2 * EDGE)


def test_sixteen_heads_of_128_tokens_stay_small():
    tokens = [f"token{i}" for i in range(128)]
    names = [f"Head {h + 1}" for h in range(16)]
    causal = masks.causal(128, 128).allowed[0]
    for options in ({}, {"allowed": causal}):
        svg = pictures.svg(figure(some_weights(16, 128, 128), tokens, tokens, names, **options))
        assert len(svg) < 300_000  # a rect of 60 bytes for each of 262,144 cells would be 16 million
        assert sum(1 for _ in parsed(svg).iter()) < 1_000


def test_the_same_arguments_give_the_same_picture():
    assert pictures.svg(figure()) == pictures.svg(figure())
    assert pictures.png(pictures.svg(figure())) == pictures.png(pictures.svg(figure()))


# --- the other figures -------------------------------------------------------------------------------------------


def test_arrows_are_drawn_with_every_path_of_the_figure():
    words = [f"w{i}" for i in range(TQ)]
    shown = arrows(some_weights(2, TQ, TQ), words, words, names=NAMES[:2])
    svg = pictures.svg(shown)
    fills = [path.get("fill") for path in parsed(svg).iter(f"{SVG}path")]
    assert fills == [shape["fillcolor"] for shape in shown["layout"]["shapes"]]
    assert [word for word, *_ in texts(svg)] == ["\u25a0 Head 1", "\u25a0 Head 2", *words, *words]


def test_many_tokens_stand_upright_above_and_below_the_arrows():
    words = [f"w{i}" for i in range(41)]
    svg = pictures.svg(arrows(some_weights(1, 41, 41), words, words, names=NAMES[:1]))
    places = [(y, turn) for word, _, y, turn in texts(svg) if word == "w40"]
    assert len(places) == 2
    assert all(turn.startswith("rotate(-90 ") for _, turn in places)
    assert places[0][0] > places[1][0]  # below, then above


def test_matrices_keep_their_places_outlines_and_numbers():
    values = np.arange(6.0).reshape(2, 3) - 2
    shown = matrices(
        [
            Matrix(values, "a <b>", ("T", "d_k"), outlines=(Outline(range(1), dashed=True),)),
            Matrix(values, "b", ("T", "d_k")),
        ]
    )
    svg = pictures.svg(shown)
    (first, second, scale) = [box for box, _ in images(svg)]
    domain = shown["layout"]["xaxis2"]["domain"]
    assert second[0] == pytest.approx(domain[0] * shown["layout"]["width"], abs=0.01)
    assert first[1] == second[1] > scale[1]
    words = [word for word, *_ in texts(svg)]
    assert {"a <b>", "b", "T \u00d7 d_k = 2 \u00d7 3", "\u22122.00", "3.00"} <= set(words)
    dashed = [path for path in parsed(svg).iter(f"{SVG}path") if path.get("stroke-dasharray") == "3,2"]
    assert len(dashed) == 1


def upright(shown, width=820):
    """From a value on the upright axis of a figure to px, and from a place on the other one."""
    margin, layout = shown["layout"]["margin"], shown["layout"]
    low, high = layout["yaxis"]["range"]
    floor, pitch = (
        layout["height"] - margin["b"],
        (width - margin["l"] - margin["r"]) / (layout["xaxis"]["range"][1] + 0.5),
    )
    return (
        lambda value: floor - (value - low) / (high - low) * (floor - margin["t"]),
        lambda at: margin["l"] + (at + 0.5) * pitch,
    )


def test_parts_of_a_bar_stand_on_each_other_or_hang_from_each_other_and_are_named():
    parts = np.array([[2.0, -1.0, np.nan], [1.0, -0.5, 0.0], [0.5, 4.0, 1.0]])
    shown = position_bars(
        parts, ["a", "<b>", "a"], names=["Head 1", "<i>", "Head 3"], colours=HEAD_COLOURS[:3], unit="u"
    )
    svg = pictures.svg(shown)
    y, x = upright(shown)
    _ground, *rects = parsed(svg).iter(f"{SVG}rect")
    wide = 0.75 * (x(1) - x(0))
    # by hand: where each part that is not 0 begins and ends, and in which bar
    expected = [
        (0, 0, 2, 0),
        (0, 1, -1, 0),
        (1, 0, 3, 2),
        (1, 1, -1.5, -1),
        (2, 0, 3.5, 3),
        (2, 1, 4, 0),
        (2, 2, 1, 0),
    ]
    assert len(rects) == len(expected)
    for rect, (part, at, end, start) in zip(rects, expected, strict=True):
        assert rect.get("fill") == HEAD_COLOURS[part]
        left, top, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert (left + width / 2, width) == pytest.approx((x(at), wide), abs=0.02)
        assert (top, top + height) == pytest.approx((min(y(end), y(start)), max(y(end), y(start))), abs=0.02)
    words = [word for word, *_ in texts(svg)]
    assert words.count("a") == 2
    assert {"<b>", "u", "position", "\u22121", "4", "\u25a0 Head 1", "\u25a0 <i>", "\u25a0 Head 3"} <= set(words)
    assert all(
        float(line.get("y")) < float(parsed(svg).get("height")) - EDGE for line in parsed(svg).iter(f"{SVG}text")
    )


def test_bars_of_one_part_need_no_names():
    shown = position_bars(np.ones((1, 2)), ["a", "b"], names=["All heads"], colours=["#808080"], unit="u")
    assert "All heads" not in pictures.svg(shown)


def test_a_box_has_its_five_numbers_and_the_marked_draw_a_diamond():
    draws = np.arange(101.0)[:, None] * [1.0, 3.0]  # quantiles are then 5, 25, 50, 75 and 95, and three times that
    shown = spread_boxes(
        draws, ["1", "2"], colours=HEAD_COLOURS[:2], unit="u", marked=[10.0, np.nan], marked_name="seed 7"
    )
    svg = pictures.svg(shown)
    y, x = upright(shown)
    boxes = [path for path in parsed(svg).iter(f"{SVG}path") if path.get("fill-opacity")]
    for n, (path, colour) in enumerate(zip(boxes, HEAD_COLOURS[:2], strict=True)):
        assert (path.get("fill"), path.get("stroke")) == (colour, colour)
        heights = {
            float(number)
            for number in re.findall(r"V([\d.]+)|M[\d.]+ ([\d.]+)", path.get("d"))
            for number in number
            if number
        }
        assert sorted(heights) == pytest.approx([y((2 * n + 1) * share) for share in (95, 75, 50, 25, 5)], abs=0.06)
    diamonds = [path for path in parsed(svg).iter(f"{SVG}path") if path.get("fill") == THEMES["light"].text]
    [diamond] = diamonds  # what is not defined has none
    corners = np.array(
        [[float(number) for number in corner.split()] for corner in re.split("[MLZ]", diamond.get("d")) if corner]
    )
    assert corners.mean(axis=0) == pytest.approx([x(0), y(10)], abs=0.06)
    assert "\u25c6 seed 7" in [word for word, *_ in texts(svg)]


def test_lines_stand_behind_the_bars_at_every_tick():
    shown = position_bars([[3.0, -1.0]], ["a", "b"], names=["x"], colours=["#808080"], unit="u")
    y, _ = upright(shown)
    lines = [path for path in parsed(pictures.svg(shown)).iter(f"{SVG}path") if path.get("stroke")]
    heights = [float(path.get("d").split()[1].split("H")[0]) for path in lines]
    assert sorted(heights) == pytest.approx(sorted(map(y, shown["layout"]["yaxis"]["tickvals"])), abs=0.06)
    assert [path.get("stroke-dasharray") for path in lines].count(None) == 1  # that of 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": [{"type": "pie"}]}, "expected heat maps, bars, boxes, dots and texts, got pie with mode None"),
        ({"data": [{"type": "scatter", "mode": "lines+markers"}]}, r"got scatter with mode 'lines\+markers'"),
        ({"shapes": [{"type": "circle"}]}, "expected a shape to be a path or a rect, got 'circle'"),
        ({"annotations": [{"text": "x", "xref": "x"}]}, "expected a note to stand at a share of the sheet"),
    ],
)
def test_what_cannot_be_drawn_is_refused_instead_of_left_out(change, message):
    shown = figure()
    changed = {"data": change.pop("data", shown["data"]), "layout": shown["layout"] | change}
    with pytest.raises(ValueError, match=message):
        pictures.svg(changed)


# --- bars --------------------------------------------------------------------------------------------------------


def bar_boxes(svg):
    _ground, *boxes = parsed(svg).iter(f"{SVG}rect")
    return [(float(box.get("x")), float(box.get("width")), box.get("fill")) for box in boxes]


def test_bars_are_as_long_as_their_values_from_one_line_of_zero():
    values = [3.0, -1.5, 0.0, np.nan, 0.75]
    svg = pictures.bars(values, ["1 a", "2 <b>", "3 c", "4 d", "5 e"], word="length", number=".2f")
    boxes = bar_boxes(svg)
    zero = boxes[0][0]
    assert [width / boxes[0][1] for _, width, _ in boxes] == pytest.approx([1, 0.5, 0, 0, 0.25], abs=1e-3)
    assert [round(x - zero, 1) for x, _, _ in boxes] == [0, round(-boxes[1][1], 1), 0, 0, 0]
    words = [word for word, *_ in texts(svg)]
    assert words == ["length", "1 a", "3.00", "2 <b>", "\u22121.50", "3 c", "0.00", "4 d", "not defined", "5 e", "0.75"]


def test_a_position_of_a_word_from_right_to_left_is_isolated_once():
    svg = pictures.bars([1.0], ["1 " + plain_label("\u0646\u062d\u0646")], word="length")
    assert "1 \u2068\u0646\u062d\u0646\u2069" in [word for word, *_ in texts(svg)]


def test_bars_have_the_colours_given_and_stay_on_the_sheet():
    svg = pictures.bars([1.0, -1.0], ["Head 1", "Head 2"], word="share", colours=HEAD_COLOURS[:2], width=400)
    assert [fill for *_, fill in bar_boxes(svg)] == list(HEAD_COLOURS[:2])
    assert all(0 < x < x + width < 400 for x, width, _ in bar_boxes(svg))
    assert bar_boxes(pictures.bars([0.0], ["a"], word="w"))[0][1] == 0


@pytest.mark.parametrize(
    ("values", "names", "options", "message"),
    [
        ([1.0, 2.0], ["a"], {}, r"shape \(N,\) with N = 1, at least 1, got \(2,\)"),
        ([], [], {}, r"with N = 0, at least 1, got \(0,\)"),
        ([np.inf], ["a"], {}, "finite or NaN, got infinity"),
        ([1.0], ["a"], {"colours": []}, "a colour for each of 1 bars, got 0"),
    ],
)
def test_bars_that_do_not_fit_are_refused(values, names, options, message):
    with pytest.raises(ValueError, match=message):
        pictures.bars(values, names, word="w", **options)


# --- PNG ---------------------------------------------------------------------------------------------------------


def pixels_of(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_png_has_each_cell_crisp_in_its_colour():
    weights = some_weights()
    svg = pictures.svg(figure(weights, columns_per_row=3))
    drawn = pixels_of(pictures.png(svg, scale=2, fonts=()))
    root = parsed(svg)
    assert drawn.shape == (2 * float(root.get("height")), 2 * float(root.get("width")), 3)
    for m, ((left, top, width, height), _) in enumerate(images(svg)[:M]):
        for i, j in np.ndindex(TQ, TK):
            x, y = (left + EDGE + width * j / TK) * 2, (top + EDGE + height * i / TQ) * 2
            cell = drawn[int(y) + 3 : int(y + height / TQ * 2) - 2, int(x) + 3 : int(x + width / TK * 2) - 2]
            expected = rgb(colour_at(THEMES["light"].weights, weights[m, i, j]))
            assert cell.size
            assert np.abs(cell - expected).max() <= 2  # the whole cell: a blurred one would mix with its neighbours


def test_png_hatches_a_blocked_cell():
    looks = THEMES["light"]
    allowed = np.ones((1, 2, 2), dtype=bool)
    allowed[0, 0, 1] = False
    svg = pictures.svg(figure(some_weights(1, 2, 2), ["a", "b"], ["a", "b"], ["Head 1"], allowed=allowed))
    (left, top, width, height), _ = images(svg)[0]
    x, y = int(2 * (left + EDGE + width / 2)), int(2 * (top + EDGE))
    cell = pixels_of(pictures.png(svg, scale=2, fonts=()))[y + 3 : y + int(height) - 3, x + 3 : x + int(width) - 3]
    for colour in (looks.blocked, looks.hatch):
        assert (np.abs(cell - rgb(colour)).max(axis=2) <= 2).mean() > 0.02


def test_without_a_font_there_is_a_picture_and_a_list_of_what_it_lacks():
    svg = pictures.svg(figure())
    assert pictures.png(svg, fonts=()).startswith(b"\x89PNG")
    missing = pictures.missing_characters(svg, fonts=())
    assert {"t", "h", "\u2205", "\u25a0", "<"} <= set(missing)
    assert len(missing) == len(set(missing))
    assert not any(each.isspace() for each in missing)


@pytest.mark.parametrize("text", ["", "no XML", "<svg", "<html/>"])
def test_what_is_no_svg_is_refused(text):
    with pytest.raises(ValueError, match=r"(?i)svg"):
        pictures.png(text, fonts=())


# --- fonts and lines of several scripts --------------------------------------------------------------------------


@given(
    st.text(
        alphabet=st.sampled_from(
            "a1 !\u0301\u0928\u093f\u0645\u05d0\u4f60\u2068\u2069\u2212\u25a0\U0001f44d\U0001f3fd\u200d\ufe0f"
        )
    )
)
def test_runs_hold_the_whole_text_in_its_order(text):
    kept = text.rstrip("\u2068")  # what opens nothing may be left out
    assert "".join(words for _, words in runs(kept)) == kept


def test_each_script_has_a_font_and_joined_emoji_stay_whole():
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    text = f"cat\u0645\u0631{family}\U0001f44d\U0001f3fd\u4f60e\u0301\u0928\u093f"
    found = [(font.removesuffix(f",{BASE}").split(",")[0].strip("'"), words) for font, words in runs(text)]
    assert found == [
        ("Noto Sans", "cat"),
        ("Noto Sans Arabic", "\u0645\u0631"),
        ("Noto Color Emoji", f"{family}\U0001f44d\U0001f3fd"),
        ("Noto Sans CJK SC", "\u4f60"),
        ("Noto Sans", "e\u0301"),
        ("Noto Sans Devanagari", "\u0928\u093f"),
    ]


def test_runs_of_an_isolated_right_to_left_text_are_placed_from_the_right():
    arabic, mark, after = Run("\u2068\u0645", "A"), Run("!\u2069"), Run(" Head")
    ordered = in_visual_order([Run("3 "), arabic, mark, after])
    assert [re.sub("[\u202a-\u202e]", "", run.words) for run in ordered] == ["3 ", "!", "\u0645", " Head"]
    latin = in_visual_order([Run("\u2068a"), Run("\u0645", "A"), Run("!\u2069")])
    assert [run.words for run in latin] == ["a", "\u0645", "!"]


@pytest.mark.parametrize(("anchor", "start"), [("start", 100), ("middle", 50), ("end", 0)])
def test_a_line_of_two_scripts_is_cut_where_its_runs_end(anchor, start):
    arabic = runs("\u0645")[0][0]
    words = f'ab<tspan font-family="{arabic}">\u0645</tspan>'
    line = f'<text x="100" y="9" font-size="10" text-anchor="{anchor}">{words}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg">{line}<text x="1" y="2" font-size="10">c</text></svg>'
    cut = parsed(apart(svg, lambda runs: [2.5 if run.words == "ab" else 7.5 for run in runs]))
    spans = [(span.text, float(span.get("x"))) for span in cut.iter(f"{SVG}tspan")]
    assert spans == [("ab", start), ("\u0645", start + 25)]
    assert [word for word, *_ in texts(ElementTree.tostring(cut, "unicode"))] == ["ab\u0645", "c"]


def test_a_line_of_one_script_is_left_alone():
    svg = pictures.svg(figure())
    assert apart(svg, lambda runs: pytest.fail(f"measured {runs}")) == svg
