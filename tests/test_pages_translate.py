"""The Translate page through AppTest: numbers typed and refused, steps, restrictions, heads off, damaged weights."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mha.rounding import percent
from mha.translator import weights as weights_module
from mha.translator.evaluate import Accuracy, Head, accuracy, heads_off, sample
from mha.translator.findings import Crossing, crossings
from mha.translator.model import Translator
from mha.translator.numbers import english_words, german_words
from mha.translator.reading import read_number
from mha.translator.restrictions import FirstWords, HeadPositions, HeadsOff, Rules, Window
from mha.translator.split import is_held_out
from mha.translator.weights import END, drawn_like, load, save_bytes, shipped
from mha.ui import translate_run, translate_worth
from mha.ui.translate_controls import read_places
from tests.samples import run_python
from tests.test_pages import ROOT, assert_fine, opened

PAGE = ROOT / "pages" / "translate.py"
WORTH = "What is a head worth?"
HEADS = 4
VIEWS = ("All heads", "One step", "Encoder", "Decoder", "Untrained beside", WORTH, "Looking ahead", "Proof")


def page(**address: str) -> AppTest:
    return opened(PAGE, **address)


def html(app: AppTest) -> str:
    return " ".join(block.proto.body for block in app.get("html"))


@cache
def translator(name: str = "shared") -> Translator:
    return Translator(load(shipped(name)))


def drawn(app: AppTest, Tk: int, key: str = "all_heads") -> np.ndarray:
    """The maps of the picture, (H, Tq, Tk) float32: NaN where a cell is blocked. All heads stand in one row."""
    [chart] = [chart for chart in app.get("plotly_chart") if chart.proto.id.endswith(key)]
    found = []
    for trace in json.loads(chart.proto.spec)["data"]:
        if trace["type"] == "heatmap" and "looks at" in trace.get("hovertemplate", ""):
            shape = [int(length) for length in trace["z"]["shape"].split(",")]
            cells = np.frombuffer(base64.b64decode(trace["z"]["bdata"]), dtype="<f4").reshape(shape)
            # small maps are one heat map, evenly spaced
            starts = [0] if shape[1] == Tk else [m * (shape[1] - Tk) // (HEADS - 1) for m in range(HEADS)]
            found += [cells[:, start : start + Tk] for start in starts]
    return np.array(found)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("number", ["0", "121121"])  # the fewest and the most words
def test_every_view_of_short_and_long_numbers(number, view):
    assert_fine(page(number=number, translate_view=view, word="7"))


def test_the_maps_are_those_of_the_library():
    app = page(number="two hundred and thirty-four")
    assert_fine(app)
    source, model = english_words(234), translator()
    [translation] = model.translate([source])
    passes = model.follow([source], [translation.produced])
    for view, name in (("All heads", "cross"), ("Encoder", "encoder"), ("Decoder", "decoder")):
        attention = getattr(passes, name)
        wanted = np.where(attention.trace.mask[0], attention.trace.weights[0], np.nan)
        seen = drawn(page(number="234", translate_view=view), wanted.shape[-1])
        np.testing.assert_array_equal(seen, wanted.astype(np.float32))
    assert "234 (not held out of training) becomes “zwei hundert vier und dreißig”: right." in html(app)
    assert "“thirty four” becomes “vier und dreißig”" in html(app)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("twenty eleven", "got &quot;eleven&quot;"),
        ("cat", "got &quot;cat&quot;"),
        ("", "got nothing"),
        ("one one", "got &quot;one&quot;"),
        ("1000000", "0 to 999,999"),
        ("minus five", "0 to 999,999, got minus five"),
        ("<b>" + "x" * 10_000, "at most 5,000 characters, got 10,003"),
    ],
)
def test_what_is_no_number_is_refused_and_nothing_is_lost(typed, said):
    app = page(weights="one head", heads_off="cross2")
    app.text_input(key="number").set_value(typed).run()
    assert_fine(app)
    assert said in html(app)
    assert app.text_input(key="number").value == typed
    assert not app.get("plotly_chart")
    app.text_input(key="number").set_value("45").run()
    assert app.selectbox(key="weights").value == "one head"
    assert "45 (" in html(app)
    assert app.query_params["heads_off"] in ("cross2", ["cross2"])


def test_a_random_number_is_one_that_was_held_out():
    app = page(number="7")
    app.button(key="random_number").click().run()
    assert_fine(app)
    number = read_number(str(app.text_input(key="number").value))
    assert is_held_out(number)
    assert f"{number:,} (held out of training)" in html(app)


def test_the_steps_follow_the_translation():
    app = page(number="34", word="2")
    assert "Word 2 of 4:" in html(app)
    app.slider(key="word").set_value(4).run()
    assert "Word 4 of 4:" in html(app)
    app.text_input(key="number").set_value("7").run()  # two steps: the word and the end mark
    assert_fine(app)
    assert "Word 2 of 2:" in html(app)
    app.text_input(key="number").set_value("121121").run()
    assert_fine(app)
    assert "of 12:" in html(app)


def test_two_crossings_are_told_apart():
    shown = html(page(number="777777"))
    assert "The first crossing.</b> “seventy seven” becomes “sieben und siebzig”" in shown
    assert "The second crossing.</b> “seventy seven” becomes “sieben und siebzig”" in shown
    assert "The crossing." not in shown


def test_a_crossing_is_pointed_out_in_the_heads_that_show_it_and_in_no_other():
    def in_heads(number: int, at: Crossing) -> list[str]:
        passes = translator().follow([english_words(number)], [(*german_words(number), END)])
        maps = passes.cross.trace.weights[0]
        most = [(maps[h, at.target_units].argmax(), maps[h, at.target_tens].argmax()) for h in range(HEADS)]
        units, tens = maps[:, at.target_units, at.source_units], maps[:, at.target_tens, at.source_tens]
        shows = [h for h in range(HEADS) if most[h] == (at.source_units, at.source_tens)]
        return [f"head {h + 1} (weights {units[h]:.2f} and {tens[h]:.2f})" for h in shows]

    with_one = ((number, crossings(number)) for number in sample().tolist())
    said = ((number, in_heads(number, found[0])) for number, found in with_one if len(found) == 1)
    number, heads = next((number, heads) for number, heads in said if 0 < len(heads) < HEADS)
    assert f", in {' and '.join(heads)}.</p>" in html(page(number=str(number)))


def test_one_step_says_what_each_head_looks_at_and_which_words_might_have_come():
    step = 3
    app = page(number="321", translate_view="One step", word=str(step + 1), heads_off="cross2")
    [translation] = translator().translate([english_words(321)], Head("cross", 1).off())
    passes = translator().follow([english_words(321)], [translation.produced], Head("cross", 1).off())
    said = re.sub("<[^>]+>", "", html(app))
    assert f"While word {step + 1}, “{translation.produced[step]}”, is produced" in said
    for h in (0, 2, 3):
        weights = passes.cross.trace.weights[0, h, step]
        most = weights.argmax()
        assert f"Head {h + 1}looks at “{passes.sources[0][most]}” ({most + 1}) {weights[most]:.2f}" in said
    assert "Head 2has no key left: it looks at nothing" in said
    chances = dict(zip(passes.probabilities[0, step].tolist(), translator().weights.target_words, strict=True))
    first, second = sorted(chances, reverse=True)[:2]
    assert f"The next word: “{chances[first]}” {percent(first)}, “{chances[second]}” {percent(second)}, " in said


def test_looking_ahead_says_what_the_library_counts():
    app = page(translate_view="Looking ahead")
    assert_fine(app)
    none, one = (accuracy(translator(), sample(), Rules(cross=(FirstWords(ahead),))).by_crossing() for ahead in (0, 1))
    of = {key: f"{part.right.sum()} of {len(part.right)}" for key, part in none.items()}
    more = {key: f"{part.right.sum()} of {len(part.right)}" for key, part in one.items()}
    assert f"{of[False]} numbers without a crossing come out right, and {of[True]} with one." in html(app)
    assert f"source words 1 to i + 1, it is {more[False]} and {more[True]}." in html(app)
    table = app.dataframe[0].value
    assert table.loc["words 1 to i", "crossing True"] == 100 * none[True].share
    assert table.loc["words 1 to i + 1", "crossing True"] == 100 * one[True].share


@pytest.mark.parametrize(
    ("off", "said"),
    [
        (
            ["110", "011", "111"],
            "Decoder head 1 or Decoder head 2 switched off: 2 of 3; any other head: at least 3. 1 of 3",
        ),
        (["111", "010", "011"], "Decoder head 2 switched off: 1 of 3; any other head: at least 2. 1 of 3"),
    ],
)
def test_the_finding_on_heads_by_hand(off, said):
    def of(right):
        return Accuracy(np.arange(3), np.array([one == "1" for one in right]))

    found = {Head("decoder", h): of(right) for h, right in enumerate(off)}
    whole = f"Intact, 3 of 3 come out right. {said} heads can be switched off, alone, without a number lost."
    assert translate_worth.finding(of("111"), found) == whole


def test_the_marked_row_is_the_word_that_is_produced():
    def marked(word: str) -> list[float]:
        layout = json.loads(page(number="34", word=word).get("plotly_chart")[0].proto.spec)["layout"]
        [path] = [shape["path"] for shape in layout["shapes"] if shape["line"]["width"] == 2.5]
        return [float(y) for y in re.findall(r"M\S+ (\S+?)H", path)]

    first, third = marked("1"), marked("3")
    assert len(first) == HEADS
    np.testing.assert_allclose(np.subtract(third, first), 2.0)  # two rows of one unit lower


@pytest.mark.parametrize(
    ("address", "rules"),
    [
        ({"heads_off": "cross1"}, Rules(cross=(HeadsOff((0,)),))),
        ({"limit": "Words 1 to i"}, Rules(cross=(FirstWords(0),))),
        ({"limit": "Words 1 to i", "ahead": "1", "heads_off": "encoder3"}, None),
        (
            {"limit": "Own positions", "head_places": "1; 2,3; 4-5;", "limit_in": "Encoder"},
            Rules(encoder=(HeadPositions(((0,), (1, 2), (3, 4), ())),)),
        ),
    ],
)
def test_a_restriction_changes_translation_and_accuracy(address, rules):
    rules = rules or Rules(encoder=(HeadsOff((2,)),), cross=(FirstWords(1),))
    app = page(number="234", **address)
    assert_fine(app)
    assert "cannot be used" not in html(app)
    [wanted] = translator().translate([english_words(234)], rules)
    assert f"becomes “{' '.join(wanted.words)}”" in html(app)
    result = accuracy(translator(), sample(), rules)
    parts = result.by_crossing()
    assert f"Restricted like this, {result.right.sum()} of 500 held-out numbers come out right" in html(app)
    without, with_one = (f"{parts[crossing].right.sum()} of {len(parts[crossing].right)}" for crossing in (False, True))
    assert f"{without} without a crossing, {with_one} with one." in html(app)


@pytest.mark.parametrize("typed", ["1,2; x", "0; 1; 2; 3", "3-1; 1; 1; 1", "13; 1; 1; 1", "1; 2"])
def test_positions_that_cannot_be_are_refused(typed):
    app = page(limit="Own positions", head_places=typed)
    assert_fine(app)
    assert "expected positions" in html(app)


def test_positions_that_cannot_be_take_no_other_control_along():
    app = page(limit="Own positions", head_places="1,2; 3-", heads_off="cross2", predict="true")
    assert_fine(app)
    assert 'got "3-"' in unescape(html(app))
    assert app.toggle(key="predict").value
    link = parse_qs(urlsplit(app.code[0].value).query)
    assert (link["heads_off"], link["predict"], link["head_places"]) == (["cross2"], ["true"], ["1,2; 3-"])


@pytest.mark.parametrize("codes", ["cross2,cross1", "cross1,cross1", "cross1,cross9", "Cross1", ","])
def test_what_a_link_says_of_heads_off_is_used_or_said_to_be_of_no_use(codes):
    app = page(heads_off=codes)
    assert_fine(app)
    assert f"heads_off = {codes} (heads_off is left out)" in html(app)
    assert "500 of 500 held-out numbers come out right." in html(app)


def test_positions_are_read_from_one_and_kept_from_zero():
    assert read_places("1, 3 ; 2-4;") == ((0, 2), (1, 2, 3), ())


def test_what_a_head_is_worth_is_what_the_library_says():
    app = page(weights="one head", translate_view=WORTH)
    assert_fine(app)
    table = app.dataframe[0].value
    assert len(table) == 13  # intact and each head off
    off = accuracy(translator("one_head"), sample(), Head("cross", 2).off())
    row = table.loc["Cross head 3 off"]
    assert row["all"] == 100 * off.share
    assert [row[str(digits)] for digits in range(1, 7)] == [100 * part.share for part in off.by_digits().values()]
    assert row["crossing True"] == 100 * off.by_crossing()[True].share
    assert f"Cross head 3 switched off: {off.right.sum()} of 500" in html(app)


def test_the_bars_are_of_the_chosen_length():
    app = page(translate_view=WORTH, digits="6")
    spec = json.loads(app.get("plotly_chart")[0].proto.spec)
    bars = {trace["name"]: trace["y"] for trace in spec["data"] if trace["type"] == "bar"}
    found = dict(heads_off(translator(), sample()))
    wanted = [100 * found[Head(name, 0)].by_digits()[6].share for name in ("encoder", "decoder", "cross")]
    assert [bars["Head 1"][place] for place in (1, 5, 9)] == wanted


def test_a_guess_comes_before_the_numbers():
    app = page(predict="true", translate_view=WORTH, weights="one head")
    assert_fine(app)
    assert not app.dataframe
    assert "switched off:" not in html(app)
    app.selectbox(key="guess_worth").set_value(0).run()
    app.button(key="reveal").click().run()
    assert_fine(app)
    assert "You said Encoder head 1: not so. Measured: Cross head 3" in html(app)
    assert len(app.dataframe) == 1


def test_untrained_weights_beside_are_those_of_their_seed():
    app = page(number="34", translate_view="Untrained beside", untrained_seed="3")
    model = translator()
    [translation] = model.translate([english_words(34)])
    beside = Translator(drawn_like(model.weights, 3)).follow([english_words(34)], [translation.produced])
    wanted = np.concatenate([beside.cross.trace.weights[0]]).astype(np.float32)
    np.testing.assert_array_equal(drawn(app, wanted.shape[-1], "untrained_maps")[HEADS:], wanted)


@pytest.mark.parametrize("attention", ["Cross-attention", "Encoder", "Decoder"])
def test_the_proof_compares_the_chosen_attention_with_pytorch(attention):
    pytest.importorskip("torch", reason="PyTorch is not installed: its CPU build lifts this")
    rules = Rules(decoder=(Window(1, 0),), cross=(HeadsOff((0,)),))
    address = {"limit": "Window", "limit_in": "Decoder", "look_on": "0", "heads_off": "cross1"}
    app = page(number="321", translate_view="Proof", proof_of=attention, check="true", **address)
    assert_fine(app)
    assert any("Everything agrees." in block.value for block in app.markdown)
    table = app.dataframe[0].value
    assert list(table["kept"]) == ["yes", "yes"]
    assert (table[["weights", "output"]].max(axis=1) <= table["bound"]).all()
    # the counts below the table are of this attention and no other
    [translation] = translator().translate([english_words(321)], rules)
    passes = translator().follow([english_words(321)], [translation.produced], rules)
    trace = {"Cross-attention": passes.cross, "Encoder": passes.encoder, "Decoder": passes.decoder}[attention].trace
    assert f"{(~trace.empty_rows).sum()} of {trace.empty_rows.size} rows have a key" in html(app)
    assert f"{(~trace.mask).sum()} cells are blocked" in html(app)


def test_the_report_tells_what_a_head_is_worth_only_where_it_has_been_shown():
    def script():
        import streamlit as st

        from mha.translator.restrictions import FREE
        from mha.ui import address, translate_report, translate_run, translate_worth

        address.read("Translate")
        run = translate_run.translated(34, translate_run.Chosen("shared", FREE, predict=False))
        guessing = translate_run.translated(34, translate_run.Chosen("shared", FREE, predict=True))
        st.session_state["titles"] = [table.title for table in translate_report.taken(run).tables()]
        translate_worth.heads(run)
        st.session_state["rows"] = [len(table.rows) for table in translate_report.taken(run).tables()]
        st.session_state["guessing"] = [table.title for table in translate_report.taken(guessing).tables()]

    app = AppTest.from_function(script, default_timeout=60).run()
    assert_fine(app)
    titles = ["The translation, step by step", "Measures of every head", "Held-out numbers that come out right"]
    assert app.session_state["titles"] == titles
    assert app.session_state["rows"] == [4, 12, 1, 13]  # steps; heads; intact; intact and each head
    assert app.session_state["guessing"] == titles  # a guess is still to come


@pytest.mark.parametrize("contents", [b"", b"no weights", None])
def test_damaged_weights_are_said_and_other_pages_work(contents, monkeypatch, tmp_path):
    if contents is not None:
        (tmp_path / "shared.safetensors").write_bytes(contents)
    (tmp_path / "one_head.safetensors").write_bytes(Path(shipped("one_head")).read_bytes())
    monkeypatch.setattr(weights_module, "_FOLDER", tmp_path)
    translate_run.translator.clear()
    app = page()
    assert_fine(app)
    assert "shared.safetensors" in html(app)
    assert app.text_input(key="number").value
    app.selectbox(key="weights").set_value("one head").run()  # a file of its own
    assert "becomes “zwei hundert vier und dreißig”: right." in html(app)
    heads = opened(ROOT / "pages" / "heads.py")
    assert_fine(heads)
    assert heads.get("plotly_chart")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"longest_source": 4}, "expected sources of 1 to 4 words, got"),
        ({"longest_target": 5}, "expected produced of 1 to 6 words, got"),
        ({"target_words": ("dreißig", "dreissig")}, "words that the model knows, got 'dreißig'"),
    ],
)
def test_weights_that_cannot_judge_every_number_are_said(changed, said, monkeypatch, tmp_path):
    given = load(shipped("shared"))
    if "target_words" in changed:  # one word for another
        word, other = changed["target_words"]
        changed = {"target_words": tuple(other if one == word else one for one in given.target_words)}
    (tmp_path / "shared.safetensors").write_bytes(save_bytes(replace(given, **changed)))
    monkeypatch.setattr(weights_module, "_FOLDER", tmp_path)
    st.cache_resource.clear()
    app = page(number="7")  # a number that these weights can translate
    st.cache_resource.clear()
    assert_fine(app)
    assert said in unescape(html(app))
    assert not app.get("plotly_chart")


def test_the_page_brings_no_torch():
    code = """
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("pages/translate.py", default_timeout=60).run()
assert not app.exception, app.exception
app.session_state["take_away"] = True
app.run()
assert app.get("download_button") and not app.exception, app.exception
print("torch" in sys.modules)
"""
    assert run_python(code).split()[-1] == "False"


def test_nonsense_in_the_address_gives_a_default_and_a_note():
    app = page(heads_off="cross9", limit="magic", weights="mine", word="99")
    assert_fine(app)
    for key in ("heads_off", "limit", "weights", "word"):
        assert f"{key} =" in html(app)
