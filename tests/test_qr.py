"""A QR code read by another library gives back the link, bit for bit."""

from __future__ import annotations

import io

import pytest
import zxingcpp
from PIL import Image

from mha import pictures
from mha.export import qr

LINK = "https://headlight.example/restriction?text=The%20cat%20%E4%BD%A0&heads=8&v=1"


def read(png: bytes) -> str:
    [found] = zxingcpp.read_barcodes(Image.open(io.BytesIO(png)).convert("L"))
    assert "QR" in str(found.format)
    return found.text


@pytest.mark.parametrize(
    "link", [LINK, "x", "https://headlight.example/?text=\u4f60\u597d \U0001f469", "https://a.example/" + "7" * 982]
)
def test_the_code_holds_the_link(link):
    assert len(link.encode()) <= qr.MAX_BYTES
    assert read(qr.qr_png(link)) == link
    assert read(pictures.png(qr.qr_svg(link), fonts=())) == link


@pytest.mark.parametrize("length", [0, 1_001])
def test_a_link_that_is_too_long_or_empty_gets_no_code(length):
    link = "\u00e9" * (length // 2) + "e" * (length % 2)  # counted in bytes, not in characters
    assert not qr.fits(link)
    for made in (qr.qr_svg, qr.qr_png):
        with pytest.raises(ValueError, match=rf"a link of 1 to 1,000 bytes for a QR code, got {length:,}$"):
            made(link)
