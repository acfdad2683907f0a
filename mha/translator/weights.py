"""Trained weights in a file: which arrays by which names and of which shapes, in one place.

`read_arrays` knows nothing of the translator: another trained model brings a layout of its own. A layout gives each
array's axes as letters, whose lengths the file sets: the first array that has a letter says its length, all others
must agree. Files are safetensors: names, shapes and numbers, and no code that could run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from mha.arrays import Array, finite_array, frozen
from mha.config import MAX_HEADS, MAX_SEED, MAX_TOKENS, MAX_WIDTH, head_width, one_of, whole_number
from mha.weights import BIASES, MATRICES, Weights

Axes: TypeAlias = tuple[str, ...]
Layout: TypeAlias = Mapping[str, Axes]

PAD, START, END = "[pad]", "[start]", "[end]"
ATTENTIONS = ("encoder", "decoder", "cross")  # the encoder's and the decoder's self-attention, and cross-attention
_KEY = "headlight"  # one entry: safetensors keeps several in no fixed order, and files would differ by chance
SHIPPED = ("shared", "one_head")  # heads that share the work; one head of cross-attention that everything hangs on
_FOLDER = Path(__file__).parent / "trained"


def _attention(name: str) -> dict[str, Axes]:
    return {
        **{f"{name}.attention.{matrix}": ("D", "D") for matrix in MATRICES},
        **{f"{name}.attention.{bias}": ("D",) for bias in BIASES},
    }


def _norm(name: str) -> dict[str, Axes]:
    return {f"{name}.gain": ("D",), f"{name}.shift": ("D",)}


def _feed_forward(name: str) -> dict[str, Axes]:
    return {f"{name}.W_1": ("D", "F"), f"{name}.b_1": ("F",), f"{name}.W_2": ("F", "D"), f"{name}.b_2": ("D",)}


# D width, F width of the feed-forward layers, S and V words of the source's and the target's vocabulary.
# As everywhere here weights act from the right, x @ W + b; PyTorch keeps the transposes.
LAYOUT: Layout = {
    "source.embedding": ("S", "D"),
    "target.embedding": ("V", "D"),
    **_norm("encoder.attention_norm"),
    **_attention("encoder"),
    **_norm("encoder.feed_forward_norm"),
    **_feed_forward("encoder.feed_forward"),
    **_norm("encoder.final_norm"),
    **_norm("decoder.attention_norm"),
    **_attention("decoder"),
    **_norm("cross.attention_norm"),
    **_attention("cross"),
    **_norm("decoder.feed_forward_norm"),
    **_feed_forward("decoder.feed_forward"),
    **_norm("decoder.final_norm"),
    "output.W": ("D", "V"),
    "output.b": ("V",),
}


@dataclass(frozen=True, eq=False)
class TrainedWeights:
    """What a translator is made of: arrays by the names of LAYOUT, float64 and read-only, and its words.

    source_words, target_words: the words of the rows of the embeddings, with marks: PAD and END in the source, PAD,
    START and END in the target. longest_source, longest_target: the most words, without marks, that it was trained
    on. about: how it was made, in words, or empty. Raises ValueError for arrays that do not fit.
    """

    arrays: Mapping[str, Array]
    num_heads: int
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    longest_source: int
    longest_target: int
    about: str = ""

    def __post_init__(self) -> None:
        sizes = checked_sizes(self.arrays, LAYOUT)
        arrays = {name: frozen(finite_array(self.arrays[name], name).copy()) for name in LAYOUT}
        object.__setattr__(self, "arrays", arrays)
        whole_number(sizes["D"], "the width D", 1, MAX_WIDTH)
        whole_number(self.num_heads, "num_heads", 1, MAX_HEADS)
        head_width(sizes["D"], self.num_heads)
        _checked_words(self.source_words, "source_words", sizes["S"], (PAD, END))
        _checked_words(self.target_words, "target_words", sizes["V"], (PAD, START, END))
        whole_number(self.longest_source, "longest_source", 1, MAX_TOKENS)
        whole_number(self.longest_target, "longest_target", 1, MAX_TOKENS)

    @property
    def d_model(self) -> int:
        """D, the width."""
        return self.arrays["source.embedding"].shape[1]

    def attention(self, name: str) -> Weights:
        """The weights of one of ATTENTIONS, as `mha.attend` takes them."""
        parts = {part: self.arrays[f"{name}.attention.{part}"] for part in (*MATRICES, *BIASES)}
        return Weights(num_heads=self.num_heads, **parts)


def shipped(name: str) -> Path:
    """The file of weights that come with the project, by their name in SHIPPED."""
    return _FOLDER / f"{one_of(name, 'name', SHIPPED)}.safetensors"


def load(path: Path) -> TrainedWeights:
    """The weights of a translator from a safetensors file.

    ValueError for a file that is missing, damaged or of something else: a name, a shape, a number that is not finite.
    """
    arrays, about = read_arrays(path, LAYOUT)
    try:
        return TrainedWeights(
            arrays,
            about["num_heads"],
            tuple(about["source_words"]),
            tuple(about["target_words"]),
            about["longest_source"],
            about["longest_target"],
            str(about.get("about", "")),
        )
    except (KeyError, TypeError) as problem:
        raise ValueError(f"expected {path.name} to say how its weights are used, got a fault: {problem}") from None


def save_bytes(weights: TrainedWeights) -> bytes:
    """The file that `load` reads, its numbers as float16: half the size, and what is measured is what is shipped."""
    about = {
        "num_heads": weights.num_heads,
        "source_words": weights.source_words,
        "target_words": weights.target_words,
        "longest_source": weights.longest_source,
        "longest_target": weights.longest_target,
        "about": weights.about,
    }
    halves = {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in weights.arrays.items()}
    return save(halves, {_KEY: json.dumps(about, ensure_ascii=False)})


def read_arrays(path: Path, layout: Layout) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of a safetensors file by name, as float64, and what it says about itself.

    ValueError where the file is missing or damaged, and where names, shapes or types are not those of `layout`.
    """
    if not path.is_file():
        raise ValueError(f"expected a file of weights, got no file {path.name}")
    try:
        with safe_open(path, framework="numpy") as file:
            given = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it has no other iterator
            said = (file.metadata() or {}).get(_KEY, "{}")
    except (SafetensorError, OSError, TypeError) as problem:
        raise ValueError(f"expected {path.name} to be a whole safetensors file, got a fault: {problem}") from None
    try:
        about = json.loads(said)
    except json.JSONDecodeError as problem:
        raise ValueError(f"expected JSON about the weights in {path.name}, got a fault: {problem}") from None
    if not isinstance(about, dict):
        raise ValueError(f"expected an object about the weights in {path.name}, got {type(about).__name__}")
    checked_sizes(given, layout)
    return {name: finite_array(given[name], name) for name in layout}, about


def checked_sizes(arrays: Mapping[str, Any], layout: Layout) -> dict[str, int]:
    """The length of each letter of the layout, or a ValueError: a name too many or too few, a shape that differs."""
    for name in layout:
        if name not in arrays:
            raise ValueError(f"expected an array {name!r}, got none of that name")
    for name in arrays:
        if name not in layout:
            raise ValueError(f"expected the {len(layout)} arrays of the layout alone, got {name!r} too")
    sizes: dict[str, int] = {}
    for name, axes in layout.items():
        shape = np.shape(arrays[name])
        known = ", ".join(f"{axis} = {sizes[axis]}" for axis in dict.fromkeys(axes) if axis in sizes)
        agrees = len(shape) == len(axes) and all(
            length == sizes.setdefault(axis, length) for axis, length in zip(axes, shape, strict=True)
        )
        if not agrees or not np.prod(shape):
            wanted = f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
            raise ValueError(f"expected {name} of shape {wanted}{f' with {known}' if known else ''}, got {shape}")
    return sizes


def _checked_words(words: tuple[str, ...], name: str, number: int, marks: tuple[str, ...]) -> None:
    if len(words) != number:
        raise ValueError(f"expected {name} to be {number} words, one for each row, got {len(words)}")
    if len(set(words)) != number or not all(isinstance(word, str) for word in words):
        raise ValueError(f"expected {name} to be words, none of them twice, got {words!r}")
    for mark in marks:
        if mark not in words:
            raise ValueError(f"expected {mark} among {name}, got none")


def drawn_like(weights: TrainedWeights, seed: int) -> TrainedWeights:
    """Untrained weights of the same shapes, words and heads, as PyTorch draws its start values.

    From `default_rng(seed)` in the order of LAYOUT: embeddings standard normal, attention as `Weights.draw` has it by
    "pytorch", other matrices (n, m) uniform within 1/sqrt(n), biases and shifts 0, gains 1.
    """
    rng = np.random.default_rng(whole_number(seed, "seed", 0, MAX_SEED))
    arrays = {name: _start_values(name, array, rng) for name, array in weights.arrays.items()}
    for name in ATTENTIONS:
        drawn = Weights.draw(weights.d_model, weights.num_heads, int(rng.integers(MAX_SEED)))
        arrays |= {f"{name}.attention.{matrix}": getattr(drawn, matrix) for matrix in MATRICES}
    return TrainedWeights(
        arrays,
        weights.num_heads,
        weights.source_words,
        weights.target_words,
        weights.longest_source,
        weights.longest_target,
    )


def _start_values(name: str, like: Array, rng: np.random.Generator) -> Array:
    if name.endswith(".embedding"):
        return rng.standard_normal(like.shape)
    if name.endswith(".gain"):
        return np.ones(like.shape)
    if like.ndim == 1 or ".attention." in name:  # attention's matrices are drawn by its own rule
        return np.zeros(like.shape)
    return (2 * rng.random(like.shape) - 1) / np.sqrt(len(like))
