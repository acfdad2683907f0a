"""What the maps say, in numbers. Every function takes arrays of a Trace and keeps its leading axes.

What is not defined (anything about a row with no key left, a share of nothing, a direction of a zero vector) is
NaN here and "not defined" on screen; `mean_defined` leaves it out and counts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mha.arrays import Array, Booleans, Integers
from mha.attention import Trace
from mha.config import whole_number
from mha.masks import empty_rows

# A row is called saturated when one key holds more than this share although it had a choice.
SATURATED_ABOVE = 0.99


def entropy(weights: Array, allowed: Booleans) -> Array:
    """-sum_j w log2 w of each row, (..., Tq), in bits: 0 for one key, log2(n) for n equal ones."""
    bits = np.zeros_like(weights)
    np.log2(weights, where=weights > 0, out=bits)
    return np.where(empty_rows(allowed), np.nan, np.abs(-(weights * bits).sum(axis=-1)))


def entropy_share(weights: Array, allowed: Booleans) -> Array:
    """The entropy as a share of its maximum, log2 of the allowed keys, (..., Tq); not defined with one key."""
    choices = allowed.sum(axis=-1)
    most = np.log2(choices, where=choices > 1, out=np.full(choices.shape, np.nan))
    return entropy(weights, allowed) / most


def strongest_key(weights: Array, allowed: Booleans) -> Integers:
    """The position of each row's largest weight, (..., Tq), the first of equal ones; -1 with no key left."""
    if not weights.shape[-1]:
        return np.full(weights.shape[:-1], -1)
    return np.where(empty_rows(allowed), -1, np.where(allowed, weights, -1).argmax(axis=-1))


def ranked_keys(weights: Array, allowed: Booleans, top: int) -> list[list[int]]:
    """The `top` positions of largest weight, strongest first, for each row of (N, Tk); blocked keys never count."""
    order = np.argsort(np.where(allowed, -weights, np.inf), axis=-1, kind="stable")
    return [[int(j) for j in row[: min(top, n)]] for row, n in zip(order, allowed.sum(axis=-1), strict=True)]


def peak(weights: Array, allowed: Booleans) -> Array:
    """The largest weight of each row, (..., Tq)."""
    return np.where(empty_rows(allowed), np.nan, weights.max(axis=-1, initial=0.0))


def distance(weights: Array, allowed: Booleans) -> Array:
    """sum_j w_ij |i - j|, (..., Tq), in positions: how far each query looks on average."""
    Tq, Tk = weights.shape[-2:]
    steps = np.abs(np.arange(Tq)[:, None] - np.arange(Tk))
    return np.where(empty_rows(allowed), np.nan, (weights * steps).sum(axis=-1))


def weight_on_first(weights: Array, allowed: Booleans) -> Array:
    """The weight each query gives to the first key, (..., Tq)."""
    first = weights[..., 0] if weights.shape[-1] else np.zeros(weights.shape[:-1])
    return np.where(empty_rows(allowed), np.nan, first)


def weight_on_self(weights: Array, allowed: Booleans) -> Array:
    """The weight each token gives to itself, (..., T). Self-attention only: ValueError if Tq != Tk."""
    _self_attention(weights)
    return np.where(empty_rows(allowed), np.nan, np.diagonal(weights, axis1=-2, axis2=-1))


def weight_on_previous(weights: Array, allowed: Booleans) -> Array:
    """The weight each token gives to the one before it, (..., T); not defined for the first. Tq = Tk only."""
    _self_attention(weights)
    previous = np.full(weights.shape[:-1], np.nan)
    previous[..., 1:] = np.diagonal(weights, offset=-1, axis1=-2, axis2=-1)
    return np.where(empty_rows(allowed), np.nan, previous)


def saturated(weights: Array, allowed: Booleans) -> Booleans:
    """Rows where one key of several allowed ones holds more than 0.99 of the weight, (..., Tq)."""
    return (allowed.sum(axis=-1) > 1) & (weights.max(axis=-1, initial=0.0) > SATURATED_ABOVE)


def score_lead(scores: Array, allowed: Booleans) -> Array:
    """How far the highest allowed score of a row lies above the second, (..., Tq); not defined below two keys.

    Softmax turns a lead of g into a ratio of weights of e^g: from 4.6 on, more than 99 to 1.
    """
    if scores.shape[-1] < 2:
        return np.full(scores.shape[:-1], np.nan)
    second, first = np.moveaxis(np.sort(np.where(allowed, scores, -np.inf), axis=-1)[..., -2:], -1, 0)
    return np.where(allowed.sum(axis=-1) > 1, first - np.where(np.isfinite(second), second, 0.0), np.nan)


def shares_of_sum(parts: Array) -> Array:
    """Each part's share of the sum of vectors, (B, H, Tq) from parts (B, H, Tq, D): how far it goes the sum's way.

    part_h . sum / |sum|^2, so that the shares add up to 1; a part that goes against the sum has a share below 0.
    Not defined where the sum is the zero vector.
    """
    total = parts.sum(axis=1, keepdims=True)
    squared = (total * total).sum(axis=-1)  # (B, 1, Tq)
    along = (parts * total).sum(axis=-1)
    return np.divide(along, squared, where=squared > 0, out=np.full_like(along, np.nan))


def head_share(contributions: Array) -> Array:
    """Each head's share of the lengths of the heads' contributions, (B, H, Tq) from (B, H, Tq, D).

    The share through W_o: |contribution of h| / sum over heads of |contribution|; not defined if all are 0.
    """
    lengths = np.linalg.norm(contributions, axis=-1)
    total = lengths.sum(axis=1, keepdims=True)
    return np.divide(lengths, total, where=total > 0, out=np.full_like(lengths, np.nan))


def overlap(weights: Array, allowed: Booleans) -> Array:
    """What two heads' attention has in common, sum_j min(w_gij, w_hij), mean over queries: (..., H, H), 0 to 1.

    weights: (..., H, Tq, Tk). 1 is the same map twice, 0 no key in common; queries for which one of the two has no
    key left do not count, and without any that does it is not defined.
    """
    has_key = ~empty_rows(allowed)  # (..., H, Tq)
    common = np.stack([np.minimum(weights[..., [h], :, :], weights).sum(axis=-1) for h in range(weights.shape[-3])], -3)
    both = has_key[..., :, None, :] & has_key[..., None, :, :]  # (..., H, H, Tq)
    return mean_defined(np.where(both, common, np.nan))[0]


def relative_change(before: Array, after: Array) -> Array:
    """|after - before| / |before| along the last axis; not defined where `before` is the zero vector."""
    length = np.linalg.norm(before, axis=-1)
    change = np.linalg.norm(after - before, axis=-1)
    return np.divide(change, length, where=length > 0, out=np.full_like(length, np.nan))


def cosine(a: Array, b: Array) -> Array:
    """The cosine of the angle between vectors along the last axis, -1 to 1; not defined with a zero vector."""
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    quotient = np.divide((a * b).sum(axis=-1), lengths, where=lengths > 0, out=np.full_like(lengths, np.nan))
    return np.clip(quotient, -1.0, 1.0)


def mean_defined(values: Array, axis: int = -1) -> tuple[Array, Integers]:
    """The mean along `axis` over what is defined, and how many were not; the mean of nothing is not defined."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=axis)
    total = np.where(defined, values, 0.0).sum(axis=axis)
    mean = np.divide(total, count, where=count > 0, out=np.full(np.shape(total), np.nan))
    return mean, values.shape[axis] - count


@dataclass(frozen=True)
class HeadSummary:
    """One head's measures of one text, each the mean over the queries for which it is defined."""

    entropy: float  # bits
    entropy_share: float  # of log2 of the allowed keys
    distance: float  # positions
    on_first: float
    on_self: float  # NaN in cross-attention
    on_previous: float  # NaN in cross-attention
    peak: float
    saturated_rows: int
    empty_rows: int
    not_defined: dict[str, int]  # queries left out of a mean, by the name of the measure


def summarise(trace: Trace, b: int = 0, *, self_attention: bool = True) -> tuple[HeadSummary, ...]:
    """The measures of every head of text `b`. `self_attention`: queries and keys are the same tokens."""
    whole_number(b, "b", 0, len(trace.weights) - 1)
    weights, allowed = trace.weights[b], trace.mask[b]
    per_row = {
        "entropy": entropy(weights, allowed),
        "entropy_share": entropy_share(weights, allowed),
        "distance": distance(weights, allowed),
        "on_first": weight_on_first(weights, allowed),
        "peak": peak(weights, allowed),
    }
    if self_attention:
        per_row["on_self"] = weight_on_self(weights, allowed)
        per_row["on_previous"] = weight_on_previous(weights, allowed)
    else:
        per_row["on_self"] = per_row["on_previous"] = np.full(weights.shape[:-1], np.nan)
    means = {name: mean_defined(values) for name, values in per_row.items()}
    saturated_rows, empty = saturated(weights, allowed).sum(axis=-1), empty_rows(allowed).sum(axis=-1)
    return tuple(
        HeadSummary(
            **{name: float(mean[h]) for name, (mean, _) in means.items()},
            saturated_rows=int(saturated_rows[h]),
            empty_rows=int(empty[h]),
            not_defined={name: int(left_out[h]) for name, (_, left_out) in means.items()},
        )
        for h in range(len(weights))
    )


def _self_attention(weights: Array) -> None:
    Tq, Tk = weights.shape[-2:]
    if Tq != Tk:
        raise ValueError(f"expected as many queries as keys for self-attention, got Tq = {Tq} and Tk = {Tk}")
