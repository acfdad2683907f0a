"""PNG from SVG, and which characters it cannot show."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

import numpy as np
import resvg_py
from numpy.typing import NDArray
from PIL import Image

from mha.pictures.apart import SVG, Run, apart
from mha.pictures.fonts import font_files
from mha.pictures.text import Piece, literal, picture, text

SCALE = 2.0  # pixels for one px: sharp on paper and on dense screens

_MEASURED = 32.0  # px, the font size at which runs are measured
_WIDEST = 2.0  # of a character, in units of the font size
_BOX = 40  # px of one character's cell, wide enough for what a font draws beside it
_PER_ROW = 32
_NO_CHARACTER = "\U000fffff"  # by Unicode's promise: a font draws here what it draws for any it lacks

Renderer = Callable[[str], bytes]


def png(svg: str, *, scale: float = SCALE, fonts: Sequence[str] | None = None) -> bytes:
    """One of our SVGs as a PNG, `scale` times its size in px.

    fonts: files to draw the texts with; None takes those of this machine. Characters that no font has become boxes,
    or nothing where there is no font at all: see `missing_characters`. Raises ValueError for what is no SVG.
    """
    render = _renderer(1.0, fonts)
    try:
        separate = apart(svg, lambda runs: _advances(runs, render))
    except ElementTree.ParseError as problem:
        raise ValueError(f"expected an SVG, got what is no XML: {problem}") from None
    return _renderer(scale, fonts)(separate)


def _renderer(scale: float, fonts: Sequence[str] | None) -> Renderer:
    files = list(font_files() if fonts is None else fonts)

    def render(page: str) -> bytes:
        try:
            return resvg_py.svg_to_bytes(svg_string=page, zoom=scale, skip_system_fonts=True, font_files=files)
        except BaseException as problem:  # a panic in the renderer is no Exception
            if type(problem).__name__ != "PanicException":
                raise
            raise ValueError("expected a picture that resvg can draw, got one at which it gave up") from None

    return render


def _pixels(picture_file: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(picture_file)).convert("RGB"))


def _advances(runs: Sequence[Run], render: Renderer) -> list[float]:
    """How far each run moves what follows it, in units of the font size: where a stroke behind it lands."""
    row = round(1.5 * _MEASURED)
    lines = [_with_stroke(run, n * row + _MEASURED) for n, run in enumerate([Run(""), *runs])]
    width = _MEASURED * (_WIDEST * max(len(run.words) for run in runs) + 2)
    drawn = _pixels(render(picture(width, row * len(lines), "#ffffff", lines, title="", alt="")))
    inked = (drawn.min(axis=2) < 128).reshape(len(lines), row, -1).any(axis=1)
    last = inked.shape[1] - 1 - inked[:, ::-1].argmax(axis=1)
    ends = np.where(inked.any(axis=1), last, 0)
    return ((ends[1:] - ends[0]) / _MEASURED).tolist()


def _with_stroke(run: Run, y: float) -> str:
    """A run and, as a chunk of its own that starts where it ends, a stroke."""
    weight = f' font-weight="{run.weight}"' if run.weight else ""
    words = f'<tspan font-family="{run.family}"{weight}>{literal(run.words)}</tspan>' if run.words else ""
    stroke = f'<tspan y="{y:g}">|</tspan>'
    return f'<text x="10" y="{y:g}" font-size="{_MEASURED:g}" xml:space="preserve">{words}{stroke}</text>'


def missing_characters(svg: str, *, fonts: Sequence[str] | None = None) -> list[str]:
    """The characters in the texts of an SVG that no font has, each once, in their order; fonts as in `png`.

    Each is drawn, all in one picture, and compared with what is drawn for a character that no font can have.
    """
    texts = ElementTree.fromstring(svg).iter(f"{{{SVG}}}text")
    characters = [each for each in dict.fromkeys("".join("".join(t.itertext()) for t in texts)) if _has_a_look(each)]
    *drawn, unknown = _drawn([*characters, _NO_CHARACTER], _renderer(1.0, fonts))
    return [each for each, cell in zip(characters, drawn, strict=True) if np.array_equal(cell, unknown)]


def _has_a_look(character: str) -> bool:
    """Marks, joiners and spaces have none by themselves."""
    category = unicodedata.category(character)
    return category[0] not in "MZ" and category not in ("Cf", "Cc")


def _drawn(characters: list[str], render: Renderer) -> list[NDArray[np.uint8]]:
    """The pixels of each character, in a cell of its own."""
    rows = -(-len(characters) // _PER_ROW)
    places = [divmod(place, _PER_ROW) for place in range(len(characters))]
    words = [
        text([Piece(each)], column * _BOX + 10, row * _BOX + 26, size=16, colour="#000000")
        for each, (row, column) in zip(characters, places, strict=True)
    ]
    pixels = _pixels(render(picture(_PER_ROW * _BOX, rows * _BOX, "#ffffff", words, title="", alt="")))
    return [pixels[row * _BOX : (row + 1) * _BOX, column * _BOX : (column + 1) * _BOX] for row, column in places]
