"""The Restriction page through AppTest: the exercise, every kind of restriction, predictions, seeds, bad links."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha import Weights, embed, masks, restrict
from mha import restriction_rules as rules
from mha.config import PRESETS, Model
from mha.findings import what_changed, what_this_suggests
from mha.mask_files import pack_mask
from mha.restriction import Restriction
from mha.seed_sweep import joined, sweep
from mha.ui import sentences
from tests.test_pages import HARD_TEXTS, ROOT, assert_fine, opened

PAGE = ROOT / "pages" / "restriction.py"
VIEWS = ("All heads", "One head", "Arrows", "Output", "Heads", "Many seeds", "Findings")
TEXT, T, H = "a b c d e", 5, 2
DAY_28 = PRESETS[1].model
GRID = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 1, 0]], dtype=bool)


def page(**address: str) -> AppTest:
    return opened(PAGE, **{"text": TEXT, "heads": "2", "width": "8", **address})


def html(app: AppTest) -> str:
    return " ".join(block.proto.body for block in app.get("html"))


def drawn(app: AppTest, part: str) -> np.ndarray:
    """The maps of one part of the picture, (H, T, T) float32: NaN where a cell is blocked."""
    found = []
    for trace in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]:
        if trace["type"] == "heatmap" and "coloraxis" in trace and part in trace["name"]:
            shape = [int(length) for length in trace["z"]["shape"].split(",")]
            found.append(np.frombuffer(base64.b64decode(trace["z"]["bdata"]), dtype="<f4").reshape(shape))
    return np.array(found)


def made(
    *restriction: masks.Rule, base: masks.Rule | None = None, text: str = TEXT, model: Model | None = None
) -> Restriction:
    """The same from the library, outside the app."""
    model = model or Model(d_model=8, num_heads=H)
    tokens = text.split()
    X = embed(tokens, model.d_model, model.seed)[None]
    weights = Weights.draw(model.d_model, model.num_heads, model.seed, init=model.init)
    shape = (1, model.num_heads, len(tokens), len(tokens))
    return restrict(X, X, X, weights, masks.combine(*restriction, shape=shape), mask=base)


def assert_shows(app: AppTest, wanted: Restriction) -> None:
    assert_fine(app)
    before, after = wanted.baseline, wanted.restricted
    parts = {
        "Original": np.where(before.mask, before.weights, np.nan),
        "Restricted": np.where(after.mask, after.weights, np.nan),
        "Difference": np.where(before.mask, after.weights - before.weights, np.nan),
    }
    for part, values in parts.items():
        np.testing.assert_array_equal(drawn(app, part), values[0].astype(np.float32))
    assert f"{int(before.mask.sum() - after.mask.sum())} of {int(before.mask.sum())} cells" in html(app)


def test_the_exercise_is_one_click():
    app = opened(PAGE, text="something else", heads="4", width="12", restrict="Own position", off="1", causal="true")
    app.button(key="day_28").click().run()
    assert_shows(app, made(rules.own_blocks(2, 4), text="A B C D", model=DAY_28))
    assert app.text_input(key="text").value == "A B C D"
    assert app.selectbox(key="preset").value == "Day 28 (PyTorch)"
    assert "cannot be used" not in html(app)


def test_the_exercise_with_ones_own_sentence():
    app = opened(PAGE, text="my own five word sentence", valid="2")
    app.button(key="day_28_own").click().run()
    assert_shows(app, made(rules.own_blocks(2, 5), text="my own five word sentence", model=DAY_28))


KINDS = {
    "Equal blocks": rules.own_blocks(H, T),
    "Odd and even": rules.odd_even(H, T),
    "Own position": rules.own_position(T),
    "Nearest": rules.nearest(T, 3),
    "First token": rules.first_only(T),
    "All but the first": rules.all_but_first(T),
    "Ticked": rules.own_blocks(H, T),  # until something is ticked
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_by_selector_and_by_link(kind):
    app = page(restrict="Nothing")
    assert "forbids none of 50 cells: the largest change of an output is 0." in html(app)
    app.selectbox(key="restrict").set_value(kind).run()
    assert_shows(app, made(KINDS[kind]))
    assert_shows(page(restrict=kind), made(KINDS[kind]))
    app.selectbox(key="restrict").set_value("Nothing").run()
    assert "forbids none" in html(app)


def test_what_a_kind_needs_travels_in_the_link():
    assert_shows(page(restrict="Nearest", nearest="2"), made(rules.nearest(T, 2)))
    app = page(restrict="Ticked", ticks=pack_mask(GRID))
    assert_shows(app, made(rules.ticked(GRID, T)))
    assert "cannot be used" not in html(app)


def test_ticks_follow_a_text_that_grows():
    app = page(restrict="Ticked", ticks=pack_mask(GRID))
    app.text_input(key="text").set_value("a b c d e f").run()
    grown = np.column_stack([GRID, [False, True]])  # the new position as in equal blocks: head 2's
    assert_shows(app, made(rules.ticked(grown, 6), text="a b c d e f"))
    app.selectbox(key="heads").set_value(1).run()
    assert_fine(app)


def test_heads_are_switched_off_and_on_again():
    app = page(off="2")
    assert_shows(app, made(rules.own_blocks(H, T), rules.heads_off([1], H)))
    assert "Head 2, queries 1 to 5: the head is off." in html(app)
    app.button_group(key="off_heads").set_value([]).run()
    assert_shows(app, made(rules.own_blocks(H, T)))
    assert "off" not in app.query_params
    app.button_group(key="off_heads").set_value([0]).run()
    assert_shows(app, made(rules.own_blocks(H, T), rules.heads_off([0], H)))
    assert app.query_params["off"] in ("1", ["1"])


def test_causal_and_a_valid_length_hold_for_both_passes():
    assert_shows(page(causal="true"), made(rules.own_blocks(H, T), base=masks.causal(T, T)))
    app = page(valid="3")
    assert_shows(app, made(rules.own_blocks(H, T), base=masks.valid_lens([3], T)))


def test_rows_with_no_key_left_are_listed_and_explained():
    app = page(text="a b c d e f", causal="true")
    assert [block.label for block in app.expander] == ["No key left in 3 of 12 rows"]
    said = (
        "Head 2, queries 1 to 3: each of “causal” and “own block only” leaves it keys, but none that all of them allow."
    )
    assert said in html(app)
    app.toggle(key="causal").set_value(False).run()
    assert not app.expander
    # halves + valid length 3 of 6: nothing is left of head 2
    app = page(text="a b c d e f", valid="3")
    assert "Head 2, queries 1 to 6: each of “padding” and “own block only”" in html(app)


EDGES = {
    "all heads off": ({"off": "1,2"}, "10 of 10 rows have no key left"),
    "one position": ({"text": "alone"}, "1 of 2 rows have no key left"),
    "fewer positions than heads": ({"text": "a b", "heads": "4"}, "“own block only” leaves this head no position"),
    "one head": ({"heads": "1", "restrict": "First token"}, "20 of 25 cells"),
    "one of all": ({"text": "alone", "heads": "1"}, "forbids none of 1 cells"),
    "everything padded": ({"valid": "0"}, "forbids none of 0 cells"),
    "odd length": ({"text": "a b c d e"}, "25 of 50 cells"),
}


@pytest.mark.parametrize(
    ("address", "said", "view"),
    [
        pytest.param(address, said, view, id=f"{name}, {view}")
        for n, (name, (address, said)) in enumerate(EDGES.items())
        for view in (VIEWS if n < 2 else (VIEWS[-n],))
    ],
)
def test_edges_are_clear_sentences_and_no_error(address, said, view):
    app = page(restrict_view=view, **address)
    assert_fine(app)
    assert said in html(app)
    assert "nan" not in html(app)
    if view == "Many seeds":
        app.button(key="run_seeds").click().run()
        assert_fine(app)
        assert "nan" not in html(app)


@pytest.mark.parametrize(
    ("text", "view"),
    [
        pytest.param(text, view, id=f"{name}, {view}")
        for n, (name, text) in enumerate(HARD_TEXTS.items())
        for view in (("All heads", "Findings", "Output", "Heads")[n % 4],)
    ],
)
def test_no_text_makes_a_view_fail(text, view):
    assert_fine(page(text=text, restrict_view=view, causal="true", restrict="Ticked"))


NONSENSE = {
    "restrict": ("Magic", "Equal blocks"),
    "nearest": ("0", "3"),
    "off": ("3", "left out"),
    "off ": ("2,1", "left out"),
    "off  ": ("x", "left out"),
    "ticks": ("AAAA", "left out"),
    "valid": ("6", "5"),
    "predict": ("maybe", "false"),
    "restrict_view": ("Nowhere", "All heads"),
}


@pytest.mark.parametrize(("key", "given", "used"), [(key.strip(), *rest) for key, rest in NONSENSE.items()])
def test_an_impossible_restriction_in_a_link_gives_the_default_and_a_note(key, given, used):
    kind = {"nearest": "Nearest", "ticks": "Ticked"}.get(key, "Equal blocks")
    app = page(**({} if key == "restrict" else {"restrict": kind}), **{key: given})
    assert_shows(app, made(KINDS[kind]))
    [said] = [block.proto.body for block in app.get("html") if f"{key} = {given}" in block.proto.body]
    assert used in said


def test_output_and_heads_are_the_measured_numbers():
    wanted = made(rules.own_blocks(H, T))
    app = page(restrict_view="Output")
    table = app.dataframe[0].value
    np.testing.assert_array_equal(table["length"], wanted.change_length[0])
    np.testing.assert_array_equal(table["relative"], 100 * wanted.relative_change[0])
    np.testing.assert_array_equal(table["cosine"], wanted.cosine[0])
    [bars] = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    np.testing.assert_array_equal(bars["y"], 100 * wanted.relative_change[0])
    app = page(restrict_view="Heads")
    parts = [bar["y"] for bar in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]]
    np.testing.assert_array_equal(parts, wanted.head_shares[0] * wanted.change_length[0])
    np.testing.assert_allclose(np.sum(parts, axis=0), wanted.change_length[0], atol=wanted.bound)
    assert f"by at most {wanted.residual:.1e}, within the bound for rounding of {wanted.bound:.1e}." in html(app)
    heads = app.dataframe[0].value
    np.testing.assert_allclose(heads["lost"], 100 * wanted.forbidden_weight[0].mean(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(heads["share"].sum(), 100, rtol=1e-9)


def test_predictions_come_before_the_numbers_and_are_compared_with_them():
    wanted = made(rules.own_blocks(H, T))
    app = page(predict="true")
    assert_fine(app)
    assert "forbids" not in html(app)
    assert not app.get("tab")
    np.testing.assert_array_equal(drawn(app, "Head"), wanted.baseline.weights[0].astype(np.float32))
    i = int(wanted.change_length[0].argmax())
    app.selectbox(key="guess_position").set_value(i).run()
    app.selectbox(key="guess_empty").set_value(0).run()
    assert "forbids" not in html(app)
    app.button(key="reveal").click().run()
    assert_shows(app, wanted)
    assert f"You said {i + 1} {'abcde'[i]}: as measured. Measured: {i + 1} {'abcde'[i]}, by" in html(app)
    assert "Which head loses most attention? No guess. Measured: Head" in html(app)
    assert "You said Yes: not so. Measured: none." in html(app)
    # another experiment is predicted anew; switched off, nothing is asked
    app.text_input(key="text").set_value("x y z").run()
    assert "forbids" not in html(app)
    app.toggle(key="predict").set_value(False).run()
    assert "forbids" in html(app)


def test_predictions_are_off_by_default_and_ask_only_what_can_be_asked():
    assert not page().toggle(key="predict").value
    app = page(predict="true", text="alone", heads="1")
    assert [box.label for box in app.selectbox if str(box.key).startswith("guess")] == ["Any row with no key left?"]
    app.button(key="reveal").click().run()
    assert_fine(app)
    app = page(predict="true", restrict="Nothing")
    app.button(key="reveal").click().run()
    assert "Which output changes most, by its length? No guess. Measured: none changes." in html(app)


def test_many_seeds_wait_for_the_button_and_are_kept():
    words = "seeds of this test"
    app = page(text=words, restrict_view="Many seeds")
    assert not app.get("plotly_chart")
    app.button(key="run_seeds").click().run()
    assert_fine(app)
    wanted = joined(list(sweep(tuple(words.split()), Model(d_model=8, num_heads=2), rules.own_blocks(2, 4))))
    boxes = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    medians = [box["median"][0] for box in boxes if box["type"] == "box"]
    np.testing.assert_allclose(medians, 100 * np.median(wanted.relative_change, axis=0), rtol=1e-9)
    by_head = json.loads(app.get("plotly_chart")[1].proto.spec)["data"]
    medians = [box["median"][0] for box in by_head if box["type"] == "box"]
    np.testing.assert_allclose(medians, np.median(wanted.head_change_length.mean(axis=-1), axis=0), rtol=1e-9)
    assert "Over 200 seeds: the box is the middle half" in html(app)
    # whatever the seed, another visitor finds them ready
    again = page(text=words, restrict_view="Many seeds", seed="5")
    assert len(again.get("plotly_chart")) == 2
    assert "seed 5, as in the other views" in html(again)
    assert "run_seeds" not in [button.key for button in again.button]
    # another restriction does not
    assert not page(text=words, restrict_view="Many seeds", restrict="Own position").get("plotly_chart")


def test_findings_are_those_of_the_library():
    wanted = made(rules.own_blocks(H, T))
    tokens = tuple(TEXT.split())
    app = page(restrict_view="Findings")
    shown = html(app).replace("<bdi>", "").replace("</bdi>", "").replace("&#x27;", "'")
    for finding in (*what_changed(wanted, tokens), *what_this_suggests(wanted, tokens)):
        assert f"<li>{finding.plain}</li>" in shown
    nothing = html(page(restrict_view="Findings", restrict="Nothing"))
    assert "No output changed: the largest change is 0." in nothing
    assert "What this suggests" not in nothing


def test_ones_own_sentences_stay_from_page_to_page_and_out_of_the_link():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    app.switch_page("pages/restriction.py").run()
    app.session_state["restrict_view"] = "Findings"
    app.run()
    mine = "Head 2 lost <b>most</b>. " + "x" * 19_000
    app.text_area(key="own_sentences").set_value(mine).run()
    app.switch_page("pages/heads.py").run()
    app.switch_page("pages/restriction.py").run()
    app.session_state["restrict_view"] = "Findings"
    app.run()
    assert_fine(app)
    assert app.text_area(key="own_sentences").value == mine
    assert "They are not in the link" in html(app)
    [link] = [block.value for block in app.code]
    assert "Head%202" not in link
    assert "own_sentences" not in link
    assert "restrict=Equal%20blocks" in link
    assert "own_sentences" not in app.query_params


def test_of_longer_sentences_a_report_takes_the_beginning_and_the_page_says_so(monkeypatch):
    app = opened(PAGE, restrict_view="Findings")
    field = app.text_area(key="own_sentences")
    assert not field.proto.max_chars  # a longer text that is pasted would vanish as a whole
    mine = "x" * 19_999 + "yz"
    field.set_value(mine[:-1]).run()
    assert "a report takes" not in html(app)
    app.text_area(key="own_sentences").set_value(mine).run()
    assert_fine(app)
    assert app.text_area(key="own_sentences").value == mine
    assert "These are 20,001 characters; a report takes the first 20,000." in html(app)
    monkeypatch.setattr("streamlit.session_state", app.session_state)
    assert sentences.own_sentences() == mine[:-1]
