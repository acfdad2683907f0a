"""Multi-head attention, with every step of the way kept.

Attention(q, k, v) = softmax(q k^T / sqrt(d_k)) v, and multi-head attention is the sum over heads of each head's
output through its own rows of W_o ("Attention Is All You Need", section 3.2).

    B   texts in the batch           Tq  query positions: who looks (rows)
    H   heads                        Tk  key positions: what is looked at (columns)
    D   model width, d_model         K   width of one head, d_k = D / H

Positions and heads count from 0 here and from 1 on screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from mha import masks
from mha.arrays import (
    Array,
    Booleans,
    boolean_array,
    broadcast,
    finite_array,
    frozen,
    real_array,
    refuse_where,
)
from mha.config import MAX_CELLS, one_of
from mha.weights import Weights

ENGINES = ("numpy", "torch")


@dataclass(frozen=True, eq=False)
class Trace:
    """One forward pass: the output and everything on the way to it, float64 and read-only.

    A blocked cell has weight exactly 0; every row of `weights` sums to 1, or has no key left, is all 0 and is
    flagged in `empty_rows`. `contributions` sum over heads to output - b_o.
    """

    q: Array  # (B, H, Tq, K)
    k: Array  # (B, H, Tk, K)
    v: Array  # (B, H, Tk, K)
    scores: Array  # (B, H, Tq, Tk), scaled, before bias and mask
    mask: Booleans  # (B, H, Tq, Tk), True = may attend
    weights: Array  # (B, H, Tq, Tk)
    head_outputs: Array  # (B, H, Tq, K)
    concat: Array  # (B, Tq, D)
    output: Array  # (B, Tq, D)
    empty_rows: Booleans  # (B, H, Tq)
    contributions: Array  # (B, H, Tq, D): head_outputs[:, h] @ W_o[h*K:(h+1)*K]


def scaled_dot_product_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[Array, Array]:
    """softmax(q k^T * scale + bias) v over the allowed keys: output (..., Tq, V), weights (..., Tq, Tk).

    q (..., Tq, K), k (..., Tk, K), v (..., Tk, V), any leading axes that broadcast. mask: booleans (True = may
    attend) of any rank that broadcast to the scores; bias: floats that do, added to the scaled scores, -inf
    blocks. scale: 1/sqrt(K) unless given. In PyTorch: F.scaled_dot_product_attention, except that a row with no
    key left is 0 here. Raises ValueError for shapes that do not fit and for numbers that are not finite, but for
    a key or value that nobody may look at.
    """
    q, k, v = real_array(q, "q"), real_array(k, "k"), real_array(v, "v")
    scores_shape = _scores_shape(q, k, v)
    allowed = np.ones(scores_shape, dtype=np.bool_)
    if mask is not None:
        allowed = broadcast(boolean_array(mask, "mask"), scores_shape, "mask", "(..., Tq, Tk)")
    if bias is not None:
        bias = broadcast(masks.bias_array(bias), scores_shape, "bias", "(..., Tq, Tk)")
        allowed = allowed & (bias != -np.inf)
    if scale is None:
        scale = 1 / sqrt(q.shape[-1])
    elif not isinstance(scale, Real) or not isfinite(scale):
        raise ValueError(f"expected scale to be a finite number, got {scale!r}")
    refuse_where(~np.isfinite(q), q, "expected q to be finite")
    reachable = np.any(allowed, axis=-2)  # (..., Tk)
    k = _without_unreachable(k, reachable, "k")
    v = _without_unreachable(v, reachable, "v")
    with np.errstate(over="ignore", invalid="ignore"):  # refused by its place
        _, weights, output = attention_over_allowed(q, k, v, allowed, bias, scale)
    refuse_where(~np.isfinite(output), output, "expected output not to overflow")
    return output, weights


def attend(
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    weights: Weights,
    *,
    mask: masks.Mask | masks.Rule | ArrayLike | None = None,
    bias: ArrayLike | None = None,
    engine: str = "numpy",
) -> Trace:
    """One forward pass of multi-head attention, as a Trace. In PyTorch: torch.nn.MultiheadAttention.

    queries (B, Tq, D), keys and values (B, Tk, D). mask: a Mask, a Rule, or booleans that broadcast to
    (B, H, Tq, Tk), True = may attend. bias: floats that broadcast to the same, added to the scaled scores; -inf
    blocks. engine: "numpy", or "torch" for the same maths in PyTorch. A key or value that no query may look at
    may hold NaN or infinity; it counts as 0. Raises ValueError for anything else that does not fit.
    """
    one_of(engine, "engine", ENGINES)
    queries, keys, values, allowed, bias = checked_inputs(queries, keys, values, weights, mask, bias)
    if engine == "torch":
        from mha import torch_engine  # noqa: PLC0415 - torch is a second's import, and optional

        steps = torch_engine.forward(queries, keys, values, weights, allowed, bias)
    else:
        steps = _forward(queries, keys, values, weights, allowed, bias)
    for name, array in steps.items():
        refuse_where(~np.isfinite(array), array, f"expected {name} not to overflow")
    return Trace(
        mask=allowed,
        empty_rows=frozen(masks.empty_rows(allowed)),
        **{name: frozen(array) for name, array in steps.items()},
    )


def checked_inputs(
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    weights: Weights,
    mask: masks.Mask | masks.Rule | ArrayLike | None,
    bias: ArrayLike | None,
) -> tuple[Array, Array, Array, Booleans, Array | None]:
    """What an engine may rely on: queries, keys, values, allowed and bias, finite and of full shape.

    allowed (B, H, Tq, Tk) is mask and bias together; what no query may look at is finite too. Raises as `attend`.
    """
    queries, keys, values = _inputs(queries, keys, values, weights)
    shape = (len(queries), weights.num_heads, queries.shape[1], keys.shape[1])
    _refuse_too_many_cells(shape)
    allowed = masks.resolve(mask, shape)
    bias = masks.resolve_bias(bias, shape)
    if bias is not None:
        allowed = frozen(allowed & (bias != -np.inf))
    reachable = np.any(allowed, axis=(1, 2))  # (B, Tk)
    keys = _without_unreachable(keys, reachable, "keys")
    values = _without_unreachable(values, reachable, "values")
    return queries, keys, values, allowed, bias


def _forward(
    queries: Array, keys: Array, values: Array, weights: Weights, allowed: Booleans, bias: Array | None
) -> dict[str, Array]:
    """The steps of a Trace in NumPy."""
    H = weights.num_heads
    with np.errstate(over="ignore", invalid="ignore"):  # `attend` refuses an overflow by its place
        q = split_heads(project(queries, weights.W_q, weights.b_q), H)  # (B, H, Tq, K)
        k = split_heads(project(keys, weights.W_k, weights.b_k), H)
        v = split_heads(project(values, weights.W_v, weights.b_v), H)
        scores, attention_weights, head_outputs = attention_over_allowed(q, k, v, allowed, bias, 1 / sqrt(weights.d_k))
        concat = merge_heads(head_outputs)  # (B, Tq, D)
        rows_of_W_o = weights.W_o.reshape(H, weights.d_k, weights.d_model)
        return {
            "q": q,
            "k": k,
            "v": v,
            "scores": scores,
            "weights": attention_weights,
            "head_outputs": head_outputs,
            "concat": concat,
            "output": project(concat, weights.W_o, weights.b_o),
            "contributions": head_outputs @ rows_of_W_o,  # (B, H, Tq, D)
        }


def attention_over_allowed(
    q: Array, k: Array, v: Array, allowed: Booleans, bias: Array | None, scale: float
) -> tuple[Array, Array, Array]:
    """Scaled scores, weights, output of checked arrays; the one place where attention is computed."""
    scores = q @ np.swapaxes(k, -1, -2) * scale
    biased = scores if bias is None else scores + bias
    refuse_overflow(scores, biased, allowed)
    weights = softmax_over_allowed(biased, allowed)
    return scores, weights, weights @ v


def refuse_overflow(scores: Array, biased: Array, allowed: Booleans) -> None:
    """A ValueError where a score is not finite, or where bias makes an allowed one so; both engines call it."""
    refuse_where(~np.isfinite(scores), scores, "expected scores not to overflow")
    refuse_where(allowed & ~np.isfinite(biased), biased, "expected scores + bias not to overflow")


def softmax_over_allowed(scores: Array, allowed: Booleans) -> Array:
    """Softmax along the last axis over the allowed cells; the others, and rows with no key left, are exactly 0."""
    peak = np.max(scores, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    below_peak = np.subtract(scores, peak, where=allowed, out=np.full_like(scores, -np.inf))
    powers = np.exp(below_peak)
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, where=total > 0, out=np.zeros_like(powers))


def project(x: Array, W: Array, b: Array | None) -> Array:
    """x @ W + b, from the right."""
    return x @ W if b is None else x @ W + b


def split_heads(x: Array, num_heads: int) -> Array:
    """(B, T, D) -> (B, H, T, K): head h takes columns h*K:(h+1)*K. The inverse of `merge_heads`."""
    B, T, D = x.shape
    return np.ascontiguousarray(x.reshape(B, T, num_heads, D // num_heads).swapaxes(1, 2))


def merge_heads(x: Array) -> Array:
    """(B, H, T, K) -> (B, T, D): the heads side by side. The inverse of `split_heads`."""
    B, H, T, K = x.shape
    return x.swapaxes(1, 2).reshape(B, T, H * K)


def tolerance(trace: Trace, relative: float = 1e-12) -> float:
    """relative * max(1, largest |score|, largest |output|): how far two right results may lie apart.

    1e-12 between runs and machines, 1e-10 between engines.
    """
    scores = np.abs(trace.scores[trace.mask])
    return relative * max(1.0, float(scores.max(initial=0.0)), float(np.abs(trace.output).max(initial=0.0)))


def _inputs(queries: ArrayLike, keys: ArrayLike, values: ArrayLike, weights: Weights) -> tuple[Array, Array, Array]:
    if not isinstance(weights, Weights):
        raise ValueError(f"expected weights to be Weights, got {type(weights).__name__}")
    D = weights.d_model
    queries = finite_array(queries, "queries")
    if queries.ndim != 3 or queries.shape[2] != D:
        raise ValueError(f"expected queries of shape (B, Tq, D) with D = {D}, got {queries.shape}")
    B = len(queries)
    keys, values = real_array(keys, "keys"), real_array(values, "values")
    if keys.ndim != 3 or keys.shape[0] != B or keys.shape[2] != D:
        raise ValueError(f"expected keys of shape (B, Tk, D) with B = {B} and D = {D}, got {keys.shape}")
    if values.shape != keys.shape:
        raise ValueError(f"expected values of the keys' shape (B, Tk, D) = {keys.shape}, got {values.shape}")
    return queries, keys, values


def _scores_shape(q: Array, k: Array, v: Array) -> tuple[int, ...]:
    for name, array, axes in (("q", q, "(..., Tq, K)"), ("k", k, "(..., Tk, K)"), ("v", v, "(..., Tk, V)")):
        if array.ndim < 2:
            raise ValueError(f"expected {name} of shape {axes}, got {array.shape}")
    if q.shape[-1] != k.shape[-1] or not q.shape[-1]:
        raise ValueError(f"expected q and k of one width K of at least 1, got {q.shape} and {k.shape}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"expected as many values as keys, Tk = {k.shape[-2]}, got v of shape {v.shape}")
    try:
        leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
        np.broadcast_shapes(leading, v.shape[:-2])
    except ValueError:
        raise ValueError(
            f"expected leading axes that broadcast, got q {q.shape}, k {k.shape} and v {v.shape}"
        ) from None
    return (*leading, q.shape[-2], k.shape[-2])


def _without_unreachable(array: Array, reachable: Booleans, name: str) -> Array:
    """`array` (..., Tk, width) with 0 for NaN and infinity in vectors that nobody may look at; elsewhere refused.

    Blocked weights are 0, but 0 * NaN is NaN: what is blocked must not even be multiplied. reachable: (..., Tk).
    """
    finite = np.isfinite(array)
    if finite.all():
        return array
    shape = (*np.broadcast_shapes(reachable.shape, array.shape[:-1]), array.shape[-1])
    wanted = np.broadcast_to(~finite, shape) & reachable[..., None]
    refuse_where(wanted, np.broadcast_to(array, shape), f"expected {name} to be finite where a query may look")
    return np.where(finite, array, 0.0)


def _refuse_too_many_cells(shape: masks.Shape) -> None:
    cells = int(np.prod(shape, dtype=object))
    if cells > MAX_CELLS:
        raise ValueError(f"expected at most {MAX_CELLS:,} cells B * H * Tq * Tk, got {cells:,} for {shape}")
