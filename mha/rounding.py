"""Numbers for a person to read: four significant digits, and sums whose written terms add up to the written total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, fsum, isfinite, log10

DIGITS = 4
_SMALLEST, _LARGEST = 1e-4, 1e6  # what lies outside is written with a power of ten
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class Part:
    """A term as it is written, or the sum of several neighbours that are not written one by one."""

    text: str
    first: int  # which term it is, or the first of several, counted from 0
    count: int = 1


@dataclass(frozen=True)
class WrittenSum:
    """A sum as it is written: its parts in order, which add up to the written total."""

    parts: tuple[Part, ...]
    total: str


def written(value: float, digits: int = DIGITS) -> str:
    """`value` with so many significant digits: "0.4120", "-12.35", "1.200e-07", and "0" for 0 alone."""
    if not isfinite(value) or value == 0:
        return f"{value:g}".removeprefix("-") if value == 0 else f"{value:g}"
    # rounding may carry into the next power of ten: 9.9996 is 10.00
    rounded = float(f"{value:.{digits - 1}e}")
    if not _SMALLEST <= abs(rounded) < _LARGEST:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{_decimals(rounded, digits)}f}"


def percent(share: float) -> str:
    """A share in whole percent, but "0%" and "100%" only for what is exactly so: "less than 1%", "more than 99%"."""
    share = float(share)
    if 0 < share < 0.005:
        return "less than 1%"
    if 0.995 <= share < 1:
        return "more than 99%"
    return f"{share:.0%}"


def written_sum(
    terms: Iterable[float],
    total: float,
    *,
    before: int = 3,
    after: int = 2,
    keep: Iterable[int] = (),
    digits: int = DIGITS,
) -> WrittenSum:
    """`terms` with as many decimals as it takes for what is written to round to the written `total`.

    Of more than before + after + 1 terms only the first and last are written, and those whose number is in `keep`;
    several others between them become one part, their sum.
    """
    terms = [float(term) for term in terms]
    count = len(terms)
    short = count <= before + after + 1
    ends = range(count) if short else (*range(before), *range(count - after, count))
    parts = _runs(count, {*ends, *keep})
    shown = _adding_up([fsum(terms[part.start : part.stop]) for part in parts], total, digits)
    return WrittenSum(
        tuple(Part(text, part.start, len(part)) for text, part in zip(shown, parts, strict=True)),
        total=written(total, digits),
    )


def _runs(count: int, alone: set[int]) -> list[range]:
    """0 to count - 1 in order: each of `alone` by itself, and what lies between them together."""
    runs: list[range] = []
    for at in range(count):
        if runs and at not in alone and runs[-1].stop - 1 not in alone:
            runs[-1] = range(runs[-1].start, at + 1)
        else:
            runs.append(range(at, at + 1))
    return runs


def _adding_up(parts: list[float], total: float, digits: int) -> list[str]:
    rounded = float(written(total, digits)) if isfinite(total) else 0.0
    largest = max((abs(part) for part in parts), default=0.0)
    if not _SMALLEST <= abs(rounded) < _LARGEST or largest >= _LARGEST:
        return [written(part, digits) for part in parts]
    goal = written(total, digits)
    places = _decimals(rounded, digits)
    for decimals in range(places, _MOST_DECIMALS):
        shown = [f"{part:.{decimals}f}" for part in parts]
        if f"{fsum(map(float, shown)):.{places}f}" == goal:
            return [_without_minus_zero(text) for text in shown]
    return [written(part, digits) for part in parts]


def _decimals(value: float, digits: int) -> int:
    return max(0, digits - 1 - floor(log10(abs(value))))


def _without_minus_zero(text: str) -> str:
    return text.removeprefix("-") if not float(text) else text
