"""Texts of a picture as SVG, literal whatever they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

import regex

from mha.pictures.fonts import BASE, runs

LINE = 1.3  # height of a line, in units of the font size: as Plotly has it

# All that XML can hold; anything else would make the whole file unreadable.
_NOT_IN_XML = regex.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def literal(text: str) -> str:
    """`text` for XML, in an element or an attribute: shown as it is, never read as markup."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


@dataclass(frozen=True)
class Piece:
    """Words of one look."""

    text: str
    colour: str | None = None
    bold: bool = False


@dataclass
class _Reader(HTMLParser):
    """Reads the little HTML of our figures: <b>, <br> and <span style="color:#rrggbb">."""

    lines: list[list[Piece]] = field(default_factory=lambda: [[]])
    colours: list[str | None] = field(default_factory=list)
    bold: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self.lines.append([])
        elif tag == "b":
            self.bold += 1
        elif tag == "span":
            style = dict(attrs).get("style") or ""
            self.colours.append(style.removeprefix("color:") if style.startswith("color:#") else None)

    def handle_endtag(self, tag: str) -> None:
        if tag == "b":
            self.bold -= 1
        elif tag == "span":
            self.colours.pop()

    def handle_data(self, data: str) -> None:
        self.lines[-1].append(Piece(data, self.colours[-1] if self.colours else None, self.bold > 0))


def lines_of(markup: str) -> list[list[Piece]]:
    """The lines of a text of a figure, in pieces; what was escaped there is plain text here."""
    if "<" not in markup and "&" not in markup:
        return [[Piece(markup)]]
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.lines


def text(
    pieces: list[Piece], x: float, y: float, *, size: float, colour: str, anchor: str = "start", angle: float = 0
) -> str:
    """One line of text as an SVG element, its base line at (x, y) px, turned there by `angle` degrees."""
    turned = f' transform="rotate({angle:g} {x:.1f} {y:.1f})"' if angle else ""
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    body = "".join(_span(piece) for piece in pieces)
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{placed}{turned}>{body}</text>'


def _span(piece: Piece) -> str:
    look = f' fill="{piece.colour}"' if piece.colour else ""
    look += ' font-weight="bold"' if piece.bold else ""
    parts = []
    for family, words in runs(piece.text):
        style = look if family == BASE else f'{look} font-family="{family}"'
        parts.append(f"<tspan{style}>{literal(words)}</tspan>" if style else literal(words))
    return "".join(parts)


def picture(width: float, height: float, page: str, parts: list[str], *, title: str, alt: str, edge: float = 0) -> str:
    """An SVG file of parts on `width` by `height` px and `edge` px around them, on a ground of the colour `page`."""
    said = f"<title>{literal(title)}</title>" if title else ""
    said += f"<desc>{literal(alt)}</desc>" if alt else ""
    wide, high = width + 2 * edge, height + 2 * edge
    size = f'width="{wide:g}" height="{high:g}" viewBox="{-edge:g} {-edge:g} {wide:g} {high:g}"'
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{BASE}">{said}',
            f'<rect x="{-edge:g}" y="{-edge:g}" width="{wide:g}" height="{high:g}" fill="{page}"/>',
            *parts,
            "</svg>",
        )
    )
