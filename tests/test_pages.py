"""Every page through Streamlit's AppTest: cold, by its own file, and behind the router."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mha.config import EXAMPLES, PRESETS
from mha.ui import address
from tests.samples import run_python

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("pages/*.py"))  # a new page is tested without being listed
VIEWS = ("All heads", "One head", "Arrows", "One token", "Measures", "Proof")

HARD_TEXTS = {
    "empty": "",
    "spaces": "  \t\u3000 ",
    "no break space only": "\u00a0",
    "5,000 characters": "x" * 5_000,
    "1,000 tokens": "ab " * 1_000,
    "one token repeated": "the " * 30,
    "one token": "alone",
    "script": "<script>1</script>",
    "image": "<img src=x onerror=document.title=1>",
    "comment": "a <!-- b --> c",
    "maths": "$x$ costs $5 or $6",
    "emoji code": ":smile: :red[x] :material/home:",
    "markdown": "**x** *x* `y` [a](b) # h",
    "mail": "email:one@example.org",
    "joined emoji": "hi 👨‍👩‍👧 ok 👍🏽",
    "Arabic": "القطة تجلس على السجادة",
    "Hebrew": "שלום עולם 123 abc",
    "Chinese": "我 喜欢 喝 热 茶",
    "numbers": "1 2 5",
    "dates": "2024-01-01 2024-01-02",
    "NUL": "a\0b c",
    "bidi override": "a\u202eb c",
    "template": "%{x} %{y:.2f}",
}


def opened(page: Path, **address: str) -> AppTest:
    """A page run cold, as if opened by its own address."""
    app = AppTest.from_file(str(page), default_timeout=30)
    for key, value in address.items():
        app.query_params[key] = value
    return app.run()


def assert_fine(app: AppTest) -> None:
    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_cold(page):
    assert_fine(opened(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_behind_the_router(page):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    assert_fine(app)
    assert_fine(app.switch_page(f"pages/{page.name}").run())


@pytest.mark.parametrize("view", VIEWS)
def test_no_text_makes_a_view_fail(view):
    app = opened(ROOT / "pages" / "heads.py", view=view, text="x", only="true")
    for text in HARD_TEXTS.values():
        app.text_input(key="text").set_value(text).run()
        assert_fine(app)


def test_no_tokens_offer_examples_and_keep_the_settings():
    app = opened(ROOT / "pages" / "heads.py", text="", seed="7")
    assert [button.label for button in app.button] == list(EXAMPLES)
    app.button(key="example_1").click().run()
    assert_fine(app)
    assert app.text_input(key="text").value == EXAMPLES[1]
    assert app.number_input(key="seed").value == 7
    assert app.get("plotly_chart")


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_sets_model_and_text(preset):
    app = opened(ROOT / "pages" / "heads.py", heads="3", width="12", seed="9")
    app.selectbox(key="preset").set_value(preset.name).run()
    assert_fine(app)
    assert app.text_input(key="text").value == preset.text
    assert app.selectbox(key="heads").value == preset.model.num_heads
    assert app.selectbox(key="width").value == preset.model.d_model
    assert app.selectbox(key="init").value == preset.model.init
    assert app.selectbox(key="values").value == preset.model.values
    assert app.selectbox(key="preset").value == preset.name


def test_another_setting_is_no_preset_any_more():
    app = opened(ROOT / "pages" / "heads.py")
    assert app.selectbox(key="preset").value == PRESETS[0].name
    app.selectbox(key="init").set_value("normal").run()
    assert app.selectbox(key="preset").value is None


def test_the_width_offers_only_what_the_heads_divide_and_follows_them():
    app = opened(ROOT / "pages" / "heads.py")
    app.selectbox(key="heads").set_value(7).run()
    assert_fine(app)
    offered = [int(width) for width in app.selectbox(key="width").options]
    assert offered == list(range(7, 513, 7))
    assert app.selectbox(key="width").value == 63  # of the multiples of 7 the nearest to 64


NONSENSE = {
    "seed": ("abc", "0"),
    "heads": ("99", "8"),
    "width": ("-3", "64"),
    "init": ("magic", "pytorch"),
    "split": ("nope", "spaces"),
    "bias": ("maybe", "false"),
    "positions": ("7", "none"),
    "view": ("Nowhere", "All heads"),
    "head": ("99", "1"),
    "v": ("12", "1"),
}


@pytest.mark.parametrize(("key", "given", "used"), [(key, *rest) for key, rest in NONSENSE.items()])
def test_nonsense_in_the_address_gives_a_default_and_a_note(key, given, used):
    address = {"view": "One head"} if key == "head" else {}
    app = opened(ROOT / "pages" / "heads.py", **address, **{key: given})
    assert_fine(app)
    said = [block.proto.body for block in app.get("html") if key in block.proto.body and given in block.proto.body]
    assert len(said) == 1
    assert used in said[0]


def test_a_good_address_is_taken_and_not_remarked_on():
    app = opened(ROOT / "pages" / "heads.py", text="a b", seed="5", heads="2", width="8", bias="true", causal="true")
    assert_fine(app)
    assert app.number_input(key="seed").value == 5
    assert app.toggle(key="bias").value is True
    assert not [block for block in app.get("html") if "cannot be used" in block.proto.body]


def test_c44_equal_maps_make_no_duplicate():
    # one token: every head's map is [[1.0]]
    app = opened(ROOT / "pages" / "heads.py", text="alone", heads="4", width="8")
    assert_fine(app)
    assert len(app.get("plotly_chart")) == 1


OPEN_HEADS = """
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("pages/heads.py", default_timeout=60)
app.query_params["view"] = "Proof"
app.run()
assert not app.exception, app.exception
"""


def test_c54_torch_is_imported_only_when_the_check_is_asked_for():
    assert run_python(OPEN_HEADS + "print('torch' in sys.modules)").split()[-1] == "False"


def test_without_torch_the_page_says_how_to_get_it_and_all_else_works():
    code = (
        """
import sys
sys.modules["torch"] = None  # as if it were not installed
"""
        + OPEN_HEADS
        + """
app.toggle(key="check").set_value(True).run()
assert not app.exception, app.exception
print([info.value for info in app.info], len(app.get("plotly_chart")))
"""
    )
    said = run_python(code)
    assert "pip install torch --index-url https://download.pytorch.org/whl/cpu" in said


def test_with_torch_the_check_passes_and_names_its_bound():
    pytest.importorskip("torch", reason="PyTorch is not installed: its CPU build lifts this")
    app = opened(ROOT / "pages" / "heads.py", text="a b c", view="Proof", causal="true", check="true")
    assert_fine(app)
    assert any("Everything agrees." in block.value for block in app.markdown)
    table = app.dataframe[0].value
    assert list(table["kept"]) == ["yes", "yes"]
    # the design's bound between engines, 1e-10 times at least 1
    assert (table["bound"] >= 1e-10).all()
    assert (table[["weights", "output"]].max(axis=1) <= table["bound"]).all()


def test_what_is_typed_just_before_another_page_is_opened_arrives_there():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    assert_fine(app.run())
    assert_fine(app.switch_page("pages/steps.py").run())
    app.text_input(key="text").set_value("four five")  # told together with the new page: no run of the old one between
    assert_fine(app.switch_page("pages/heads.py").run())
    assert app.text_input(key="text").value == "four five"


def test_a_link_names_the_settings_of_its_own_page_alone():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    cold = set(parse_qs(urlsplit(app.run().code[0].value).query))
    app.switch_page("pages/masks.py").run()
    assert "texts=" in app.code[0].value
    app.switch_page("pages/heads.py").run()
    assert set(parse_qs(urlsplit(app.code[0].value).query)) == cold


@pytest.mark.parametrize(
    ("said", "seed", "is_used"),
    [("007", 7, True), ("0" * 9, 0, True), ("-1", 0, False), ("9" * 5_000, 0, False), ("", 0, False), ("٣", 0, False)],
)
def test_a_number_of_a_settings_file_is_used_if_it_is_within_the_range(said, seed, is_used):
    def script(said):
        import streamlit as st

        from mha.ui import address

        address.read("Heads")
        if "seed" not in st.session_state:
            address.open_settings({"seed": said})
        address.bound(st.number_input, "Seed", key="seed", min_value=0, max_value=9, value=0)
        st.session_state["ignored"] = address.ignored()

    app = AppTest.from_function(script, args=(said,)).run()
    assert_fine(app)
    assert app.number_input(key="seed").value == seed
    assert (app.session_state["ignored"] == []) == is_used


@pytest.mark.parametrize("origin", ["link", "file"])
def test_what_cannot_be_used_is_blamed_on_where_it_came_from(monkeypatch, origin):
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", SimpleNamespace(to_dict=lambda: {"seed": "x"} if origin == "link" else {}))
    address.read("Heads")
    if origin == "file":
        address.open_settings({"v": "1", "seed": "x"})
    address.register("seed", "0")  # as its widget does
    assert address.ignored() == [f"Of this {origin} cannot be used: seed = x (seed is 0)."]
