"""The Masks page through AppTest: each rule both ways, bad uploads, everything blocked, empty lines, nonsense links."""

from __future__ import annotations

import base64
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mha import masks
from mha.batches import embed_batch, read_lines
from mha.config import Model
from mha.figures.small_mask import small_mask
from mha.mask_effects import mask_effect
from mha.mask_files import pack_mask, unpack_mask
from mha.ui import custom_mask
from mha.weights import Weights
from tests.test_pages import HARD_TEXTS, ROOT, assert_fine, opened

PAGE = ROOT / "pages" / "masks.py"
VIEWS = ("All heads", "One head", "Why blocked?", "In numbers", "No key left", "Other libraries", "Proof")
TEXTS = "a b c d e\nf g"
MODEL = {"heads": "2", "width": "8"}
T, H = 5, 2


def masks_page(**address: str) -> AppTest:
    return opened(PAGE, **{"texts": TEXTS, **MODEL, **address})


def html(app: AppTest) -> str:
    return " ".join(block.proto.body for block in app.get("html"))


def in_address(app: AppTest, key: str) -> str:
    """What the page wrote there; AppTest keeps a list of what a test wrote."""
    value = app.query_params[key]
    return value[0] if isinstance(value, list) else value


PANELS = ("Before", "After", "Difference")


def figure(app: AppTest) -> dict:
    [chart] = app.get("plotly_chart")
    return json.loads(chart.proto.spec)


def drawn(app: AppTest, place: int) -> np.ndarray:
    """The maps of a panel, (H, T, T) float32: NaN where a cell is blocked."""
    maps = []
    of_panel = [t for t in figure(app)["data"] if f"· {PANELS[place]}" in t["name"] and "coloraxis" in t]
    assert len(of_panel) == H
    for trace in of_panel:
        z = trace["z"]
        shape = [int(length) for length in z["shape"].split(",")]
        maps.append(np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape(shape))
    return np.array(maps)


def expected(b: int, *rules_on: masks.Rule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Before, after and difference of text b, outside the app."""
    model = Model(d_model=8, num_heads=H)
    X = embed_batch(read_lines(TEXTS), model)
    effect = mask_effect(X, X, X, Weights.draw(8, H, 0), rules_on)
    before, after = effect.before.weights[b], effect.after.weights[b]
    blocked = ~effect.mask.allowed[b]
    return before, np.where(blocked, np.nan, after), after - before


def assert_shows(app: AppTest, b: int, *rules_on: masks.Rule) -> None:
    for place, values in enumerate(expected(b, *rules_on)):
        np.testing.assert_array_equal(drawn(app, place), values.astype(np.float32))


OWN = np.arange(T) < np.array([2, 5])[:, None]  # head 1 owns keys 1 and 2, head 2 owns 3 to 5: 5 keys, 2 heads
OWN[1, :2] = False
GRID = np.ones((T, T), dtype=bool)
GRID[0, 3] = GRID[4, 0] = False
RULES = {
    "padding": (lambda: masks.valid_lens([5, 2], T), {}),
    "causal": (lambda: masks.causal(T, T), {}),
    "window": (lambda: masks.window(T, T, 1, 0), {"left": "1", "right": "0"}),
    "ranges": (lambda: masks.heads(OWN, T), {}),
    "custom": (lambda: masks.custom(GRID), {"grid": pack_mask(GRID)}),
}


@pytest.mark.parametrize("key", RULES)
def test_each_rule_on_and_off_changes_what_it_should(key):
    made, address = RULES[key]
    app = masks_page(padding="false", text_number="2", **address)
    assert_fine(app)
    assert_shows(app, 1)
    app.toggle(key=key).set_value(True).run()
    assert_fine(app)
    assert_shows(app, 1, made())
    app.toggle(key=key).set_value(False).run()
    assert_fine(app)
    assert_shows(app, 1)
    assert "cannot be used" not in html(app)


def test_rules_stack():
    on = dict.fromkeys(RULES, "true")
    address = {key: value for _, more in RULES.values() for key, value in more.items()}
    app = masks_page(**on, **address)
    assert_fine(app)
    assert_shows(app, 0, *(made() for made, _ in RULES.values()))


@pytest.mark.parametrize("view", ["All heads", "In numbers", "Other libraries"])
def test_no_text_makes_a_view_fail(view):
    app = masks_page(mask_view=view, causal="true", custom="true")
    for text in HARD_TEXTS.values():
        app.text_area(key="texts").set_value(f"{text}\nsecond text").run()
        assert_fine(app)


@pytest.mark.parametrize("view", VIEWS)
def test_everything_blocked_is_no_error_and_marks_all_rows(view):
    app = masks_page(lens="0,0", mask_view=view)
    assert_fine(app)
    assert "no row has a key left" in html(app)
    if view == "All heads":
        assert np.isnan(drawn(app, 1)).all()
        words = figure(app)["data"][-1]["text"]
        assert words.count("no key left") == H * T
    if view == "In numbers":
        assert f"No key left in {H * T} rows: all heads: all queries." in html(app)


def test_a_row_with_a_key_is_not_marked():
    app = masks_page(padding="false")
    assert "no key left" not in json.dumps(figure(app))


def test_an_empty_line_is_said_and_the_others_are_shown():
    app = opened(PAGE, texts="one two\n\nthree", **MODEL)
    assert_fine(app)
    assert "Text 2 is empty and left out." in html(app)
    app.segmented_control(key="text_number").set_value(1).run()
    assert_fine(app)
    assert "<b>Text 3</b>" in html(app)
    assert "[pad]" in html(app)


def test_only_empty_lines_offer_an_example():
    app = opened(PAGE, texts="\n \n")
    assert_fine(app)
    assert not app.get("plotly_chart")
    app.button(key="example_lines").click().run()
    assert len(app.get("plotly_chart")) == 1


def test_lengths_follow_the_texts_until_they_are_changed():
    app = masks_page()
    assert [field.value for field in app.number_input if str(field.key).startswith("lens_")] == [5, 2]
    assert (app.number_input(key="lens_1").min, app.number_input(key="lens_1").max) == (0, T)
    app.text_area(key="texts").set_value("a b c d e f\nf g").run()
    assert app.number_input(key="lens_1").value == 6
    app.number_input(key="lens_1").set_value(4).run()
    app.text_area(key="texts").set_value("a b c d e f g\nf g h").run()
    assert [app.number_input(key=f"lens_{number}").value for number in (1, 2)] == [4, 3]
    app.text_area(key="texts").set_value("a b\nf").run()  # shorter than what was set
    assert_fine(app)
    assert [app.number_input(key=f"lens_{number}").value for number in (1, 2)] == [2, 1]


@pytest.mark.parametrize(("typed", "got"), [(2.5, "2.5"), (None, "nothing")])
def test_a_length_that_is_no_whole_number_is_refused_with_the_range_and_changes_nothing(typed, got):
    app = masks_page(lens="4,2")
    app.number_input(key="lens_1").set_value(typed).run()
    assert_fine(app)
    assert f"expected a whole number from 0 to 5, got {got}." in html(app)
    assert app.number_input(key="lens_1").value == 4
    assert in_address(app, "lens") == "4,2"
    app.toggle(key="causal").set_value(True).run()
    assert "Not used" not in html(app)


def test_a_length_stays_with_its_text_when_another_one_is_emptied():
    app = opened(PAGE, texts="a b c\nd e f\ng h i", lens="3,2,1", **MODEL)
    app.text_area(key="texts").set_value("a b c\n\ng h i").run()
    assert [app.number_input(key=f"lens_{number}").value for number in (1, 3)] == [3, 1]
    app.text_area(key="texts").set_value("a b c\nd e f\ng h i").run()
    assert [app.number_input(key=f"lens_{number}").value for number in (1, 2, 3)] == [3, 2, 1]


def test_a_length_beyond_the_texts_counts_again_when_they_have_grown():
    app = masks_page(lens="4,2")
    app.text_area(key="texts").set_value("a b\nf g").run()
    assert app.number_input(key="lens_1").value == 2
    app.text_area(key="texts").set_value(TEXTS).run()
    assert app.number_input(key="lens_1").value == 4


@pytest.mark.parametrize(("between", "value"), [("texts", "a b\nf g"), ("heads", 1)])
def test_a_custom_mask_is_whole_again_after_shorter_texts_or_fewer_heads(between, value):
    per_head = np.array([GRID, GRID.T])
    app = masks_page(padding="false", custom="true", grid=pack_mask(per_head))
    field = app.text_area(key="texts") if between == "texts" else app.selectbox(key="heads")
    before = field.value
    field.set_value(value).run()
    field = app.text_area(key="texts") if between == "texts" else app.selectbox(key="heads")
    field.set_value(before).run()
    assert_shows(app, 0, masks.custom(per_head[None]))


def test_a_length_shows_what_was_padding_and_blocks_what_was_not():
    app = masks_page(text_number="2", lens="1,4")
    assert_shows(app, 1, masks.valid_lens([1, 4], T))
    app.segmented_control(key="text_number").set_value(0).run()
    assert_shows(app, 0, masks.valid_lens([1, 4], T))


def test_key_ranges_can_be_set_and_end_at_the_last_key():
    app = masks_page(padding="false", ranges="true")
    assert (app.number_input(key="from_1").value, app.number_input(key="to_1").value) == (3, 5)
    app.number_input(key="to_0").set_value(0).run()
    app.number_input(key="from_1").set_value(2).run()
    allowed = np.array([[False] * 5, [False, True, True, True, True]])
    assert_shows(app, 0, masks.heads(allowed, T))
    assert "no key left" in html(app)
    app.selectbox(key="heads").set_value(4).run()  # ranges are for two heads, so the blocks come back
    assert_fine(app)
    assert app.number_input(key="to_0").value == 1


NONSENSE = {
    "lens": ["9,2", "-1,2", "1.5,2", "1", "1,2,3", "x", "NaN,2", "1,", "²,1"],
    "keys": ["1-9,1-2", "0-1,1-2", "1-2", "x", "1-2,3", "1--2,1-2", "5,5"],
    "grid": ["x", pack_mask(np.zeros((3, 3), dtype=bool)), pack_mask(GRID)[:-2], "%00", "é"],
    "padding": ["maybe"],
    "left": ["-1", "200", "1.5"],
    "text_number": ["7"],
    "mask_view": ["Nowhere"],
}


@pytest.mark.parametrize(("key", "given"), [(key, given) for key, values in NONSENSE.items() for given in values])
def test_nonsense_in_the_address_gives_the_default_and_a_note(key, given):
    app = masks_page(ranges="true", custom="true", **{key: given})
    assert_fine(app)
    said = [block.proto.body for block in app.get("html") if f"{key} = " in block.proto.body]
    assert len(said) == 1
    assert_shows(app, 0, masks.valid_lens([5, 2], T), masks.heads(OWN, T))
    if key == "lens":
        assert f"Expected 2 whole numbers from 0 to {T}." in said[0]


def test_a_good_address_is_taken_and_kept():
    app = masks_page(lens="3,2", ranges="true", keys="1-5,2-3", custom="true", grid=pack_mask(GRID))
    assert_fine(app)
    assert "cannot be used" not in html(app)
    assert in_address(app, "lens") == "3,2"
    assert in_address(app, "keys") == "1-5,2-3"
    np.testing.assert_array_equal(unpack_mask(in_address(app, "grid"), (T, T)), GRID)
    per_head = np.array([[True] * 5, [False, True, True, False, False]])
    assert_shows(app, 0, masks.valid_lens([3, 2], T), masks.heads(per_head, T), masks.custom(GRID))
    app.run()
    assert in_address(app, "lens") == "3,2"


def test_defaults_are_not_in_the_address():
    app = masks_page(ranges="true", custom="true")
    assert not {"lens", "keys", "grid"} & set(app.query_params)


# What the file uploader calls: AppTest cannot choose a file.


@pytest.fixture
def state(monkeypatch):
    kept: dict = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def upload(state, name: str, data: bytes) -> None:
    state["mask_file"] = SimpleNamespace(name=name, getvalue=lambda: data)
    custom_mask._take_file((2, 2, 3))


def test_a_good_file_becomes_the_mask(state):
    upload(state, "m.csv", b"1,0,1\n0,1,1\n")
    wanted = np.array([[1, 0, 1], [0, 1, 1]], dtype=bool)
    np.testing.assert_array_equal(state["_grid"], np.broadcast_to(wanted, (2, 2, 3)))
    assert not state["_grid_refused"]
    upload(state, "m.JSON", json.dumps([[[1, 0, 1], [0, 1, 1]], [[0, 0, 0], [1, 1, 1]]]).encode())
    np.testing.assert_array_equal(state["_grid"][1], [[False] * 3, [True] * 3])


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("m.csv", b"1,0\n0,1\n", r"\(Tq, Tk\) = \(2, 3\).* got .*\(2, 2\)"),
        ("m.csv", b"1,0,2\n0,1,1\n", "'2' in row 1, column 3"),
        ("m.csv", b"1,0,NaN\n0,1,1\n", "'NaN' in row 1, column 3"),
        ("m.json", b"[[1, 0, 1], [0, NaN, 1]]", "NaN in row 2, column 2"),
        ("m.json", b"[[1, 0", "expected JSON"),
        ("m.csv", b"\xff\xfe", "UTF-8"),
        ("m.csv", b"", "empty file"),
        ("m.txt", b"1", "kind"),
    ],
)
def test_a_bad_file_is_refused_with_shape_or_place_and_changes_nothing(state, name, data, said):
    state["_grid"] = before = np.ones((2, 2, 3), dtype=bool)
    upload(state, name, data)
    assert re.search(said, state["_grid_refused"])
    assert state["_grid"] is before


def test_what_is_refused_is_shown_literally():
    app = masks_page(custom="true")
    app.session_state["_grid_refused"] = "<b>x</b>.csv is not used"
    app.run()
    assert "&lt;b&gt;x&lt;/b&gt;.csv is not used" in html(app)
    app.toggle(key="custom").set_value(False).run()
    assert "is not used" not in html(app)


def test_a_custom_mask_keeps_its_cells_when_a_text_grows():
    app = masks_page(padding="false", custom="true", grid=pack_mask(GRID))
    app.text_area(key="texts").set_value("a b c d e new\nf g").run()
    assert_fine(app)
    grown = np.ones((6, 6), dtype=bool)
    grown[:T, :T] = GRID
    np.testing.assert_array_equal(unpack_mask(in_address(app, "grid"), (6, 6)), grown)


def test_over_24_tokens_there_are_no_check_boxes_and_a_word_on_files():
    app = opened(PAGE, texts="w " * 25, custom="true", **MODEL)
    assert_fine(app)
    assert "Check boxes end at 24 x 24" in html(app)


def test_why_names_the_rules_or_says_that_there_is_none():
    app = masks_page(mask_view="Why blocked?", causal="true", text_number="2", query="1 f", key="4 [pad]")
    assert "blocked by padding and causal" in html(app)
    app.selectbox(key="key").set_value(0).run()
    assert "no rule blocks it" in html(app)
    assert "blocked by" not in html(app)


def test_the_tables_say_what_the_library_measures():
    app = masks_page(mask_view="In numbers", causal="true")
    of_rules, of_heads, of_output = (table.value for table in app.dataframe)
    model = Model(d_model=8, num_heads=H)
    X = embed_batch(read_lines(TEXTS), model)[:1]
    effect = mask_effect(X, X, X, Weights.draw(8, H, 0), [masks.valid_lens([5], T), masks.causal(T, T)])
    assert list(of_rules["cells"]) == [0, H * 10]  # 5 x 5 has 10 cells above the diagonal
    assert list(of_rules["alone"]) == [0, H * 10]
    np.testing.assert_allclose(of_rules["Head 2"].to_numpy()[1], 100 * effect.removed[0, 1].mean(), rtol=1e-12)
    np.testing.assert_allclose(of_heads["entropy"], effect.entropy_change[0].mean(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(of_output["length"], effect.change_length[0], rtol=1e-12)
    assert "Every row has a key left." in html(app)


def test_the_table_of_rules_names_the_keys_that_gain_by_each_rule_alone():
    app = masks_page(mask_view="In numbers", causal="true", window="true", left="1", right="0")
    [_, causal, _] = app.dataframe[0].value["gained"]
    before = expected(0)[0]
    gained = np.zeros(T)
    for head in before:
        for i, row in enumerate(head):  # by hand: what is left of a row, shared out again
            gained[: i + 1] += row[: i + 1] / row[: i + 1].sum() - row[: i + 1]
    wanted = sorted(enumerate(gained / H), key=lambda found: -found[1])[:3]
    assert causal == ", ".join(f"{j + 1} {'abcde'[j]} +{of_key:.2f}" for j, of_key in wanted)


def test_four_conventions_stand_beside_each_other():
    app = masks_page(mask_view="No key left", lens="0,2")
    ways, rounded = (table.value for table in app.dataframe)
    assert list(ways.columns) == ["Zeros", "NaN", "1/Tk", "As if unmasked"]
    assert (ways["Zeros"] == 0).all()
    assert ways["NaN"].isna().all()
    np.testing.assert_allclose(ways["1/Tk"], 1 / T)
    np.testing.assert_allclose(ways["As if unmasked"], expected(0)[0][0, 0], rtol=1e-12)
    assert rounded.shape == (T, 4)  # exact, and three roundings


def test_snippets_are_made_from_the_rules_that_are_on():
    app = masks_page(mask_view="Other libraries", causal="true")
    assert "causal" in app.code[-1].value
    app.toggle(key="causal").set_value(False).run()
    assert "causal" not in app.code[-1].value


def test_a_small_mask_is_a_picture_of_every_map():
    wide, high = (int.from_bytes(small_mask(np.ones((3, 2, 2), dtype=bool))[at : at + 4], "big") for at in (16, 20))
    assert (wide, high) == (128, 128)  # three maps of 60 px in two rows of two, 8 px between them


def test_words_typed_do_not_become_markup():
    app = masks_page()
    app.text_area(key="texts").set_value("<img src=x> **b**\nx").run()
    assert "<img src=x>" not in html(app)
    assert "&lt;img" in html(app)


def test_steps_and_masks_share_a_session_and_what_they_choose():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["text"], app.query_params["texts"] = "one two three four five", "a b\nc"
    for key, value in MODEL.items():
        app.query_params[key] = value
    app.run()
    app.switch_page("pages/steps.py").run()
    assert_fine(app)
    app.selectbox(key="query").set_value(4).run()
    assert_fine(app)
    app.switch_page("pages/masks.py").run()
    assert_fine(app)
    app.session_state["mask_view"] = "Why blocked?"
    app.run()
    assert_fine(app)
    assert app.selectbox(key="query").value == 1  # two positions here: the fifth is no longer offered
    app.switch_page("pages/steps.py").run()
    assert_fine(app)
    assert app.text_input(key="text").value == "one two three four five"
