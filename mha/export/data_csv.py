"""The maps as a tidy CSV file: a row for each text, head, query and key, in UTF-8, all positions from 1 as on screen.

    pandas.read_csv(file, keep_default_na=False, dtype={"query_token": str, "key_token": str})

reads it to the same numbers and tokens; without these, pandas takes words such as "NA" and "12" for no text. Before
pandas 3.1 float_precision="round_trip" is needed too, or the last digit may be rounded.

`allowed` is 1 or 0; with a restriction, `allowed` and `weight` are those without it, and two more
columns are those with it. The settings are a JSON text in the first row of the last column; where that would be too
much for a spreadsheet's cell, the rows below go on with it.

A spreadsheet takes a cell that begins with = + - @ for a formula, quoted or not, and a link can put one into the text.
So a token that goes on after such a sign gets an apostrophe before it, and one with apostrophes before the sign gets
one more; who reads the file takes one away from these, and from no others.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, repeat
from typing import Any

import numpy as np

from mha.arrays import Array, Booleans
from mha.batches import PADDING
from mha.export import strict_json
from mha.export.data import PREFIX, Data, is_boolean, map_names, picked
from mha.export.described import described, scene_of
from mha.export.scene import Scene

MAX_CELL = 30_000  # characters of the settings in one cell; a spreadsheet's has room for 32,767

PLACE = ("text", "head", "query_position", "query_token", "key_position", "key_token")
COLUMNS = {
    "scores": "score",
    "mask": "allowed",
    "weights": "weight",
    PREFIX + "mask": PREFIX + "allowed",
    PREFIX + "weights": PREFIX + "weight",
}
_SETTINGS = "settings"
# The full-width signs start a formula too, where people write Japanese.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠].", re.DOTALL)
_LARGEST_FIELD = 131_072  # characters, what Python's reader takes by itself

Place = tuple[int | str, ...]


def write_csv(data: Data) -> bytes:
    """The file; `data` may lack everything but the maps."""
    scene = data.scene
    maps = picked(data.arrays, map_names(scene))
    columns = {COLUMNS[name]: array.ravel() for name, array in maps.items()}
    return packed(PLACE, _places(scene), columns, described(scene, data.link))


def packed(
    kinds: Sequence[str], places: Iterable[Place], columns: Mapping[str, Array | Booleans], settings: Any
) -> bytes:
    """A file with a row for each place, whose cells are of these kinds, and for each number (N,) of the columns."""
    numbers = zip(*map(_numbers, columns.values()), strict=True)
    num_rows = len(next(iter(columns.values())))
    text = io.StringIO(newline="")
    # Every text in quotes: none is then taken for a number, for a comment or for the end of a line.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([*kinds, *columns, _SETTINGS])
    last = chain(_pieces(strict_json.dumps(settings), num_rows), repeat(""))
    writer.writerows((*place, *row, cell) for place, row, cell in zip(places, numbers, last, strict=False))
    return text.getvalue().encode()


def read_csv(data: bytes | str) -> Data:
    """The maps that `write_csv` wrote, to the bit. Raises ValueError for what is no such file, or changed."""
    file = opened(data, PLACE)
    scene, link = scene_of(file.settings)
    columns = {COLUMNS[name]: is_boolean(name) for name in map_names(scene)}
    numbers = numbers_in(file, list(_places(scene)), columns)
    arrays = {name: numbers[COLUMNS[name]].reshape(scene.shape) for name in map_names(scene)}
    return Data(scene, arrays, link)


@dataclass(frozen=True)
class OpenedFile:
    """A file that `packed` made, read as far as it goes without knowing what it is of."""

    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[list[str]]  # cells of the place, of the columns, of the settings
    settings: Any


def opened(data: bytes | str, kinds: Sequence[str]) -> OpenedFile:
    """The file whose places have cells of these kinds; ValueError for what is none."""
    header, *rows = _rows(strict_json.text_of(data))
    if header[: len(kinds)] != [*kinds] or header[-1] != _SETTINGS:
        raise ValueError(f"expected columns {', '.join(kinds)} to {_SETTINGS}, got {strict_json.quoted(header)}")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise ValueError(f"expected {len(header)} cells in row {number}, got {len(row)}")
    settings = strict_json.loads("".join(_unescaped(row[-1]) for row in rows))
    return OpenedFile(tuple(kinds), tuple(header[len(kinds) : -1]), rows, settings)


def numbers_in(file: OpenedFile, places: Sequence[Place], columns: Mapping[str, bool]) -> dict[str, Array | Booleans]:
    """Each column (N,) by its name, which says whether it is of booleans; ValueError for other columns or places."""
    if file.columns != tuple(columns):
        raise ValueError(f"expected the columns {', '.join(columns)}, got {', '.join(file.columns)}")
    _refuse_other_places(file.rows, places)
    cells = list(zip(*file.rows, strict=True))[len(file.kinds) : -1]
    return {
        name: (_booleans if of_booleans else _floats)(values, name)
        for (name, of_booleans), values in zip(columns.items(), cells, strict=True)
    }


def _numbers(array: Array | Booleans) -> list[Any]:
    return (array.astype(np.int64) if array.dtype == np.bool_ else array).ravel().tolist()


def _places(scene: Scene) -> Iterator[Place]:
    """The first cells of each row: which number it is, and the tokens that the page shows there."""
    _, H, Tq, Tk = scene.shape
    for b, (queries, keys) in enumerate(zip(scene.texts, scene.keys, strict=True), 1):
        yield from map_places(b, H, _padded(queries, Tq), _padded(keys, Tk))


def map_places(text: int, num_heads: int, queries: Sequence[str], keys: Sequence[str]) -> Iterator[Place]:
    """The cells of PLACE for the maps (H, Tq, Tk) of one text, which counts from 1."""
    rows, columns = (list(enumerate(map(_escaped, tokens), 1)) for tokens in (queries, keys))
    for h, (i, query), (j, key) in product(range(1, num_heads + 1), rows, columns):
        yield text, h, i, query, j, key


def _padded(tokens: tuple[str, ...], length: int) -> list[str]:
    return [*tokens, *[PADDING] * (length - len(tokens))]


def _pieces(settings: str, num_rows: int) -> list[str]:
    size = max(MAX_CELL, -(-len(settings) // num_rows))
    if size > _LARGEST_FIELD:
        raise ValueError(f"expected settings that fit into {num_rows} rows of CSV, got {len(settings):,} characters")
    return [_escaped(settings[start : start + size]) for start in range(0, len(settings), size)]


def _escaped(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _unescaped(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell, 1) else cell


def _rows(text: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as problem:
        raise ValueError(f"expected CSV, got a fault: {problem}") from None
    while rows and not "".join(rows[-1]).strip():  # blank lines at the end
        rows.pop()
    if len(rows) < 2:
        raise ValueError(f"expected a header and at least one row, got {len(rows)} lines")
    return rows


def _refuse_other_places(rows: list[list[str]], places: Sequence[Place]) -> None:
    if len(rows) != len(places):
        raise ValueError(f"expected {len(places):,} rows, as the settings say, got {len(rows):,}")
    for number, (row, place) in enumerate(zip(rows, places, strict=True), 1):
        expected = [*map(str, place)]
        if row[: len(place)] != expected:
            wanted, got = ", ".join(expected), ", ".join(row[: len(place)])
            raise ValueError(f"expected row {number} to begin with {wanted}, as the settings say, got {got}")


def _floats(cells: tuple[str, ...], column: str) -> Array:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError as problem:
        raise ValueError(f"expected {column} to hold numbers, got a fault: {problem}") from None


def _booleans(cells: tuple[str, ...], column: str) -> Booleans:
    wrong = set(cells) - {"0", "1"}
    if wrong:
        raise ValueError(f"expected {column} to hold 0 and 1, got {strict_json.quoted(min(wrong))}")
    return np.array([cell == "1" for cell in cells])
