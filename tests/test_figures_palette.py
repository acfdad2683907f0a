"""Colours that can be told apart: in grey, by colour-blind eyes, on light and on dark pages."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from mha.config import MAX_HEADS
from mha.figures.palette import (
    HEAD_COLOURS,
    MEAN_COLOUR,
    THEMES,
    colour_at,
    contrast,
    default_colours,
    ink_on,
    relative_luminance,
    theme_named,
)

PAGES = {"light": "#ffffff", "dark": "#12161c"}  # .streamlit/config.toml


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def oklab(linear):
    """Björn Ottosson's OKLab, in which distances are about as large as they look."""
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return to_lab @ np.cbrt(to_cones @ linear)


# Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB
EYES = {
    "common": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def seen(colour, eyes):
    value = rgb(colour)
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return oklab(np.clip(EYES[eyes] @ linear, 0, 1))


def distance(one, other, eyes="common"):
    return float(np.linalg.norm(seen(one, eyes) - seen(other, eyes)))


def test_luminance_and_contrast_are_wcags():
    # WCAG 2.2: white is 1, black 0, and their contrast 21, the largest there is; 0.2126 is red's share
    assert relative_luminance("#ffffff") == pytest.approx(1)
    assert relative_luminance("#000000") == 0
    assert relative_luminance("#ff0000") == pytest.approx(0.2126)
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == pytest.approx(21)


@pytest.mark.parametrize("name", THEMES)
def test_the_page_of_a_theme_is_the_apps(name):
    assert THEMES[name].page == PAGES[name]


@pytest.mark.parametrize("name", THEMES)
def test_a_larger_weight_is_further_from_the_page_in_grey(name):
    colours = [colour for _, colour in THEMES[name].weights]
    steps = np.diff([relative_luminance(colour) for colour in colours])
    assert (steps < 0).all() if name == "light" else (steps > 0).all()
    assert contrast(colours[0], PAGES[name]) < 1.3  # 0 is nearly the page
    assert contrast(colours[-1], PAGES[name]) > 15  # 1 is nearly its opposite


@pytest.mark.parametrize("name", THEMES)
def test_colours_are_spread_by_the_square_root_of_the_weight(name):
    shares = [share for share, _ in THEMES[name].weights]
    assert shares[0] == 0
    assert shares[-1] == 1
    np.testing.assert_allclose(np.sqrt(shares), np.linspace(0, 1, len(shares)), atol=1e-12)


@pytest.mark.parametrize("name", THEMES)
def test_weights_near_one_over_the_tokens_differ_from_each_other_and_from_zero(name):
    # 32 tokens and random weights: most lie between 0.01 and 0.1. A just noticeable difference in OKLab is about 0.02.
    scale = THEMES[name].weights
    shown = [colour_at(scale, weight) for weight in (0.0, 0.01, 0.03, 0.06, 0.1)]
    assert all(distance(a, b) > 0.02 for a, b in pairwise(shown))


@pytest.mark.parametrize("name", THEMES)
def test_what_a_cell_of_60_loses_is_seen_beside_one_that_gains_nearly_everything(name):
    # causal on 60 tokens: row 1 gives all of its weight to one key, and blocked cells lose about 1/60
    scale = THEMES[name].difference
    lost, same, gained = (colour_at(scale, 0.5 + change / 2) for change in (-1 / 60, 0, 1 / 60))
    assert distance(lost, same) > 0.02
    assert distance(gained, same) > 0.02
    assert colour_at(scale, 0) == THEMES[name].numbers[0][1]
    assert colour_at(scale, 1) == THEMES[name].numbers[-1][1]


@pytest.mark.parametrize("kind", ["difference", "numbers"])
@pytest.mark.parametrize("name", THEMES)
def test_differences_are_centred_and_as_strong_on_both_sides(name, kind):
    scale = getattr(THEMES[name], kind)
    shares = np.array([share for share, _ in scale])
    np.testing.assert_allclose(shares, 1 - shares[::-1])
    assert contrast(colour_at(scale, 0.5), PAGES[name]) < 1.15
    for far in (0.125, 0.25, 0.5):
        less, more = colour_at(scale, 0.5 - far), colour_at(scale, 0.5 + far)
        assert (
            max(relative_luminance(less), relative_luminance(more))
            < 1.5 * min(relative_luminance(less), relative_luminance(more)) + 0.02
        )
        assert all(distance(less, more, eyes) > 0.05 for eyes in EYES)


@pytest.mark.parametrize("name", THEMES)
def test_blocked_is_a_grey_that_no_weight_has_and_its_hatch_can_be_seen(name):
    theme = THEMES[name]
    assert np.ptp(rgb(theme.blocked)) == 0  # neutral
    for scale in (theme.weights, theme.difference):
        nearest = min(distance(theme.blocked, colour_at(scale, share)) for share in np.linspace(0, 1, 201))
        assert nearest > 0.02
    assert contrast(theme.blocked, theme.hatch) > 1.9


def test_every_head_has_a_colour_of_its_own_that_both_pages_show():
    assert len(set(HEAD_COLOURS)) == MAX_HEADS
    assert MEAN_COLOUR not in HEAD_COLOURS
    for colour in (*HEAD_COLOURS, MEAN_COLOUR):
        # WCAG 2.2, 1.4.11: 3 for graphics
        assert all(contrast(colour, page) >= 3 for page in PAGES.values()), colour


def test_neighbouring_heads_differ_for_all_eyes_and_no_two_are_alike():
    for one, other in pairwise(HEAD_COLOURS):
        assert all(distance(one, other, eyes) > 0.06 for eyes in EYES), (one, other)
    assert all(distance(one, other) > 0.08 for one, other in combinations(HEAD_COLOURS, 2))


@pytest.mark.parametrize("name", THEMES)
def test_texts_can_be_read(name):
    theme = THEMES[name]
    # WCAG 2.2, 1.4.3: 4.5 for text
    assert contrast(theme.text, PAGES[name]) >= 4.5
    assert contrast(theme.quiet, PAGES[name]) >= 4.5
    assert contrast(theme.text, theme.blocked) >= 4.5  # "no key left"
    for scale in (theme.weights, theme.difference):
        for share in np.linspace(0, 1, 101):
            colour = colour_at(scale, share)
            # the better of near-black and white never falls below about sqrt(21)
            assert contrast(ink_on(colour), colour) > 4.2


def test_colours_after_the_last_head_are_grey():
    assert default_colours(MAX_HEADS + 1) == [*HEAD_COLOURS, MEAN_COLOUR]


def test_an_unknown_theme_is_refused():
    with pytest.raises(ValueError, match='"light" or "dark", got \'sepia\''):
        theme_named("sepia")
