"""The report as the person who gets the file sees it: without a network, in a browser and on paper. And the fonts of
its pictures, which come with the browser."""

from __future__ import annotations

import io
import random
import re

import numpy as np
import pytest
from PIL import Image

from mha import figures, masks, pictures
from mha.export.report import Picture, Report, Section, Table, html
from mha.figures.labels import plain_label
from mha.pictures.text import Piece, picture, text

EVIL = "<script>document.title='ran'</script><img src=https://evil.example/x onerror=\"document.title='ran'\">"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
TOKENS = ["The", "\u0645\u0631\u062d\u0628\u0627!", "\u4f60\u597d", FAMILY, EVIL, "mat"]


def report():
    T = len(TOKENS)
    weights = np.random.default_rng(7).dirichlet(np.ones(T), (2, T))
    names = ["Head 1", "Head 2"]
    maps = figures.head_maps(weights, TOKENS, TOKENS, names=names, allowed=masks.causal(T, T).allowed[0])
    bars = pictures.bars(np.arange(float(T)), TOKENS, word="length of the change")
    rows = tuple((f"{n} {token}", n / 7) for n in range(12) for token in TOKENS)
    lost = ("Head", "On forbidden keys before", "Entropy before, bits", "Entropy now, bits", "Rows without key")
    tables = (
        Table("Numbers", ("position", "change"), rows),
        Table("Lost", lost, (("Head 16", -0.25, 1.25, 0.5, 12),)),
        Table("Shares", ("Position", *(f"Head {h}" for h in range(9, 17))), (("12 because", *[-0.0625] * 8),)),
        Table("Steps", ("n", "Word", *(f"Head {h}" for h in range(6))), ((1, "zwei", *["thousand 0.99"] * 6),)),
        Table("Order", ("Position", "Change"), ((f"3 {plain_label(TOKENS[1])}", 0.5),)),
        Table("All", ("n",), ((1,),), folded=True),
    )
    return Report(
        title="Restricted heads",
        settings=(("Text", " ".join(TOKENS)), ("Heads", "2")),
        link=f"https://headlight.example/?text={'a' * 300}",
        notes=(EVIL,),
        pictures=(Picture("Maps", pictures.svg(maps), "two maps"), Picture("Change", bars, EVIL)),
        tables=tables,
        findings=(Section("What changed", (f"The output of {EVIL} changed most.",)),),
        own_words=f"{EVIL}\n\n\u0645\u0631\u062d\u0628\u0627 " + "\u4f60\u597d " * 5_000,
    )


@pytest.fixture
def opened(fresh_page, tmp_path):
    """The report from a file, in a browser without a network; what it asked for is checked at the end."""
    file = tmp_path / "report.html"
    file.write_text(html(report()), encoding="utf-8")
    with fresh_page(offline=True) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        yield page
        assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]


def test_the_report_shows_its_pictures_and_runs_nothing(opened):
    assert opened.title() == "Restricted heads"
    widths = opened.evaluate("[...document.images].map(image => [image.complete, image.naturalWidth, image.width])")
    assert len(widths) == 3
    assert all(complete and natural > 100 and shown > 100 for complete, natural, shown in widths)
    assert opened.evaluate("document.scripts.length") == 0
    assert opened.get_by_text(EVIL).count() >= 3
    assert opened.evaluate("getComputedStyle(document.querySelector('.own p')).whiteSpace") == "pre-wrap"


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(opened, width):
    opened.set_viewport_size({"width": width, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a4_a_short_name_stays_on_its_line_and_no_table_makes_the_page_shrink(opened):
    opened.set_viewport_size({"width": 672, "height": 950})  # 210 mm less the margins
    opened.emulate_media(media="print")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 672
    for name in ("Head 16", "12 because"):
        cell = opened.get_by_role("cell", name=name, exact=True)
        height, line = cell.evaluate(
            "cell => [cell.firstChild.getBoundingClientRect().height, parseFloat(getComputedStyle(cell).fontSize)]"
        )
        assert height < 2 * line


def test_a_position_stands_before_its_word_in_any_script(opened):
    cell = opened.get_by_role("heading", name="Order").locator("xpath=..").locator("td bdi").first
    number, word = cell.evaluate(
        """cell => [[0, 1], [3, 5]].map(([start, end]) => {
          const range = document.createRange();
          range.setStart(cell.firstChild, start);
          range.setEnd(cell.firstChild, end);
          return range.getBoundingClientRect().left;
        })"""
    )
    assert number < word


def test_the_report_prints_on_a4_without_cutting_a_picture(opened):
    pdf = opened.pdf(prefer_css_page_size=True, print_background=True)
    assert pdf.startswith(b"%PDF")
    sheets = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(sheets) > 2
    assert {(round(float(width)), round(float(height))) for width, height in sheets} == {(595, 842)}  # A4 in points
    opened.emulate_media(media="print")
    looks = opened.evaluate("[...document.querySelectorAll('figure')].map(f => getComputedStyle(f).breakInside)")
    assert set(looks) == {"avoid"}
    assert opened.evaluate("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"
    assert not opened.get_by_role("heading", name="All").is_visible()  # its table is folded
    assert opened.get_by_role("heading", name="Numbers").is_visible()


# --- PNG with fonts ----------------------------------------------------------------------------------------------


def pixels(lines, **place):
    """Lines of text below each other as a PNG, 40 px each; (lines, 40, 400, 3)."""
    drawn = [
        text(
            [Piece(line)],
            place.get("x", 10),
            40 * n + 28,
            size=20,
            colour="#000000",
            anchor=place.get("anchor", "start"),
        )
        for n, line in enumerate(lines)
    ]
    png = pictures.png(picture(400, 40 * len(lines), "#ffffff", drawn, title="", alt=""), scale=1)
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).reshape(len(lines), 40, 400, 3).astype(int)


def ink(line):
    """The first and the last column that is not white."""
    columns = np.flatnonzero((line.min(axis=2) < 128).any(axis=0))
    return columns[0], columns[-1]


def width(line):
    first, last = ink(line)
    return last - first


@pytest.mark.slow
def test_the_fonts_of_the_packages_have_every_script_of_the_labels():
    words = [
        *TOKENS,
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u0e44\u0e17\u0e22",
        "\ud55c\uad6d\uc5b4",
        "\u3053\u3093",
    ]
    shown = figures.head_maps(np.full((1, 11, 11), 1 / 11), words, words, names=["Head 1"])
    assert pictures.missing_characters(pictures.svg(shown)) == []
    odd = picture(9, 9, "#ffffff", [text([Piece("a\ue000")], 0, 0, size=9, colour="#000000")], title="", alt="")
    assert pictures.missing_characters(odd) == ["\ue000"]


def test_arabic_letters_join_and_devanagari_vowels_move():
    joined, apart = pixels(["\u0633\u0644\u0627\u0645", "\u0633\u200c\u0644\u200c\u0627\u200c\u0645"])
    assert width(joined) < 0.9 * width(apart)
    # the vowel sign i is written behind its consonant and stands before it: its stroke makes the left end differ
    alone, with_vowel = pixels(["\u0939", "\u0939\u093f"])
    assert width(with_vowel) > width(alone)
    assert not np.array_equal(alone[:, :20], with_vowel[:, :20])


def test_joined_emoji_are_one_picture_and_in_colour():
    one, family, tone, plain = pixels(["\U0001f469", FAMILY, "\U0001f44d\U0001f3fd", "\U0001f44d"])
    assert abs(width(family) - width(one)) <= 4
    assert abs(width(tone) - width(plain)) <= 4
    assert np.abs(tone - plain).max() > 40  # another colour of skin
    assert (np.ptp(plain, axis=2) > 60).any()  # no grey has channels that differ


def ends_with(line, word):
    """Whether the right end of a line is drawn as the word is alone, up to a pixel to the side."""
    first, last = ink(word)
    expected = word[:, first : last + 1].min(axis=2)
    ends = [ink(line)[1] + shift for shift in (-1, 0, 1)]
    found = [line[:, end - (last - first) : end + 1].min(axis=2) for end in ends]
    # as much ink in other places as there is in the word: 1 or more for other letters, a fraction for blurred edges
    return min(np.abs(each - expected).mean() for each in found) < 0.6 * (255 - expected).mean()


@pytest.mark.parametrize("anchor", ["start", "end"])
def test_a_word_beside_another_script_is_drawn_as_it_is_alone(anchor):
    word, letters = "\u0633\u0644\u0627\u0645", "\u0633\u200c\u0644\u200c\u0627\u200c\u0645"
    lines = [f"a {plain_label(word)}", plain_label(f"{word}!"), word, f"a {plain_label(letters)}"]
    beside, marked, alone, cut = pixels(lines, anchor=anchor, x=10 if anchor == "start" else 390)
    assert ends_with(beside, alone)
    assert not ends_with(cut, alone)
    assert ends_with(marked, alone)  # the mark that ends a text from the right stands at its left
    assert width(marked) > width(alone)
    assert ink(beside)[anchor == "end"] == pytest.approx(10 if anchor == "start" else 390, abs=3)


@pytest.mark.slow
def test_any_mixture_of_scripts_can_be_drawn():
    # resvg gives up on some such lines if they are not taken apart
    draw = random.Random(0)
    parts = [
        *"ab 3!(\u2212\u25a0",
        "e\u0301",
        "fi",
        "\u0644\u0627",
        "\u05e9",
        "\u0915\u094d\u0937\u093f",
        "\u4f60",
        "\ud55c",
    ]
    parts += [
        FAMILY,
        "\U0001f44d\U0001f3fd",
        "\U0001f1e9\U0001f1ea",
        "1\ufe0f\u20e3",
        "\u200d",
        "\u0995\u09cd\u09b7",
        "\u1781\u17d2\u1798",
    ]
    lines = [plain_label("".join(draw.choices(parts, k=draw.randint(1, 6)))) for _ in range(200)]
    drawn = pixels(lines)
    assert all((line < 128).any() for line, words in zip(drawn, lines, strict=True) if "a" in words)
