"""Arrows from each looking token to what it looks at, one lane per head: the picture of the Day 28 article."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mha.arrays import Array, real_array
from mha.figures import ribbons
from mha.figures.labels import full_label, literal_name, plain_label, short_label, text_width
from mha.figures.palette import Theme, default_colours, theme_named
from mha.figures.plain import BARE_AXIS, plain_layout

MOST_TOKENS = 40  # with more, only one looking token's arrows can be told apart
WIDTH = 820  # px: the main area of a page 1280 px wide, beside the sidebar

_FONT, _SMALL_FONT = 12, 11  # px
_MOST_TEXTS = 160  # each takes Plotly about a millisecond
_LOOP, _LOOP_RISE = 9.0, 15.0  # px: half the width, at most, and the height of a look at oneself
_ASIDE = 3.0  # px, at most, from a token's middle to where its arcs start and end
_PALE = 0.5  # opacity of all but a query's largest weight
_LOWEST_ARC = 14.0  # px
_SLOPE = 0.7  # below 1: more room between short arcs, which are many
_ALL_LANES, _HIGHEST_LANE, _LOWEST_LANE = 440.0, 90.0, 42.0  # px for the arcs of all lanes; of one side of a lane
_ACROSS = 84.0  # px between the two rows of a lane in cross-attention
_LABEL_GAP = 8.0  # px between two texts
_LANE_GAP = 10.0  # px
_DOT = 1.5  # px: half of a token's dot
_LABEL_PITCH = 13.0  # px from one upright label to the next
_SIDE = 10.0  # px left and right of everything


@dataclass(frozen=True)
class _Look:
    """One arrow: who looks at what, in which head."""

    h: int
    i: int
    j: int
    weight: float
    rank: int  # 0 for the query's largest weight


@dataclass(frozen=True)
class _Plan:
    """Where everything stands: x in px from the left edge of the tokens, y in px downwards from the first lane."""

    one_row: bool  # the same tokens look and are looked at
    queries: int
    keys: int
    lanes: int
    width: float  # of a row of tokens
    names: float  # width of the lanes' names
    turned: bool  # tokens do not fit side by side: they stand upright above and below all lanes
    rise: float  # of the longest arc
    farthest: int  # tokens from end to end of the longest arc
    above: float  # from a lane's top to the middle of its (upper) row
    lane: float  # from lane to lane
    row: float  # from the middle of a row of tokens to its border
    right: float  # how far a text sticks out at the right end
    only: int | None  # the one query that is drawn, its token in bold

    def query_x(self, i: int) -> float:
        return (i + 0.5) * self.width / self.queries

    def key_x(self, j: int) -> float:
        return (j + 0.5) * self.width / self.keys

    def row_y(self, h: int) -> float:
        return h * self.lane + self.above

    def has_texts(self, h: int) -> bool:
        """Whether a lane shows its tokens; in the others dots stand for them."""
        in_a_lane = self.queries if self.one_row else self.queries + self.keys
        return not self.turned and h % ceil(self.lanes * in_a_lane / _MOST_TEXTS) == 0

    @property
    def height(self) -> float:
        return self.lanes * self.lane


def arrows(
    weights: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: Sequence[str],
    top: int = 3,
    query: int | None = None,
    colours: Sequence[str] | None = None,
    width: int = WIDTH,
    theme: str = "light",
) -> dict[str, Any]:
    """The strongest `top` looks of each query as arrows, one lane per head, as the dict of a Plotly figure.

    weights: (H, Tq, Tk). rows: the Tq looking tokens; columns: the Tk tokens looked at. If both are the same, one row
    of tokens carries arcs: to the right above it, to the left below it, to itself as a small loop. Otherwise curves run
    from the upper row, the queries, down to the keys. A weight of 0 is never drawn. query: draws the arrows of that
    query alone, counted from 0; with more than 40 tokens None means the first. width: px the chart will be about wide.
    Raises ValueError for shapes that do not fit, and for a query that is not there.
    """
    values = _checked(weights, rows, columns, names, top)
    only = _only(query, rows, columns)
    looks = _strongest(values, top, only)
    colours = default_colours(len(names)) if colours is None else colours
    plan = _planned(looks, only, rows, columns, names, width)
    style = theme_named(theme)
    return {
        "data": [_hover(looks, plan, rows, columns, names), _texts(plan, rows, columns, names, colours, style)],
        "layout": _layout(looks, plan, rows, columns, colours, style),
    }


def arrows_caption(
    weights: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: Sequence[str],
    top: int = 3,
    query: int | None = None,
    **_: Any,
) -> str:
    """How to read the picture that `arrows` makes of the same arguments, and what is left out of it."""
    _checked(weights, rows, columns, names, top)
    only = _only(query, rows, columns)
    said = ["An arrow runs from the token that looks to what it looks at; the thicker, the larger the weight."]
    if list(rows) == list(columns):
        said.append("Arrows to the right pass above the tokens, to the left below; a loop is a look at itself.")
    else:
        said.append("The upper row of each head holds the queries, the lower one the keys.")
    most = "Only the largest weight" if top == 1 else f"At most the {top} largest weights"
    if only is None:
        said.append(f"{most} of each token {'is' if top == 1 else 'are'} drawn.")
    else:
        token = f"token {only + 1}, \u201c{plain_label(rows[only])}\u201d,"
        said.append(f"{most} of {token} {'is' if top == 1 else 'are'} drawn.")
    if top > 1:
        said.append("A token's largest is in full colour, the others are paler.")
    if query is None and only is not None:
        said.append(f"With more than {MOST_TOKENS} tokens the arrows of all would cover each other.")
    return " ".join(said)


def _checked(weights: ArrayLike, rows: Sequence[str], columns: Sequence[str], names: Sequence[str], top: int) -> Array:
    values = real_array(weights, "weights")
    shape = (len(names), len(rows), len(columns))
    if values.shape != shape or not values.size:
        raise ValueError(f"expected weights of shape (H, Tq, Tk) = {shape}, all at least 1, got {values.shape}")
    if top < 1:
        raise ValueError(f"expected top to be at least 1, got {top}")
    return values


def _only(query: int | None, rows: Sequence[str], columns: Sequence[str]) -> int | None:
    """The one query whose arrows are drawn, or None for all."""
    if query is None:
        return 0 if max(len(rows), len(columns)) > MOST_TOKENS else None
    if not 0 <= query < len(rows):
        raise ValueError(f"expected query from 0 to {len(rows) - 1}, got {query}")
    return query


def _strongest(values: Array, top: int, only: int | None) -> list[_Look]:
    first = 0 if only is None else only
    chosen = values if only is None else values[:, only : only + 1]
    order = np.argsort(-chosen, axis=-1, kind="stable")[..., :top]  # of equal ones the first keys
    largest = np.take_along_axis(chosen, order, axis=-1)
    places = np.argwhere(largest > 0)
    return [
        _Look(h, i + first, j, weight, rank)
        for (h, i, rank), j, weight in zip(
            places.tolist(), order[largest > 0].tolist(), largest[largest > 0].tolist(), strict=True
        )
    ]


def _planned(
    looks: list[_Look],
    only: int | None,
    rows: Sequence[str],
    columns: Sequence[str],
    names: Sequence[str],
    width: int,
) -> _Plan:
    one_row = list(rows) == list(columns)
    names_width = max(text_width(name, _FONT, 40) for name in names) + 30
    free = width - names_width - 2 * _SIDE
    widths = [[text_width(token, _SMALL_FONT) for token in tokens] for tokens in (rows, columns)]
    turned = any(_touch(each, free / len(each)) for each in widths)
    out = 0.0 if turned else max(0.0, *(max(each[0], each[-1]) / 2 - free / len(each) / 2 for each in widths))
    free -= 2 * out
    row = 5.0 if turned else 9.0
    rise = max(_LOWEST_LANE, min(_HIGHEST_LANE, _ALL_LANES / 2 / len(names)))
    distances = [look.j - look.i for look in looks]
    if one_row:
        over = rise + 6 if any(d > 0 for d in distances) else _LOOP_RISE + 6
        under = rise + 6 if any(d < 0 for d in distances) else 0.0
    else:
        over, under = 0.0, _ACROSS + row
    return _Plan(
        only=only,
        one_row=one_row,
        queries=len(rows),
        keys=len(columns),
        lanes=len(names),
        width=free,
        names=names_width + out,
        turned=turned,
        rise=rise,
        farthest=max((abs(d) for d in distances), default=1),
        above=over + row,
        lane=over + 2 * row + under + _LANE_GAP,
        row=row,
        right=out,
    )


def _touch(widths: list[float], pitch: float) -> bool:
    """Whether texts of these widths, `pitch` apart from middle to middle, come too close to each other."""
    return any((a + b) / 2 + _LABEL_GAP > pitch for a, b in pairwise(widths))


def _rise(look: _Look, plan: _Plan) -> float:
    """The farther the higher, no two distances the same."""
    distance = abs(look.j - look.i)
    if not distance:
        return _LOOP_RISE
    return _LOWEST_ARC + (plan.rise - _LOWEST_ARC) * ((distance - 1) / max(plan.farthest - 1, 1)) ** _SLOPE


def _outline(look: _Look, plan: _Plan) -> str:
    thick, y, px = ribbons.thickness(look.weight), plan.row_y(look.h), 1 / plan.width
    start, end = plan.query_x(look.i), plan.key_x(look.j)
    if not plan.one_row:
        return ribbons.drop(start, end, y + plan.row, y + plan.row + _ACROSS - plan.row, thick, px)
    pitch = plan.width / plan.keys
    if look.i == look.j:
        start, end = start - min(_LOOP, 0.3 * pitch), end + min(_LOOP, 0.3 * pitch)
    else:
        aside = min(_ASIDE, 0.1 * pitch) * (1 if end > start else -1)
        start, end = start + aside, end - aside
    border = y - plan.row if end > start else y + plan.row
    return ribbons.arc(start, end, border, _rise(look, plan), thick, px)


def _hover_point(look: _Look, plan: _Plan) -> tuple[float, float]:
    """The middle of an arrow's shaft."""
    middle = (plan.query_x(look.i) + plan.key_x(look.j)) / 2
    y = plan.row_y(look.h)
    if not plan.one_row:
        return middle, y + (plan.row + _ACROSS) / 2
    away = plan.row + _rise(look, plan)
    return middle, y - away if look.j >= look.i else y + away


def _hover(
    looks: list[_Look], plan: _Plan, rows: Sequence[str], columns: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    """Points at the tops of the arcs. A line without colour: marks would cost an element of the page each."""
    queries = [f"query {i + 1} \u201c{full_label(token)}\u201d" for i, token in enumerate(rows)]
    keys = [f"key {j + 1} \u201c{full_label(token)}\u201d" for j, token in enumerate(columns)]
    heads = [f"<b>{literal_name(name)}</b>" for name in names]
    points = [_hover_point(look, plan) for look in looks]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "arrows",
        "x": [x / plan.width for x, _ in points],
        "y": [y for _, y in points],
        "text": [f"{heads[a.h]}<br>{queries[a.i]} looks at {keys[a.j]}<br>weight {a.weight:.4f}" for a in looks],
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": "rgba(0,0,0,0)", "width": 0},
        "xaxis": "x2" if plan.turned else "x",
    }


def _texts(
    plan: _Plan,
    rows: Sequence[str],
    columns: Sequence[str],
    names: Sequence[str],
    colours: Sequence[str],
    style: Theme,
) -> dict[str, Any]:
    """Names of the heads and, if they fit side by side, the tokens of each lane."""
    words: list[tuple[float, float, str, str, int]] = []
    for h, (name, colour) in enumerate(zip(names, colours, strict=True)):
        title = f'<span style="color:{colour}">\u25a0</span> {literal_name(name)}'
        y = plan.row_y(h) + (0 if plan.one_row else (_ACROSS + plan.row) / 2)
        words.append((-plan.names, y, title, "middle right", _FONT))
    for h in range(plan.lanes):
        if not plan.has_texts(h):
            continue
        y = plan.row_y(h)
        labels = [_label(token, i == plan.only) for i, token in enumerate(rows)]
        words += [(plan.query_x(i), y, label, "middle center", _SMALL_FONT) for i, label in enumerate(labels)]
        if not plan.one_row:
            y += _ACROSS + plan.row
            words += [(plan.key_x(j), y, short_label(t), "middle center", _SMALL_FONT) for j, t in enumerate(columns)]
    return {
        "type": "scatter",
        "mode": "text",
        "name": "words",
        "x": [x / plan.width for x, *_ in words],
        "y": [y for _, y, *_ in words],
        "text": [text for _, _, text, _, _ in words],
        "textposition": [place for *_, place, _ in words],
        "textfont": {"size": [size for *_, size in words], "color": style.text},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _layout(
    looks: list[_Look],
    plan: _Plan,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Sequence[str],
    style: Theme,
) -> dict[str, Any]:
    above, below = (
        8 + max(text_width(token, _SMALL_FONT) for token in tokens) if plan.turned else 4.0
        for tokens in (rows, columns)
    )
    looking = [] if plan.only is None else [plan.only]
    wanted = [] if plan.only is None else [*(looking if plan.one_row else []), *(look.j for look in looks)]
    base = {"range": [-plan.names / plan.width, 1.0 + plan.right / plan.width], **BARE_AXIS}
    layout = plain_layout(style, _FONT) | {
        "height": round(plan.height + above + below),
        "margin": {"l": _SIDE, "r": _SIDE, "t": above, "b": below, "autoexpand": False},
        "xaxis": base | _upright_tokens(columns, wanted, plan.only if plan.one_row else None, plan.key_x, plan, style),
        "yaxis": {"range": [plan.height, 0], **BARE_AXIS, "showticklabels": False},
        "shapes": [*_dots(plan, style), *_ribbon_shapes(looks, plan, colours)],
        "hoverdistance": 25,
    }
    if plan.turned:
        wanted = wanted if plan.one_row else looking
        queries = _upright_tokens(rows, wanted, plan.only, plan.query_x, plan, style)
        layout["xaxis2"] = base | queries | {"side": "top", "overlaying": "x"}
    return layout


def _upright_tokens(
    tokens: Sequence[str],
    wanted: list[int],
    bold: int | None,
    x: Callable[[int], float],
    plan: _Plan,
    style: Theme,
) -> dict[str, Any]:
    """Tokens as upright labels of an axis, as many as do not touch, `wanted` first; none if they stand in the lanes."""
    if not plan.turned:
        return {"showticklabels": False}
    shown: list[int] = []
    for i in dict.fromkeys([*wanted, *range(len(tokens))]):
        if all(abs(x(i) - x(other)) >= _LABEL_PITCH for other in shown):
            shown.append(i)
    return {
        "tickmode": "array",
        "tickvals": [x(i) / plan.width for i in shown],
        "ticktext": [_label(tokens[i], i == bold) for i in shown],
        "tickangle": -90,
        "tickfont": {"size": _SMALL_FONT, "color": style.text},
    }


def _label(token: str, bold: bool) -> str:
    return f"<b>{short_label(token)}</b>" if bold else short_label(token)


def _dots(plan: _Plan, style: Theme) -> list[dict[str, Any]]:
    """Dots where the tokens stand in lanes without their texts."""
    path = "".join(
        _dot(x(i), y, 1 / plan.width)
        for h in range(plan.lanes)
        if not plan.has_texts(h)
        for y, count, x in _rows_of_dots(h, plan)
        for i in range(count)
    )
    dots = {"type": "path", "path": path, "fillcolor": style.quiet, "line": {"width": 0}, "layer": "below"}
    return [dots] if path else []


def _rows_of_dots(h: int, plan: _Plan) -> list[tuple[float, int, Callable[[int], float]]]:
    upper = plan.row_y(h)
    if plan.one_row:
        return [(upper, plan.queries, plan.query_x)]
    return [(upper, plan.queries, plan.query_x), (upper + _ACROSS + plan.row, plan.keys, plan.key_x)]


def _dot(x: float, y: float, px: float) -> str:
    left, right = f"{(x - _DOT) * px:.5f}", f"{(x + _DOT) * px:.5f}"
    return f"M{left} {y - _DOT:.1f}H{right}V{y + _DOT:.1f}H{left}Z"


def _ribbon_shapes(looks: list[_Look], plan: _Plan, colours: Sequence[str]) -> list[dict[str, Any]]:
    """Two paths per head, its queries' first choices over the others: many arrows in a path cost as much as one."""
    shapes = []
    for strongest in (False, True):
        outlines: list[list[str]] = [[] for _ in range(plan.lanes)]
        for look in looks:
            if (look.rank == 0) is strongest:
                outlines[look.h].append(_outline(look, plan))
        shapes += [
            {
                "type": "path",
                "path": "".join(parts),
                "fillcolor": colour,
                "fillrule": "nonzero",
                "line": {"width": 0},
                "opacity": 1 if strongest else _PALE,
                "layer": "above",
            }
            for parts, colour in zip(outlines, colours, strict=True)
            if parts
        ]
    return shapes
