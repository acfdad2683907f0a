"""Lines of several scripts, taken apart for a renderer that can shape only one font at a time.

The resvg library shapes the whole line with each of its fonts and then puts glyphs together by their number, which
fails as soon as letters join: an emoji of several characters, an Arabic ligature, a Devanagari vowel that stands before
its consonant. So such a line is cut into its runs, each placed where the one before it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import regex

from mha.pictures.fonts import BASE, CLOSE, OPEN, joins

SVG = "http://www.w3.org/2000/svg"
PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"  # keeps a space at the end of a run
Advances = Callable[[Sequence["Run"]], Sequence[float]]

_STRETCH = regex.compile(f"{OPEN}?[^{OPEN}{CLOSE}]*{CLOSE}?")  # what belongs to one isolated stretch, or to none
_JOINED = regex.compile(r"[\p{M}\p{Cf}\u1100-\u11ff]")  # makes one letter of several characters
_STRONG = regex.compile(r"[\p{bc=L}\p{bc=R}\p{bc=AL}]")
_RIGHT_TO_LEFT = regex.compile(r"[\p{bc=R}\p{bc=AL}]")
_EMBED, _END = "\u202b", "\u202c"  # sets a run's own direction from right to left, so that its brackets turn
_SHARE_BEFORE = {"start": 0.0, "middle": 0.5, "end": 1.0}  # of a line's width that lies before its anchor


@dataclass(frozen=True)
class Run:
    """Words in one font and look."""

    words: str
    family: str = BASE
    colour: str | None = None
    weight: str | None = None


def apart(svg: str, advances: Advances) -> str:
    """The SVG with every line cut into runs whose letters may join beside another font.

    advances: how far each run moves what follows it, in units of the font size.
    """
    root = ElementTree.fromstring(svg)
    lines = [(line, _runs(line)) for line in root.iter(f"{{{SVG}}}text")]
    mixed = [(line, in_visual_order(runs)) for line, runs in lines if _fails_together(runs)]
    if not mixed:
        return svg
    distinct = list(dict.fromkeys(run for _, runs in mixed for run in runs))
    widths = dict(zip(distinct, advances(distinct), strict=True))
    for line, runs in mixed:
        _place(line, runs, [widths[run] * float(line.attrib["font-size"]) for run in runs])
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _runs(line: ElementTree.Element) -> list[Run]:
    found = [Run(line.text or "")]
    for span in line:
        family, colour = span.get("font-family", BASE), span.get("fill")
        found += [Run(span.text or "", family, colour, span.get("font-weight")), Run(span.tail or "")]
    return [replace(run, words=words) for run in found for words in _STRETCH.findall(run.words) if words]


def _fails_together(runs: Sequence[Run]) -> bool:
    several_fonts = len({run.family for run in runs}) > 1
    return several_fonts and any(joins(run.family) or _JOINED.search(run.words) for run in runs)


def in_visual_order(runs: Sequence[Run]) -> list[Run]:
    """The runs from left to right: reversed inside a stretch that is isolated and starts from the right."""
    ordered: list[Run] = []
    stretch: list[Run] | None = None
    for run in runs:
        if OPEN in run.words:
            stretch = []
        if stretch is None:
            ordered.append(run)
            continue
        stretch.append(run)
        if CLOSE in run.words:
            ordered += _turned(stretch)
            stretch = None
    return [*ordered, *(stretch or [])]


def _turned(stretch: list[Run]) -> list[Run]:
    first = _STRONG.search("".join(run.words for run in stretch))
    bare = [replace(run, words=run.words.strip(OPEN + CLOSE)) for run in stretch]
    if first is None or not _RIGHT_TO_LEFT.match(first[0]):
        return bare
    return [replace(run, words=f"{_EMBED}{run.words}{_END}") for run in reversed(bare)]


def _place(line: ElementTree.Element, runs: Sequence[Run], widths: Sequence[float]) -> None:
    """Each run at its own place: an absolute x is where a renderer starts anew."""
    x = float(line.attrib["x"]) - _SHARE_BEFORE[line.attrib.pop("text-anchor", "start")] * sum(widths)
    line.text = None
    line.set(PRESERVE, "preserve")
    for span in list(line):
        line.remove(span)
    for run, width in zip(runs, widths, strict=True):
        looks = {"font-family": run.family, "fill": run.colour, "font-weight": run.weight}
        span = ElementTree.SubElement(line, f"{{{SVG}}}tspan", {"x": f"{x:.2f}"})
        span.attrib.update({name: value for name, value in looks.items() if value is not None})
        span.text = run.words
        x += width
