"""What a page shows, as one file to hand in: HTML that needs nothing else and prints well, and Markdown.

Everything is shown as it is: markup in a token or in the person's sentences is text. The HTML holds no script, asks
the browser to run none, and loads nothing. Markdown has its pictures in files beside it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from pathlib import Path

import regex
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from mha.export import qr
from mha.export.archive import archive

Cell = str | int | float


@dataclass(frozen=True)
class Picture:
    """One picture, an SVG file of `mha.pictures`, and its words for people who do not see it."""

    title: str
    svg: str
    alt: str


@dataclass(frozen=True)
class Table:
    """Numbers under their columns. A float is written with four decimals, NaN as "not defined", a text as it is."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False  # closed until it is opened, and not printed then: for long ones

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"expected rows of {len(self.columns)} cells in {self.title!r}, got {len(row)}")


@dataclass(frozen=True)
class Section:
    """Sentences under a heading."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What is in a report. All texts are plain; what is empty is left out.

    settings: name and value of each. link: to the same view; http or https, or it is no link. notes: what the reader
    should know first. own_words: the person's own sentences, of any length.
    """

    title: str
    settings: tuple[tuple[str, str], ...] = ()
    link: str = ""
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Section, ...] = ()
    own_words: str = ""


OWN_WORDS = "In my own words"

_FOLDER = Path(__file__).parent
_NO_CHARACTER = regex.compile(r"\p{Cs}")
_CONTROL = regex.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def html(report: Report) -> str:
    """The report as one HTML file."""
    page = _template().render(
        report=report,
        own_words_title=OWN_WORDS,
        is_address=report.link.startswith(("http://", "https://")),
        qr_code=qr.qr_svg(report.link) if qr.fits(report.link) else "",
        most_bytes=f"{qr.MAX_BYTES:,}",
    )
    return _encodable(page)


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters.update(written=_written, is_number=_is_number, uri=_svg_uri, paragraphs=_paragraphs)
    return environment.get_template("report.html.jinja")


def markdown(report: Report) -> str:
    """The report as Markdown (CommonMark with tables); its pictures are the files of `markdown_zip`."""
    blocks = [f"# {_md(report.title)}", *map(_md, report.notes)]
    if report.settings:
        blocks += ["## Settings", "\n".join(f"- {_md(name)}: {_md(value)}" for name, value in report.settings)]
    if report.link:
        blocks += ["## Link", f"<{report.link}>" if _is_plain_address(report.link) else _md(report.link)]
    blocks += [f"![QR code of the link]({_QR_FILE})"] if qr.fits(report.link) else []
    for number, picture in enumerate(report.pictures, start=1):
        blocks += [f"## {_md(picture.title)}", f"![{_md(picture.alt)}]({_picture_file(number)})"]
    for table in report.tables:
        blocks += [f"## {_md(table.title)}", *([_md(table.note)] if table.note else []), _md_table(table)]
    for section in report.findings:
        blocks += [f"## {_md(section.title)}", "\n".join(f"- {_md(sentence)}" for sentence in section.sentences)]
    if report.own_words.strip():
        blocks += [f"## {OWN_WORDS}", *(_md_lines(lines) for lines in _paragraphs(report.own_words))]
    return _encodable("\n\n".join(block for block in blocks if block) + "\n")


def markdown_zip(report: Report) -> bytes:
    """A zip file of report.md and its pictures."""
    files = {"report.md": markdown(report)}
    files |= {_picture_file(number): picture.svg for number, picture in enumerate(report.pictures, start=1)}
    files |= {_QR_FILE: qr.qr_svg(report.link)} if qr.fits(report.link) else {}
    return archive(files)


_QR_FILE = "link.svg"


def _picture_file(number: int) -> str:
    return f"picture-{number}.svg"


def _encodable(text: str) -> str:
    """Without halves of characters, which no file can hold, and with signs for control characters, which HTML bans."""
    return _CONTROL.sub(lambda found: chr(0x2400 + ord(found[0])), _NO_CHARACTER.sub("\ufffd", text))


def _svg_uri(svg: str) -> str:
    """An SVG as an address of its own: as an image it can run nothing, load nothing and touch no other picture."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def _is_number(cell: Cell) -> bool:
    return not isinstance(cell, str)


def _written(cell: Cell) -> str:
    if isinstance(cell, float):
        return "not defined" if isnan(cell) else f"{cell:z.4f}".replace("-", "\u2212")
    return str(cell)


def _paragraphs(text: str) -> list[list[str]]:
    """The lines of each paragraph; empty lines part them."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


# --- Markdown ----------------------------------------------------------------------------------------------------

_MARK = regex.compile(r"[\\`*_{}\[\]<>|~&#@$^]|:(?=[/\w+-])|(?<=www)\.|!(?=\[)")
_LINE_START = regex.compile(r"^(\d{1,9})([.)])(?=\s|$)|^([-+=])")
_PLAIN_ADDRESS = regex.compile(r"https?://[!-;=?-~]+")


def _is_plain_address(link: str) -> bool:
    return _PLAIN_ADDRESS.fullmatch(link) is not None


def _md(text: str) -> str:
    """One line of Markdown that reads as `text`."""
    return _md_line(" ".join(text.split()))


def _md_line(line: str) -> str:
    marked = _MARK.sub(lambda found: f"\\{found[0]}", line)
    return _LINE_START.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", marked)


def _md_lines(lines: list[str]) -> str:
    """A paragraph whose lines stay lines; spaces at their start, which could make them code, become unbreakable."""
    return "\\\n".join("\u00a0" * (len(line) - len(line.lstrip())) + _md_line(line.strip()) for line in lines)


def _md_table(table: Table) -> str:
    numeric = [all(_is_number(row[place]) for row in table.rows) for place in range(len(table.columns))]
    rule = ["---:" if right else "---" for right in numeric]
    body = [[_md(_written(cell)) for cell in row] for row in table.rows]
    rows = [[_md(name) for name in table.columns], rule, *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
