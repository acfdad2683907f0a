"""Which fonts a text is drawn with: each run of one script names its own.

A browser looks for every character in all fonts. The renderer of our PNGs gives a whole line to the first font that it
finds for a missing character, be it bold or italic. So it gets upright fonts of normal weight only, in our order, and
no need to look. The names are those of the Debian packages in `packages.txt`.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

import regex

BASE = "'Noto Sans','DejaVu Sans','Liberation Sans',Arial,sans-serif"

_CJK = "'Noto Sans CJK SC','WenQuanYi Micro Hei'"
_EMOJI = "'Noto Color Emoji','Apple Color Emoji','Segoe UI Emoji'"
_NOTO = "'Noto Sans {}'"
_RIGHT_TO_LEFT = {script: script for script in ("Arabic", "Hebrew", "Syriac", "Thaana")} | {"Nko": "NKo"}
# letters that change their form, place or number beside others
_JOINING = (
    *("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala"),
    *("Thai", "Lao", "Khmer", "Myanmar", "Javanese", "Balinese", "Mongolian"),
)
_SEPARATE = ("Armenian", "Georgian", "Ethiopic", "Cherokee", "Tifinagh", "Yi")
_FAMILIES = {
    r"\p{Emoji_Presentation}|\P{M}\p{M}*(?:\ufe0f|\u20e3)": _EMOJI,
    r"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\uff00-\uffef]": _CJK,
    **{rf"\p{{scx={script}}}": _NOTO.format(name) for script, name in _RIGHT_TO_LEFT.items()},
    **{rf"\p{{scx={script}}}": _NOTO.format(script) for script in (*_JOINING, *_SEPARATE)},
    r"[\u2190-\u21ff\u2200-\u22ff\u27c0-\u27ff\u2900-\u2aff\U0001d400-\U0001d7ff]": _NOTO.format("Math"),
    r"[\u2460-\u24ff]": _NOTO.format("Symbols"),
    r"[\u2300-\u245f\u2500-\u27bf\u2800-\u28ff\u2b00-\u2bff\U0001f000-\U0001faff]": _NOTO.format("Symbols2"),
}
_ORDER = list(_FAMILIES.values())
_KNOWN = regex.compile("|".join(f"({pattern})" for pattern in _FAMILIES))
_CLUSTER = regex.compile(r"\X")


def runs(text: str) -> list[tuple[str, str]]:
    """The text in pieces of one font each, with the names of that font, as CSS writes them; no cluster is split."""
    if text.isascii():
        return [(BASE, text)]
    found: list[tuple[str, str]] = []
    waiting = ""  # opens a text with a direction of its own: belongs to what comes next
    for cluster in _CLUSTER.findall(text):
        if cluster == OPEN:
            waiting += cluster
            continue
        last, words = found[-1] if found else ("", "")
        family = last if cluster == CLOSE or (cluster == " " and not last.startswith(_EMOJI)) else _family(cluster)
        if last and family == last and not waiting and not words.endswith(CLOSE):
            found[-1] = (last, words + cluster)
        else:
            found.append((family or BASE, waiting + cluster))
        waiting = ""
    return found


@lru_cache(maxsize=2_048)
def _family(cluster: str) -> str:
    known = _KNOWN.match(cluster)
    return BASE if known is None or known.lastindex is None else f"{_ORDER[known.lastindex - 1]},{BASE}"


def joins(family: str) -> bool:
    """Whether letters of this font may be drawn as another number of glyphs than there are letters."""
    return family.split(",", maxsplit=1)[0] in _JOINED


OPEN, CLOSE = "\u2068", "\u2069"  # around a text with a direction of its own
_JOINED = {_EMOJI.split(",", maxsplit=1)[0], *map(_NOTO.format, (*_JOINING, *_RIGHT_TO_LEFT.values()))}


@lru_cache(maxsize=1)
def font_files() -> tuple[str, ...]:
    """The fonts of this machine that a PNG is drawn with, those of `packages.txt` first."""
    found = {
        path.name: path for folder in _folders() if folder.is_dir() for path in sorted(folder.rglob("*.[to]t[fc]"))
    }
    fitting = [path for name, path in found.items() if name == _BOLD or not _UNFIT.search(name)]
    return tuple(str(path) for path in sorted(fitting, key=lambda path: (_rank(path.name), path.name)))


def _folders() -> list[Path]:
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
    if sys.platform == "win32":
        return [Path("C:/Windows/Fonts")]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


_BOLD = "NotoSans-Bold.ttf"  # what is written in bold needs it, and nothing else should
_UNFIT = regex.compile(
    r"Bold|Ital|Obliq|Slant|Light|Thin|Black|Medium|Condensed|Narrow|Serif|Mono|Display|Math(?!-Regular)|TeX|Unjoined"
)
_FIRST = regex.compile(
    r"(NotoSans-Regular)|(NotoSans[A-Z])|(wqy)|(NotoColorEmoji)|(Noto)|(DejaVuSans\.)|(LiberationSans-)"
)


def _rank(name: str) -> int:
    known = None if name == _BOLD else _FIRST.match(name)
    return 99 if known is None or known.lastindex is None else known.lastindex
