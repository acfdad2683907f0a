"""The smallest picture there is: an indexed PNG, one byte a pixel."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def indexed_png(picture: NDArray[np.uint8], palette: Sequence[str]) -> bytes:
    """A picture (height, width) of places in `palette`, at most 256 colours #rrggbb; the first is transparent."""
    height, width = picture.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each line starts with its filter, 0: none
    lines[:, 1:] = picture
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", b"".join(bytes.fromhex(colour[1:]) for colour in palette)),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
