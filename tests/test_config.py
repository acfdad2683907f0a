"""Settings that fit, settings that do not, and what the presets promise."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from mha import Weights, attend, embed, measures, tokenize
from mha import config as c
from mha.config import EXAMPLES, PRESETS, Model, head_width, nearest_width, one_of, whole_number, widths_for


def test_limits_are_those_of_the_design() -> None:
    limits = (c.MAX_TOKENS, c.MAX_TEXTS, c.MAX_HEADS, c.MAX_WIDTH, c.MAX_CHARACTERS)
    assert limits == (128, 8, 16, 512, 5_000)
    assert limits[1] * limits[2] * limits[0] ** 2 <= c.MAX_CELLS  # the largest batch of the app fits


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_number_takes_any_integer_type(value: object) -> None:
    number = whole_number(value, "n", 3, 3)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize("value", [True, 3.0, "3", None, np.float64(3), np.bool_(True), [3]])
def test_whole_number_refuses_other_types(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected n to be a whole number from 1 to 5, got"):
        whole_number(value, "n", 1, 5)


def test_whole_number_names_the_range_it_is_out_of() -> None:
    with pytest.raises(ValueError, match="expected n to be a whole number from 1 to 5, got 6"):
        whole_number(6, "n", 1, 5)
    with pytest.raises(ValueError, match="expected n to be a whole number of at least 1, got 0"):
        whole_number(0, "n", 1)


@pytest.mark.parametrize("value", ["c", "", None, ["a"], 0])
def test_one_of_lists_the_choices(value: object) -> None:
    assert one_of("a", "letter", ("a", "b")) == "a"
    with pytest.raises(ValueError, match="expected letter to be one of a, b, got"):
        one_of(value, "letter", ("a", "b"))


def test_head_width_is_the_width_over_the_heads() -> None:
    assert head_width(100, 5) == 20
    with pytest.raises(ValueError, match="num_heads = 3 and d_model = 64"):
        head_width(64, 3)
    with pytest.raises(ValueError, match="d_model to be a whole number of at least 1, got 0"):
        head_width(0, 1)


@pytest.mark.parametrize("num_heads", [1, 3, 7, 16])
def test_widths_for_are_all_widths_the_heads_divide(num_heads: int) -> None:
    assert widths_for(num_heads) == tuple(w for w in range(1, 513) if w % num_heads == 0)


def test_widths_for_refuses_too_many_heads() -> None:
    with pytest.raises(ValueError, match="num_heads to be a whole number from 1 to 16, got 17"):
        widths_for(17)


@pytest.mark.parametrize(
    ("width", "heads", "nearest"), [(64, 8, 64), (64, 5, 65), (64, 3, 63), (9, 6, 12), (512, 7, 511), (1, 16, 16)]
)
def test_nearest_width(width: int, heads: int, nearest: int) -> None:
    assert nearest_width(width, heads) == nearest  # 9 is as far from 6 as from 12: the larger


def test_a_model_is_frozen_and_can_be_hashed() -> None:
    assert hash(Model()) == hash(Model())
    with pytest.raises(FrozenInstanceError):
        Model().seed = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": -1}, "seed to be a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed to be a whole number"),
        ({"num_heads": 17}, "num_heads to be a whole number from 1 to 16"),
        ({"num_heads": 0}, "num_heads to be a whole number from 1 to 16"),
        ({"d_model": 520}, "d_model to be a whole number from 1 to 512"),
        ({"d_model": 60}, "num_heads = 8 and d_model = 60"),
        ({"init": "he"}, "init to be one of pytorch, xavier, normal, uniform, uniform_centred"),
        ({"positions": "rotary"}, "positions to be one of none, sinusoidal"),
        ({"values": "zeros"}, "values to be one of normal, uniform"),
        ({"bias": 1}, "bias to be True or False, got 1"),
    ],
)
def test_a_model_outside_the_choices_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Model(), **changed)  # type: ignore[arg-type]


def test_presets_are_those_of_the_design() -> None:
    default, day_28, maths = PRESETS
    assert default.model == Model(d_model=64, num_heads=8, init="pytorch", values="normal")
    assert day_28.model == Model(d_model=8, num_heads=2, init="normal", values="normal")
    assert maths.model == Model(d_model=100, num_heads=5, init="uniform", values="uniform")
    assert [preset.name for preset in PRESETS] == ["PyTorch default", "Day 28 (PyTorch)", "The maths (NumPy)"]
    assert "A B C D E F" in EXAMPLES


def test_presets_show_what_they_are_for() -> None:
    def saturated_share(preset: c.Preset) -> float:
        model = preset.model
        x = embed(tokenize(preset.text), model.d_model, model.seed, values=model.values)[None]
        trace = attend(x, x, x, Weights.draw(model.d_model, model.num_heads, model.seed, init=model.init))
        return float(measures.saturated(trace.weights, trace.mask).mean())

    shares = [saturated_share(preset) for preset in PRESETS]
    assert shares[0] == 0  # "every token looks a little at all"
    assert shares[2] == 1  # "each head picks one key"


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_within_the_limits(text: str) -> None:
    tokens = tokenize(text)
    assert tokens
    assert tokens.notes == ()
