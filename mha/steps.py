"""The way of one cell through a forward pass: every number between the vectors X and the output, for one head.

A Trace keeps what a head computes as a whole; here are the terms of its sums for one query i and one key j. Axes and
letters as in `mha.attention`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from mha import masks, measures
from mha.arrays import Array, Booleans, frozen
from mha.attention import Trace, checked_inputs, project
from mha.config import whole_number
from mha.weights import Weights

RELATIVE = 1e-12  # of the largest number involved: how far a sum may lie from the trace's


@dataclass(frozen=True, eq=False)
class Steps:
    """One cell's numbers, float64 and read-only, in the order they are computed. Counts from 0, as the Trace does.

    Rows with no key left have `total` 0 and weights 0; a blocked cell has `power` and weight exactly 0.
    """

    b: int
    h: int
    i: int
    j: int
    x_i: Array  # (D,), the query's vector
    x_j: Array  # (D,), the key's vector
    y_j: Array  # (D,), the vector the value is made of; in self-attention the same
    columns: range  # the head's columns of W_q, W_k, W_v and its rows of W_o
    W_q: Array  # (D, K), the head's columns
    W_k: Array
    W_v: Array
    b_q: Array  # (K,), zeros if there is no bias
    b_k: Array
    b_v: Array
    q_i: Array  # (K,)
    k_j: Array
    v_j: Array
    products: Array  # (K,), q_i * k_j term by term
    raw: float  # their sum, the dot product
    root: float  # sqrt(d_k)
    score: float  # raw / sqrt(d_k), before bias and mask
    allowed: bool
    blocked_by: tuple[str, ...]  # names of rules; empty where the mask is a plain array
    bias: Array  # (Tk,), what is added to the scores of the row; zeros if nothing is
    row_scores: Array  # (Tk,), scores + bias of the query's row
    row_allowed: Booleans  # (Tk,)
    peak: float  # the largest allowed score of the row; -inf with no key left
    powers: Array  # (Tk,), e^(score - peak), 0 where blocked
    total: float  # their sum
    row_weights: Array  # (Tk,), powers / total
    weight: float
    weighted_values: Array  # (Tk, K), weight times v of each key
    head_output: Array  # (K,), their sum
    concat: Array  # (D,), all heads side by side
    W_o: Array  # (D, D)
    b_o: Array  # (D,), zeros if there is no bias
    contributions: Array  # (H, D), each head's row through its own rows of W_o
    shares: Array  # (H,), of the lengths of the contributions; NaN if all are 0
    output: Array  # (D,), sum of contributions + b_o

    @property
    def no_key_left(self) -> bool:
        """Whether the query may look at nothing at all in this head."""
        return not self.row_allowed.any()

    @property
    def d_k(self) -> int:
        """K, the width of the head."""
        return len(self.q_i)


def steps(
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    weights: Weights,
    trace: Trace,
    *,
    b: int = 0,
    h: int,
    i: int,
    j: int,
    mask: masks.Mask | None = None,
    bias: ArrayLike | None = None,
) -> Steps:
    """The numbers of query i and key j in head h of text b, taken from `trace` and from what it was made of.

    queries, keys, values, weights and bias: those that `attend` was called with; mask: its Mask, for the names of the
    rules. Raises ValueError for a place outside the trace, and if the numbers do not lead to the trace's.
    """
    B, H, Tq, Tk = trace.scores.shape
    places = zip((b, h, i, j), "bhij", (B, H, Tq, Tk), strict=True)
    b, h, i, j = (whole_number(at, name, 0, count - 1) for at, name, count in places)
    given = np.shape(queries)[:2], np.shape(keys)[:2], weights.num_heads
    if given != ((B, Tq), (B, Tk), H):
        raise ValueError(f"expected what the trace was made of, for scores of shape {trace.scores.shape}, got {given}")
    _refuse_another_mask(trace, mask)
    # a key that nobody may look at may hold NaN: here, as in the trace, it counts as 0
    queries, keys, values, allowed, added = checked_inputs(queries, keys, values, weights, trace.mask, bias)
    if (allowed != trace.mask).any():
        raise ValueError("expected the bias that the trace was made with, got one that blocks what the trace allows")
    columns = slice(h * weights.d_k, (h + 1) * weights.d_k)
    row_bias = np.zeros(Tk) if added is None else added[b, h, i]
    row_allowed = trace.mask[b, h, i]
    row_scores = trace.scores[b, h, i] + row_bias
    peak = float(np.max(row_scores, where=row_allowed, initial=-np.inf))
    powers = np.exp(np.subtract(row_scores, peak, where=row_allowed, out=np.full(Tk, -np.inf)))
    q_i, k_j = trace.q[b, h, i], trace.k[b, h, j]
    products = q_i * k_j
    row_weights = trace.weights[b, h, i]
    zeros = np.zeros(weights.d_model)
    b_q, b_k, b_v, b_o = (
        zeros if each is None else each for each in (weights.b_q, weights.b_k, weights.b_v, weights.b_o)
    )
    found = Steps(
        b=b,
        h=h,
        i=i,
        j=j,
        x_i=frozen(queries[b, i]),
        x_j=frozen(keys[b, j]),
        y_j=frozen(values[b, j]),
        columns=range(columns.start, columns.stop),
        W_q=weights.W_q[:, columns],
        W_k=weights.W_k[:, columns],
        W_v=weights.W_v[:, columns],
        b_q=frozen(b_q[columns]),
        b_k=frozen(b_k[columns]),
        b_v=frozen(b_v[columns]),
        q_i=q_i,
        k_j=k_j,
        v_j=trace.v[b, h, j],
        products=frozen(products),
        raw=float(products.sum()),
        root=sqrt(weights.d_k),
        score=float(trace.scores[b, h, i, j]),
        allowed=bool(row_allowed[j]),
        blocked_by=() if mask is None else mask.blocked_by(b, h, i, j),
        bias=frozen(row_bias),
        row_scores=frozen(row_scores),
        row_allowed=row_allowed,
        peak=peak,
        powers=frozen(powers),
        total=float(powers.sum()),
        row_weights=row_weights,
        weight=float(row_weights[j]),
        weighted_values=frozen(row_weights[:, None] * trace.v[b, h]),
        head_output=trace.head_outputs[b, h, i],
        concat=trace.concat[b, i],
        W_o=weights.W_o,
        b_o=frozen(b_o),
        contributions=trace.contributions[b, :, i],
        shares=frozen(measures.head_share(trace.contributions[b : b + 1, :, i : i + 1])[0, :, 0]),
        output=trace.output[b, i],
    )
    _refuse_another_trace(found)
    return found


def _refuse_another_mask(trace: Trace, mask: masks.Mask | None) -> None:
    if mask is not None and not np.array_equal(mask.allowed & trace.mask, trace.mask):
        raise ValueError("expected the mask that the trace was made with, got one that blocks what the trace allows")


def _refuse_another_trace(cell: Steps) -> None:
    """A ValueError that names the first number which does not follow from the ones before it."""
    blank = not cell.total
    followed = {
        "q": (project(cell.x_i, cell.W_q, cell.b_q), cell.q_i),
        "k": (project(cell.x_j, cell.W_k, cell.b_k), cell.k_j),
        "v": (project(cell.y_j, cell.W_v, cell.b_v), cell.v_j),
        "score": (cell.raw / cell.root, cell.score),
        "weights": (np.zeros_like(cell.powers) if blank else cell.powers / cell.total, cell.row_weights),
        "head output": (cell.weighted_values.sum(axis=0), cell.head_output),
        "concat": (cell.concat[cell.columns.start : cell.columns.stop], cell.head_output),
        "contribution": (
            cell.head_output @ cell.W_o[cell.columns.start : cell.columns.stop],
            cell.contributions[cell.h],
        ),
        "output": (cell.contributions.sum(axis=0) + cell.b_o, cell.output),
    }
    # softmax turns a difference of scores into the same relative difference of weights, so all are measured by it
    scores = np.abs(cell.row_scores[cell.row_allowed]).max(initial=np.abs(cell.score))
    for name, (follows, kept) in followed.items():
        bound = RELATIVE * max(1.0, float(scores), float(np.abs(kept).max()), float(np.abs(cell.products).sum()))
        off = float(np.abs(np.subtract(follows, kept)).max())
        if not off <= bound:
            raise ValueError(
                f"expected the trace's own inputs: {name} lies {off:.2g} from the trace's, over {bound:.2g}"
            )
