"""The Steps page through AppTest: any text, every step, and the numbers that stand there."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha import Weights, attend, embed, masks
from mha.rounding import written
from tests.samples import ROOT
from tests.test_pages import HARD_TEXTS, assert_fine

PAGE = ROOT / "pages" / "steps.py"


def opened(**address):
    app = AppTest.from_file(str(PAGE), default_timeout=30)
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def formulas(app):
    return [each.value for each in app.latex]


def html(app):
    return " ".join(block.proto.body for block in app.get("html"))


@pytest.mark.parametrize("text", HARD_TEXTS.values(), ids=HARD_TEXTS)
def test_no_text_makes_a_step_fail_or_reaches_a_formula(text):
    app = opened(text="x y", all_steps="true", causal="true")
    app.text_input(key="text").set_value(text).run()
    assert_fine(app)
    plain = " ".join(formulas(app))
    assert not any(token in plain for token in text.split() if len(token) > 4)
    for block in (*app.markdown, *app.caption):
        assert "<script>" not in block.value
        assert text.strip() == "" or text not in block.value


def test_long_sums_name_the_term_of_the_chosen_cell():
    text = " ".join(f"w{n}" for n in range(40))
    X = embed(text.split(), 64, 0)[None]
    trace = attend(X, X, X, Weights.draw(64, 8, 0))
    app = opened(text=text, heads="8", width="64", head="5", query="31 w30", key_at="18 w17", all_steps="true")
    assert_fine(app)
    scores = trace.scores[0, 4, 30]
    wanted = [
        ("key 18", np.exp(scores[17] - scores.max())),
        ("key 18", trace.weights[0, 4, 30, 17] * trace.v[0, 4, 17, 0]),
        ("head 5", trace.contributions[0, 4, 30, 0]),
    ]
    named = re.findall(r"\\underbrace{\(([-0-9.]+)\)}_{\\text{((?:key|head) \d+)}}", "\n".join(formulas(app)))
    assert [name for _, name in named] == [name for name, _ in wanted]
    for (term, _), (_, value) in zip(named, wanted, strict=True):
        assert float(term) == pytest.approx(value, abs=0.5 * 10 ** -len(term.partition(".")[2]))


@pytest.mark.parametrize("step", range(1, 10))
def test_each_step_draws_only_its_own_part(step):
    app = opened(text="a b c", step=str(step))
    assert_fine(app)
    assert app.slider(key="step").value == step
    assert html(app).count('class="hl-step"') == 1
    assert f'<h4 class="hl-step">{step} ' in html(app)


def test_all_steps_stand_in_order():
    app = opened(text="a b c", all_steps="true")
    assert_fine(app)
    headings = [part[0] for part in html(app).split('<h4 class="hl-step">')[1:]]
    assert headings == list("123456789")
    assert app.slider(key="step").disabled


def test_the_formulas_hold_the_numbers_of_the_chosen_cell():
    text = "the cat sat on the mat"
    tokens = text.split()
    X = embed(tokens, 64, 5)[None]
    trace = attend(X, X, X, Weights.draw(64, 8, 5), mask=masks.causal(6, 6))
    app = opened(text=text, seed="5", causal="true", head="3", query="5 the", key_at="2 cat", all_steps="true")
    assert_fine(app)
    said = "\n".join(formulas(app))
    weight, score = float(trace.weights[0, 2, 4, 1]), float(trace.scores[0, 2, 4, 1])
    assert "A_{5,2} = \\dfrac{" in said
    assert f"= {written(weight)}" in said
    assert f"= {written(score)}" in said
    assert "y_{5,1} = " in said
    assert f"= {written(float(trace.output[0, 4, 0]))}" in said
    assert f"weight <b>{written(weight)}</b>" in html(app)


def test_a_blocked_cell_says_by_which_rule():
    app = opened(text="a b c", causal="true", query="1 a", key_at="3 c", all_steps="true")
    assert_fine(app)
    assert "Blocked by causal: the score of query 1 and key 3" in html(app)
    assert any("A_{1,3} = 0" in formula for formula in formulas(app))
    free = opened(text="a b c", query="1 a", key_at="3 c", step="6")
    assert "no rule blocks this cell" in html(free)


def test_no_key_left_is_said_and_nothing_is_divided_by_zero():
    def page():
        from mha import attend, embed, masks, tokenize
        from mha.config import Model
        from mha.steps import steps
        from mha.ui import address, compute, walk

        address.read("Steps")
        model = Model(d_model=8, num_heads=2)
        tokens = tokenize("a b c")
        X = embed(tokens, 8, 0)[None]
        weights = compute.drawn_weights(8, 2, 0, "pytorch", False)
        mask = masks.combine(masks.valid_lens([0], 3), shape=(1, 2, 3, 3))
        trace = attend(X, X, X, weights, mask=mask)
        run = compute.Pass(tokens, X, weights, mask, trace)
        walk.step_by_step(run, steps(X, X, X, weights, trace, mask=mask, h=1, i=1, j=2), model, None)

    app = AppTest.from_function(page, default_timeout=30)
    app.run()
    assert_fine(app)
    assert html(app).count("Query 2 has no key left") == 2
    assert "Blocked by valid_lens" in html(app)
    assert "so there are no shares" in html(app)
    assert "nan" not in " ".join(formulas(app)).lower()


def test_a_cell_that_is_no_longer_there_becomes_the_last_one():
    app = opened(text="a b c d e", query="5 e", key_at="4 d", step="7")
    app.text_input(key="text").set_value("a b").run()
    assert_fine(app)
    assert app.selectbox(key="query").value == 1
    assert app.selectbox(key="key_at").value == 1


@pytest.mark.parametrize(("heads", "width"), [("1", "512"), ("16", "512"), ("1", "1"), ("7", "7")])
def test_no_width_draws_a_large_matrix(heads, width):
    app = opened(text="one two " * 40, heads=heads, width=width, all_steps="true", bias="true", init="normal")
    assert_fine(app)
    for chart in app.get("plotly_chart"):
        for trace in json.loads(chart.proto.spec)["data"]:
            if trace["type"] == "heatmap" and trace["name"] != "scale":
                shape = tuple(map(int, trace["z"]["shape"].split(",")))
                assert max(shape) <= 25, (trace["name"], shape)
                values = np.frombuffer(base64.b64decode(trace["z"]["bdata"]), dtype="<f4")
                assert values.size == shape[0] * shape[1]


def test_the_numbers_are_a_table_made_only_when_it_is_opened():
    def page():
        import streamlit as st

        from mha import tokenize
        from mha.config import Model
        from mha.steps import steps
        from mha.ui import compute, walk

        run = compute.self_attention(tokenize("a b c"), Model(d_model=8, num_heads=2))
        cell = steps(run.X, run.X, run.X, run.weights, run.trace, h=0, i=0, j=1)
        st.session_state["numbers"] = st.query_params.get("open") == "yes"
        walk.numbers(run, cell)

    closed = AppTest.from_function(page, default_timeout=30).run()
    assert_fine(closed)
    assert len(closed.dataframe) == 0
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params["open"] = "yes"
    app.run()
    assert_fine(app)
    table = app.dataframe[0].value
    weights = table[table["number"] == "weight"]
    assert weights["of"].tolist() == ["1 a", "2 b", "3 c"]
    assert weights["value"].sum() == pytest.approx(1, abs=1e-12)
