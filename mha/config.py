"""Limits, choices, presets and the validated settings of a model.

The lowest layer: everything else may import it, it imports nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

MAX_CHARACTERS = 5_000
MAX_TOKENS = 128  # a text
MAX_TEXTS = 8  # a batch
MAX_HEADS = 16
MAX_WIDTH = 512
MAX_SEED = 2**32 - 1
MAX_FILE_BYTES = 4_000_000  # a mask of 16 heads x 128 x 128 as JSON with true and false has 1.8 million
# Bounds the memory of one forward pass (B * H * Tq * Tk), with room for sweeps that batch many seeds.
MAX_CELLS = 16_000_000

SPLITS = ("spaces", "words", "characters")
INITS = ("pytorch", "xavier", "normal", "uniform", "uniform_centred")
POSITIONS = ("none", "sinusoidal")
VALUES = ("normal", "uniform")


def whole_number(value: object, name: str, low: int, high: int | None = None) -> int:
    """`value` as an int, or a ValueError that names the range; bools and fractions are refused."""
    wanted = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"expected {name} to be {wanted}, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"expected {name} to be {wanted}, got {number}")
    return number


def one_of(value: object, name: str, choices: tuple[str, ...]) -> str:
    """`value` if it is among `choices`, or a ValueError that lists them."""
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(f"expected {name} to be one of {', '.join(choices)}, got {value!r}")


def head_width(d_model: int, num_heads: int) -> int:
    """K = D / H; a ValueError that names both when the heads do not divide the width."""
    whole_number(d_model, "d_model", 1)
    whole_number(num_heads, "num_heads", 1)
    if d_model % num_heads:
        raise ValueError(f"expected num_heads to divide d_model, got num_heads = {num_heads} and d_model = {d_model}")
    return d_model // num_heads


def widths_for(num_heads: int) -> tuple[int, ...]:
    """All widths up to the limit that `num_heads` heads divide."""
    whole_number(num_heads, "num_heads", 1, MAX_HEADS)
    return tuple(range(num_heads, MAX_WIDTH + 1, num_heads))


def nearest_width(d_model: int, num_heads: int) -> int:
    """The width closest to `d_model` that `num_heads` heads divide; of two as close, the larger."""
    return min(widths_for(num_heads), key=lambda width: (abs(width - d_model), -width))


@dataclass(frozen=True)
class Model:
    """What determines every number drawn: the same Model and tokens give the same trace anywhere.

    Raises ValueError for anything outside the choices and limits above.
    """

    seed: int = 0
    d_model: int = 64
    num_heads: int = 8
    init: str = "pytorch"
    bias: bool = False
    positions: str = "none"
    values: str = "normal"

    def __post_init__(self) -> None:
        whole_number(self.seed, "seed", 0, MAX_SEED)
        whole_number(self.num_heads, "num_heads", 1, MAX_HEADS)
        whole_number(self.d_model, "d_model", 1, MAX_WIDTH)
        head_width(self.d_model, self.num_heads)
        one_of(self.init, "init", INITS)
        one_of(self.positions, "positions", POSITIONS)
        one_of(self.values, "values", VALUES)
        if not isinstance(self.bias, bool):
            raise ValueError(f"expected bias to be True or False, got {self.bias!r}")


@dataclass(frozen=True)
class Preset:
    """A model and an example text that show one thing well."""

    name: str
    model: Model
    text: str
    about: str


PRESETS = (
    Preset(
        "PyTorch default",
        Model(),
        "The cat sat on the mat because it was warm",
        "Start values as torch.nn.MultiheadAttention draws them: small, so every token looks a little at all.",
    ),
    Preset(
        "Day 28 (PyTorch)",
        Model(d_model=8, num_heads=2, init="normal"),
        "A B C D E F",
        "The exercise: two heads of width 4, start values from randn.",
    ),
    Preset(
        "The maths (NumPy)",
        Model(d_model=100, num_heads=5, init="uniform", values="uniform"),
        "Attention is a soft look-up in a database",
        "Everything drawn from rand, so all positive: scores grow so large that each head picks one key.",
    ),
)

EXAMPLES = (
    PRESETS[0].text,
    "A B C D E F",
    "the cat the mat the cat",
    "Wer A sagt muss auch B sagen",
    "我 喜欢 喝 热 茶",
    "القطة تجلس على السجادة",
)
