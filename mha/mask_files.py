"""Custom masks from files and links, and back. True, or 1, means "may look", as everywhere.

A CSV file has one line per query and one cell per key: 0 or 1 (or true, false, as spreadsheets write them), with
commas, semicolons or tabs between, and no line or column of headings. A JSON file has a list of such rows with
0, 1, true, false, or a list of them with one per head. 1.0 is 1, and so is what NumPy's `savetxt` writes. Places in
messages count from 1, as in the file.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
import re
import zlib
from collections.abc import Sequence
from math import prod

import numpy as np

from mha.arrays import Booleans, boolean_array
from mha.config import MAX_FILE_BYTES, one_of, whole_number

KINDS = ("csv", "json")
Table = list[list[object]]  # rows of cells

EMPTY = "expected a mask, got an empty file"
_CSV_CELLS = {"0": False, "1": True, "false": False, "true": True}
_WRITTEN_AS_FLOAT = re.compile(r"([01])(\.0*)?(e[+-]?0+)?", re.ASCII)
_LONGEST_QUOTE = 20


def read_mask(data: bytes | str, kind: str, shape: Sequence[int]) -> Booleans:
    """A custom mask from a file: (Tq, Tk) for all heads, or (1, H, Tq, Tk); `masks.custom` takes either.

    kind: "csv" or "json". shape: (H, Tq, Tk), or (Tq, Tk) to accept only masks for all heads. Bytes are UTF-8, a
    byte order mark is skipped. Raises ValueError for another shape (expected and got), for rows of different
    lengths and cells that are not 0 or 1, NaN among them (their place), for what is no such file, and over 4 MB.
    """
    one_of(kind, "kind", KINDS)
    text = _text(data)
    if not text.strip():
        raise ValueError(EMPTY)
    tables, per_head = ([_csv_table(text)], False) if kind == "csv" else _json_tables(text)
    _refuse_ragged(tables, per_head)
    allowed = np.array(
        [
            [[_allowed(cell, (h, i, j), per_head) for j, cell in enumerate(row)] for i, row in enumerate(table)]
            for h, table in enumerate(tables)
        ],
        dtype=np.bool_,
    )
    return _of_shape(allowed if per_head else allowed[0], _whole_shape(shape))


def write_mask(array: Booleans, kind: str) -> str:
    """The text of a file that `read_mask` reads back: array (Tq, Tk), or (1, H, Tq, Tk) as JSON only."""
    one_of(kind, "kind", KINDS)
    allowed = boolean_array(array, "a mask").astype(int)
    if allowed.ndim == 2 and kind == "csv":
        return "".join(",".join(map(str, row)) + "\n" for row in allowed.tolist())
    if allowed.ndim == 2:
        return f"{_json_rows(allowed.tolist())}\n"
    if allowed.ndim == 4 and len(allowed) == 1 and kind == "json":
        return "[{}]\n".format(",\n\n".join(_json_rows(head) for head in allowed[0].tolist()))
    wanted = "(Tq, Tk)" if kind == "csv" else "(Tq, Tk) or (1, H, Tq, Tk)"
    raise ValueError(f"expected a mask of shape {wanted} for {kind}, got {allowed.shape}")


def _text(data: bytes | str) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"expected a file of at most {MAX_FILE_BYTES:,} bytes, got {len(data):,}")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"expected a text file in UTF-8, got byte 0x{data[problem.start]:02x} at position {problem.start + 1}"
        ) from None


def _csv_table(text: str) -> Table:
    first_line = text.lstrip().partition("\n")[0]
    separator = next((sign for sign in ";\t" if sign in first_line), ",")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as problem:
        raise ValueError(f"expected CSV, got a fault: {problem}") from None
    while rows and not "".join(rows[-1]).strip():  # blank lines at the end
        rows.pop()
    if not rows:
        raise ValueError(EMPTY)
    return [[_csv_cell(cell) for cell in row] for row in rows]


def _csv_cell(cell: str) -> object:
    """What the cell says, or the cell itself where that is no mask."""
    text = cell.strip().lower()
    number = _WRITTEN_AS_FLOAT.fullmatch(text)
    return _CSV_CELLS.get(number[1] if number else text, cell)


def _json_tables(text: str) -> tuple[list[Table], bool]:
    """One table for all heads, or one per head, and which of the two."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as problem:
        raise ValueError(
            f"expected JSON, got a fault in line {problem.lineno}, column {problem.colno}: {problem.msg}"
        ) from None
    except ValueError:  # a whole number of more digits than Python reads
        raise ValueError("expected JSON of 0 and 1, got a number too long to read") from None
    except RecursionError:
        raise ValueError("expected JSON lists in 2 or 3 levels, got far more") from None
    per_head = _starts_with_list(value) and _starts_with_list(value[0])
    tables = value if per_head else [value]
    for h, table in enumerate(tables):
        where = f" of head {h + 1}" if per_head else ""
        if not isinstance(table, list):
            raise ValueError(f"expected a list of rows{where}, got {_quoted(table)}")
        if not table:
            raise ValueError(f"expected a list of rows{where}, got an empty list")
        for i, row in enumerate(table):
            if not isinstance(row, list):
                raise ValueError(f"expected row {i + 1}{where} to be a list, got {_quoted(row)}")
    return tables, per_head


def _starts_with_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _refuse_ragged(tables: list[Table], per_head: bool) -> None:
    width = len(tables[0][0])
    for h, table in enumerate(tables):
        if len(table) != len(tables[0]):
            raise ValueError(f"expected {len(tables[0])} rows in head {h + 1}, as in head 1, got {len(table)}")
        for i, row in enumerate(table):
            if len(row) != width:
                place = f"head {h + 1}, row {i + 1}" if per_head else f"row {i + 1}"
                raise ValueError(f"expected {width} cells in {place}, as in the first row, got {len(row)}")


def _of_shape(allowed: Booleans, shape: tuple[int, ...]) -> Booleans:
    if len(shape) not in (2, 3):
        raise ValueError(f"expected shape to be (H, Tq, Tk) or (Tq, Tk), got {shape}")
    if allowed.shape not in (shape, shape[-2:]):
        wanted = f"(Tq, Tk) = {shape[-2:]}" + (f" or (H, Tq, Tk) = {shape}" if len(shape) == 3 else "")
        raise ValueError(f"expected a mask of shape {wanted}, got {allowed.shape}")
    return allowed[None] if allowed.ndim == 3 else allowed


def _allowed(cell: object, place: tuple[int, int, int], per_head: bool) -> bool:
    if isinstance(cell, int | float) and cell in (0, 1):  # bools among them
        return bool(cell)
    h, i, j = place
    head = f"head {h + 1}, " if per_head else ""
    raise ValueError(f"expected 0 or 1, true or false, got {_quoted(cell)} in {head}row {i + 1}, column {j + 1}")


def _quoted(value: object) -> str:
    """A cell as its file has it, shortened; repr makes control characters of a text visible."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}\u2026"


def _json_rows(rows: list[list[int]]) -> str:
    return "[{}]".format(",\n ".join(map(json.dumps, rows)))


def pack_mask(array: Booleans) -> str:
    """A mask of any shape as a short text for links: 99 characters for 24 x 24, fewer where it is regular.

    Eight cells to a byte, deflated where that is shorter, after a CRC-16 of cells and shape; in URL-safe base64.
    """
    allowed = boolean_array(array, "a mask")
    cells = np.packbits(allowed).tobytes()
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    deflated = deflate.compress(cells) + deflate.flush()
    body = min(cells, deflated, key=len)
    return base64.urlsafe_b64encode(_checksum(cells, allowed.shape) + body).rstrip(b"=").decode()


def unpack_mask(text: str, shape: Sequence[int]) -> Booleans:
    """The mask of this shape that `pack_mask` made `text` from; ValueError for a damaged text or another shape."""
    shape = _whole_shape(shape)
    num_cells = prod(shape)
    num_bytes = -(-num_cells // 8)
    try:
        packed = _from_base64(text)
        checksum, body = packed[:2], packed[2:]
        cells = body if len(body) == num_bytes else _inflated(body, num_bytes)
    except (ValueError, zlib.error):
        cells, checksum = b"", None
    if checksum != _checksum(cells, shape):
        raise ValueError(f"expected a packed mask of shape {shape}, got a damaged text or a mask of another shape")
    return np.unpackbits(np.frombuffer(cells, np.uint8), count=num_cells).astype(np.bool_).reshape(shape)


def _checksum(cells: bytes, shape: tuple[int, ...]) -> bytes:
    """CRC-16 finds any damage within 16 bits in a row, so any one wrong letter of a mask that is not deflated."""
    return binascii.crc_hqx(cells, binascii.crc_hqx(str(shape).encode(), 0)).to_bytes(2, "big")


def _from_base64(text: str) -> bytes:
    if not re.fullmatch("[A-Za-z0-9_-]*", text):  # the decoder would skip other signs
        raise ValueError("no URL-safe base64")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _inflated(body: bytes, num_bytes: int) -> bytes:
    """At most one byte more than wanted: a small text must not become a large array."""
    inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    cells = inflate.decompress(body, num_bytes + 1)
    if len(cells) != num_bytes or not inflate.eof or inflate.unused_data:
        raise ValueError("not as many cells as wanted")
    return cells


def _whole_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(whole_number(length, "a length of shape", 0) for length in shape)
