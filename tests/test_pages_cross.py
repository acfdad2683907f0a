"""The Cross-attention page through AppTest: shapes, its rules both ways, the article's shapes, nonsense links."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha import Weights, attend, embed, masks
from tests.test_pages import HARD_TEXTS, ROOT, assert_fine, opened

PAGE = ROOT / "pages" / "cross.py"
VIEWS = ("All heads", "One head", "Arrows", "Measures")
QUERIES, KEYS, H = "a b c", "v w x y z", 2


def cross_page(**address: str) -> AppTest:
    return opened(PAGE, **{"text": QUERIES, "text2": KEYS, "heads": "2", "width": "8", **address})


def html(app: AppTest) -> str:
    return " ".join(block.proto.body for block in app.get("html"))


def drawn(app: AppTest) -> np.ndarray:
    chart = app.get("plotly_chart")[0].proto
    maps = []
    for trace in json.loads(chart.spec)["data"]:
        if trace["type"] == "heatmap" and "coloraxis" in trace and trace["name"].startswith("Head"):
            z = trace["z"]
            shape = [int(length) for length in z["shape"].split(",")]
            maps.append(np.frombuffer(base64.b64decode(z["bdata"]), dtype="<f4").reshape(shape))
    return np.array(maps)


def weights(*rules: masks.Rule) -> np.ndarray:
    """(H, Tq, Tk) as the picture has them: NaN where blocked."""
    X, Y = (embed(text.split(), 8, 0)[None] for text in (QUERIES, KEYS))
    mask = masks.combine(*rules, shape=(1, H, 3, 5))
    trace = attend(X, Y, Y, Weights.draw(8, H, 0), mask=mask)
    return np.where(mask.allowed, trace.weights, np.nan)[0].astype(np.float32)


def test_maps_are_queries_by_keys():
    app = cross_page()
    assert_fine(app)
    np.testing.assert_array_equal(drawn(app), weights())


def test_causal_is_aligned_top_left_and_can_be_taken_back():
    app = cross_page()
    app.toggle(key="causal").set_value(True).run()
    np.testing.assert_array_equal(drawn(app), weights(masks.causal(3, 5)))
    assert "starts at the top left" in html(app)
    app.toggle(key="causal").set_value(False).run()
    np.testing.assert_array_equal(drawn(app), weights())
    assert "starts at the top left" not in html(app)


def test_a_valid_length_blocks_keys_and_can_be_taken_back():
    app = cross_page()
    assert (app.number_input(key="lens2_1").min, app.number_input(key="lens2_1").max) == (0, 5)
    app.number_input(key="lens2_1").set_value(2).run()
    assert app.query_params["lens2"] in ("2", ["2"])
    np.testing.assert_array_equal(drawn(app), weights(masks.valid_lens([2], 5)))
    app.number_input(key="lens2_1").set_value(5).run()
    np.testing.assert_array_equal(drawn(app), weights())
    assert "lens2" not in app.query_params


@pytest.mark.parametrize("view", VIEWS)
def test_everything_blocked_is_no_error(view):
    app = cross_page(lens2="0", cross_view=view)
    assert_fine(app)
    assert "Everything is blocked" in html(app)


@pytest.mark.parametrize("view", ["All heads", "Arrows"])
def test_no_text_makes_a_view_fail(view):
    app = cross_page(cross_view=view, causal="true", mean="true")
    for text in HARD_TEXTS.values():
        app.text_input(key="text2").set_value(text).run()
        assert_fine(app)
        app.text_input(key="text").set_value(text).run()
        assert_fine(app)
        app.text_input(key="text").set_value(QUERIES).run()  # without a query the second field is not drawn


def test_no_keys_offer_an_example():
    app = cross_page(text2=" ")
    assert not app.get("plotly_chart")
    app.button(key="example_keys").click().run()
    assert_fine(app)
    assert app.get("plotly_chart")


def test_the_articles_shapes():
    app = cross_page(lens2="1")
    app.button(key="article").click().run()
    assert_fine(app)
    assert drawn(app).shape == (5, 4, 6)
    assert np.isnan(drawn(app)[:, :, 3:]).all()
    assert not np.isnan(drawn(app)[:, :, :3]).any()
    assert app.selectbox(key="width").value == 100
    assert app.selectbox(key="preset").value == "The maths (NumPy)"
    assert app.number_input(key="lens2_1").value == 3


@pytest.mark.parametrize("given", ["9", "-1", "1.5", "x", "1,2"])
def test_a_wrong_length_in_the_address_is_refused_with_the_range(given):
    app = cross_page(lens2=given)
    assert_fine(app)
    said = [block.proto.body for block in app.get("html") if "lens2 = " in block.proto.body]
    assert len(said) == 1
    assert "Expected a whole number from 0 to 5." in said[0]
    np.testing.assert_array_equal(drawn(app), weights())


def test_measures_only_where_they_are_defined():
    app = cross_page(cross_view="Measures", lens2="2")
    table = app.dataframe[0].value
    assert list(table.columns) == ["entropy", "entropy_share", "peak", "on_first"]
    two = np.nan_to_num(weights(masks.valid_lens([2], 5)))
    np.testing.assert_allclose(table["peak"], two.max(axis=-1).mean(axis=-1), rtol=1e-6)
    np.testing.assert_allclose(table["on_first"], two[:, :, 0].mean(axis=-1), rtol=1e-6)
    assert "are not defined here" in html(app)
    assert "left out" not in html(app)


def test_the_numbers_name_queries_and_keys():
    app = cross_page()
    app.session_state["numbers"] = True
    app.run()
    assert_fine(app)
