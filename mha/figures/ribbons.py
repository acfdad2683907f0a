"""Outlines of arrows as SVG paths, in px with y downwards: a shaft as thick as its weight says, and a head.

All outlines of a figure turn the same way round, so that where two overlap in one path nothing is cut out.
"""

from __future__ import annotations

from math import hypot

_ROUND = 4 / 3  # control points this much higher than the arc put its top at the wanted height


def thickness(weight: float) -> float:
    """Of a shaft, px: grows evenly with the weight, from a hair to 6.6."""
    return 0.6 + 6 * weight


def head_size(thick: float) -> tuple[float, float]:
    """Length and half the width of an arrow's head, px."""
    return 5 + 0.9 * thick, 2.6 + 0.75 * thick


def arc(start: float, end: float, y: float, rise: float, thick: float, px: float) -> str:
    """An arc from x = start to x = end: over the row at y if it goes right, and under it if it goes left.

    Half a turn takes the one into the other. px: what a px is in the unit of the path's x.
    """
    side = 1 if end >= start else -1
    long, wide = head_size(thick)
    half = thick / 2
    neck = y - side * long
    outer, inner = y - side * _ROUND * (rise + half), y - side * _ROUND * (rise - half)

    def at(x: float, across: float, height: float) -> str:
        return f"{(x + side * across) * px:.5f} {height:.1f}"

    return (
        f"M{at(start, -half, y)}C{at(start, -half, outer)} {at(end, half, outer)} {at(end, half, neck)}"
        f"L{at(end, wide, neck)}L{at(end, 0, y)}L{at(end, -wide, neck)}L{at(end, -half, neck)}"
        f"C{at(end, -half, inner)} {at(start, half, inner)} {at(start, half, y)}Z"
    )


def drop(start: float, end: float, upper: float, lower: float, thick: float, px: float) -> str:
    """A curve from x = start on the upper row down to x = end on the lower one."""
    long, wide = head_size(thick)
    half = thick / 2
    neck, middle = lower - long, (upper + lower - long) / 2
    # In the middle the curve is flatter than at its ends: there its two sides have to part upwards and downwards.
    run, fall = end - start, neck - upper
    part = half * (hypot(2 * run, fall) - fall) / (1.5 * run) if run else 0.0

    def at(x: float, height: float) -> str:
        return f"{x * px:.5f} {height:.1f}"

    return (
        f"M{at(start + half, upper)}"
        f"C{at(start + half, middle - part)} {at(end + half, middle - part)} {at(end + half, neck)}"
        f"L{at(end + wide, neck)}L{at(end, lower)}L{at(end - wide, neck)}L{at(end - half, neck)}"
        f"C{at(end - half, middle + part)} {at(start - half, middle + part)} {at(start - half, upper)}Z"
    )
