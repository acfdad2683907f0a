"""The Heads page in a real browser: what is typed is what is drawn, and nothing leaves the machine."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect

from mha import Weights, attend, embed, masks
from mha.config import PRESETS
from tests.e2e.plots import PLOT, cells, wait_for_ticks, wait_until_drawn


def text_field(page):
    return page.get_by_role("textbox", name="Your text")


def weights_of(text, *, seed=0, d_model=64, num_heads=8, init="pytorch", causal=False):
    """The weights (H, T, T) that the library gives for these settings, outside the app."""
    tokens = text.split()
    X = embed(tokens, d_model, seed)[None]
    mask = masks.causal(len(tokens), len(tokens)) if causal else None
    return attend(X, X, X, Weights.draw(d_model, num_heads, seed, init=init), mask=mask).weights[0]


def weights_on_screen(page, heads, T):
    """The cells of the maps as the browser has them, (H, T, T) float32."""
    drawn = np.array([cells(page, head) for head in range(heads)])
    assert drawn.shape == (heads, T, T)
    return drawn


def strongest_of(text):
    """The token that the first one looks at most, in the model of the NumPy article with one head of width 8."""
    tokens = text.split()
    X = embed(tokens, 8, 0, values="uniform")[None]
    return tokens[attend(X, X, X, Weights.draw(8, 1, 0, init="uniform")).weights[0, 0, 0].argmax()]


def test_what_is_typed_is_drawn_without_pressing_enter(page, address):
    page.goto(address(text="the cat sat"))
    wait_until_drawn(page, "the", "cat", "sat")
    text_field(page).press("End")
    text_field(page).press_sequentially(" down")
    wait_until_drawn(page, "the", "cat", "sat", "down")
    # float32 of what the library computes: the picture carries no numbers of its own
    np.testing.assert_array_equal(weights_on_screen(page, 8, 4), weights_of("the cat sat down").astype(np.float32))
    assert page.get_by_text("cannot be used").count() == 0


def test_a_shared_link_gives_the_same_numbers_in_a_fresh_browser(page, fresh_page, address):
    page.goto(address(text="a b a", heads=3, width=12, seed=5, init="normal"))
    wait_until_drawn(page, "a", "b")
    page.get_by_role("button", name="Share").click()
    link = page.locator("[data-testid=stPopoverBody] code").inner_text()
    named = parse_qs(urlsplit(link).query)
    wanted = {
        "v",
        "text",
        "split",
        "seed",
        "width",
        "heads",
        "init",
        "bias",
        "positions",
        "values",
        "mean",
        "causal",
        "view",
    }
    assert wanted <= set(named), "the link leaves out a setting"
    with fresh_page() as elsewhere:
        elsewhere.goto(link)
        wait_until_drawn(elsewhere, "a", "b")
        np.testing.assert_array_equal(weights_on_screen(elsewhere, 3, 3), weights_on_screen(page, 3, 3))
        expected = weights_of("a b a", seed=5, d_model=12, num_heads=3, init="normal")
        np.testing.assert_array_equal(weights_on_screen(elsewhere, 3, 3), expected.astype(np.float32))
        assert elsewhere.get_by_text("cannot be used").count() == 0


def test_settings_are_in_the_address_and_survive_a_reload(page, address):
    page.goto(address(text="a b"))
    wait_until_drawn(page, "a")
    page.get_by_role("combobox", name="Preset").click()
    page.get_by_role("option", name=PRESETS[1].name).click()
    wait_until_drawn(page, "A", "F")
    page.wait_for_url(re.compile("heads=2"))
    page.reload()
    wait_until_drawn(page, "A", "F")
    assert weights_on_screen(page, 2, 6).shape == (2, 6, 6)
    assert page.get_by_text("cannot be used").count() == 0


LITERAL = [
    "costs $5 or $6",
    "a:b :smile: :red[x]",
    "*x* **y** `z`",
    "email:one@example.org",
    "<img src=x onerror=document.title=1> five later tokens still there",
    "a <!-- b --> c",
    "<script>1</script> &lt; &amp;",
    "<b>x</b> <a href=y>z</a>",
    "$x$ %{y} %{x:.2f}",
    "1 2 5",
    "2024-01-01 2024-01-02",
    "the cat the mat",
    "hi 👨‍👩‍👧 ok 👍🏽",
    "שלום עולם 123 abc",
    "القطة تجلس على",
    "我 喜欢 茶",
]


@pytest.mark.parametrize("view", ["All heads", "One head"])
def test_tokens_stand_on_the_axes_as_typed_and_in_typing_order(page, address, view):
    page.goto(address(view=view, heads=1, width=8))
    for text in LITERAL:
        tokens = text.split()
        text_field(page).fill(text)
        text_field(page).press("Enter")
        wait_for_ticks(page, tokens)
    assert "Headlight" in page.title()
    assert page.locator(f"{PLOT} a").count() == 0  # nothing typed became a link


def test_tokens_in_sentences_are_literal(page, address):
    page.goto(address(text=LITERAL[0], view="One token", heads=1, width=8, init="uniform", values="uniform"))
    said = page.locator("dl.hl-heads")
    for text in LITERAL:
        text_field(page).fill(text)
        text_field(page).press("Enter")
        # all positive start values: a head gives its whole weight to one token, which is then named in full
        named = strongest_of(text)
        expect(said).to_contain_text(f"“{named}”")
        assert said.locator("img, script, a, b, .katex, em, strong, code").count() == 0
    assert "Headlight" in page.title()


def test_only_spaces_offer_examples_and_the_next_text_is_drawn(page, address):
    page.goto(address(text=" "))
    page.get_by_role("button", name="A B C D E F").click()
    wait_until_drawn(page, "A", "F")
    expect(text_field(page)).to_have_value("A B C D E F")
    assert page.get_by_text("There are no tokens").count() == 0


def test_a_nul_and_five_thousand_characters_do_no_harm(page, address):
    page.goto(address(text="a"))
    wait_until_drawn(page, "a")
    text_field(page).fill("x" * 6_000)
    text_field(page).press("Enter")
    page.get_by_text("Only the first 5,000 of 6,000 characters are used.").wait_for()
    text_field(page).fill("b\0c d")
    text_field(page).press("Enter")
    wait_until_drawn(page, "d")
    # half a surrogate pair, which only a script or the clipboard brings into a field, is no UTF-8
    text_field(page).evaluate(
        """(field) => {
          const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
          set.call(field, 'half ' + String.fromCharCode(0xd800) + ' whole');
          field.dispatchEvent(new Event('input', { bubbles: true }));
        }"""
    )
    wait_until_drawn(page, "half", "\ufffd", "whole")
    page.get_by_text("could not be read").wait_for()
    assert page.get_by_test_id("stException").count() == 0


def test_a_blocked_cell_says_which_rule_blocked_it(page, address):
    page.goto(address(text="first second third", heads=1, width=8, causal="true", view="One head"))
    wait_until_drawn(page, "first", "third")
    expected = weights_of("first second third", d_model=8, num_heads=1, causal=True)[0].astype(np.float32)
    expected[np.triu_indices(3, 1)] = np.nan  # query first: keys second and third stand after it
    np.testing.assert_array_equal(cells(page, 0), expected)
    box = page.locator(f"{PLOT} .heatmaplayer image").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 5 / 6, box["y"] + box["height"] / 6)
    hover = page.locator(f"{PLOT} .hoverlayer .hovertext")
    hover.wait_for()
    assert "blocked by causal" in hover.text_content()


def test_the_check_against_pytorch_agrees(page, address):
    pytest.importorskip("torch", reason="PyTorch is not installed: its CPU build lifts this")
    page.goto(address(text="a b c", view="Proof", causal="true"))
    page.get_by_text("Check against PyTorch").click()
    page.get_by_text("Everything agrees.").wait_for()
    page.get_by_text("24 of 24 rows have a key").wait_for()  # 8 heads x 3 queries
    page.get_by_text("24 cells are blocked; their largest weight is 0.").wait_for()  # 8 x 3 above the diagonal
    assert page.get_by_text("does not agree").count() == 0


def test_a_nonsense_address_gives_defaults_and_a_note(page, address):
    page.goto(address(text="a b", seed="abc", heads=7, width=64))
    wait_until_drawn(page, "a", "b")
    page.get_by_text("seed = abc (seed is 0)").wait_for()
    page.get_by_text("width = 64 (width is 63)").wait_for()
    np.testing.assert_array_equal(
        weights_on_screen(page, 7, 2), weights_of("a b", num_heads=7, d_model=63).astype(np.float32)
    )


def test_nothing_is_asked_of_another_host(fresh_page, server):
    with fresh_page() as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server)
        wait_until_drawn(page, "cat")
        page.get_by_role("button", name="Words").click()
        page.get_by_text("a spotlight on the sentence").wait_for()
    elsewhere = [url for url in asked if not url.startswith((server, server.replace("http", "ws"), "data:", "blob:"))]
    assert asked
    assert elsewhere == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_eight_heads_stand_on_the_first_screen(fresh_page, server, scheme):
    with fresh_page(color_scheme=scheme) as page:
        page.goto(server)
        wait_until_drawn(page, "cat")
        expect(text_field(page)).to_be_in_viewport(ratio=1)
        for plot in page.locator(PLOT).all():
            expect(plot).to_be_in_viewport(ratio=1)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["All heads", "One head", "Arrows", "One token", "Measures", "Proof"])
def test_a_phone_needs_no_scrolling_sideways(fresh_page, address, view):
    with fresh_page(viewport={"width": 390, "height": 844}) as page:
        page.goto(address(view=view))
        page.get_by_text("What to look for.").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        main = page.get_by_test_id("stMain")
        assert main.evaluate("(element) => element.scrollWidth") <= 390


def test_text_and_settings_stay_when_one_moves_between_pages(page, address):
    page.goto(address(text="one two three", seed=4))
    wait_until_drawn(page, "one", "three")
    page.get_by_role("link", name="Steps").first.click()
    page.locator("h4.hl-step").wait_for()  # what is typed before then goes into the old page
    expect(text_field(page)).to_have_value("one two three")
    text_field(page).fill("four five")
    text_field(page).press("Enter")
    page.wait_for_url(re.compile("four"))
    page.get_by_role("link", name="Heads").first.click()
    page.get_by_role("tab", name="One token").wait_for()
    expect(page.locator(".hl-step")).to_have_count(0)  # its matrices have the same words on their axes
    wait_until_drawn(page, "four", "five")
    np.testing.assert_array_equal(weights_on_screen(page, 8, 2), weights_of("four five", seed=4).astype(np.float32))
    expect(text_field(page)).to_have_value("four five")
    assert page.get_by_text("cannot be used").count() == 0
