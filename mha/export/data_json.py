"""The whole trace as a JSON file: {"settings": {...}, "arrays": {"weights": [[[[...]]]], ...}}.

Numbers are written so that they come back to the bit; masks are true and false. There is no NaN in it.
"""

from __future__ import annotations

import numpy as np

from mha.arrays import Array, Booleans
from mha.export import strict_json
from mha.export.data import Data, is_boolean, names, picked
from mha.export.described import described, scene_of


def write_json(data: Data) -> bytes:
    """The file, with every array of the scene, one a line; ValueError if `data` has not all of them."""
    lines = [
        f'"{name}": {strict_json.dumps(array.tolist())}' for name, array in picked(data, names(data.scene)).items()
    ]
    settings = strict_json.dumps(described(data.scene, data.link))
    return ('{\n"settings": ' + settings + ',\n"arrays": {\n' + ",\n".join(lines) + "\n}\n}\n").encode()


def read_json(data: bytes | str) -> Data:
    """What `write_json` wrote, to the bit. Raises ValueError for what is no such file."""
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise ValueError(f"expected a file with settings and arrays, got {strict_json.quoted(value)}")
    settings, arrays = strict_json.fields(value, "settings", "arrays")
    scene, link = scene_of(settings)
    if not isinstance(arrays, dict):
        raise ValueError(f"expected arrays by name, got {strict_json.quoted(arrays)}")
    wanted = names(scene)
    return Data(scene, dict(zip(wanted, map(_array, wanted, strict_json.fields(arrays, *wanted)), strict=True)), link)


def _array(name: str, value: object) -> Array | Booleans:
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"expected {name} to be lists of the same length, got lists of different lengths") from None
    wanted, kinds = ("true and false", "b") if is_boolean(name) else ("numbers", "fi")
    if array.dtype.kind not in kinds:
        raise ValueError(f"expected {name} to hold {wanted}, got {strict_json.quoted(array.ravel()[:1].tolist())}")
    return array if is_boolean(name) else array.astype(np.float64)
