"""Numbers, vectors and sums in LaTeX, as the Steps page writes them; fewer of them in a line on a phone (`narrow`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mha.arrays import Array
from mha.rounding import Part, WrittenSum, written, written_sum


def shortened(terms: Iterable[float], total: float, narrow: bool, keep: Sequence[int] = ()) -> WrittenSum:
    """A sum with its first and last terms, fewer on a phone, and those of `keep`."""
    before, after = (1, 1) if narrow else (3, 2)
    return written_sum(terms, float(total), before=before, after=after, keep=keep)


def row_of(name: str, values: Array, narrow: bool) -> str:
    """A vector with its first and last numbers."""
    shown = [tex(value) for value in values]
    most = 2 if narrow else 5
    if len(shown) > most + 2:
        shown = [*shown[:most], r"\cdots", shown[-1]]
    joined = r",\; ".join(shown)
    return rf"{name} = (\,{joined}\,)"


def summed(start: str, total: WrittenSum, narrow: bool, own: int | None = None, name: str = "") -> list[str]:
    """start = a + b - c + (so many more) ... = total, in lines; own: the number of a term called `name` below it."""
    items = [_part(part, name if part.first == own else "") for part in total.parts]
    signed = [f"{{}} - {item[1:]}" if item.startswith("-") else f"{{}} + {item}" for item in items]
    signed[0] = f"{start} = {items[0]}"
    if len(items) > 1:
        signed.append(f"= {tex_of(total.total)}")
    each = 3 if narrow else 7
    lines = [" ".join(signed[at : at + each]) for at in range(0, len(signed), each)]
    return [lines[0], *(rf"\phantom{{q {'' if line.startswith('=') else '= '}}} {line}" for line in lines[1:])]


def _part(part: Part, name: str) -> str:
    name = f"{part.count} more" if part.count > 1 else name
    text = tex_of(part.text)
    return rf"\underbrace{{({text})}}_{{\text{{{name}}}}}" if name else text


def products(pairs: Iterable[tuple[float, float]], total: WrittenSum, narrow: bool) -> list[str]:
    """= a b + c d + ..., in lines: each written term of a sum of products as its two factors."""
    factors = list(pairs)
    written_out = [
        r"\cdots" if part.count > 1 else rf"{factor(factors[part.first][0])} \cdot {factor(factors[part.first][1])}"
        for part in total.parts
    ]
    each = 1 if narrow else 4
    lines = [" + ".join(written_out[at : at + each]) for at in range(0, len(written_out), each)]
    return [rf"\phantom{{q}} = {lines[0]}", *(rf"\phantom{{q = }} {{}} + {line}" for line in lines[1:])]


def tex(value: float) -> str:
    """With four digits."""
    return tex_of(written(float(value)))


def tex_of(text: str) -> str:
    """What `written` wrote: its e-07 becomes a power of ten."""
    mantissa, _, power = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def factor(value: float) -> str:
    """A number as a factor: with brackets if it is negative."""
    shown = tex(value)
    return f"({shown})" if shown.startswith("-") else shown
