"""Numbers for a person to read: four significant digits, and sums whose written terms add up to the written total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, fsum, isfinite, log10

DIGITS = 4
_SMALLEST, _LARGEST = 1e-4, 1e6  # what lies outside is written with a power of ten
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class WrittenSum:
    """A sum as it is written: the first and last terms, what lies between them summed up, and the total."""

    first: tuple[str, ...]
    middle: str  # the sum of the terms that are left out; "" if none is
    left_out: int
    last: tuple[str, ...]
    total: str

    @property
    def parts(self) -> tuple[str, ...]:
        """All that is added up, in order."""
        return (*self.first, *((self.middle,) if self.left_out else ()), *self.last)


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
    terms: Iterable[float], total: float, *, before: int = 3, after: int = 2, digits: int = DIGITS
) -> WrittenSum:
    """`terms` with as many decimals as it takes for what is written to round to the written `total`.

    Of more than before + after + 1 terms only the first and last are written, the others as one sum.
    """
    terms = [float(term) for term in terms]
    short = len(terms) <= before + after + 1
    cut = (len(terms), len(terms)) if short else (before, len(terms) - after)
    first, between, last = terms[: cut[0]], terms[cut[0] : cut[1]], terms[cut[1] :]
    parts = [*first, *([fsum(between)] if len(between) else []), *last]
    shown = _adding_up(parts, total, digits)
    rest = shown[len(first) :]
    return WrittenSum(
        first=tuple(shown[: len(first)]),
        middle=rest[0] if len(between) else "",
        left_out=len(between),
        last=tuple(rest[1 if len(between) else 0 :]),
        total=written(total, digits),
    )


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
