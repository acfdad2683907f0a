"""`python -m mha.translator`: what the shipped weights are worth, as the tables of this folder's README."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from mha.arrays import Integers
from mha.translator.evaluate import Accuracy, accuracy, heads_off, looking_ahead, sample
from mha.translator.findings import crossings_shown
from mha.translator.model import Translator
from mha.translator.split import held_out_numbers
from mha.translator.weights import SHIPPED, load, shipped

DIGITS = range(1, 7)
LENGTHS = ("1 digit", *(f"{digits} digits" for digits in DIGITS[1:]))


def tables(translator: Translator, numbers: Integers) -> Iterator[str]:
    """Lines of Markdown: on `numbers`, and for heads on the sample of 500."""
    yield from _header("all held-out numbers", *LENGTHS)
    yield _row("intact", *_by_digits(accuracy(translator, numbers)))
    yield ""
    yield from _header("all held-out numbers", "without a crossing", "with a crossing")
    for ahead, result in looking_ahead(translator, numbers):
        parts = result.by_crossing()
        name = f"source words 1 to i{f' + {ahead}' if ahead else ''} and the end mark"
        yield _row(name, *(_share(one) for one in (result, parts[False], parts[True])))
    yield ""
    few = sample()
    shown, total = crossings_shown(translator, few)
    yield from _header(f"{len(few)} held-out numbers", *LENGTHS, "crossings shown")
    yield _row("intact", *_by_digits(accuracy(translator, few)), "")
    for head, result in heads_off(translator, few):
        said = f"{shown[head.head]} of {total}" if head.attention == "cross" else ""
        yield _row(f"{head.attention} head {head.head + 1} off", *_by_digits(result), said)


def _by_digits(result: Accuracy) -> list[str]:
    parts = result.by_digits()
    return [_share(result), *(_share(parts[digits]) for digits in DIGITS)]


def _share(result: Accuracy) -> str:
    """Rounded down: 1.000 is all of them."""
    right, of = int(result.right.sum()), len(result.right)
    return f"{1000 * right // of / 1000:.3f}" if of < 1000 else f"{100000 * right // of / 100000:.5f}"


def _header(*names: str) -> Iterator[str]:
    yield _row("", *names)
    yield _row(*["---"] * (len(names) + 1))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the tables of all shipped weights."""
    numbers = held_out_numbers()
    for name in SHIPPED:
        began = time.monotonic()
        sys.stdout.write(f"### `{name}`\n\n")
        for line in tables(Translator(load(shipped(name))), numbers):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        sys.stdout.write(f"\n{time.monotonic() - began:.0f} s\n\n")


if __name__ == "__main__":
    main()
