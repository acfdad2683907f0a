"""The whole trace as an NPZ file: np.load(file)["weights"], and ["settings"], a JSON text.

No pickle is written or read. Nothing is compressed, as random digits cannot be, and no time is kept: the same scene
gives the same bytes.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha.export import strict_json
from mha.export.data import Data, is_boolean, names, picked, shape
from mha.export.described import described, scene_of

MAX_SETTINGS_BYTES = 20_000_000  # four bytes a character

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can hold
_UNIX = 3
_HEADER = 4_096  # more than the header of any array here takes


def write_npz(data: Data) -> bytes:
    """The file, with every array of the scene; ValueError if `data` has not all of them."""
    written = {"settings": np.array(strict_json.dumps(described(data.scene, data.link)))}
    arrays: dict[str, NDArray[Any]] = {**written, **picked(data, names(data.scene))}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
            info.create_system = _UNIX
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def read_npz(data: bytes) -> Data:
    """What `write_npz` wrote, to the bit. Raises ValueError for what is no such file.

    Sizes are checked before anything is unpacked.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise ValueError("expected an NPZ file, got no zip archive") from None
    with archive:
        settings = _member(archive, "settings", MAX_SETTINGS_BYTES)
        if settings.dtype.kind != "U" or settings.ndim:
            raise ValueError(f"expected settings to be a text, got {settings.dtype} of shape {settings.shape}")
        scene, link = scene_of(strict_json.loads(str(settings)))
        arrays = {}
        for name in names(scene):
            item = 1 if is_boolean(name) else 8
            arrays[name] = _member(archive, name, item * int(np.prod(shape(name, scene))))
    return Data(scene, arrays, link)


def _member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> NDArray[Any]:
    try:
        info = archive.getinfo(f"{name}.npy")
    except KeyError:
        found = ", ".join(member.removesuffix(".npy") for member in archive.namelist()[:5])
        raise ValueError(f"expected the array {name} in the file, got {found or 'an empty file'}") from None
    if info.file_size > most_bytes + _HEADER:
        raise ValueError(f"expected {name} to take at most {most_bytes:,} bytes, got {info.file_size:,}")
    try:
        content = io.BytesIO(archive.read(info))
        return np.lib.format.read_array(content, allow_pickle=False, max_header_size=_HEADER)
    except (ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as problem:
        raise ValueError(f"expected {name} to be an array without pickled objects, got: {problem}") from None
