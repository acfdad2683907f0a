"""A report says what it was given, literally, in HTML that can do nothing and in Markdown that reads the same."""

from __future__ import annotations

import base64
import io
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mha import Weights, embed, figures, masks, pictures, restrict, tokenize
from mha.export import qr
from mha.export.report import OWN_WORDS, Picture, Report, Section, Table, html, markdown, markdown_zip

EVIL = "<script>document.title='ran'</script> <img src=x onerror=alert(1)> {{ 7*7 }} {% raw %} &amp; \"' | `a` *b* ]("
SMALL = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"><rect width="2" height="2"/></svg>'
MAY_STAND = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "section",
        "div",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
    ),
    *("a", "img", "figure", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "bdi"),
}


class Reader(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.words = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def full(word="word", **changes):
    return replace(
        Report(
            title=f"{word} 1",
            settings=((f"{word} 2", f"{word} 3"),),
            link="https://headlight.example/?text=a&v=1",
            notes=(f"{word} 4",),
            pictures=(Picture(f"{word} 5", SMALL, f"{word} 6"),),
            tables=(Table(f"{word} 7", (f"{word} 8", "n"), ((f"{word} 9", 0.25), ("x", 2)), note=f"{word} 10"),),
            findings=(Section(f"{word} 11", (f"{word} 12",)),),
            own_words=f"{word} 13",
        ),
        **changes,
    )


def rendered(source):
    """Markdown read by another library."""
    return Reader(MarkdownIt("commonmark").enable("table").render(source))


# --- HTML --------------------------------------------------------------------------------------------------------


def test_markup_in_any_field_is_text_and_nothing_can_run():
    read = Reader(html(full(EVIL)))
    assert {tag for tag, _ in read.elements} <= MAY_STAND
    names = {name for _, attributes in read.elements for name in attributes}
    assert not any(name.startswith("on") or name == "srcdoc" for name in names)
    for place in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13):
        assert f"{EVIL} {place}" in read.text
    assert read.all("img")[1]["alt"] == f"{EVIL} 6"
    [policy] = [meta["content"] for meta in read.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")


def test_nothing_is_loaded_from_anywhere():
    read = Reader(html(full()))
    for tag, attributes in read.elements:
        assert attributes.get("src", "data:").startswith("data:"), tag
        assert ("href" in attributes) == (tag == "a")
    assert "url(" not in html(full())
    assert "@import" not in html(full())


def test_pictures_are_the_given_files():
    code, picture = Reader(html(full())).all("img")
    for image, svg in ((code, qr.qr_svg(full().link)), (picture, SMALL)):
        assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode() == svg


def test_what_is_empty_is_left_out():
    read = Reader(html(Report(title="t")))
    assert {tag for tag, _ in read.elements} == {"html", "head", "meta", "title", "style", "body", "h1"}
    assert OWN_WORDS not in Reader(html(full(own_words=" \n "))).text
    assert "What changed" not in Reader(html(full(findings=(Section("What changed", ()),)))).text


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "//evil.example", " https://a.example"])
def test_only_an_address_of_the_web_becomes_a_link(link):
    read = Reader(html(full(link=link)))
    assert read.all("a") == []
    assert link in read.text
    [anchor] = Reader(html(full())).all("a")
    assert anchor["href"] == full().link


def test_a_link_too_long_for_a_code_is_there_and_says_so():
    link = "https://headlight.example/?text=" + "x" * 1_000
    read = Reader(html(full(link=link)))
    assert len(read.all("img")) == 1
    assert link in read.text
    assert "longer than 1,000 bytes, too long for a QR code" in read.text
    assert "QR" not in markdown(full(link=link))


def test_numbers_are_written_alike_everywhere_and_stand_to_the_right():
    rows = (("a", 0.25, 3), ("b", float("nan"), 4), ("c", -1.5, 5), ("d", -0.00001, 6))
    report = Report("t", tables=(Table("numbers", ("name", "value", "count"), rows),))
    read = Reader(html(report))
    expected = ["a", "0.2500", "3", "b", "not defined", "4", "c", "\u22121.5000", "5", "d", "0.0000", "6"]
    assert [word for word in read.words if word.strip()][-12:] == expected
    assert [cell.get("class") for cell in read.all("td")] == [None, "number", "number"] * 4
    assert [word for word in rendered(markdown(report)).words if word.strip()][-12:] == expected


def test_a_long_table_is_folded():
    table = Table("all", ("n",), tuple((n,) for n in range(7)), folded=True)
    read = Reader(html(Report("t", tables=(table,))))
    assert len(read.all("details")) == 1
    assert "7 rows" in read.text


def test_a_table_whose_rows_do_not_fit_is_refused():
    with pytest.raises(ValueError, match="expected rows of 2 cells in 'shares', got 1"):
        Table("shares", ("a", "b"), (("x",),))


def test_own_words_of_any_script_and_length_stay_as_they_are():
    line = "\u0645\u0631\u062d\u0628\u0627 \u4f60\u597d \U0001f469\u200d\U0001f467 e\u0301 <b> "
    words = (line * 1_000)[:20_000] + "\n  indented\n\n\nnext paragraph"
    page = html(full(own_words=words))
    page.encode()
    read = Reader(page)
    assert [attributes for attributes in read.all("p") if "dir" in attributes] == [{"dir": "auto"}] * 2
    first, second = words.split("\n\n\n")
    assert first in read.text
    assert second in read.text


@given(st.text(alphabet=st.characters()))
@example("\x00\x1b\ud800\r\n\u2028")
def test_any_words_can_be_written_to_a_file_and_read_back(words):
    for text in (html(full(own_words=words)), markdown(full(own_words=words))):
        text.encode()
        assert not set(text) & {chr(code) for code in range(32) if chr(code) not in "\t\n"}
    assert {tag for tag, _ in Reader(html(full(own_words=words))).elements} <= MAY_STAND


def test_a_report_of_8_heads_and_32_tokens_stays_under_500_kb():
    # before, after and difference, with the numbers of each position
    H, T = 8, 32
    tokens = tokenize(" ".join(f"token{i}" for i in range(T)))
    X = embed(tokens, 64, 0)[None]
    found = restrict(X, X, X, Weights.draw(64, H, 0), masks.halves(H, T))
    names = [f"Head {h + 1}" for h in range(H)]
    before, after = found.baseline.weights[0], found.restricted.weights[0]
    allowed = found.restricted.mask[0]

    def picture(title, values, **options):
        drawn = figures.head_maps(values, tokens, tokens, names=names, **options)
        return Picture(title, pictures.svg(drawn), figures.describe_maps(values, tokens, tokens, names=names))

    change = np.linalg.norm(found.restricted.output - found.baseline.output, axis=-1)[0]
    report = full(
        pictures=(
            picture("Before", before),
            picture("After", after, allowed=allowed),
            picture("Difference", after - before, kind="difference", allowed=allowed),
        ),
        tables=(Table("change", ("position", "length"), tuple(zip(tokens, change.tolist(), strict=True))),),
        own_words="w" * 20_000,
    )
    assert len(html(report).encode()) < 500_000
    assert len(Reader(html(report)).all("img")) == 4


# --- Markdown ----------------------------------------------------------------------------------------------------


def test_markdown_says_the_same_as_the_page():
    read = rendered(markdown(full(EVIL)))
    allowed = {"h1", "h2", "p", "ul", "li", "a", "img", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in read.elements} <= allowed
    for place in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13):
        assert f"{EVIL} {place}" in read.text
    assert [image["src"] for image in read.all("img")] == ["link.svg", "picture-1.svg"]
    assert [anchor["href"] for anchor in read.all("a")] == ["https://headlight.example/?text=a&v=1"]
    assert read.all("img")[1]["alt"] == f"{EVIL} 6"


@given(st.text(alphabet="ab1 .)-+=>#*_`~[](){}<>!|\\&;:/\t\n", max_size=60))
@example("1. a\n- b\n===\n    code\n---\n# c\n<b>\n| a | b |\n|---|---|")
@example("http://a.example www.a.example a@b.example\\\n\\")
def test_own_words_are_no_markdown(words):
    read = rendered(markdown(Report("t", own_words=words)))
    assert {tag for tag, _ in read.elements} <= {"h1", "h2", "p", "br"}
    said = read.text.removeprefix("t\n").strip().removeprefix(OWN_WORDS)
    assert "".join(said.split()) == "".join(words.split())


@given(st.text(alphabet="a1|\\`*_<&\n ", max_size=20))
def test_a_cell_of_a_table_holds_what_it_was_given(cell):
    read = rendered(markdown(Report("t", tables=(Table("x", (cell, "b"), ((cell, "c"),)),))))
    assert len(read.all("td")) == len(read.all("th")) == 2
    assert "".join(read.text.split()) == "".join(f"tx{cell}b{cell}c".split())


def test_the_zip_holds_every_file_that_the_text_names():
    packed = markdown_zip(full())
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    text = files.pop("report.md")
    assert text == markdown(full())
    assert set(files) == {image["src"] for image in rendered(text).all("img")}
    assert files["picture-1.svg"] == SMALL
    assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in files.values())
    assert markdown_zip(full()) == packed
