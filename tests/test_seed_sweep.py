"""Many seeds at once against `restrict` of each of them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from mha import Weights, embed, masks, restrict, seed_sweep
from mha import restriction_rules as rules
from mha.attention import project
from mha.config import INITS, Model
from mha.restriction import Restriction
from mha.seed_sweep import SeedChanges, joined, sweep
from tests.samples import assert_close

TOKENS = ("the", "cat", "saw", "the", "cat")  # repeated words have the same vector
T = len(TOKENS)


def one_by_one(model: Model, seed: int, restriction: masks.Rule, mask: masks.Rule | None = None) -> Restriction:
    X = embed(TOKENS, model.d_model, seed, positions=model.positions, values=model.values)[None]
    weights = Weights.draw(model.d_model, model.num_heads, seed, init=model.init, bias=model.bias)
    return restrict(X, X, X, weights, restriction, mask=mask)


@pytest.mark.parametrize("init", INITS)
def test_a_sweep_is_restrict_of_every_seed(init: str) -> None:
    model = Model(d_model=21, num_heads=3, init=init, bias=True, positions="sinusoidal", values="uniform")
    halves, causal = rules.own_blocks(3, T), masks.causal(T, T)
    seeds = [0, 1, 7, 2**32 - 1]
    found = joined(list(sweep(TOKENS, model, halves, mask=causal, seeds=seeds)))
    assert found.seeds.tolist() == seeds
    for s, seed in enumerate(seeds):
        made = one_by_one(model, seed, halves, causal)
        for name in (field.name for field in fields(SeedChanges) if field.name != "seeds"):
            alone = getattr(made, name)[0]
            bound = made.bound
            if name == "head_shares":  # divided by the square of the change's length
                bound *= max(1.0, float(np.abs(made.head_changes).max())) / float(made.change_length.min()) ** 2
            elif name in ("relative_change", "cosine"):
                bound /= min(1.0, float(np.linalg.norm(made.baseline.output, axis=-1).min()))
            assert_close(getattr(found, name)[s], alone, bound)


def test_what_is_drawn_is_the_same_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays that go into the batched maths, caught there, are those of `embed` and `Weights.draw`."""
    caught: list[np.ndarray] = []

    def noted(x: np.ndarray, W: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        caught.extend([x, W])
        return project(x, W, b)

    monkeypatch.setattr("mha.seed_sweep.project", noted)
    model = Model(d_model=21, num_heads=3)
    joined(list(sweep(TOKENS, model, rules.own_blocks(3, T), seeds=[5, 6])))
    for s, seed in enumerate((5, 6)):
        weights = Weights.draw(21, 3, seed)
        X = embed(TOKENS, 21, seed)
        for n, name in enumerate(("W_q", "W_k", "W_v")):
            assert caught[2 * n][s].tobytes() == X.tobytes()
            assert caught[2 * n + 1][s].tobytes() == getattr(weights, name).tobytes()
        assert caught[7][s].tobytes() == weights.W_o.tobytes()


def test_a_sweep_comes_in_chunks_and_can_be_stopped() -> None:
    running = sweep(TOKENS, Model(d_model=8, num_heads=2), rules.own_blocks(2, T))
    first = next(running)
    assert 0 < len(first.seeds) < seed_sweep.SEEDS
    running.close()
    chunks = list(sweep(TOKENS, Model(d_model=8, num_heads=2), rules.own_blocks(2, T)))
    assert len(chunks) > 3
    assert joined(chunks).seeds.tolist() == list(range(200))
    assert joined(chunks).head_change_length.shape == (200, 2, T)
    assert (joined(chunks).change_length[: len(first.seeds)] == first.change_length).all()


def test_large_models_come_in_smaller_chunks() -> None:
    small = next(sweep(TOKENS, Model(d_model=8, num_heads=2), rules.own_position(T)))
    large = next(sweep(TOKENS, Model(d_model=512, num_heads=2), rules.own_position(T)))
    assert len(large.seeds) < len(small.seeds)


def test_the_models_own_seed_does_not_matter() -> None:
    for seeds in ([3], range(2)):
        one, other = (
            joined(list(sweep(TOKENS, Model(seed=seed, d_model=8, num_heads=2), rules.own_blocks(2, T), seeds=seeds)))
            for seed in (0, 99)
        )
        assert (one.change_length == other.change_length).all()


def test_nothing_restricted_changes_nothing_with_any_seed() -> None:
    found = joined(list(sweep(TOKENS, Model(d_model=8, num_heads=2), np.ones((1, T), dtype=bool), seeds=range(7))))
    assert not found.change_length.any()
    assert not found.forbidden_weight.any()
    assert np.isnan(found.head_shares).all()


def test_what_cannot_be_swept_is_refused() -> None:
    model = Model(d_model=8, num_heads=2)
    with pytest.raises(ValueError, match="seed to be a whole number from 0 to 4294967295, got -1"):
        next(sweep(TOKENS, model, rules.own_blocks(2, T), seeds=[-1]))
    with pytest.raises(ValueError, match=r"\(1, 2, 5, 5\), got shape \(1, 2, 1, 6\)"):
        next(sweep(TOKENS, model, rules.own_blocks(2, T + 1)))
    with pytest.raises(ValueError, match="at least one chunk of seeds, got none"):
        joined([])
