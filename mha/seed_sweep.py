"""The same restriction over many seeds, many at once: what one draw shows may be chance.

Every seed draws its own token vectors and weights, exactly those of `embed` and `Weights.draw`; the seeds of a chunk
are one more leading axis, S, of the same maths as `restrict`. Axes: see `mha.attention`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from mha import masks, measures
from mha.arrays import Array, Booleans, Integers
from mha.attention import merge_heads, project, scaled_dot_product_attention, split_heads
from mha.config import MAX_SEED, Model, whole_number
from mha.embedding import embed
from mha.weights import BIASES, MATRICES, Weights

SEEDS = 200
_MOST_SEEDS_AT_ONCE = 25  # so that progress shows, and a sweep can be stopped
_MOST_NUMBERS_AT_ONCE = 4_000_000  # 32 MB an array


@dataclass(frozen=True, eq=False)
class SeedChanges:
    """What the restriction did to one text, seed by seed."""

    seeds: Integers  # (S,)
    change_length: Array  # (S, Tq)
    relative_change: Array  # (S, Tq), NaN where the output's length was 0
    cosine: Array  # (S, Tq), NaN with a zero vector
    head_change_length: Array  # (S, H, Tq)
    head_shares: Array  # (S, H, Tq), NaN where the output does not change
    forbidden_weight: Array  # (S, H, Tq)


def sweep(
    tokens: Sequence[str],
    model: Model,
    restriction: masks.Rule | masks.Mask | ArrayLike,
    *,
    mask: masks.Rule | masks.Mask | ArrayLike | None = None,
    seeds: Iterable[int] = range(SEEDS),
) -> Generator[SeedChanges, None, None]:
    """What `restrict` measures for these tokens with every seed in place of the model's, some seeds at a time.

    restriction, mask: as `attend` takes a mask, for one text: they broadcast to (1, H, T, T). Raises ValueError as
    `restrict`, `embed` and `Weights.draw` do.
    """
    wanted = [whole_number(seed, "seed", 0, MAX_SEED) for seed in seeds]
    shape = (1, model.num_heads, len(tokens), len(tokens))
    before = masks.resolve(mask, shape)[0]
    after = before & masks.resolve(restriction, shape)[0]
    step = _seeds_at_once(model, len(tokens))
    for start in range(0, len(wanted), step):
        yield _changes(tokens, model, before, after, wanted[start : start + step])


def joined(chunks: Sequence[SeedChanges]) -> SeedChanges:
    """The chunks of one sweep as one."""
    if not chunks:
        raise ValueError("expected at least one chunk of seeds, got none")
    names = [field.name for field in fields(SeedChanges)]
    return SeedChanges(**{name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in names})


def _seeds_at_once(model: Model, T: int) -> int:
    numbers = max(len(MATRICES) * model.d_model**2, model.num_heads * T * T, model.num_heads * T * model.d_model, 1)
    return max(1, min(_MOST_SEEDS_AT_ONCE, _MOST_NUMBERS_AT_ONCE // numbers))


def _changes(
    tokens: Sequence[str], model: Model, before: Booleans, after: Booleans, seeds: Sequence[int]
) -> SeedChanges:
    X = np.stack(
        [embed(tokens, model.d_model, seed, positions=model.positions, values=model.values) for seed in seeds]
    )  # (S, T, D)
    drawn = [Weights.draw(model.d_model, model.num_heads, seed, init=model.init, bias=model.bias) for seed in seeds]
    stacked = {name: np.stack([getattr(weights, name) for weights in drawn]) for name in MATRICES}  # (S, D, D)
    biases = {name: np.stack([getattr(weights, name)[None] for weights in drawn]) for name in BIASES if model.bias}
    H, d_k = model.num_heads, drawn[0].d_k
    q, k, v = (split_heads(project(X, stacked[f"W_{n}"], biases.get(f"b_{n}")), H) for n in "qkv")  # (S, H, T, K)
    rows_of_W_o = stacked["W_o"].reshape(len(seeds), H, d_k, model.d_model)
    contributions, outputs, weights_of_pass = [], [], []
    for allowed in (before, after):
        head_outputs, weights = scaled_dot_product_attention(q, k, v, mask=allowed)
        contributions.append(head_outputs @ rows_of_W_o)  # (S, H, T, D)
        outputs.append(project(merge_heads(head_outputs), stacked["W_o"], biases.get("b_o")))  # (S, T, D)
        weights_of_pass.append(weights)
    head_changes = contributions[1] - contributions[0]
    return SeedChanges(
        seeds=np.array(seeds, dtype=np.int64),
        change_length=np.linalg.norm(outputs[1] - outputs[0], axis=-1),
        relative_change=measures.relative_change(*outputs),
        cosine=measures.cosine(*outputs),
        head_change_length=np.linalg.norm(head_changes, axis=-1),
        head_shares=measures.shares_of_sum(head_changes),
        forbidden_weight=np.where(after, 0.0, weights_of_pass[0]).sum(axis=-1),
    )
