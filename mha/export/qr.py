"""A link as a QR code, for the wall of a classroom."""

from __future__ import annotations

import io
from typing import Any

import segno

MAX_BYTES = 1_000  # more makes the squares too small for a phone at the back of the room

_BORDER = 4  # squares: the quiet zone that the standard asks for
_SVG_SQUARE, _PNG_SQUARE = 3, 8  # px of one square


def fits(link: str) -> bool:
    """Whether a QR code is offered for this link."""
    return 0 < len(link.encode()) <= MAX_BYTES


def qr_svg(link: str) -> str:
    """The link as a QR code, an SVG file; ValueError for an empty link or one of more than 1,000 bytes."""
    return _saved(link, kind="svg", scale=_SVG_SQUARE, xmldecl=False, nl=False).decode()


def qr_png(link: str) -> bytes:
    """The same as a PNG file."""
    return _saved(link, kind="png", scale=_PNG_SQUARE)


def _saved(link: str, **look: Any) -> bytes:
    if not fits(link):
        raise ValueError(f"expected a link of 1 to {MAX_BYTES:,} bytes for a QR code, got {len(link.encode()):,}")
    # The lowest level of repair has the largest squares; a higher one is taken where it costs no more of them.
    code = segno.make_qr(link, error="l", encoding="utf-8")
    file = io.BytesIO()
    code.save(file, border=_BORDER, dark="#000000", light="#ffffff", **look)
    return file.getvalue()
