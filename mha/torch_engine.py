"""The same attention in PyTorch, and `torch.nn.MultiheadAttention` with our weights, to check against.

PyTorch is imported when first used: it takes a second and 200 MB, and the app runs without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import Array, Booleans
from mha.attention import Trace, checked_inputs, refuse_overflow, tolerance
from mha.weights import Weights

if TYPE_CHECKING:
    import torch

BETWEEN_ENGINES = 1e-10
NOT_INSTALLED = "PyTorch is not installed: `pip install torch` brings it. All else works without."


def is_installed() -> bool:
    """Whether PyTorch can be imported, found out without importing it."""
    return find_spec("torch") is not None


def load() -> None:
    """Import PyTorch and keep it to one thread: small arrays gain nothing from more, and other sessions lose."""
    _require_torch()
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)


def forward(
    queries: Array, keys: Array, values: Array, weights: Weights, allowed: Booleans, bias: Array | None
) -> dict[str, Array]:
    """The steps of a Trace in PyTorch: float64 arrays in, the same by name out. Shapes as in `mha.attend`."""
    _require_torch()
    import torch  # noqa: PLC0415
    from torch.nn.functional import linear  # noqa: PLC0415

    H, K = weights.num_heads, weights.d_k

    def projected(x: torch.Tensor, W: Array, b: Array | None) -> torch.Tensor:
        return linear(x, _tensor(W).T, None if b is None else _tensor(b))

    def per_head(x: Array, W: Array, b: Array | None) -> torch.Tensor:
        return projected(_tensor(x), W, b).unflatten(-1, (H, K)).transpose(1, 2)

    with torch.inference_mode():
        q = per_head(queries, weights.W_q, weights.b_q)
        k = per_head(keys, weights.W_k, weights.b_k)
        v = per_head(values, weights.W_v, weights.b_v)
        scores = q @ k.transpose(-1, -2) / sqrt(K)
        biased = scores if bias is None else scores + _tensor(bias)
        refuse_overflow(scores.numpy(), biased.numpy(), allowed)
        attention = biased.masked_fill(~_tensor(allowed), -torch.inf).softmax(dim=-1)
        attention = attention.masked_fill(~_tensor(allowed).any(dim=-1, keepdim=True), 0.0)
        head_outputs = attention @ v
        concat = head_outputs.transpose(1, 2).flatten(-2)
        steps = {
            "q": q,
            "k": k,
            "v": v,
            "scores": scores,
            "weights": attention,
            "head_outputs": head_outputs,
            "concat": concat,
            "output": projected(concat, weights.W_o, weights.b_o),
            "contributions": head_outputs @ _tensor(weights.W_o).unflatten(0, (H, K)),
        }
        return {name: np.ascontiguousarray(step.numpy()) for name, step in steps.items()}


def multihead_attention(
    queries: Array,
    keys: Array,
    values: Array,
    weights: Weights,
    allowed: Booleans,
    bias: Array | None = None,
) -> tuple[Array, Array]:
    """Output (B, Tq, D) and weights per head (B, H, Tq, Tk) of `torch.nn.MultiheadAttention` in eval mode.

    Our matrices are copied in, transposed as PyTorch keeps them. Rows with no key left come back as PyTorch
    gives them, as NaN. allowed and bias: (B, H, Tq, Tk).
    """
    _require_torch()
    import torch  # noqa: PLC0415

    module = _module(weights)
    # True means "blocked" there; a float mask is added to the scores, and -inf blocks.
    attn_mask = _tensor(~allowed)
    if bias is not None:
        attn_mask = _tensor(bias).masked_fill(attn_mask, -torch.inf)
    with torch.inference_mode():
        output, attention = module(
            _tensor(queries),
            _tensor(keys),
            _tensor(values),
            attn_mask=attn_mask.flatten(0, 1),  # (B*H, Tq, Tk)
            need_weights=True,
            average_attn_weights=False,
        )
    return output.numpy(), attention.numpy()


def _require_torch() -> None:
    if not is_installed():
        raise ValueError(NOT_INSTALLED)


def _module(weights: Weights) -> torch.nn.MultiheadAttention:
    import torch  # noqa: PLC0415

    biases = [weights.b_q, weights.b_k, weights.b_v, weights.b_o]
    has_bias = any(b is not None for b in biases)
    zeros = np.zeros(weights.d_model)
    b_q, b_k, b_v, b_o = (zeros if b is None else b for b in biases)
    # On the meta device nothing is drawn, so PyTorch's global generator stays as it was.
    module = torch.nn.MultiheadAttention(
        weights.d_model,
        weights.num_heads,
        bias=has_bias,
        batch_first=True,
        dtype=torch.float64,
        device="meta",
    )
    state = {
        "in_proj_weight": np.concatenate([weights.W_q.T, weights.W_k.T, weights.W_v.T]),
        "out_proj.weight": weights.W_o.T,
    }
    if has_bias:
        state |= {"in_proj_bias": np.concatenate([b_q, b_k, b_v]), "out_proj.bias": b_o}
    module.load_state_dict({name: _tensor(array) for name, array in state.items()}, assign=True)
    return module.eval()


def _tensor(array: Array | Booleans) -> torch.Tensor:
    import torch  # noqa: PLC0415

    return torch.from_numpy(np.array(array))  # a copy: ours are read-only, which torch warns about


@dataclass(frozen=True)
class Difference:
    """The largest differences of a Trace to one other implementation, and what could not be compared."""

    name: str
    weights: float
    output: float
    rows_left_out: int  # rows of weights, of B * H * Tq, with no key left, where the other gives NaN
    positions_left_out: int  # positions of the output, of B * Tq, where a head has no key left

    def within(self, bound: float) -> bool:
        """Whether both differences keep `bound`; NaN never does."""
        return self.weights <= bound and self.output <= bound


@dataclass(frozen=True)
class Check:
    """What PyTorch says of a Trace: `passed` is the verdict, the rest are its numbers."""

    differences: tuple[Difference, ...]
    bound: float
    worst_row_sum: float  # largest |sum - 1| of a row that has a key
    rows: int
    empty_rows: int
    largest_in_empty_rows: float
    blocked_cells: int
    largest_blocked_weight: float

    @property
    def passed(self) -> bool:
        """Differences and row sums keep the bound; blocked cells and rows with no key left are exactly 0."""
        return (
            all(difference.within(self.bound) for difference in self.differences)
            and self.worst_row_sum <= self.bound
            and self.largest_in_empty_rows == 0
            and self.largest_blocked_weight == 0
        )


def check(
    trace: Trace,
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    weights: Weights,
    bias: ArrayLike | None = None,
) -> Check:
    """Run what `trace` was made from through nn.MultiheadAttention and through `forward`, and compare.

    Arrays as `attend` takes them; the mask is the trace's own. Where a row has no key left nn.MultiheadAttention
    gives NaN: such rows, and the output where any head has one, are left out and counted. Raises ValueError as
    `attend` does.
    """
    has_key = ~trace.empty_rows
    queries, keys, values, allowed, bias = checked_inputs(queries, keys, values, weights, trace.mask, bias)
    torch_output, torch_weights = multihead_attention(queries, keys, values, weights, allowed, bias)
    ours = forward(queries, keys, values, weights, allowed, bias)
    everything = np.ones_like(has_key)
    return Check(
        differences=(
            _difference("torch.nn.MultiheadAttention", trace, torch_weights, torch_output, has_key),
            _difference("Headlight's PyTorch engine", trace, ours["weights"], ours["output"], everything),
        ),
        bound=tolerance(trace, BETWEEN_ENGINES),
        worst_row_sum=_largest(trace.weights.sum(axis=-1)[has_key] - 1),
        rows=has_key.size,
        empty_rows=int(trace.empty_rows.sum()),
        largest_in_empty_rows=_largest(trace.weights[trace.empty_rows]),
        blocked_cells=int((~trace.mask).sum()),
        largest_blocked_weight=_largest(trace.weights[~trace.mask]),
    )


def _difference(name: str, trace: Trace, weights: Array, output: Array, rows: Booleans) -> Difference:
    """Compare where `rows` (B, H, Tq) is True, and the output where it is True for every head."""
    positions = rows.all(axis=1)
    return Difference(
        name=name,
        weights=_largest((weights - trace.weights)[rows]),
        output=_largest((output - trace.output)[positions]),
        rows_left_out=int((~rows).sum()),
        positions_left_out=int((~positions).sum()),
    )


def _largest(array: Array) -> float:
    """The largest absolute value, NaN if any is NaN, 0 of nothing."""
    return float(np.abs(array).max(initial=0.0))
