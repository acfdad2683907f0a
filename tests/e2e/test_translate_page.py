"""The Translate page in a real browser: a number with a crossing, its steps, and a head switched off."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from mha.translator.evaluate import Head, accuracy, sample
from mha.translator.model import Translator
from mha.translator.numbers import english_words, german_words
from mha.translator.weights import load, shipped
from tests.e2e.plots import PLOT

NUMBER, HEAD = 321, Head("cross", 2)


def test_a_crossing_step_by_step_and_a_head_switched_off(open_page):
    model = Translator(load(shipped("one_head")))
    [without] = model.translate([english_words(NUMBER)], HEAD.off())
    assert without.words != german_words(NUMBER)  # else there would be nothing to see
    left = int(accuracy(model, sample(), HEAD.off()).right.sum())

    page = open_page("translate", weights="one head", number="7")
    field = page.get_by_role("textbox", name="A number")
    field.fill("three hundred twenty one")
    expect(page.get_by_text("becomes “drei hundert ein und zwanzig”: right.")).to_be_visible()
    expect(page.get_by_text("500 of 500 held-out numbers come out right.")).to_be_visible()
    expect(page.get_by_text("“twenty one” becomes “ein und zwanzig”")).to_be_visible()

    slider = page.get_by_role("slider")
    slider.focus()
    for step in (2, 3):
        slider.press("ArrowRight")
        expect(page.get_by_text(f"Word {step} of 6:")).to_be_visible()

    page.get_by_role("button", name="All heads on").click()
    page.get_by_role("button", name="Cross head 3").click()
    expect(page.get_by_text(f"becomes “{' '.join(without.words)}”: wrong")).to_be_visible()
    expect(page.get_by_text(f"Restricted like this, {left} of 500 held-out numbers come out right")).to_be_visible()
    expect(page.get_by_text("zwanzig”: right.")).to_have_count(0)
    expect(page).to_have_url(re.compile("heads_off=cross3"))


def test_what_is_no_number_is_said_and_nothing_is_drawn(open_page):
    page = open_page("translate")
    page.locator(PLOT).first.wait_for()
    page.get_by_role("textbox", name="A number").fill("twenty eleven")
    expect(page.get_by_text('after "twenty", got "eleven"')).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(0)


@pytest.mark.slow
def test_the_first_screen_shows_the_text_and_all_maps(open_page):
    page = open_page("translate", number="121121")  # the longest
    page.locator(PLOT).first.locator(".heatmaplayer image").first.wait_for()
    expect(page.get_by_role("textbox", name="A number")).to_be_in_viewport()
    lowest = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.heatmaplayer image')]"
        ".map((image) => image.getBoundingClientRect().bottom))"
    )
    assert lowest <= 800
    assert page.locator(PLOT).count() == 1


@pytest.mark.slow
def test_the_restriction_page_leads_here(page, server):
    page.goto(f"{server}/restriction")
    page.get_by_role("link", name="The same with heads that learned: a translator").click()
    expect(page.get_by_text("becomes “zwei hundert vier und dreißig”: right.")).to_be_visible()
