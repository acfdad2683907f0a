"""What every page gives to take away: offered by the page, made on a click, and the same numbers as on the screen."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

from mha import Tokens, Weights, attend, embed, export, figures, masks, restriction_rules, seed_sweep
from mha.config import Model
from mha.export import report
from mha.export.translation import TranslationScene
from mha.export.translation_data import read_translation_csv, read_translation_json, read_translation_npz
from mha.export.translation_program import translation_zip
from mha.figures.palette import THEMES
from mha.translator import evaluate
from mha.translator.restrictions import FREE, FirstWords, HeadsOff, Rules
from mha.ui import (
    address,
    many_seeds,
    maps,
    restriction_change,
    restriction_report,
    restriction_views,
    sentences,
    show,
    take_away,
    translate_report,
    translate_run,
    translate_worth,
)
from mha.ui.compute import Pass
from mha.ui.restriction_controls import Chosen
from tests.test_pages import ROOT, assert_fine, opened
from tests.test_pages_masks import html

PAGES = ("heads", "steps", "masks", "cross", "restriction")
FILES = {"PNG", "SVG", "CSV", "NPZ", "JSON", "NumPy", "PyTorch", "HTML", "Markdown"}
LINK = {"v": "1", "number": "321"}
TOKENS, MODEL = Tokens(("one", "two", "<b>three</b>", "four", "five")), Model(seed=3, d_model=12, num_heads=3)


def buttons(app):
    return {button.proto.label for button in app.get("download_button")}


@pytest.mark.parametrize(
    ("page", "files"),
    # the translator's script is in NumPy alone, with its weights
    [*((page, FILES) for page in PAGES), ("translate", FILES - {"PyTorch"})],
)
def test_a_page_offers_every_kind_of_file_when_asked_and_makes_none_before(page, files):
    app = opened(ROOT / "pages" / f"{page}.py")
    assert_fine(app)
    assert not buttons(app)
    app.session_state["take_away"] = True  # opened
    app.run()
    assert_fine(app)
    assert buttons(app) == files


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


@pytest.mark.parametrize(
    ("tokens", "heads", "width", "kinds"),
    [
        (128, 16, 64, {"csv", "npz", "json"}),  # 262,144 cells
        (128, 16, 512, {"csv", "npz"}),  # and four matrices of as many numbers
        (64, 16, 512, {"csv", "npz"}),
        (64, 8, 64, {"csv", "npz", "json"}),
    ],
)
def test_a_file_that_would_take_long_is_not_offered(tokens, heads, width, kinds):
    scene = export.Scene((("w",) * tokens,), Model(0, width, heads))
    numbers = take_away.of_scene(scene).numbers
    assert {kind for kind, make in numbers._asdict().items() if make is not None} == kinds
    of_arrays = sum(array.size for array in export.data_of(scene).arrays.values())
    assert export.count_numbers(scene) == of_arrays
    assert (numbers.json is None) == (of_arrays > take_away.MOST_JSON_NUMBERS)


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


def test_the_boxes_of_many_seeds_are_in_the_report_once_they_are_computed(exercise, monkeypatch):
    restriction = masks.custom(exercise.made.restricted.mask)
    swept = {int(part.seeds[0]): part for part in seed_sweep.sweep(TOKENS, MODEL, restriction, seeds=range(30))}
    monkeypatch.setattr(many_seeds, "swept", lambda run: swept)  # no session here
    monkeypatch.setattr(sentences, "own_sentences", lambda: "")
    pictures = restriction_report.taken(exercise).pictures
    assert pictures is not None
    positions, heads = take_away.drawings(pictures())[2:]
    assert [chart.key for chart, _ in (positions, heads)] == ["seeds_positions", "seeds_heads"]
    assert positions[1].count("fill-opacity") == 5
    assert heads[1].count("fill-opacity") == 3
    for chart, svg in (positions, heads):
        assert chart.title.endswith(", over 30 seeds")
        assert f"seed {MODEL.seed}, as in the other views" in svg


def test_the_shares_of_many_heads_are_tables_as_wide_as_paper(monkeypatch):
    monkeypatch.setattr(many_seeds, "swept", lambda run: {})  # no session here
    monkeypatch.setattr(sentences, "own_sentences", lambda: "")
    chosen = Chosen((), (restriction_rules.own_blocks(11, 5),), predict=False)
    run = restriction_views.restricted(TOKENS, Model(seed=3, d_model=22, num_heads=11), chosen)
    tables = [table for table in restriction_report.taken(run).tables() if table.title.startswith("Share")]
    assert [table.title.partition(", ")[2] for table in tables] == ["heads 1 to 8", "heads 9 to 11"]
    for table, first, end in zip(tables, (0, 8), (8, 11), strict=True):
        assert table.columns == ("Position", *(f"Head {h + 1}" for h in range(first, end)))
        np.testing.assert_array_equal([row[1:] for row in table.rows], run.made.head_shares[0, first:end].T)


def test_words_from_right_to_left_keep_to_themselves_in_the_sentences_of_a_report(monkeypatch):
    monkeypatch.setattr(many_seeds, "swept", lambda run: {})  # no session here
    monkeypatch.setattr(sentences, "own_sentences", lambda: "")
    tokens = Tokens(("القطة", "\u202eevil", "<b>&amp;"))
    run = restriction_views.restricted(tokens, MODEL, Chosen((), (restriction_rules.own_blocks(3, 3),), predict=False))
    said = " ".join(sentence for section in restriction_report.taken(run).findings() for sentence in section.sentences)
    quoted = set(re.findall("“(.*?)”", said))
    assert quoted <= {"\u2068القطة\u2069", "<U+202E>evil", "<b>&amp;"}
    assert len(quoted) >= 2
    assert "\u202e" not in said


def test_the_translation_taken_away_is_that_on_the_screen(monkeypatch):
    monkeypatch.setattr(translate_worth, "seen", lambda run: {})  # no session here
    rules = Rules(cross=(FirstWords(1), HeadsOff((2,))))
    run = translate_run.translated(321, translate_run.Chosen("one_head", rules, predict=False))
    taken = translate_report.taken(run)
    assert taken.numbers.csv is not None
    assert taken.numbers.json is not None
    files = {
        "csv": read_translation_csv(taken.numbers.csv(LINK)),
        "npz": read_translation_npz(taken.numbers.npz(LINK)),
        "json": read_translation_json(taken.numbers.json(LINK)),
    }
    for found in files.values():
        assert (found.scene, found.produced, found.link) == (
            TranslationScene(321, "one_head", rules),
            run.produced,
            LINK,
        )
        for name in ("encoder", "decoder", "cross"):
            np.testing.assert_array_equal(found.arrays[f"{name}_weights"], run.seen(name).trace.weights)
    [(label, file, _, made)] = taken.code
    assert (label, file) == ("NumPy", "translate_numpy.zip")
    assert made() == translation_zip(TranslationScene(321, "one_head", rules))

    assert taken.pictures is not None
    shown = take_away.drawings(taken.pictures())
    # the first one stands for views of tables and bars
    assert [chart.title for chart, _ in shown] == ["Cross-attention", "Encoder", "Decoder"]
    assert all(word in shown[0][1] for word in (*run.produced, *run.source))
    assert "<script" not in report.html(report.Report("x", tables=taken.tables(), findings=taken.findings()))
    steps, measures, right = taken.tables()
    assert [row[1] for row in steps.rows] == list(run.produced)
    np.testing.assert_allclose([row[2] for row in steps.rows], run.passes.probabilities[0].max(axis=-1))
    for row, weights in zip(steps.rows, run.seen("cross").trace.weights[0, 1], strict=True):  # of head 2
        assert row[5] == f"{run.seen('cross').keys[weights.argmax()]} {weights.max():.2f}"
    assert {row[6] for row in steps.rows} == {"nothing"}  # head 3 is off
    assert len(measures.rows) == 12
    accuracies = [evaluate.accuracy(run.translator, evaluate.sample(), each) for each in (FREE, rules)]
    assert [row[1] for row in right.rows] == [each.right.sum() for each in accuracies]
    assert [row[-1] for row in right.rows] == [each.by_crossing()[True].right.sum() for each in accuracies]


def test_the_report_of_a_right_translation_says_where_it_crosses(monkeypatch):
    monkeypatch.setattr(translate_worth, "seen", lambda run: {})  # no session here
    run = translate_run.translated(34, translate_run.Chosen("shared", FREE, predict=False))
    sections = {section.title: section.sentences for section in translate_report.taken(run).findings()}
    assert list(sections) == ["What was measured", "The crossing"]
    [said] = sections["The crossing"]
    assert said.startswith("“thirty four” becomes “vier und dreißig”: ")
    assert "34 (" in sections["What was measured"][0]
    assert "<" not in said


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_has_the_ground_that_its_colours_were_chosen_for(theme):
    run, looks = passed(), THEMES[theme]
    figure = figures.head_maps(run.trace.weights[0], TOKENS, TOKENS, names=["Head 1", "Head 2", "Head 3"], theme=theme)
    [(_, svg)] = take_away.drawings([show.Chart("maps", figure, "", theme=theme)])
    assert looks.page in svg
    assert looks.text in svg


@pytest.mark.parametrize("view", ["Output", "Heads", "Findings"])
def test_the_picture_is_that_of_the_view_or_the_maps_behind_a_view_without_one(view, exercise, monkeypatch):
    monkeypatch.setattr(many_seeds, "swept", lambda run: {})  # no session here
    monkeypatch.setattr(sentences, "own_sentences", lambda: "")
    with show.charts_noted() as charts:
        {"Output": restriction_change.output, "Heads": restriction_change.heads, "Findings": lambda run: None}[view](
            exercise
        )
    [_, (_, file, kind, made)] = take_away._pictures("restriction", restriction_report.taken(exercise), charts)
    assert (file, kind) == ("headlight-restriction.svg", "image/svg+xml")
    svg = made()
    assert ("change, %" in svg, "change of the output" in svg, "Restricted" in svg) == (
        view == "Output",
        view == "Heads",
        view == "Findings",
    )


def test_a_view_of_tables_gives_the_maps_behind_it():
    run = passed(masks.causal(5, 5))
    [(_, _, _, png), (_, _, _, svg)] = take_away._pictures("heads", take_away.of_text(run, MODEL), [])
    assert "Head 3" in str(svg())
    drawn = png()
    assert isinstance(drawn, bytes)
    assert drawn.startswith(b"\x89PNG")


def test_a_page_with_no_picture_at_all_says_so(monkeypatch):
    monkeypatch.setattr(take_away, "of_text", lambda run, model: take_away.of_scene(export.Scene((TOKENS,), MODEL)))
    app = opened(ROOT / "pages" / "heads.py", view="Measures")
    app.session_state["take_away"] = True
    app.run()
    assert_fine(app)
    assert not {"PNG", "SVG"} & buttons(app)
    assert "no picture in this view" in html(app)


def test_a_report_is_on_white_whatever_the_page_is_on(monkeypatch):
    run = passed()
    monkeypatch.setattr(show, "theme", lambda: "dark")
    monkeypatch.setattr(address, "share_link", lambda: "")  # no session here
    monkeypatch.setattr(address, "settings", dict)
    with show.charts_noted() as charts:
        maps.all_heads(run)
    [(_, file, _, made), _] = take_away._reports("Heads", take_away.of_text(run, MODEL), charts)
    [(_, svg)] = take_away.drawings(charts)
    assert THEMES["dark"].page in svg  # as it is shown
    assert file == "headlight-heads-report.html"
    [picture] = [
        base64.b64decode(found).decode() for found in re.findall('data:image/svg[+]xml;base64,([^"]+)', str(made()))
    ][-1:]
    assert THEMES["light"].page in picture
    assert THEMES["light"].text in picture
    for colour in (THEMES["dark"].page, THEMES["dark"].text, THEMES["dark"].quiet):
        assert colour not in picture


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
