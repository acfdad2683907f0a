"""What every page gives to take away: offered by the page, made on a click, and the same numbers as on the screen."""

from __future__ import annotations

import numpy as np
import pytest

from mha import Tokens, Weights, attend, embed, export, figures, masks, restriction_rules
from mha.config import Model
from mha.export import report
from mha.figures.palette import THEMES
from mha.ui import many_seeds, restriction_report, restriction_views, sentences, show, take_away
from mha.ui.compute import Pass
from mha.ui.restriction_controls import Chosen
from tests.test_pages import ROOT, assert_fine, opened
from tests.test_pages_masks import html

PAGES = ("heads", "steps", "masks", "cross", "restriction")
FILES = {"PNG", "SVG", "CSV", "NPZ", "JSON", "NumPy", "PyTorch", "HTML", "Markdown"}
TOKENS, MODEL = Tokens(("one", "two", "<b>three</b>", "four", "five")), Model(seed=3, d_model=12, num_heads=3)


def buttons(app):
    return {button.proto.label for button in app.get("download_button")}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_offers_every_kind_of_file_when_asked_and_makes_none_before(page):
    app = opened(ROOT / "pages" / f"{page}.py")
    assert_fine(app)
    assert not buttons(app)
    app.session_state["take_away"] = True  # opened
    app.run()
    assert_fine(app)
    assert buttons(app) >= FILES


def passed(*rules: masks.Rule) -> Pass:
    X, weights = embed(TOKENS, 12, 3)[None], Weights.draw(12, 3, 3)
    mask = masks.combine(*rules, shape=(1, 3, 5, 5))
    return Pass(TOKENS, X, weights, mask, attend(X, X, X, weights, mask=mask))


def test_the_numbers_taken_away_are_those_on_the_screen():
    run = passed(masks.causal(5, 5))
    taken = take_away.of_text(run, MODEL)
    found = export.read_npz(taken.numbers.npz({}))
    np.testing.assert_array_equal(found.arrays["weights"], run.trace.weights)
    np.testing.assert_array_equal(found.arrays["output"], run.trace.output)


@pytest.fixture
def exercise():
    chosen = Chosen((), (restriction_rules.own_blocks(3, 5),), predict=False)
    return restriction_views.restricted(TOKENS, MODEL, chosen)


def test_the_exercise_is_one_scene_with_both_passes(exercise, monkeypatch):
    monkeypatch.setattr(many_seeds, "swept", lambda run: {})  # no session here
    monkeypatch.setattr(sentences, "own_sentences", lambda: "<script>alert(1)</script> mine")
    taken = restriction_report.taken(exercise)
    arrays = export.read_npz(taken.numbers.npz({})).arrays
    np.testing.assert_array_equal(arrays["weights"], exercise.made.baseline.weights)
    np.testing.assert_array_equal(arrays["restricted_output"], exercise.made.restricted.output)
    assert taken.pictures is not None
    shown = take_away.drawings(taken.pictures())
    assert [chart.key for chart, _ in shown] == ["maps", "output"]
    made = report.html(
        report.Report(
            "x",
            pictures=tuple(report.Picture(chart.key, svg, "") for chart, svg in shown),
            tables=taken.tables(),
            findings=taken.findings(),
            own_words=taken.own_words,
        )
    )
    assert "&lt;script&gt;alert(1)&lt;/script&gt; mine" in made
    assert "<script" not in made
    assert f"{exercise.made.relative_change[0, 2]:.4f}" in made
    assert {section.title for section in taken.findings()} >= {"What was measured", "What changed"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_has_the_ground_that_its_colours_were_chosen_for(theme):
    run, looks = passed(), THEMES[theme]
    figure = figures.head_maps(run.trace.weights[0], TOKENS, TOKENS, names=["Head 1", "Head 2", "Head 3"], theme=theme)
    [(_, svg)] = take_away.drawings([show.Chart("maps", figure, "", theme=theme)])
    assert looks.page in svg
    assert looks.text in svg


def test_a_settings_file_opens_as_its_link_would():

    app = opened(ROOT / "pages" / "heads.py", text="a b c", heads="3", width="12", causal="true", seed="5")
    assert_fine(app)
    settings = {"v": "1", "text": "x y", "heads": "2", "width": "8", "causal": "false", "seed": "9", "view": "Arrows"}
    app.session_state["_address_given"] = dict(settings, v="1")
    app.session_state["_address_to_open"] = {name: value for name, value in settings.items() if name != "v"}
    app.session_state["_address_given"].pop("v")
    app.run()
    assert_fine(app)
    assert app.text_input(key="text").value == "x y"
    assert app.selectbox(key="heads").value == 2
    assert app.number_input(key="seed").value == 9
    assert app.toggle(key="causal").value is False
    assert "cannot be used" not in html(app)


def test_what_a_settings_file_says_wrongly_is_named_and_the_rest_holds():
    app = opened(ROOT / "pages" / "heads.py")
    wrong = {"text": "x y", "seed": "-4", "init": "none of these", "causal": "perhaps"}
    app.session_state["_address_given"] = dict(wrong)
    app.session_state["_address_to_open"] = dict(wrong)
    app.run()
    assert_fine(app)
    assert app.text_input(key="text").value == "x y"
    assert all(f"{name} = {wrong[name]}" in html(app) for name in ("seed", "init", "causal"))
