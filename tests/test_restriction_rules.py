"""Every kind of restriction against its sentence about one element, in plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mha import masks
from mha import restriction_rules as rules
from mha.masks import Rule

H, T = 3, 7


def by_loops(may_look: Callable[[int, int, int], bool], num_heads: int = H, length: int = T) -> np.ndarray:
    """(H, T, T) from a sentence about head h, query i, key j, all counted from 1, as a person would say it."""
    return np.array(
        [
            [[may_look(h, i, j) for j in range(1, length + 1)] for i in range(1, length + 1)]
            for h in range(1, num_heads + 1)
        ]
    )


def full(rule: Rule, num_heads: int = H, length: int = T) -> np.ndarray:
    assert rule.allowed.ndim == 4
    return np.broadcast_to(rule.allowed, (1, num_heads, length, length))[0]


def among_nearest(i: int, j: int, k: int) -> bool:
    """Whether fewer than k keys are nearer to i than j; of two as near the earlier counts first."""
    nearer = [other for other in range(1, T + 1) if (abs(other - i), other) < (abs(j - i), j)]
    return len(nearer) < k


GRID = np.random.default_rng(1).random((H, T)) < 0.5

SENTENCES: dict[str, tuple[Rule, Callable[[int, int, int], bool]]] = {
    # blocks of 7 for 3 heads by hand: floor(7/3) = 2, floor(14/3) = 4
    "own block only": (rules.own_blocks(H, T), lambda h, i, j: j in {1: (1, 2), 2: (3, 4), 3: (5, 6, 7)}[h]),
    "odd or even positions only": (rules.odd_even(H, T), lambda h, i, j: (h % 2 == 1) == (j % 2 == 1)),
    "own position only": (rules.own_position(T), lambda h, i, j: i == j),
    "nearest 1 only": (rules.nearest(T, 1), lambda h, i, j: i == j),
    "nearest 2 only": (rules.nearest(T, 2), lambda h, i, j: among_nearest(i, j, 2)),
    "nearest 3 only": (rules.nearest(T, 3), lambda h, i, j: among_nearest(i, j, 3)),
    "nearest 99 only": (rules.nearest(T, 99), lambda h, i, j: True),
    "first token only": (rules.first_only(T), lambda h, i, j: j == 1),
    "all but the first token": (rules.all_but_first(T), lambda h, i, j: j != 1),
    "ticked positions only": (rules.ticked(GRID, T), lambda h, i, j: bool(GRID[h - 1, j - 1])),
    "head off": (rules.heads_off([1], H), lambda h, i, j: h != 2),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_rule_is_its_sentence(name: str) -> None:
    rule, may_look = SENTENCES[name]
    assert rule.name == name
    assert (full(rule) == by_loops(may_look)).all()


def test_the_nearest_by_hand() -> None:
    near = full(rules.nearest(5, 2), 1, 5)[0].astype(int).tolist()
    # the earlier neighbour comes first; the first position has only a later one
    assert near == [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    for k in range(1, 8):
        assert (full(rules.nearest(5, k), 1, 5).sum(axis=-1) == min(k, 5)).all()
    # of many, too: sorts that forget the order of equals keep it for few
    for k in range(2, 64, 2):
        for i, row in enumerate(full(rules.nearest(64, k), 1, 64)[0]):
            assert set(np.flatnonzero(row)) == set(sorted(range(64), key=lambda j: (abs(j - i), j))[:k])


def test_blocks_are_the_exercises_halves() -> None:
    assert (rules.own_blocks(2, 5).allowed == masks.halves(2, 5).allowed).all()
    assert full(rules.own_blocks(2, 5), 2, 5)[:, 0].astype(int).tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]


def test_fewer_positions_than_heads_leave_some_heads_none() -> None:
    assert full(rules.own_blocks(5, 2), 5, 2).any(axis=(1, 2)).tolist() == [False, False, True, False, True]
    assert full(rules.odd_even(3, 1), 3, 1).any(axis=(1, 2)).tolist() == [True, False, True]
    assert not rules.all_but_first(1).allowed.any()


def test_the_hover_of_a_cell_names_the_rule() -> None:
    mask = masks.combine(rules.heads_off([2], H), rules.own_position(T), masks.causal(T, T), shape=(1, H, T, T))
    assert mask.blocked_by(0, 0, 1, 1) == ()
    assert mask.blocked_by(0, 0, 1, 0) == ("own position only",)
    assert mask.blocked_by(0, 2, 0, 0) == ("head off",)
    assert mask.blocked_by(0, 2, 1, 2) == ("head off", "own position only", "causal")


@pytest.mark.parametrize("kind", rules.KINDS)
def test_every_kind_is_a_rule_for_any_number_of_positions(kind: str) -> None:
    for length in (0, 1, 2, T):
        rule = rules.of_kind(kind, H, length, k=2, allowed=np.ones((H, length), dtype=bool))
        assert full(rule, H, length).shape == (H, length, length)


def test_of_kind_passes_on_what_a_kind_needs() -> None:
    assert (rules.of_kind("nearest", H, T, k=3).allowed == rules.nearest(T, 3).allowed).all()
    assert (rules.of_kind("ticked", H, T, allowed=GRID).allowed == rules.ticked(GRID, T).allowed).all()
    assert rules.of_kind("ticked", H, T).allowed.all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rules.nearest(5, 0), "k to be a whole number of at least 1, got 0"),
        (lambda: rules.nearest(-1, 2), "T to be a whole number of at least 0, got -1"),
        (lambda: rules.odd_even(0, 5), "num_heads to be a whole number of at least 1, got 0"),
        (lambda: rules.heads_off([3], 3), "a head that is off to be a whole number from 0 to 2, got 3"),
        (lambda: rules.ticked(np.ones((3, 4), dtype=bool), 5), r"shape \(H, Tk\) with Tk = 5, got \(3, 4\)"),
        (lambda: rules.of_kind("halves", 2, 4), "kind to be one of own blocks, .*, got 'halves'"),
    ],
)
def test_what_is_no_restriction_is_refused(make: Callable[[], Rule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
