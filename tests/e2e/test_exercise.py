"""The Day 28 exercise as a student does it: from a fresh start to the report that is handed in."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import Page, expect

from mha import Weights, embed, export, masks, restrict
from mha.config import PRESETS

OWN = "Head 2 <script>document.title='run'</script> has nothing to look at early on."


def open_take_away(page: Page) -> None:
    page.locator("[data-test-script-state=notRunning]").wait_for(state="attached")  # a run that ends later closes it
    page.get_by_role("button", name="Take away").click()
    page.get_by_role("button", name="HTML", exact=True).wait_for()


def saved(page: Page, button: str, folder) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_bytes()


def test_the_exercise_from_a_fresh_start_to_the_report(page, server, tmp_path):
    page.goto(server)
    page.get_by_role("link", name="Restriction").click()
    page.get_by_role("button", name="Day 28", exact=True).click()
    field = page.get_by_role("textbox", name="Your text")
    expect(field).to_have_value("A B C D")
    field.fill("we met at noon")
    field.press("Enter")
    # the numbers of the exercise from the library alone: its model, halves, the student's own four words
    model, tokens = PRESETS[1].model, ("we", "met", "at", "noon")
    X = embed(tokens, model.d_model, model.seed, positions=model.positions, values=model.values)[None]
    weights = Weights.draw(model.d_model, model.num_heads, model.seed, init=model.init, bias=model.bias)
    made = restrict(X, X, X, weights, masks.halves(model.num_heads, 4))
    most = int(made.change_length[0].argmax())
    page.get_by_text("changes most", exact=False).first.wait_for()
    expect(page.locator("p.hl-line", has_text="changes most").first).to_contain_text(f"{tokens[most]}” ({most + 1})")
    page.get_by_role("tab", name="Findings").click()
    own = page.get_by_role("textbox", name="Your own sentences")
    own.fill(OWN)
    own.press("Control+Enter")
    page.get_by_role("link", name="Heads", exact=True).click()
    page.get_by_role("tab", name="One token").wait_for()
    page.get_by_role("link", name="Restriction").click()
    page.get_by_role("tab", name="Findings").click()
    expect(page.get_by_role("textbox", name="Your own sentences")).to_have_value(OWN)  # not lost on the way
    open_take_away(page)
    report = saved(page, "HTML", tmp_path).decode()
    assert "&lt;script&gt;" in report
    assert "<script" not in report
    assert f"{made.relative_change[0, most]:.4f}" in report
    assert "What changed" in report
    data = export.read_npz(saved(page, "NPZ", tmp_path))
    np.testing.assert_array_equal(data.arrays["restricted_weights"], made.restricted.weights)
    assert saved(page, "PNG", tmp_path).startswith(b"\x89PNG")


def test_a_settings_file_brings_back_what_was_saved_and_a_bad_one_changes_nothing(page, server, tmp_path):
    page.goto(f"{server}/?text=one%20two&heads=2&width=8&causal=true")
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the settings as a file").click()
    path = tmp_path / "settings.json"
    download.value.save_as(path)
    page.goto(f"{server}/?text=three")
    field = page.get_by_role("textbox", name="Your text")
    expect(field).to_have_value("three")
    page.get_by_role("button", name="Share").click()
    chooser = page.locator("[data-testid=stPopoverBody] input[type=file]")
    chooser.set_input_files({"name": "bad.json", "mimeType": "application/json", "buffer": b"{}"})
    page.get_by_text("bad.json is not opened").wait_for()
    expect(field).to_have_value("three")
    chooser.set_input_files(path)
    expect(field).to_have_value("one two")
    expect(page.get_by_text("d_k").or_(page.get_by_text("8 / 2")).first).to_be_visible()
    assert page.get_by_text("cannot be used").count() == 0
