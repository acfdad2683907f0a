"""Weights from a file: what is read, and what is refused and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mha.translator.weights import (
    ATTENTIONS,
    END,
    LAYOUT,
    PAD,
    SHIPPED,
    START,
    TrainedWeights,
    drawn_like,
    load,
    read_arrays,
    save_bytes,
    shipped,
)

SIZES = {"S": 5, "V": 7, "D": 6, "F": 11}  # distinct, so that a swapped axis cannot pass by luck
SOURCE_WORDS = (PAD, END, "one", "two", "three")
TARGET_WORDS = (PAD, START, END, "ein", "eins", "zwei", "drei")
ABOUT = {
    "num_heads": 3,
    "source_words": SOURCE_WORDS,
    "target_words": TARGET_WORDS,
    "longest_source": 2,
    "longest_target": 3,
    "about": "drawn by a test",
}
Arrays = dict[str, np.ndarray]


def arrays() -> Arrays:
    rng = np.random.default_rng(0)
    shapes = {name: tuple(SIZES[axis] for axis in axes) for name, axes in LAYOUT.items()}
    return {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}


def weights(**changed: Any) -> TrainedWeights:
    return TrainedWeights(**{"arrays": arrays(), **ABOUT, **changed})


def written(path: Path, changed: Arrays, about: dict[str, Any] | None = None, without: str = "") -> Path:
    kept = {name: array for name, array in {**arrays(), **changed}.items() if name != without}
    save_file(kept, path, {"headlight": json.dumps(ABOUT if about is None else about)})
    return path


# --- what is read ------------------------------------------------------------------------------------------------


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(save_bytes(weights()))
    back = load(path)
    for name, array in arrays().items():  # float16 already, so nothing is rounded
        assert (back.arrays[name] == array).all()
        assert back.arrays[name].dtype == np.float64
        assert not back.arrays[name].flags.writeable
    assert list(back.arrays) == list(LAYOUT)
    assert {name: getattr(back, name) for name in ABOUT} == ABOUT
    assert save_bytes(back) == path.read_bytes()


def test_float32_files_are_read_whole(tmp_path: Path) -> None:
    third = np.full((SIZES["V"],), 1 / 3, dtype=np.float32)
    back = load(written(tmp_path / "some.safetensors", {"output.b": third}))
    assert (back.arrays["output.b"] == third.astype(np.float64)).all()


def test_another_model_brings_a_layout_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"wte": np.ones((3, 2)), "h.0.attn": np.ones((2, 6))}, path)
    read, about = read_arrays(path, {"wte": ("words", "width"), "h.0.attn": ("width", "three widths")})
    assert {name: array.shape for name, array in read.items()} == {"wte": (3, 2), "h.0.attn": (2, 6)}
    assert about == {}


def test_attention_gets_its_own_matrices() -> None:
    given = weights()
    for name in ATTENTIONS:
        attention = given.attention(name)
        assert attention.num_heads == 3
        assert (attention.W_q == given.arrays[f"{name}.attention.W_q"]).all()
        assert attention.b_o is not None
        assert (attention.b_o == given.arrays[f"{name}.attention.b_o"]).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_weights_are_small_and_say_how_they_were_made(name: str) -> None:
    given = load(shipped(name))
    assert given.num_heads == 4
    assert "Plan(seed=" in given.about
    assert sum(path.stat().st_size for path in shipped(name).parent.iterdir()) < 400_000


def test_drawn_weights_have_the_shapes_and_words_but_no_number_of_the_trained_ones() -> None:
    given, drawn = weights(), drawn_like(weights(), 1)
    assert (drawn.source_words, drawn.target_words, drawn.num_heads) == (SOURCE_WORDS, TARGET_WORDS, 3)
    for name, array in drawn.arrays.items():
        assert array.shape == given.arrays[name].shape
        assert (array != given.arrays[name]).any()
    assert save_bytes(drawn) == save_bytes(drawn_like(weights(), 1)) != save_bytes(drawn_like(weights(), 2))
    bound = np.sqrt(6 / (4 * SIZES["D"]))  # nn.MultiheadAttention's, as the design has it
    assert 0 < np.abs(drawn.arrays["cross.attention.W_q"]).max() <= bound
    assert (drawn.arrays["cross.attention.W_q"] != drawn.arrays["encoder.attention.W_q"]).all()
    assert (drawn.arrays["encoder.final_norm.gain"] == 1).all()
    assert not drawn.arrays["cross.attention.b_v"].any()


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:7],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: b"no weights at all" * 9,
        lambda data: data[:8] + b"[" + data[9:],
        lambda data: b"\xff" * 8 + data[8:],
    ],
)
def test_a_damaged_file_is_refused(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(damage(save_bytes(weights())))
    with pytest.raises(ValueError, match=r"expected some\.safetensors to be a whole safetensors file, got a fault"):
        load(path)


def test_no_file_and_no_such_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a file of weights, got no file none\.safetensors"):
        load(tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match="expected a file of weights, got no file"):
        load(tmp_path)
    with pytest.raises(ValueError, match="expected name to be one of shared, one_head, got 'best'"):
        shipped("best")


@pytest.mark.parametrize("name", ["source.embedding", "cross.attention.W_v", "output.b"])
def test_a_missing_array_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"expected an array '{name}', got none of that name"):
        load(written(tmp_path / "some.safetensors", {}, without=name))


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("target.embedding", (7, 8), r"target.embedding of shape \(V, D\) with D = 6, got \(7, 8\)"),
        ("cross.attention.W_o", (6, 7), r"cross.attention.W_o of shape \(D, D\) with D = 6, got \(6, 7\)"),
        ("decoder.feed_forward.W_2", (6, 11), r"W_2 of shape \(F, D\) with D = 6, F = 11|with F = 11, D = 6"),
        ("output.W", (7, 6), r"output.W of shape \(D, V\) with D = 6, V = 7, got \(7, 6\)"),
        ("output.b", (7, 1), r"output.b of shape \(V,\) with V = 7, got \(7, 1\)"),
        ("output.b", (), r"output.b of shape \(V,\) with V = 7, got \(\)"),
        ("source.embedding", (0, 6), r"source.embedding of shape \(S, D\), got \(0, 6\)"),
    ],
)
def test_a_wrong_shape_is_named_with_what_it_should_be(
    name: str, shape: tuple[int, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path / "some.safetensors", {name: np.zeros(shape, dtype=np.float16)}))


def test_other_arrays_and_other_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    with pytest.raises(ValueError, match=r"the \d+ arrays of the layout alone, got 'extra' too"):
        load(written(path, {"extra": np.ones(3)}))
    bad = arrays()["cross.attention.W_k"]
    bad[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"cross.attention.W_k to be finite, got nan at \(2, 3\)"):
        load(written(path, {"cross.attention.W_k": bad}))
    with pytest.raises(ValueError, match=r"output\.b to be real numbers, got dtype bool"):
        load(written(path, {"output.b": np.zeros(7, dtype=bool)}))


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({}, "some.safetensors to say how its weights are used, got a fault: 'num_heads'"),
        ({**ABOUT, "source_words": None}, "some.safetensors to say how its weights are used"),
        ({**ABOUT, "num_heads": 4}, "num_heads to divide d_model, got num_heads = 4 and d_model = 6"),
        ({**ABOUT, "num_heads": "3"}, "num_heads to be a whole number from 1 to 16, got '3'"),
        ({**ABOUT, "source_words": SOURCE_WORDS[:-1]}, "source_words to be 5 words, one for each row, got 4"),
        ({**ABOUT, "source_words": (*SOURCE_WORDS[:-1], "two")}, "source_words to be words, none of them twice"),
        ({**ABOUT, "target_words": (*TARGET_WORDS[:-1], 3)}, "target_words to be words, none of them twice"),
        ({**ABOUT, "target_words": tuple("abcdefg")}, r"expected \[pad\] among target_words, got none"),
        ({**ABOUT, "longest_target": 0}, "longest_target to be a whole number from 1 to 128, got 0"),
        ({**ABOUT, "longest_target": 10**12}, "longest_target to be a whole number from 1 to 128, got 1000000000000"),
        ([1], "expected an object about the weights in some.safetensors, got list"),
    ],
)
def test_a_file_that_says_nothing_or_wrong_things_of_itself_is_refused(
    about: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path / "some.safetensors", {}, about))


def test_words_about_the_weights_that_are_no_json_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    save_file(arrays(), path, {"headlight": "{"})
    with pytest.raises(ValueError, match=r"expected JSON about the weights in some\.safetensors, got a fault"):
        load(path)


def test_the_shipped_files_hold_halves(tmp_path: Path) -> None:
    for name in SHIPPED:
        assert {array.dtype for array in load_file(shipped(name)).values()} == {np.dtype(np.float16)}
