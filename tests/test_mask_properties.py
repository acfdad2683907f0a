"""Every subset of the rules, with more keys than queries, several texts and rows with no key left.

test_properties.py draws rules at random; here no combination is left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations, permutations

import numpy as np
import pytest

from mha import Trace, Weights, attend, masks
from mha.attention import tolerance
from mha.mask_effects import mask_effect

pytest.importorskip("torch")

# Distinct primes, so that a swapped axis cannot pass by luck.
B, H, TQ, TK, K = 2, 3, 5, 7, 11
SHAPE = (B, H, TQ, TK)
RULES = (
    masks.causal(TQ, TK),
    masks.valid_lens([4, 0], TK),  # no key at all for the second text
    masks.window(TQ, TK, 1, 2),
    masks.heads([[1, 0, 1, 0, 1, 0, 1], [0] * TK, [0, 0, 1, 1, 0, 1, 0]], TK),  # none for the second head
    masks.custom(np.random.default_rng(6).random(SHAPE) < 0.6),
)
SUBSETS = [chosen for size in range(len(RULES) + 1) for chosen in combinations(RULES, size)]

every_subset = pytest.mark.parametrize(
    "rules", SUBSETS, ids=lambda rules: " and ".join(rule.name for rule in rules) or "no rule"
)


def inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray, Weights]:
    rng = np.random.default_rng(0)
    queries, keys, values = (rng.standard_normal((B, T, H * K)) for T in (TQ, TK, TK))
    return queries, keys, values, Weights.draw(H * K, H, 1, init="pytorch")


def largest(difference: np.ndarray) -> float:
    return float(np.abs(difference).max(initial=0.0))


def names_and_bytes(trace: Trace) -> Iterator[tuple[str, bytes]]:
    return ((field.name, getattr(trace, field.name).tobytes()) for field in fields(Trace))


def test_the_subsets_are_all_there_and_leave_rows_with_and_without_keys() -> None:
    assert len(SUBSETS) == 2**5
    empty = [masks.empty_rows(masks.combine(*rules, shape=SHAPE).allowed) for rules in SUBSETS]
    assert sum(rows.any() for rows in empty) > 16
    assert sum(not rows.all() for rows in empty) == len(SUBSETS) - sum(rows.all() for rows in empty) > 16


@every_subset
def test_both_engines_agree(rules: tuple[masks.Rule, ...]) -> None:
    mask = masks.combine(*rules, shape=SHAPE)
    ours, theirs = (attend(*inputs(), mask=mask, engine=engine) for engine in ("numpy", "torch"))
    for name in ("q", "k", "v", "scores", "weights", "head_outputs", "concat", "output", "contributions"):
        assert largest(getattr(theirs, name) - getattr(ours, name)) <= tolerance(ours, 1e-10)
    for trace in (ours, theirs):
        assert (trace.mask == mask.allowed).all()
        assert (trace.empty_rows == ~mask.allowed.any(axis=-1)).all()
        assert not trace.weights[~mask.allowed].any()  # exactly 0
        assert not trace.head_outputs[trace.empty_rows].any()
        assert (trace.weights[mask.allowed] > 0).all()  # moderate scores: small is not blocked
        assert largest(trace.weights.sum(axis=-1) - ~trace.empty_rows) <= tolerance(ours)


@every_subset
def test_blocked_by_agrees_with_the_mask_in_every_cell(rules: tuple[masks.Rule, ...]) -> None:
    mask = masks.combine(*rules, shape=SHAPE)
    for b, h, i, j in np.ndindex(*SHAPE):
        blocking = {  # by the sentence that defines each rule
            "causal": j > i,
            "valid_lens": j >= (4, 0)[b],
            "window": not i - 1 <= j <= i + 2,
            "heads": not RULES[3].allowed[0, h, 0, j],
            "custom": not RULES[4].allowed[b, h, i, j],
        }
        names = tuple(rule.name for rule in rules if blocking[rule.name])
        assert mask.blocked_by(b, h, i, j) == names
        assert mask.allowed[b, h, i, j] == (not names)


def test_rules_in_any_order_give_the_same_trace_to_the_last_bit() -> None:
    expected = dict(names_and_bytes(attend(*inputs(), mask=masks.combine(*RULES, shape=SHAPE))))
    for order in permutations(RULES):
        mask = masks.combine(*order, shape=SHAPE)
        assert mask.allowed.tobytes() == expected["mask"]
        assert dict(names_and_bytes(attend(*inputs(), mask=mask))) == expected


@every_subset
def test_one_mask_is_the_same_as_one_rule_after_the_other(rules: tuple[masks.Rule, ...]) -> None:
    step_by_step = np.ones(SHAPE, dtype=bool)
    for rule in rules:
        step_by_step &= attend(*inputs(), mask=rule).mask
    assert (masks.combine(*rules, shape=SHAPE).allowed == step_by_step).all()


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@every_subset
def test_blocking_a_key_on_top_of_rules_equals_deleting_it(rules: tuple[masks.Rule, ...], engine: str) -> None:
    queries, keys, values, weights = inputs()
    j = 2
    without_j = masks.custom(np.arange(TK) != j, name=f"not {j}")
    mask = masks.combine(*rules, without_j, shape=SHAPE)
    blocked = attend(queries, keys, values, weights, mask=mask, engine=engine)
    deleted = attend(
        queries,
        np.delete(keys, j, axis=1),
        np.delete(values, j, axis=1),
        weights,
        mask=np.delete(mask.allowed, j, axis=3),
        engine=engine,
    )
    assert not blocked.weights[..., j].any()
    assert largest(np.delete(blocked.weights, j, axis=3) - deleted.weights) <= tolerance(blocked)
    assert largest(blocked.output - deleted.output) <= tolerance(blocked)
    assert largest(blocked.contributions - deleted.contributions) <= tolerance(blocked)
    assert (blocked.empty_rows == deleted.empty_rows).all()


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_rules_that_block_nothing_equal_no_mask_to_the_last_bit(engine: str) -> None:
    plain = dict(names_and_bytes(attend(*inputs(), engine=engine)))
    everything = (
        np.ones(SHAPE, dtype=bool),
        masks.window(TQ, TK, None, None),
        masks.valid_lens([TK, TK], TK),
        masks.heads(np.ones((H, TK), dtype=bool), TK),
        masks.combine(shape=SHAPE),
    )
    for mask in everything:
        assert dict(names_and_bytes(attend(*inputs(), mask=mask, engine=engine))) == plain


@every_subset
def test_a_further_rule_never_gives_a_blocked_cell_weight_nor_takes_any_from_an_open_one(
    rules: tuple[masks.Rule, ...],
) -> None:
    effect = mask_effect(*inputs(), rules)
    assert not effect.after.weights[~effect.mask.allowed].any()
    assert (effect.gained >= -tolerance(effect.before)).all()
    lost = effect.removed - effect.gained.sum(axis=-1)  # only a row with no key left loses its weight
    assert largest(lost - effect.after.empty_rows) <= tolerance(effect.before)
