"""Labels are literal, bounded and visible, whatever a token holds."""

from __future__ import annotations

from html import unescape

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mha import tokenize
from mha.figures import full_label, plain_label, short_label
from mha.figures.labels import literal_name, text_width

FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
SKIN = "\N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-4}"
ENGLAND = "\N{WAVING BLACK FLAG}\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"  # a joiner that changes the letters' shapes stands in it

# What a browser shows for these is what was typed: C48, C55, C57, C59 and the traps of FACTS.md.
AS_TYPED = [
    "cat", "1", "2024-01-01", "<s>", "<b>x</b>", "<a", "href=x>y</a>", "&lt;", "&", "$x$", "%{y}", ":smile:", "**x**",
    "`y`", "a<b<c", '"', "'", "我喜欢", "é", "e\u0301", FAMILY, SKIN, ENGLAND, "❤\ufe0f", "🇩🇪",
]  # fmt: skip


def without_isolates(label: str) -> str:
    return label.replace("\u2068", "").replace("\u2069", "")


@pytest.mark.parametrize("token", AS_TYPED)
@pytest.mark.parametrize("label", [short_label, full_label])
def test_a_label_is_the_token_itself_once_its_html_is_read(label, token):
    assert unescape(label(token)) == token
    assert "<" not in label(token)


@pytest.mark.parametrize("token", ["שלום!", "(הנה)", "القطة", PERSIAN])
def test_right_to_left_tokens_are_whole_and_set_apart(token):
    # U+2068 and U+2069 keep marks at a word's ends and numbers beside it in their places (Unicode annex 9)
    assert short_label(token) == full_label(token) == plain_label(token) == f"\u2068{token}\u2069"


@pytest.mark.parametrize(
    ("token", "short", "full"),
    [
        ("", "∅", "∅"),
        ("  ", "␣␣", "␣␣"),
        ("a b", "a␣b", "a␣b"),
        ("a\u00a0b", "a␣b", "a␣b"),
        ("a\x00b", "a␀b", "a␀b"),  # Unicode's picture of NUL is U+2400, of LF U+240A, of DEL U+2421
        ("a\nb", "a␊b", "a␊b"),
        ("\x7f", "␡", "␡"),
        ("a\u202eb", "a␦b", "a&lt;U+202E&gt;b"),
        ("a\u2066b", "a␦b", "a&lt;U+2066&gt;b"),
        ("a\u00adb", "a␦b", "a&lt;U+00AD&gt;b"),
        ("\u200b", "␦", "&lt;U+200B&gt;"),
        ("\u200d", "␦", "&lt;U+200D&gt;"),  # a joiner with nothing to join
        ("\ufeff", "␦", "&lt;U+FEFF&gt;"),
        ("\x85", "␦", "&lt;U+0085&gt;"),
        ("\u2028", "␦", "&lt;U+2028&gt;"),
        ("\ud800", "\ufffd", "\ufffd"),
    ],
)
def test_what_cannot_be_seen_gets_a_sign(token, short, full):
    assert (short_label(token), full_label(token)) == (short, full)


@pytest.mark.parametrize("one", ["x", "我", "e\u0301", FAMILY, ENGLAND])
def test_twelve_characters_stay_and_thirteen_end_in_an_ellipsis(one):
    # DESIGN.md: a label of up to 12 characters is never shortened; characters are grapheme clusters
    assert short_label(one * 12) == one * 12
    assert short_label(one * 13) == one * 11 + "…"
    assert full_label(one * 60) == one * 60
    assert full_label(one * 100) == one * 59 + "…"


def test_c39_words_with_the_same_beginning_look_alike_only_when_shortened():
    words = ["internationalisation", "internationalization", "internationale"]
    assert {short_label(word) for word in words} == {"internation…"}
    assert [full_label(word) for word in words] == words


@pytest.mark.parametrize("splitting", ["spaces", "characters"])
def test_a_letter_under_a_thousand_marks_stays_bounded(splitting):
    (token,) = tokenize("e" + 1_000 * "\u0301", splitting)
    assert len(full_label(token)) == 16  # one cluster, cut to as many code points as the longest emoji need


@given(st.text(max_size=80))
def test_any_text_gives_a_bounded_visible_label_without_markup(token):
    for label, limit in ((short_label, 12), (full_label, 60), (plain_label, 60)):
        shown = without_isolates(label(token))
        assert shown.strip()
        assert not regex.search(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]", shown)
        if label is not plain_label:
            assert "<" not in shown
        # "<U+10FFFF>" is the longest sign of one character; a cluster keeps at most 16
        assert len(unescape(shown)) <= limit * 16 * len("<U+10FFFF>")
    assert short_label(token) == short_label(token)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12))
def test_up_to_twelve_letters_digits_and_marks_are_the_label(token):
    shown = without_isolates(unescape(short_label(token)))
    # some letters are drawn blank by every font: Unicode lists them as default-ignorable
    assert shown == regex.sub(r"\p{Default_Ignorable_Code_Point}", "␦", token)


def test_longer_text_is_wider_and_wide_characters_count_as_wide():
    assert text_width("i", 10) < text_width("a", 10) < text_width("W", 10) < text_width("我", 10)
    assert (
        text_width("x" * 100, 10) <= text_width("x" * 12, 10) + 10
    )  # cut at 12: the ellipsis is no wider than the size


def test_a_name_keeps_its_spaces_and_cannot_fill_in_a_hover_template():
    assert literal_name("Mean of heads") == "Mean of heads"
    assert literal_name("<b> %{x}") == "&lt;b&gt; &#37;{x}"
