"""The whole trace as an NPZ file: np.load(file)["weights"], and ["settings"], a JSON text.

No pickle is written or read. Nothing is compressed, as random digits cannot be, and no time is kept: the same scene
gives the same bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mha.export import strict_json
from mha.export.data import Arrays, Data, is_boolean, names, picked, shape
from mha.export.described import described, scene_of

MAX_SETTINGS_BYTES = 20_000_000  # four bytes a character

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can hold
_UNIX = 3
_HEADER = 4_096  # more than the header of any array here takes


def write_npz(data: Data) -> bytes:
    """The file, with every array of the scene; ValueError if `data` has not all of them."""
    return packed(described(data.scene, data.link), picked(data.arrays, names(data.scene)))


def packed(settings: object, arrays: Arrays) -> bytes:
    """A file of these arrays, by name, with `settings`, a JSON value."""
    members: Mapping[str, NDArray[Any]] = {"settings": np.array(strict_json.dumps(settings)), **arrays}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
            info.create_system = _UNIX
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def read_npz(data: bytes) -> Data:
    """What `write_npz` wrote, to the bit. Raises ValueError for what is no such file."""
    with opened(data) as archive:
        scene, link = scene_of(settings_in(archive))
        arrays = {name: array_in(archive, name, shape(name, scene), is_boolean(name)) for name in names(scene)}
    return Data(scene, arrays, link)


@contextmanager
def opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """A file that `packed` made; ValueError for what is none."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise ValueError("expected an NPZ file, got no zip archive") from None
    with archive:
        yield archive


def settings_in(archive: zipfile.ZipFile) -> Any:
    """The JSON value of the settings."""
    settings = _member(archive, "settings", MAX_SETTINGS_BYTES)
    if settings.dtype.kind != "U" or settings.ndim:
        raise ValueError(f"expected settings to be a text, got {settings.dtype} of shape {settings.shape}")
    return strict_json.loads(str(settings))


def array_in(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], of_booleans: bool) -> NDArray[Any]:
    """One array; a size beyond that of this shape is refused before anything is unpacked."""
    return _member(archive, name, (1 if of_booleans else 8) * int(np.prod(shape)))


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
