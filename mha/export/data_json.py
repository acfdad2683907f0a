"""The whole trace as a JSON file: {"settings": {...}, "arrays": {"weights": [[[[...]]]], ...}}.

Numbers are written so that they come back to the bit; masks are true and false. There is no NaN in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mha.arrays import Array, Booleans
from mha.export import strict_json
from mha.export.data import Arrays, Data, is_boolean, names, picked
from mha.export.described import described, scene_of


def write_json(data: Data) -> bytes:
    """The file, with every array of the scene, one a line; ValueError if `data` has not all of them."""
    return packed(described(data.scene, data.link), picked(data.arrays, names(data.scene)))


def packed(settings: object, arrays: Arrays) -> bytes:
    """A file of these arrays, by name, with `settings`, a JSON value."""
    lines = [f'"{name}": {strict_json.dumps(array.tolist())}' for name, array in arrays.items()]
    said = strict_json.dumps(settings)
    return ('{\n"settings": ' + said + ',\n"arrays": {\n' + ",\n".join(lines) + "\n}\n}\n").encode()


def read_json(data: bytes | str) -> Data:
    """What `write_json` wrote, to the bit. Raises ValueError for what is no such file."""
    settings, arrays = unpacked(data)
    scene, link = scene_of(settings)
    return Data(scene, arrays_of(arrays, {name: is_boolean(name) for name in names(scene)}), link)


def unpacked(data: bytes | str) -> tuple[Any, dict[str, Any]]:
    """The settings of a file that `packed` made, and its arrays as lists; ValueError for what is none."""
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise ValueError(f"expected a file with settings and arrays, got {strict_json.quoted(value)}")
    settings, arrays = strict_json.fields(value, "settings", "arrays")
    if not isinstance(arrays, dict):
        raise ValueError(f"expected arrays by name, got {strict_json.quoted(arrays)}")
    return settings, arrays


def arrays_of(lists: dict[str, Any], of_booleans: Mapping[str, bool]) -> dict[str, Array | Booleans]:
    """The arrays of these names, which say whether they are of booleans; ValueError for one that is missing or not."""
    values = zip(of_booleans.items(), strict_json.fields(lists, *of_booleans), strict=True)
    return {name: _array(name, value, booleans) for (name, booleans), value in values}


def _array(name: str, value: object, of_booleans: bool) -> Array | Booleans:
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"expected {name} to be lists of the same length, got lists of different lengths") from None
    wanted, kinds = ("true and false", "b") if of_booleans else ("numbers", "fi")
    if array.dtype.kind not in kinds:
        raise ValueError(f"expected {name} to hold {wanted}, got {strict_json.quoted(array.ravel()[:1].tolist())}")
    return array if of_booleans else array.astype(np.float64)
