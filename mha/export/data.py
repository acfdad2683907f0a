"""The numbers of a scene, to take away as CSV, NPZ or JSON: what the three formats share.

Names and axes are those of `Trace`, beside the vectors and the matrices; float64, masks are booleans. Names that begin
with "restricted_" are those of the second pass, under the restriction; all others are without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from mha.arrays import Array, Booleans, refuse_where
from mha.export.scene import Scene
from mha.weights import BIASES, MATRICES

AXES = {
    "X": "B Tq D",  # the vectors of the queries, and of the keys where these are the same
    "X_keys": "B Tk D",  # in cross-attention
    **dict.fromkeys(MATRICES, "D D"),
    **dict.fromkeys(BIASES, "D"),
    "q": "B H Tq K",
    "k": "B H Tk K",
    "v": "B H Tk K",
    "scores": "B H Tq Tk",  # scaled, before the mask
    "mask": "B H Tq Tk",  # True = may look
    "weights": "B H Tq Tk",
    "head_outputs": "B H Tq K",
    "concat": "B Tq D",
    "output": "B Tq D",
    "empty_rows": "B H Tq",  # True = no key left
    "contributions": "B H Tq D",
}
RESTRICTED = tuple(AXES)[tuple(AXES).index("mask") :]  # what a restriction can change
PREFIX = "restricted_"
MAPS = ("scores", "mask", "weights")  # a number for each query and key

Arrays = Mapping[str, Array | Booleans]


@dataclass(frozen=True, eq=False)
class Data:
    """Arrays by name, the scene that they come from, and the link to it, name by name ({} if there is none).

    Raises ValueError for names that the scene does not have, for arrays of another shape or dtype, for NaN and
    infinity, and for a mask that the scene's rules do not make.
    """

    scene: Scene
    arrays: Arrays
    link: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            _check(array, name, self.scene)
        for name, mask in _masks(self.scene).items():
            if name in self.arrays:
                differs = self.arrays[name] != mask
                refuse_where(differs, self.arrays[name], f"expected {name} to be as the rules in the file say")


def data_of(scene: Scene, link: Mapping[str, str] | None = None) -> Data:
    """Everything: the inputs, the matrices and both passes."""
    queries, keys = scene.vectors()
    weights = scene.weights()
    inputs = {"X": queries} if scene.looked_at is None else {"X": queries, "X_keys": keys}
    if scene.restriction is None:
        trace, restricted = scene.trace(), None
    else:
        both = scene.comparison()
        trace, restricted = both.baseline, both.restricted
    found = {**inputs}
    for name in names(scene):
        if name.startswith(PREFIX):
            found[name] = getattr(restricted, name.removeprefix(PREFIX))
        elif name not in inputs:
            found[name] = getattr(weights if name in (*MATRICES, *BIASES) else trace, name)
    return Data(scene, found, dict(link or {}))


def names(scene: Scene) -> tuple[str, ...]:
    """The names of all arrays that a scene has."""
    absent = {*([] if scene.looked_at else ["X_keys"]), *([] if scene.model.bias else BIASES)}
    return (*(name for name in AXES if name not in absent), *_restricted(scene, RESTRICTED))


def map_names(scene: Scene) -> tuple[str, ...]:
    """Those of them that have a number for each query and key."""
    return (*MAPS, *_restricted(scene, MAPS))


def shape(name: str, scene: Scene) -> tuple[int, ...]:
    """The shape of one array of a scene."""
    lengths = dict(zip(("B", "H", "Tq", "Tk"), scene.shape, strict=True))
    lengths |= {"D": scene.model.d_model, "K": scene.model.d_model // scene.model.num_heads}
    return tuple(lengths[axis] for axis in _axes(name).split())


def count_numbers(scene: Scene) -> int:
    """How many numbers all arrays of a scene have together."""
    return sum(prod(shape(name, scene)) for name in names(scene))


def is_boolean(name: str) -> bool:
    """Whether the array of this name is one of booleans."""
    return name.removeprefix(PREFIX) in ("mask", "empty_rows")


def picked(arrays: Arrays, wanted: Iterable[str]) -> dict[str, Array | Booleans]:
    """The arrays of these names; ValueError for the first that is missing."""
    found = {}
    for name in wanted:
        if name not in arrays:
            raise ValueError(f"expected the array {name}, got only {', '.join(arrays) or 'none'}")
        found[name] = arrays[name]
    return found


def refuse_unlike(array: object, name: str, axes: str, shape: tuple[int, ...], of_booleans: bool) -> None:
    """ValueError for what is no array of this shape, of booleans or of finite float64; axes: as in AXES."""
    wanted = np.dtype(np.bool_ if of_booleans else np.float64)
    if not isinstance(array, np.ndarray) or array.dtype != wanted:
        raise ValueError(f"expected {name} to be {wanted}, got {getattr(array, 'dtype', type(array).__name__)}")
    if array.shape != shape:
        raise ValueError(f"expected {name} of shape ({', '.join(axes.split())}) = {shape}, got {array.shape}")
    if not of_booleans:
        refuse_where(~np.isfinite(array), array, f"expected {name} to be finite")


def _restricted(scene: Scene, of: tuple[str, ...]) -> tuple[str, ...]:
    return () if scene.restriction is None else tuple(PREFIX + name for name in of if name in RESTRICTED)


def _axes(name: str) -> str:
    return AXES[name.removeprefix(PREFIX)]


def _check(array: object, name: str, scene: Scene) -> None:
    if name not in names(scene):
        raise ValueError(f"expected arrays that the scene has, got {name!r}")
    refuse_unlike(array, name, _axes(name), shape(name, scene), is_boolean(name))


def _masks(scene: Scene) -> dict[str, Booleans]:
    found = {"mask": scene.mask.allowed}
    return found if scene.restriction is None else {**found, PREFIX + "mask": scene.restricted_mask.allowed}
