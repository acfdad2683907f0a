"""Rows with no key left, and the fewest rules that do it: by hand, and by trying every set of rules."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mha import masks
from mha import restriction_rules as rules
from mha.no_key import NoKey, in_runs, rows_without_key


def test_halves_and_causal_by_hand() -> None:
    # 6 keys: head 2 has keys 4 to 6, queries 1 to 3 have keys 1 to 3
    mask = masks.combine(masks.causal(6, 6), rules.own_blocks(2, 6), shape=(1, 2, 6, 6))
    assert rows_without_key(mask) == (NoKey(1, (0, 1, 2), ("causal", "own block only")),)


def test_one_rule_that_does_it_alone_is_named_alone() -> None:
    mask = masks.combine(masks.causal(4, 4), rules.own_blocks(2, 4), rules.heads_off([1], 2), shape=(1, 2, 4, 4))
    assert rows_without_key(mask) == (NoKey(1, (0, 1, 2, 3), ("head off",)),)


def test_heads_that_own_no_position() -> None:
    mask = masks.combine(rules.own_blocks(3, 1), shape=(1, 3, 1, 1))
    assert rows_without_key(mask) == (NoKey(0, (0,), ("own block only",)), NoKey(1, (0,), ("own block only",)))


def test_every_row_is_found_once_and_no_fewer_rules_would_do() -> None:
    B, H, T = 2, 3, 7
    shape = (B, H, T, T)
    rng = np.random.default_rng(0)
    stack = [masks.custom(rng.random((1, H, T, T)) < 0.45, name=f"rule {n}") for n in range(4)]
    mask = masks.combine(*stack, masks.valid_lens([7, 3], T), shape=shape)
    for b in range(B):
        found = rows_without_key(mask, b)
        rows = [(each.h, i) for each in found for i in each.queries]
        assert sorted(rows) == [tuple(row) for row in np.argwhere(~mask.allowed[b].any(-1)).tolist()]
        assert len(set(rows)) == len(rows)
        for each in found:
            for i in each.queries:
                allowed = {rule.name: np.broadcast_to(rule.allowed, shape)[b, each.h, i] for rule in mask.rules}
                assert not np.logical_and.reduce([allowed[name] for name in each.rules]).any()
                for fewer in combinations(allowed, len(each.rules) - 1):
                    assert np.logical_and.reduce([allowed[name] for name in fewer], axis=0).any()
    assert {len(each.rules) for each in rows_without_key(mask, 1)} >= {2, 3}


def test_no_such_row_no_list_and_no_rules_no_reason() -> None:
    assert rows_without_key(masks.combine(masks.causal(3, 3), shape=(1, 2, 3, 3))) == ()
    unexplained = masks.Mask(np.zeros((1, 1, 1, 2), dtype=bool), ())
    assert rows_without_key(unexplained) == (NoKey(0, (0,), ()),)
    with pytest.raises(ValueError, match="b to be a whole number from 0 to 0, got 1"):
        rows_without_key(unexplained, 1)


@pytest.mark.parametrize(
    ("places", "said"),
    [((), ""), ((0,), "1"), ((0, 1), "1 to 2"), ((0, 1, 2, 5), "1 to 3, 6"), ((1, 3, 4, 5, 9), "2, 4 to 6, 10")],
)
def test_places_as_people_count_them(places: tuple[int, ...], said: str) -> None:
    assert in_runs(places) == said
