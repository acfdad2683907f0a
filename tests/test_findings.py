"""Sentences of measured numbers: each stands there exactly if its condition holds, and says the number.

The conditions are written here once more, from the arrays of the two traces and in plain NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from mha import Weights, embed, masks, restrict
from mha import restriction_rules as rules
from mha.config import Model
from mha.findings import Finding, Word, over_seeds, what_changed, what_this_suggests
from mha.restriction import Restriction
from mha.seed_sweep import SeedChanges, joined, sweep

WORDS = ("the", "cat", "<b>", "sat", "on", "*it*", "now")


def made_of(
    T: int, num_heads: int, seed: int, init: str, restriction: masks.Rule, mask: masks.Rule | None = None
) -> Restriction:
    X = embed(WORDS[:T], num_heads * 3, seed)[None]
    return restrict(X, X, X, Weights.draw(num_heads * 3, num_heads, seed, init=init), restriction, mask=mask)


def scenes() -> Iterator[Restriction]:
    """Restrictions of every kind, sizes from 1, start values from even looks to sharp ones, with and without causal."""
    for T, num_heads in ((1, 1), (1, 2), (2, 3), (4, 1), (4, 2), (7, 5)):
        for seed, init in ((0, "pytorch"), (1, "normal"), (2, "xavier")):
            one_off = rules.heads_off([num_heads - 1], num_heads)
            all_off = rules.heads_off(range(num_heads), num_heads)
            everything = masks.custom(np.ones(T, dtype=bool))
            last_two = masks.custom(np.arange(T) < max(1, T - 1))
            first_head = masks.heads(np.arange(num_heads)[:, None] + np.arange(T) != T - 1, T)
            kinds = [rules.of_kind(kind, num_heads, T, k=2) for kind in rules.KINDS]
            for restriction in (*kinds, one_off, all_off, everything, last_two, first_head):
                yield made_of(T, num_heads, seed, init, restriction)
                yield made_of(T, num_heads, seed, init, restriction, masks.causal(T, T))


class Seen:
    """One scene, measured anew."""

    def __init__(self, made: Restriction) -> None:
        before, after = made.baseline, made.restricted
        self.out, self.now = before.output[0], after.output[0]
        self.parts = (after.contributions - before.contributions)[0]
        self.length = np.sqrt(((self.now - self.out) ** 2).sum(-1))
        self.T, self.H = len(self.length), len(self.parts)
        self.moved = self.length > made.bound
        self.w, self.allowed, self.left = before.weights[0], before.mask[0], after.mask[0]
        self.w_now = after.weights[0]
        lengths = [np.sqrt((x**2).sum(-1)) for x in (self.out, self.now)]
        with np.errstate(invalid="ignore", divide="ignore"):
            self.cosine = (self.out * self.now).sum(-1) / lengths[0] / lengths[1]
            self.relative = self.length / lengths[0]
        self.has_key, self.has_key_now = self.allowed.any(-1), self.left.any(-1)
        lost = (self.w * ~self.left).sum(-1)
        even = (self.allowed & ~self.left).sum(-1) / np.maximum(self.allowed.sum(-1), 1)
        self.lost = np.array([mean(lost[h][self.has_key[h]]) for h in range(self.H)])
        self.even = np.array([mean(even[h][self.has_key[h]]) for h in range(self.H)])
        self.entropy = np.array([self._entropy(h) for h in range(self.H)])

    def _entropy(self, h: int) -> float:
        both = self.has_key[h] & self.has_key_now[h]
        return mean(np.array([bits(self.w_now[h, i]) - bits(self.w[h, i]) for i in np.flatnonzero(both)]))

    def overlap(self, g: int, h: int, *, now: bool) -> float:
        w, has = (self.w_now, self.has_key_now) if now else (self.w, self.has_key)
        both = has[g] & has[h]
        return mean(np.minimum(w[g], w[h]).sum(-1)[both])

    @property
    def shares(self) -> np.ndarray:
        """How far each head's part goes the way of the whole, mean over what moved."""
        total = self.parts.sum(0)[self.moved]
        return np.array([((part[self.moved] * total).sum(-1) / (total**2).sum(-1)).mean() for part in self.parts])

    @property
    def parted(self) -> list[tuple[float, float]]:
        """Overlap before and now of the pairs that changed by more than 0.1; the most first."""
        pairs = [(g, h) for g in range(self.H) for h in range(g + 1, self.H)]
        both = [(self.overlap(g, h, now=False), self.overlap(g, h, now=True)) for g, h in pairs]
        return sorted((p for p in both if abs(p[1] - p[0]) > 0.1), key=lambda p: -abs(p[1] - p[0]))


def mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def bits(row: np.ndarray) -> float:
    return -sum(float(w) * float(np.log2(w)) for w in row if w > 0)


def part_forbidden(seen: Seen) -> np.ndarray:
    return (seen.even > 0) & (seen.even < 1)


CHANGED: dict[str, Callable[[Seen], Any]] = {
    "nothing": lambda s: not s.moved.any(),
    "most": lambda s: s.moved.any(),
    "least": lambda s: s.T > 1 and s.moved.all(),
    "unmoved": lambda s: s.moved.any() and not s.moved.all(),
    "average": lambda s: s.moved.any() and s.T > 1,
    "turned": lambda s: s.moved.any() and (s.cosine < 0).any(),
    "direction": lambda s: s.moved.any() and (s.cosine > 0.9).all(),
    "lost": lambda s: s.moved.any() and (s.lost > 0).any(),
    "share": lambda s: s.moved.any() and s.H > 1,
    "unmoved heads": lambda s: 0 < (s.parts == 0).all((1, 2)).sum() < s.H,
    "entropy": lambda s: s.moved.any() and (np.abs(s.entropy) >= 0.01).any(),
    "no key": lambda s: not s.has_key_now.all(),
    "overlap": lambda s: s.moved.any() and s.parted,
}
SUGGESTED: dict[str, Callable[[Seen], Any]] = {
    "no preference": lambda s: (part_forbidden(s) & (np.abs(s.lost - s.even) <= 0.1)).any(),
    "favourites": lambda s: (part_forbidden(s) & (s.lost - s.even > 0.1)).any(),
    "apart": lambda s: s.parted and s.parted[0][1] < s.parted[0][0],
    "one head": lambda s: s.H > 1 and s.shares.max() > max(0.5, 1.5 / s.H),
    "cancelling": lambda s: (
        s.H > 1 and s.length[s.moved].sum() / np.sqrt((s.parts[:, s.moved] ** 2).sum(-1)).sum() < 0.8
    ),
    "robust": lambda s: mean(s.cosine[~np.isnan(s.cosine)]) > 0.9,
    "silent": lambda s: (s.has_key & ~s.has_key_now).any() and s.has_key_now.any(),
}


def tokens_of(made: Restriction) -> tuple[str, ...]:
    return WORDS[: made.baseline.output.shape[1]]


@cache
def measured() -> list[tuple[Seen, set[str], set[str]]]:
    """Every scene once: measured anew, and what the sentences of the two lists are about."""
    return [
        (Seen(made), abouts(what_changed(made, tokens_of(made))), abouts(what_this_suggests(made, tokens_of(made))))
        for made in scenes()
    ]


def abouts(findings: tuple[Finding, ...]) -> set[str]:
    names = [finding.about for finding in findings]
    assert len(set(names)) == len(names)
    return set(names)


@pytest.mark.parametrize("about", CHANGED)
def test_what_changed_is_said_exactly_if_it_is_so(about: str) -> None:
    expected = [bool(CHANGED[about](seen)) for seen, _, _ in measured()]
    said = [about in changed for _, changed, _ in measured()]
    assert said == expected
    assert {True, False} == set(said)


@pytest.mark.parametrize("about", SUGGESTED)
def test_what_is_suggested_is_said_exactly_if_it_is_so(about: str) -> None:
    expected = [bool(seen.moved.any() and SUGGESTED[about](seen)) for seen, _, _ in measured()]
    said = [about in suggested for _, _, suggested in measured()]
    assert said == expected
    assert {True, False} == set(said)


def test_no_other_sentence_is_said_and_each_carries_a_number() -> None:
    for made in scenes():
        found = (*what_changed(made, tokens_of(made)), *what_this_suggests(made, tokens_of(made)))
        assert {finding.about for finding in found} <= CHANGED.keys() | SUGGESTED.keys()
        for finding in found:
            # a number that was measured: not one of a head or a position alone
            bare = re.sub(r"(?i)heads? \d+(, \d+)*( and \d+)?|\(\d+\)|query \d+", "", finding.plain)
            assert re.search(r"\d", bare), finding.plain
            assert "nan" not in finding.plain


def exercise() -> Restriction:
    X = embed(["A", "B", "C", "D"], 8, 0)[None]
    return restrict(X, X, X, Weights.draw(8, 2, 0, init="normal"), rules.own_blocks(2, 4))


def said_by(findings: tuple[Finding, ...], about: str) -> str:
    return next(finding.plain for finding in findings if finding.about == about)


def test_the_numbers_are_the_measured_ones() -> None:
    made, seen = exercise(), Seen(exercise())
    found = what_changed(made, "ABCD")
    i, least = int(seen.length.argmax()), int(seen.length.argmin())
    most = f"“{'ABCD'[i]}” ({i + 1}) changed most: by {seen.length[i]:.4g}, {seen.relative[i]:.0%} of"
    assert most in said_by(found, "most")
    assert f"“{'ABCD'[least]}” ({least + 1}) changed least" in said_by(found, "least")
    assert f"{seen.relative.mean():.0%} of its length" in said_by(found, "average")
    h = int(seen.lost.argmax())
    assert f"Head {h + 1} lost most: {seen.lost[h]:.0%}" in said_by(found, "lost")
    assert f"(the mean of all heads is {seen.lost.mean():.0%})" in said_by(found, "lost")
    g = int(np.abs(seen.entropy).argmax())
    assert f"Head {g + 1} looks narrower: its entropy changed by {seen.entropy[g]:+.2f} bits" in said_by(
        found, "entropy"
    )
    was, now = seen.parted[0]
    assert f"had {was:.0%} of their attention in common, and have {now:.0%} now" in said_by(found, "overlap")
    share = int(seen.shares.argmax())
    assert f"Head {share + 1} has the largest part in the change of the output: {seen.shares[share]:.0%}" in said_by(
        found, "share"
    )


def test_the_output_that_changed_most_for_its_length_is_named_where_it_is_another() -> None:
    made, seen = exercise(), Seen(exercise())
    i, other = int(seen.length.argmax()), int(seen.relative.argmax())
    assert i != other  # what the picture of the page shows highest is not what moved farthest
    rider = f" Relative to its length, that of “{'ABCD'[other]}” ({other + 1}) did: {seen.relative[other]:.0%}."
    assert said_by(what_changed(made, "ABCD"), "most").endswith(rider)
    said = []
    for scene in scenes():
        each = Seen(scene)
        if each.moved.any() and each.T > 1:
            relative = np.nan_to_num(each.relative)
            said.append("Relative to its length" in said_by(what_changed(scene, tokens_of(scene)), "most"))
            assert said[-1] == (relative.max() - relative[each.length.argmax()] > 0.1)
    assert {True, False} == set(said)


def test_all_heads_that_lost_as_much_are_named() -> None:
    X = embed(["A"], 12, 0)[None]
    made = restrict(X, X, X, Weights.draw(12, 4, 0), rules.own_blocks(4, 1))  # three heads own no position
    assert "Heads 1, 2 and 3 lost most: 100% of the attention" in said_by(what_changed(made, "A"), "lost")


def test_rows_with_no_key_left_are_named() -> None:
    X = embed(["A", "B", "C", "D", "E", "F"], 8, 0)[None]
    made = restrict(X, X, X, Weights.draw(8, 2, 0), rules.own_blocks(2, 6), mask=masks.causal(6, 6))
    assert "3 of 12 rows have no key left and put out 0: head 2, query 1; head 2, query 2; head 2, query 3." in (
        said_by(what_changed(made, "ABCDEF"), "no key")
    )
    assert "At 3 positions at least one head was silenced" in said_by(what_this_suggests(made, "ABCDEF"), "silent")


def test_a_token_is_a_part_of_its_own_and_never_mixed_into_the_text() -> None:
    words = ("<script>", "**x**", "$y$", "“")
    X = embed(words, 8, 0)[None]
    made = restrict(X, X, X, Weights.draw(8, 2, 0), rules.own_blocks(2, 4))
    named = set()
    for finding in (*what_changed(made, words), *what_this_suggests(made, words)):
        texts = [part for part in finding.parts if isinstance(part, str)]
        assert not any(word in text for word in words[:3] for text in texts)
        named |= {part for part in finding.parts if isinstance(part, Word)}
    assert named
    assert all(words[word.position - 1] == word.text for word in named)


def test_nearly_all_is_not_all_and_nearly_nothing_is_not_nothing() -> None:
    # scores so far apart that the only forbidden key, the last, had all but nothing of the weight
    X = np.array([[[20.0, 0.0], [20.0, 0.0], [0.0, 20.0]]])
    eye = np.eye(2)
    weights = Weights(eye, eye, eye, eye, 1)
    first_two = masks.custom([True, True, False])
    made = restrict(X[:, :1], X, X, weights, first_two)
    assert 0 < made.forbidden_weight[0, 0, 0] < 1e-100
    assert what_changed(made, "a")[0].about == "nothing"
    # equal scores but for a little: about 1 of 1,001 on the forbidden key
    X = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 9.0]]])
    made = restrict(X[:, :1] * 9, X, X, weights, first_two)
    lost = made.forbidden_weight[0, 0, 0]
    assert 0 < lost < 0.005
    assert "less than 1% of the attention" in said_by(what_changed(made, "a"), "lost")


def test_the_text_asked_for_is_the_one_that_is_spoken_of() -> None:
    X = embed(["A", "B", "C", "D"], 8, 0)[None]
    both = np.concatenate([np.zeros_like(X), X])
    made = restrict(both, both, both, Weights.draw(8, 2, 0, init="normal"), rules.own_blocks(2, 4))
    assert [finding.plain for finding in what_changed(made, "ABCD", 1)] == [
        finding.plain for finding in what_changed(exercise(), "ABCD")
    ]
    # zero vectors have zero values: nothing to change
    assert abouts(what_changed(made, "ABCD")) == {"nothing"}
    with pytest.raises(ValueError, match="a token for each of 4 positions, got 3"):
        what_changed(made, "ABC")
    with pytest.raises(ValueError, match="b to be a whole number from 0 to 1, got 2"):
        what_changed(made, "ABCD", 2)


def swept(restriction: masks.Rule, seeds: int) -> SeedChanges:
    return joined(
        list(sweep(tuple("ABCD"), Model(d_model=8, num_heads=2, init="normal"), restriction, seeds=range(seeds)))
    )


def test_over_seeds_speaks_of_all_of_them() -> None:
    changes = swept(rules.own_blocks(2, 4), 40)
    of_seed = changes.relative_change.mean(axis=-1)
    low, middle, high = np.quantile(of_seed, [0.25, 0.5, 0.75])
    found = over_seeds(changes, "ABCD")
    assert abouts(found) == {"spread", "where most", "which head"}
    assert f"Over 40 seeds an output changes by {middle:.0%}" in said_by(found, "spread")
    assert f"by {low:.0%} to {high:.0%}" in said_by(found, "spread")
    places = [int(row.argmax()) for row in changes.change_length]
    i = max(range(4), key=places.count)
    assert f"“{'ABCD'[i]}” ({i + 1}) in {places.count(i) / 40:.0%} of the seeds" in said_by(found, "where most")
    largest = [int(heads.sum(-1).argmax()) for heads in changes.head_change_length]
    h = max(range(2), key=largest.count)
    assert f"Head {h + 1} changes most in {largest.count(h) / 40:.0%} of the seeds" in said_by(found, "which head")


def test_over_seeds_says_nothing_of_one_seed_and_that_nothing_changed() -> None:
    assert over_seeds(swept(rules.own_blocks(2, 4), 1), "ABCD") == ()
    [unchanged] = over_seeds(swept(masks.custom(np.ones(4, dtype=bool)), 5), "ABCD")
    assert unchanged.plain == "With none of 5 seeds an output changes: by 0% of its length."
