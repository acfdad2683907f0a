"""Arrays and references that many tests share.

The sizes are all different, so that a swapped axis cannot pass by luck. Values are standard normal, as centred
values see every fault: with all-positive ones rows are one-hot and even a missing scale changes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from math import exp, fsum, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mha import Trace, Weights, attend, masks

ROOT = Path(__file__).resolve().parent.parent

B, H, TQ, TK, K = 2, 3, 5, 7, 11
D = H * K
SHAPE = (B, H, TQ, TK)


def inputs(seed: int = 0, *, Tq: int = TQ, Tk: int = TK, d_model: int = D) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries (B, Tq, D), keys and values (B, Tk, D)."""
    rng = np.random.default_rng([seed, 1])
    return (
        rng.standard_normal((B, Tq, d_model)),
        rng.standard_normal((B, Tk, d_model)),
        rng.standard_normal((B, Tk, d_model)),
    )


def drawn(*, bias: bool = True, d_model: int = D, num_heads: int = H, seed: int = 3) -> Weights:
    """Weights whose biases are not 0; scaled so that scores stay moderate and no row is one-hot."""
    rng = np.random.default_rng([seed, 2])
    names = ["W_q", "W_k", "W_v", "W_o"]
    arrays = {name: rng.standard_normal((d_model, d_model)) / sqrt(d_model) for name in names}
    if bias:
        arrays |= {name.replace("W", "b"): rng.standard_normal(d_model) for name in names}
    return Weights(num_heads=num_heads, **arrays)


def some_bias(seed: int = 4) -> np.ndarray:
    """A bias of every shape axis, (B, H, Tq, Tk), that blocks a few cells by -inf."""
    rng = np.random.default_rng([seed, 3])
    bias = rng.standard_normal(SHAPE)
    bias[rng.random(SHAPE) < 0.1] = -np.inf
    return bias


RULES: dict[str, Callable[[], masks.Mask | masks.Rule | np.ndarray | None]] = {
    "none": lambda: None,
    "causal": lambda: masks.causal(TQ, TK),
    "valid_lens": lambda: masks.valid_lens([4, 0], TK),
    "valid_lens per query": lambda: masks.valid_lens([[1, 7, 0, 3, 2], [5, 5, 6, 7, 0]], TK),
    "window": lambda: masks.window(TQ, TK, 1, 2),
    "halves": lambda: masks.halves(H, TK),
    "heads": lambda: masks.heads([[1, 0, 1, 0, 1, 0, 1], [0] * 7, [0, 0, 1, 1, 0, 0, 0]], TK),
    "array (Tk,)": lambda: np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool),
    "array (B, H, Tq, Tk)": lambda: np.random.default_rng(5).random(SHAPE) < 0.4,
    "halves and causal": lambda: masks.combine(masks.halves(H, TK), masks.causal(TQ, TK), shape=SHAPE),
    "halves and valid_lens": lambda: masks.combine(masks.halves(H, TK), masks.valid_lens([3, 5], TK), shape=SHAPE),
}


def assert_close(actual: ArrayLike, expected: ArrayLike, bound: float) -> None:
    """Same shape, and no element further away than `bound`; NaN never is close."""
    assert np.shape(actual) == np.shape(expected)
    difference = np.abs(np.asarray(actual) - np.asarray(expected)).max(initial=0.0)
    assert difference <= bound, f"{difference} is more than {bound}"


def same_bits(one: Trace, other: Trace) -> bool:
    """Whether two traces agree to the last bit, the sign of zero included."""
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in one.__dataclass_fields__)


def one_head(x: list[list[float]], **rules: Any) -> Trace:
    """Self-attention of one text with one head and every matrix the identity."""
    eye = np.eye(len(x[0]))
    return attend([x], [x], [x], Weights(eye, eye, eye, eye, 1), **rules)


def softmax_by_hand(scores: list[float], allowed: list[bool]) -> list[float]:
    """The definition, with Python's own floats: e^s / sum of e^s over the allowed; all 0 where none is."""
    if not any(allowed):
        return [0.0] * len(scores)
    top = max(score for score, free in zip(scores, allowed, strict=True) if free)
    powers = [exp(score - top) if free else 0.0 for score, free in zip(scores, allowed, strict=True)]
    return [power / fsum(powers) for power in powers]


def attention_by_hand(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, weights: Weights, allowed: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, contributions and output, one number after the other, as the papers write it."""

    def projected(x: np.ndarray, W: np.ndarray, b: np.ndarray | None, column: int) -> float:
        return fsum([x[d] * W[d, column] for d in range(len(x))] + ([] if b is None else [b[column]]))

    texts, num_queries, width = queries.shape
    heads, num_keys = weights.num_heads, keys.shape[1]
    d_k = width // heads
    attention = np.zeros((texts, heads, num_queries, num_keys))
    contributions = np.zeros((texts, heads, num_queries, width))
    for t in range(texts):
        for h in range(heads):
            columns = range(h * d_k, (h + 1) * d_k)
            k = [[projected(x, weights.W_k, weights.b_k, c) for c in columns] for x in keys[t]]
            v = [[projected(x, weights.W_v, weights.b_v, c) for c in columns] for x in values[t]]
            for i in range(num_queries):
                q = [projected(queries[t, i], weights.W_q, weights.b_q, c) for c in columns]
                scores = [
                    fsum(a * b for a, b in zip(q, k[j], strict=True)) / sqrt(d_k) + bias[t, h, i, j]
                    for j in range(num_keys)
                ]
                row = softmax_by_hand(scores, list(allowed[t, h, i] & (bias[t, h, i] > -np.inf)))
                attention[t, h, i] = row
                head = [fsum(row[j] * v[j][c] for j in range(num_keys)) for c in range(d_k)]
                for d in range(width):
                    contributions[t, h, i, d] = fsum(head[c] * weights.W_o[h * d_k + c, d] for c in range(d_k))
    output = contributions.sum(axis=1) + (0.0 if weights.b_o is None else weights.b_o)
    return attention, contributions, output


def run_alone(*arguments: str, folder: Path, **environment: str) -> str:
    """What Python prints in `folder`, where nothing says where this project is, if it warns of nothing."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-Werror", *arguments],
        cwd=folder,
        env=kept | {"PYTHONUTF8": "1", **environment},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_python(code: str, **environment: str) -> str:
    """What `code` prints in a fresh process in which any warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
