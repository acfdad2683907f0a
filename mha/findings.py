"""What a restriction changed, in sentences: each is made from a measured number, carries it, and appears only if its
condition holds.

Nothing general is claimed: the sentences speak of this text, these start values and these rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mha import measures
from mha.arrays import Array, Booleans
from mha.config import whole_number
from mha.restriction import HeadChange, Restriction, head_summaries
from mha.rounding import percent, written
from mha.seed_sweep import SeedChanges

KEEPS_DIRECTION = 0.9  # cosine above which an output is said to keep its direction
MUCH = 0.1  # a difference of shares (of 1) that is worth a sentence
MOST = 0.5  # share of the change from which one head is said to make up most of it
FEW_BITS = 0.01  # a smaller change of entropy is not worth a sentence
CANCEL = 0.8  # |sum| / sum of lengths below which parts are said to cancel each other
MOST_LISTED = 4  # rows named one by one


@dataclass(frozen=True)
class Word:
    """A token inside a sentence: whoever shows it quotes it literally."""

    text: str
    position: int  # from 1


Part: TypeAlias = str | Word


@dataclass(frozen=True)
class Finding:
    """One sentence as its parts; `about` names what it is about, for tests and lists."""

    about: str
    parts: tuple[Part, ...]

    @property
    def plain(self) -> str:
        """The sentence as plain text."""
        return "".join(part if isinstance(part, str) else f"“{part.text}” ({part.position})" for part in self.parts)


@dataclass(frozen=True, eq=False)
class _Measured:
    """One text of a restriction, with what several sentences need."""

    tokens: Sequence[str]
    length: Array  # (Tq,) change of the output
    relative: Array  # (Tq,)
    cosine: Array  # (Tq,)
    moved: Booleans  # (Tq,) more than rounding
    head_changes: Array  # (H, Tq, D)
    heads: tuple[HeadChange, ...]
    overlap_before: Array  # (H, H)
    overlap_after: Array
    no_key: Booleans  # (H, Tq) rows with no key left
    silenced: Booleans  # (H, Tq) those of them that had one before
    bound: float

    def word(self, i: int) -> Word:
        return Word(self.tokens[i], i + 1)

    @property
    def H(self) -> int:
        return len(self.heads)


def what_changed(made: Restriction, tokens: Sequence[str], b: int = 0) -> tuple[Finding, ...]:
    """What is different now, largest things first. tokens: the Tq looking tokens of text b."""
    seen = _measured(made, tokens, b)
    if not seen.moved.any():
        return _only_found([_nothing_changed(seen), _no_key_left(seen)])
    makers = (_most, _least, _unmoved, _on_average, _turned, _kept_direction, _lost_most, _head_share, _unmoved_heads)
    return _only_found([*(make(seen) for make in makers), _entropy(seen), _no_key_left(seen), _overlap(seen)])


def what_this_suggests(made: Restriction, tokens: Sequence[str], b: int = 0) -> tuple[Finding, ...]:
    """What these numbers suggest about the heads of this very model, carefully; () where nothing changed."""
    seen = _measured(made, tokens, b)
    if not seen.moved.any():
        return ()
    makers = (_no_preference, _lost_favourites, _forced_apart, _one_head_stands_out, _cancelling, _robust, _silent)
    return _only_found(make(seen) for make in makers)


def over_seeds(changes: SeedChanges, tokens: Sequence[str]) -> tuple[Finding, ...]:
    """What the same restriction did with other start values."""
    if len(changes.seeds) < 2:
        return ()
    return _only_found([_spread(changes), _where_most(changes, tokens), _which_head(changes)])


def _only_found(found: Iterable[Finding | None]) -> tuple[Finding, ...]:
    return tuple(finding for finding in found if finding is not None)


def _measured(made: Restriction, tokens: Sequence[str], b: int) -> _Measured:
    whole_number(b, "b", 0, len(made.baseline.output) - 1)
    before, after = made.baseline, made.restricted
    if len(tokens) != before.output.shape[1]:
        raise ValueError(f"expected a token for each of {before.output.shape[1]} positions, got {len(tokens)}")
    return _Measured(
        tokens=tokens,
        length=made.change_length[b],
        relative=made.relative_change[b],
        cosine=made.cosine[b],
        moved=made.change_length[b] > made.bound,
        head_changes=made.head_changes[b],
        heads=head_summaries(made, b),
        overlap_before=measures.overlap(before.weights[b], before.mask[b]),
        overlap_after=measures.overlap(after.weights[b], after.mask[b]),
        no_key=made.restricted.empty_rows[b],
        silenced=made.newly_empty[b],
        bound=made.bound,
    )


# What changed


def _nothing_changed(seen: _Measured) -> Finding:
    largest = float(seen.length.max(initial=0.0))
    return Finding("nothing", (f"No output changed: the largest change is {written(largest)}.",))


def _most(seen: _Measured) -> Finding | None:
    if len(seen.length) == 1:
        return Finding("most", (f"The output changed by {_by(seen, 0)}.",))
    i = int(seen.length.argmax())
    parts: tuple[Part, ...] = ("The output of ", seen.word(i), f" changed most: by {_by(seen, i)}.")
    known = np.where(np.isnan(seen.relative), 0.0, seen.relative)
    most = int(known.argmax())
    if known[most] - known[i] > MUCH:  # the picture of the page is of these
        parts += (" Relative to its length, that of ", seen.word(most), f" did: {percent(known[most])}.")
    return Finding("most", parts)


def _by(seen: _Measured, i: int) -> str:
    of_length = "" if np.isnan(seen.relative[i]) else f", {percent(seen.relative[i])} of its length before"
    return f"{written(seen.length[i])}{of_length}"


def _least(seen: _Measured) -> Finding | None:
    if len(seen.length) < 2 or not seen.moved.all():
        return None
    i = int(seen.length.argmin())
    return Finding("least", ("The output of ", seen.word(i), f" changed least: by {_by(seen, i)}."))


def _unmoved(seen: _Measured) -> Finding | None:
    still = int((~seen.moved).sum())
    if not still:
        return None
    return Finding("unmoved", (f"{still} of {_counted(len(seen.moved), 'output')} did not change at all.",))


def _on_average(seen: _Measured) -> Finding | None:
    average, left_out = measures.mean_defined(seen.relative)
    mean = float(average)
    if np.isnan(mean) or len(seen.relative) - left_out < 2:
        return None
    return Finding("average", (f"On average the change of an output is {percent(mean)} of its length before.",))


def _turned(seen: _Measured) -> Finding | None:
    if np.isnan(seen.cosine).all() or np.nanmin(seen.cosine) >= 0:
        return None
    i = int(np.nanargmin(seen.cosine))
    return Finding(
        "turned",
        (
            "The output of ",
            seen.word(i),
            f" points away from where it pointed before: the cosine between the two is {seen.cosine[i]:.2f}.",
        ),
    )


def _kept_direction(seen: _Measured) -> Finding | None:
    if np.isnan(seen.cosine).any() or seen.cosine.min() <= KEEPS_DIRECTION:
        return None
    which = "Every output keeps" if len(seen.cosine) > 1 else "The output keeps"
    return Finding("direction", (f"{which} its direction nearly: the smallest cosine is {_down(seen.cosine.min())}.",))


def _lost_most(seen: _Measured) -> Finding | None:
    lost = np.array([head.forbidden_weight for head in seen.heads])
    if np.isnan(lost).all() or not np.nanmax(lost) > 0:
        return None
    h = int(np.nanargmax(lost))
    as_much = [int(head) + 1 for head in np.flatnonzero(lost >= lost[h] - seen.bound)]
    alike = float(np.nanmax(lost) - np.nanmin(lost)) <= seen.bound
    if alike or seen.H == 1:
        whose = "each head's attention" if seen.H > 1 else "the attention"
        return Finding("lost", (f"On average {percent(lost[h])} of {whose} had been on what is now forbidden.",))
    who, whose = (f"Head {h + 1}", "its") if len(as_much) == 1 else (f"Heads {_listed(as_much)}", "the")
    return Finding(
        "lost",
        (
            f"{who} lost most: {percent(lost[h])} of {whose} attention had been on what is now forbidden "
            f"(the mean of all heads is {percent(float(np.nanmean(lost)))}).",
        ),
    )


def _head_share(seen: _Measured) -> Finding | None:
    if seen.H == 1:
        return None
    shares = _mean_shares(seen)
    h = int(shares.argmax())
    against = "; one that works against it is below 0" if shares.min() < 0 else ""
    return Finding(
        "share",
        (
            f"Head {h + 1} has the largest part in the change of the output: {percent(shares[h])} of it, mean over "
            f"the positions that changed (the shares of the {seen.H} heads add up to 100%{against}).",
        ),
    )


def _mean_shares(seen: _Measured) -> Array:
    """Each head's share of the change, (H,), mean over the positions that moved."""
    shares = measures.shares_of_sum(seen.head_changes[None])[0]
    return shares[:, seen.moved].mean(axis=-1)


def _unmoved_heads(seen: _Measured) -> Finding | None:
    still = [h + 1 for h in range(seen.H) if not seen.head_changes[h].any()]
    if not still or len(still) == seen.H:
        return None
    names = f"{'Head' if len(still) == 1 else 'Heads'} {_listed(still)}"
    verb = "adds" if len(still) == 1 else "add"
    return Finding(
        "unmoved heads", (f"{names} {verb} exactly what {'it' if len(still) == 1 else 'they'} added before: change 0.",)
    )


def _entropy(seen: _Measured) -> Finding | None:
    change = np.array([head.entropy_change for head in seen.heads])
    if np.isnan(change).all():
        return None
    h = int(np.nanargmax(np.abs(change)))
    if not abs(change[h]) >= FEW_BITS:
        return None
    head = seen.heads[h]
    way = "narrower" if change[h] < 0 else "wider"
    comparison = "" if seen.H == 1 else ", the largest change of all heads"
    return Finding(
        "entropy",
        (f"Head {h + 1} looks {way}: its entropy changed by {change[h]:+.2f} bits on average{comparison}.",)
        if head.empty_after == 0
        else (
            f"Where head {h + 1} has a key left it looks {way}: its entropy changed by {change[h]:+.2f} bits on "
            f"average{comparison}.",
        ),
    )


def _no_key_left(seen: _Measured) -> Finding | None:
    count = int(seen.no_key.sum())
    if not count:
        return None
    if count == seen.no_key.size:
        return Finding("no key", (f"None of the {count} rows has a key left: all heads put out 0.",))
    rows = [f"head {h + 1}, query {i + 1}" for h, i in np.argwhere(seen.no_key).tolist()[:MOST_LISTED]]
    more = f" and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
    verb = "has" if count == 1 else "have"
    return Finding(
        "no key",
        (f"{count} of {seen.no_key.size} rows {verb} no key left and put out 0: {'; '.join(rows)}{more}.",),
    )


def _overlap(seen: _Measured) -> Finding | None:
    pair = _pair_that_parted(seen)
    if pair is None:
        return None
    g, h = pair
    return Finding(
        "overlap",
        (
            f"Heads {g + 1} and {h + 1} had {percent(seen.overlap_before[g, h])} of their attention in common, and "
            f"have {percent(seen.overlap_after[g, h])} now.",
        ),
    )


def _pair_that_parted(seen: _Measured) -> tuple[int, int] | None:
    """The two heads whose overlap changed most, if it changed by more than MUCH."""
    change = np.triu(np.nan_to_num(np.abs(seen.overlap_after - seen.overlap_before)), 1)
    if not change.max(initial=0.0) > MUCH:
        return None
    g, h = divmod(int(change.argmax()), seen.H)
    return g, h


# What this suggests


def _no_preference(seen: _Measured) -> Finding | None:
    """Heads that had been on the forbidden part about as much as an even look would be."""
    even = [h for h in range(seen.H) if _part_is_forbidden(seen.heads[h]) and abs(_above_even(seen.heads[h])) <= MUCH]
    if not even:
        return None
    h = min(even, key=lambda h: abs(_above_even(seen.heads[h])))
    who = f"{len(even)} of {seen.H} heads" if seen.H > 1 else "The head"
    return Finding("no preference", (f"{who} leaned towards neither part: {_against_even(seen, h)}.",))


def _lost_favourites(seen: _Measured) -> Finding | None:
    above = {h: _above_even(head) for h, head in enumerate(seen.heads) if _part_is_forbidden(head)}
    if not above or max(above.values()) <= MUCH:
        return None
    h = max(above, key=above.__getitem__)
    return Finding(
        "favourites",
        (
            f"Head {h + 1} leaned towards the part that it lost: {_against_even(seen, h)}. These start values made it "
            "so; with others it may be different.",
        ),
    )


def _part_is_forbidden(head: HeadChange) -> bool:
    """Whether the head lost keys and kept some: of all or nothing an even look has the same part as any other."""
    return 0 < head.forbidden_if_even < 1


def _above_even(head: HeadChange) -> float:
    return head.forbidden_weight - head.forbidden_if_even


def _against_even(seen: _Measured, h: int) -> str:
    head = seen.heads[h]
    return (
        f"of head {h + 1}'s attention {percent(head.forbidden_weight)} lay on what is now forbidden, where an even "
        f"look has {percent(head.forbidden_if_even)}"
    )


def _forced_apart(seen: _Measured) -> Finding | None:
    pair = _pair_that_parted(seen)
    if pair is None or seen.overlap_after[pair] >= seen.overlap_before[pair]:
        return None
    g, h = pair
    return Finding(
        "apart",
        (
            f"That heads {g + 1} and {h + 1} share less ({percent(seen.overlap_before[g, h])} before, "
            f"{percent(seen.overlap_after[g, h])} now) is the rule's doing: here the division of labour was imposed. "
            "Whether training would divide it so, this cannot show.",
        ),
    )


def _one_head_stands_out(seen: _Measured) -> Finding | None:
    if seen.H == 1:
        return None
    shares = _mean_shares(seen)
    h = int(shares.argmax())
    if not shares[h] > max(MOST, 1.5 / seen.H):
        return None
    return Finding(
        "one head",
        (
            f"The heads do not count alike: {percent(shares[h])} of the change comes through head {h + 1}, where an "
            f"even split would be {percent(1 / seen.H)}. W_o decides how much a head's change is heard.",
        ),
    )


def _cancelling(seen: _Measured) -> Finding | None:
    if seen.H == 1:
        return None
    apart = np.linalg.norm(seen.head_changes, axis=-1).sum(axis=0)[seen.moved]
    ratio = float(seen.length[seen.moved].sum() / apart.sum())
    if not ratio < CANCEL:
        return None
    return Finding(
        "cancelling",
        (
            f"The heads' changes partly cancel each other: added as vectors they are {percent(ratio)} as long as "
            "their lengths together. One head's change does not tell the output's.",
        ),
    )


def _robust(seen: _Measured) -> Finding | None:
    mean = float(measures.mean_defined(seen.cosine)[0])
    if np.isnan(mean) or not mean > KEEPS_DIRECTION:
        return None
    most = max(head.forbidden_if_even for head in seen.heads if not np.isnan(head.forbidden_if_even))
    return Finding(
        "robust",
        (
            f"Though a head lost up to {percent(most)} of its keys, the outputs point nearly where they did (mean "
            f"cosine {_down(mean)}): here what was forbidden held little that the rest did not.",
        ),
    )


def _silent(seen: _Measured) -> Finding | None:
    count = int(seen.silenced.any(axis=0).sum())
    if not count or seen.no_key.all():
        return None
    places = "1 position" if count == 1 else f"{count} positions"
    return Finding(
        "silent",
        (
            f"At {places} at least one head was silenced: there the restriction takes away a whole head, and not only "
            "a part of what it sees.",
        ),
    )


# Over many seeds


def _spread(changes: SeedChanges) -> Finding | None:
    of_seed, _ = measures.mean_defined(changes.relative_change)
    known = of_seed[~np.isnan(of_seed)]
    if len(known) < 2:
        return None
    if not known.any():
        return Finding("spread", (f"With none of {len(known)} seeds an output changes: by 0% of its length.",))
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    return Finding(
        "spread",
        (
            f"Over {len(known)} seeds an output changes by {percent(middle)} of its length (the median seed); in the "
            f"middle half of the seeds by {percent(low)} to {percent(high)}.",
        ),
    )


def _where_most(changes: SeedChanges, tokens: Sequence[str]) -> Finding | None:
    moved = changes.change_length.max(axis=-1) > 0
    if len(tokens) < 2 or not moved.any():
        return None
    counts = np.bincount(changes.change_length[moved].argmax(axis=-1), minlength=len(tokens))
    i = int(counts.argmax())
    return Finding(
        "where most",
        (
            "The output that changes most is that of ",
            Word(tokens[i], i + 1),
            f" in {percent(counts[i] / moved.sum())} of the seeds, and no other more often; if all were alike each "
            f"would be so in {percent(1 / len(tokens))}.",
        ),
    )


def _which_head(changes: SeedChanges) -> Finding | None:
    H = changes.head_change_length.shape[1]
    total = changes.head_change_length.sum(axis=-1)  # (S, H)
    moved = total.max(axis=-1) > 0
    if H < 2 or not moved.any():
        return None
    counts = np.bincount(total[moved].argmax(axis=-1), minlength=H)
    h = int(counts.argmax())
    return Finding(
        "which head",
        (
            f"Head {h + 1} changes most in {percent(counts[h] / moved.sum())} of the seeds, and no other more often; "
            f"if all were alike each would be so in {percent(1 / H)}.",
        ),
    )


def _down(cosine: float) -> str:
    """A cosine with two digits, rounded down: what is not 1 is never written as 1.00."""
    return f"{np.floor(float(cosine) * 100) / 100:.2f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
