"""The projections W_q, W_k, W_v, W_o and their biases: your own arrays, or drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from mha.arrays import Array, finite_array, frozen, real_array
from mha.config import INITS, MAX_SEED, head_width, one_of, whole_number

MATRICES = ("W_q", "W_k", "W_v", "W_o")
BIASES = ("b_q", "b_k", "b_v", "b_o")


@dataclass(frozen=True, eq=False)
class Weights:
    """Four matrices (D, D) and optional biases (D,), float64 and read-only; x @ W + b.

    Head h owns columns h*K:(h+1)*K of W_q, W_k, W_v and the same rows of W_o, with K = D / H. (PyTorch keeps
    the transposes, `in_proj_weight` and `out_proj.weight`.) Raises ValueError for other shapes, for NaN and
    infinity, and if num_heads does not divide D.
    """

    W_q: Array
    W_k: Array
    W_v: Array
    W_o: Array
    num_heads: int
    b_q: Array | None = None
    b_k: Array | None = None
    b_v: Array | None = None
    b_o: Array | None = None

    def __post_init__(self) -> None:
        W_q = real_array(self.W_q, "W_q")
        width = W_q.shape[0] if W_q.ndim else 0
        for name in MATRICES:
            self._keep(name, (width, width), "(D, D)")
        for name in BIASES:
            if getattr(self, name) is not None:
                self._keep(name, (width,), "(D,)")
        head_width(width, self.num_heads)

    def _keep(self, name: str, shape: tuple[int, ...], axes: str) -> None:
        array = finite_array(getattr(self, name), name)
        if array.shape != shape or not array.size:
            raise ValueError(f"expected {name} of shape {axes} with D = {shape[0]}, got {array.shape}")
        object.__setattr__(self, name, frozen(array.copy()))

    @property
    def d_model(self) -> int:
        """D, the model width."""
        return int(self.W_q.shape[0])

    @property
    def d_k(self) -> int:
        """K = D / H, the width of one head."""
        return self.d_model // self.num_heads

    @classmethod
    def draw(cls, d_model: int, num_heads: int, seed: int, *, init: str = "pytorch", bias: bool = False) -> Weights:
        """Start values from `np.random.default_rng(seed)`, in the order W_q W_k W_v W_o b_q b_k b_v b_o.

        init: "pytorch" as nn.MultiheadAttention draws them, "xavier" (Glorot) uniform within sqrt(6 / 2D),
        "normal" standard normal, "uniform" in [0, 1), "uniform_centred" that minus 0.5. Biases follow the same
        rule, but are 0 for "pytorch" and "xavier", as in PyTorch.
        """
        head_width(d_model, num_heads)
        whole_number(seed, "seed", 0, MAX_SEED)
        one_of(init, "init", INITS)
        rng = np.random.default_rng(seed)
        draw = _draws(init, d_model, rng)
        matrices = {name: draw(name, (d_model, d_model)) for name in MATRICES}
        biases = {name: draw(name, (d_model,)) for name in BIASES} if bias else {}
        return cls(num_heads=num_heads, **matrices, **biases)


def _draws(init: str, d_model: int, rng: np.random.Generator) -> Callable[[str, tuple[int, ...]], Array]:
    """The rule `init` as a function of a parameter's name and shape."""
    if init == "normal":
        return lambda _, shape: rng.standard_normal(shape)
    if init in ("uniform", "uniform_centred"):
        shift = 0.5 if init == "uniform_centred" else 0.0
        return lambda _, shape: rng.random(shape) - shift

    xavier = dict.fromkeys(MATRICES, sqrt(6 / (2 * d_model)))
    # nn.MultiheadAttention takes Xavier over one (3D, D) matrix for q, k and v, and leaves W_o as nn.Linear has it.
    pytorch = {**dict.fromkeys(MATRICES, sqrt(6 / (4 * d_model))), "W_o": 1 / sqrt(d_model)}
    bounds = xavier if init == "xavier" else pytorch

    def within_bounds(name: str, shape: tuple[int, ...]) -> Array:
        if name in BIASES:
            return np.zeros(shape)
        # rng.uniform to the bit, but rounded step by step: its C code is fused on some machines, and then differs.
        return -bounds[name] + 2 * bounds[name] * rng.random(shape)

    return within_bounds
