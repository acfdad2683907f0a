"""One cell's way through a head, step by step: a sentence, the formula with the cell's own numbers, the matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mha import figures
from mha.arrays import Array
from mha.config import Model
from mha.figures import Matrix, Outline
from mha.rounding import written
from mha.steps import Steps, steps
from mha.ui import address, browser, compute, maps, show
from mha.ui.compute import Pass
from mha.ui.formulas import factor, products, row_of, shortened, summed, tex, tex_of

NAMES = (
    "X",
    "Projections",
    "q, k, v",
    "Dot product",
    "Scale",
    "Mask",
    "Softmax",
    "Weighted sum",
    "Output",
)
TITLES = (
    "Every token is a row of numbers",
    "The head's own columns of the projections",
    "Query, key and value",
    "The raw dot product",
    "Divided by the square root of d<sub>k</sub>",
    "The mask",
    "Softmax: scores become weights",
    "The weighted sum of the values",
    "All heads together, and through W<sub>o</sub>",
)

_NARROW_WIDTH = 340  # px

# On paper: the steps, and a line that says what they belong to, but none of the controls.
STYLES = """<style>
.hl-trail { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: 0 !important; padding: 0 !important;
  list-style: none; }
.hl-trail li { margin: 0 !important; }
.hl-trail li { opacity: .7; font-size: .9rem; }
.hl-trail li.hl-here { opacity: 1; font-weight: 700; text-decoration: underline; text-underline-offset: .3em; }
.hl-shares { display: grid; grid-template-columns: max-content max-content 1fr; gap: .3rem .8rem; margin: 0;
  align-items: center; max-width: 40rem; font-variant-numeric: tabular-nums; }
.hl-shares .hl-bar { height: .8rem; min-width: 1px; border-radius: 2px; print-color-adjust: exact; }
.hl-shares .hl-this { font-weight: 700; }
.hl-on-paper { display: none; }
h4.hl-step { margin: .6rem 0 0; padding: 0; }
[class*="st-key-step_part_"] .katex-display { margin: 0; padding: .3rem 0 .5rem; overflow: auto hidden; }
[class*="st-key-step_part_"] .stPlotlyChart { margin-top: .5rem; }
[class*="st-key-step_part_"] .katex-display, [class*="st-key-step_part_"] .katex-display > .katex {
  text-align: left !important; }
@media (max-width: 640px) { [class*="st-key-step_part_"] .katex { font-size: .95rem; } }
@media print {
  @page { size: A4; margin: 12mm; }
  .stSidebar, .stAppHeader, header, .stToast, .st-key-text_row, .st-key-cell_choice, .st-key-walk,
  .st-key-numbers { display: none !important; }
  .hl-on-paper { display: block; }
  html, body, #root, #root > *, #root > * > *, .stApp,
  .stApp > *, .stMain, .stAppViewContainer { position: static !important; overflow: visible !important;
    height: auto !important; }
  .stMainBlockContainer { padding: 0 !important; zoom: .78; }
  [class*="st-key-step_part_"] { break-inside: avoid; }
}
</style>"""

# Paper is light: a dark page is printed inverted, and its hues turned back. The filter leaves the sheet as it is, which
# takes on the background of html or body, so nothing of the page may paint one.
DARK_ON_PAPER = """<style>
@media print {
  html { filter: invert(1) hue-rotate(180deg); background: #fff !important; }
  body, #root, .stApp { background: transparent !important; }
}
</style>"""


class Places(NamedTuple):
    """Where the controls stand: below each other, in few lines, so that a projector shows the matrices too."""

    cell: DeltaGenerator
    walk: DeltaGenerator


def places() -> Places:
    """The page's own styles, and the rows of its controls."""
    st.html(STYLES + DARK_ON_PAPER if show.theme() == "dark" else STYLES)
    return Places(
        st.container(key="cell_choice", horizontal=True, vertical_alignment="bottom", gap="medium"),
        st.container(key="walk", horizontal=True, vertical_alignment="center", gap="medium"),
    )


def choose(run: Pass) -> Steps:
    """The cell that is followed: a head, a query and a key."""
    h = maps.choose_head(run)
    i = maps.choose_token(run, "Query: the token that looks", "query")
    j = maps.choose_token(run, "Key: what it looks at", "key_at", default=1)
    with compute.errors_shown():
        return steps(run.X, run.X, run.X, run.weights, run.trace, mask=run.mask, h=h, i=i, j=j)


def choose_step() -> int | None:
    """One step by the slider, counted from 1; None is all of them."""
    all_steps = address.bound(
        st.toggle, "All steps", key="all_steps", help="Shows all nine in order, as for printing the page."
    )
    step: int = address.bound(
        st.slider,
        "Step",
        key="step",
        min_value=1,
        max_value=len(NAMES),
        value=1,
        disabled=all_steps,
        help="From the tokens' numbers (1) to the output (9); the arrow keys move it too.",
    )
    return None if all_steps else step


def step_by_step(run: Pass, cell: Steps, model: Model, step: int | None) -> None:
    """One step, or all of them in order."""
    with st.container(key="trail", gap="xsmall"):
        _trail(step)
        _which_cell(run, cell, model)
        narrow = browser.is_narrow()
    for n in (step,) if step else range(1, len(NAMES) + 1):
        with st.container(key=f"step_part_{n}", gap="xsmall"):
            st.html(f'<h4 class="hl-step">{n} · {TITLES[n - 1]}</h4>')
            _STEPS[n - 1](run, cell, narrow)
    show.line(
        "Every number is the real one, computed with all digits and the same as in the maps. It is written rounded to "
        "four digits, with more in a sum where it needs them to add up as written.",
        quiet=True,
    )


def _trail(here: int | None) -> None:
    items = [
        f"<li{' class=hl-here aria-current=step' if n == here else ''}>{n} {name}</li>"
        for n, name in enumerate(NAMES, start=1)
    ]
    st.html(f'<ol class="hl-trail">{"".join(items)}</ol>')


def _which_cell(run: Pass, cell: Steps, model: Model) -> None:
    query, key = show.quoted(run.tokens[cell.i]), show.quoted(run.tokens[cell.j])
    st.html(
        f'<p class="hl-line">{show.swatch(figures.HEAD_COLOURS[cell.h])}<b>One cell of head {cell.h + 1}</b>: '
        f"query {query} ({cell.i + 1}, solid frames), key {key} ({cell.j + 1}, dashed frames), "
        f"weight <b>{written(cell.weight)}</b>.</p>"
        f'<p class="hl-line hl-quiet hl-on-paper">Headlight: {len(run.tokens)} tokens, width {model.d_model}, '
        f"{model.num_heads} heads, start values {model.init}, token vectors {model.values}, positions "
        f"{model.positions}, bias {'on' if model.bias else 'off'}, seed {model.seed}.</p>"
    )


def _embeddings(run: Pass, cell: Steps, narrow: bool) -> None:
    D = run.weights.d_model
    show.line(f"X has a row of {D} numbers for each token. The same word always has the same row, before positions.")
    _formula(
        row_of(rf"x_{{{cell.i + 1}}}", cell.x_i, narrow),
        row_of(rf"x_{{{cell.j + 1}}}", cell.x_j, narrow),
    )
    rows = _rows_of_both(cell)
    _draw(narrow, "X", Matrix(run.X[0], "X", ("T", "D"), rows=run.tokens, outlines=rows))


def _projections(run: Pass, cell: Steps, narrow: bool) -> None:
    H, K, D = run.weights.num_heads, cell.d_k, run.weights.d_model
    first, last = cell.columns.start + 1, cell.columns.stop
    show.line(
        f"Head {cell.h + 1} owns {_counted(K, 'column')} of each projection: {_span(first, last)} of {D}. "
        "All tokens go through the same three matrices."
    )
    _formula(
        rf"d_k = D / h = {D} / {H} = {K}",
        rf"W_q^{{({cell.h + 1})}} = \text{{columns {first} to {last} of }} W_q,\text{{ and the same of }} W_k, W_v",
    )
    parts = (("W_q", cell.W_q), ("W_k", cell.W_k), ("W_v", cell.W_v))
    _draw(
        narrow,
        "projections",
        *(Matrix(values, f"{name}, head {cell.h + 1}", ("D", "d_k"), first_column=first - 1) for name, values in parts),
    )


def _query_key_value(run: Pass, cell: Steps, narrow: bool) -> None:
    show.line("A token's query is its row of X times W_q; its key and value come from the same row by W_k and W_v.")
    _formula(
        *_projected("q", cell.i, cell.h, cell.x_i, cell.W_q, cell.b_q, cell.q_i, run.weights.b_q is not None, narrow),
        *_projected("k", cell.j, cell.h, cell.x_j, cell.W_k, cell.b_k, cell.k_j, run.weights.b_k is not None, narrow),
        *_projected("v", cell.j, cell.h, cell.y_j, cell.W_v, cell.b_v, cell.v_j, run.weights.b_v is not None, narrow),
    )
    trace, h = run.trace, cell.h
    query, key = _outline_row(cell.i), _outline_row(cell.j, dashed=True)
    _draw(
        narrow,
        "qkv",
        Matrix(trace.q[0, h], "q", ("T", "d_k"), rows=run.tokens, outlines=(query,)),
        Matrix(trace.k[0, h], "k", ("T", "d_k"), rows=run.tokens, outlines=(key,), labels_rows=False),
        Matrix(trace.v[0, h], "v", ("T", "d_k"), rows=run.tokens, outlines=(key,), labels_rows=False),
    )


def _projected(
    letter: str, at: int, h: int, x: Array, W: Array, b: Array, result: Array, with_bias: bool, narrow: bool
) -> Iterator[str]:
    """A row times a matrix in symbols, and its first number written out."""
    name = f"{letter}_{{{at + 1}}}"
    bias = f" + b_{letter}^{{({h + 1})}}" if with_bias else ""
    yield rf"{name} = x_{{{at + 1}}}\, W_{letter}^{{({h + 1})}}{bias}"
    terms = [*(x * W[:, 0]), *([b[0]] if with_bias else [])]
    yield from summed(rf"{letter}_{{{at + 1},1}}", shortened(terms, result[0], narrow), narrow)


def _dot_product(run: Pass, cell: Steps, narrow: bool) -> None:
    i, j = cell.i + 1, cell.j + 1
    show.line("How well does the key fit the query? Each number of q times the number of k below it, all added up.")
    total = shortened(cell.products, cell.raw, narrow)
    _formula(
        rf"q_{{{i}}} \cdot k_{{{j}}} = \textstyle\sum_{{m=1}}^{{{cell.d_k}}} q_{{{i},m}}\, k_{{{j},m}}",
        *products(zip(cell.q_i, cell.k_j, strict=True), total, narrow),
        *summed(r"\phantom{q}", total, narrow),
    )
    _draw(
        narrow,
        "dot_product",
        Matrix(
            np.array([cell.q_i, cell.k_j, cell.products]),
            "q, k and their product, term by term",
            ("3", "d_k"),
            rows=(f"q_{i}", f"k_{j}", "q\u00d7k"),
            numbered=False,
            outlines=(Outline(rows=range(2, 3)),),
        ),
    )


def _scaled(run: Pass, cell: Steps, narrow: bool) -> None:
    i, j, K = cell.i + 1, cell.j + 1, cell.d_k
    show.line(
        "Sums of many terms grow with their number; divided by the square root of the head's width they stay alike."
    )
    _formula(
        rf"s_{{{i},{j}}} = \dfrac{{q_{{{i}}} \cdot k_{{{j}}}}}{{\sqrt{{d_k}}}}"
        rf" = \dfrac{{{tex(cell.raw)}}}{{\sqrt{{{K}}}}} = \dfrac{{{tex(cell.raw)}}}{{{tex(cell.root)}}}"
        rf" = {tex(cell.score)}"
    )
    scores = run.trace.scores[0, cell.h]
    _draw(
        narrow,
        "scores",
        Matrix(scores * cell.root, "q k\u1d40, raw", ("Tq", "Tk"), rows=run.tokens, outlines=_around_cell(cell)),
        Matrix(
            scores,
            "s = q k\u1d40 / \u221ad_k",
            ("Tq", "Tk"),
            rows=run.tokens,
            outlines=_around_cell(cell),
            labels_rows=False,
        ),
    )


def _masked(run: Pass, cell: Steps, narrow: bool) -> None:
    i, j = cell.i + 1, cell.j + 1
    rules = " and ".join(cell.blocked_by) or "the mask"
    if cell.allowed:
        said = f"Query {i} may look at key {j}: no rule blocks this cell, and its score stays {written(cell.score)}."
    else:
        said = f"Blocked by {rules}: the score of query {i} and key {j} is left out of the softmax."
    show.line(said)
    if cell.no_key_left:
        show.line(f"Query {i} has no key left: all its weights are 0.")
    else:
        left = int(cell.row_allowed.sum())
        show.line(f"{left} of {_counted(len(cell.row_allowed), 'key')} are left for query {i}.", quiet=True)
    allowed = run.trace.mask[0, cell.h]
    _draw(
        narrow,
        "mask",
        Matrix(
            run.trace.scores[0, cell.h],
            "s, blocked cells hatched",
            ("Tq", "Tk"),
            rows=run.tokens,
            columns=run.tokens,
            outlines=_around_cell(cell),
            blocked=~allowed,
        ),
    )


def _softmax(run: Pass, cell: Steps, narrow: bool) -> None:
    i, j = cell.i + 1, cell.j + 1
    if cell.no_key_left:
        show.line(f"Query {i} has no key left: there is nothing to share out. Its weights are 0, not undefined.")
        return
    show.line("Powers of e make all scores positive; divided by their sum they add up to 1. Blocked keys take no part.")
    powers = cell.powers[cell.row_allowed]
    own = int(cell.row_allowed[: cell.j].sum()) if cell.allowed else None
    total = shortened(powers, cell.total, narrow, keep=[] if own is None else [own])
    lines = [
        rf"\textstyle\max_m s_{{{i},m}} = {tex(cell.peak)}",
        *summed(rf"Z = \textstyle\sum_m e^{{s_{{{i},m}} - \max}}", total, narrow, own, f"key {j}"),
    ]
    if cell.allowed:
        power = written(float(cell.powers[cell.j]))
        lines += [
            rf"e^{{s_{{{i},{j}}} - \max}} = e^{{{tex(float(cell.row_scores[cell.j]))} - {factor(cell.peak)}}}"
            rf" = {tex_of(power)}",
            rf"A_{{{i},{j}}} = \dfrac{{{tex_of(power)}}}{{{tex_of(total.total)}}} = {tex(cell.weight)}",
        ]
    else:
        lines += [rf"A_{{{i},{j}}} = 0 \quad\text{{(blocked)}}"]
    if cell.allowed and not cell.powers[cell.j]:
        show.line("Its power of e is smaller than any number a computer keeps, so it is 0 though nothing blocks it.")
    lines += [rf"\textstyle\sum_m A_{{{i},m}} = {tex(float(cell.row_weights.sum()))}"]
    _formula(*lines)
    _draw(
        narrow,
        "softmax",
        Matrix(
            np.array([cell.powers, cell.row_weights]),
            f"Row of query {i}: powers of e, and weights A",
            ("2", "Tk"),
            rows=("e^(s\u2212max)", "A"),
            numbered=False,
            columns=run.tokens,
            outlines=(Outline(columns=range(cell.j, j), dashed=True),),
            blocked=np.array([~cell.row_allowed] * 2),
            scale=figures.WEIGHTS,  # powers of e lie from 0 to 1 too, as the largest is e^0
        ),
    )


def _weighted_sum(run: Pass, cell: Steps, narrow: bool) -> None:
    i = cell.i + 1
    show.line("Every value counts as much as its weight says; their sum is what the head hands on for this query.")
    terms = cell.weighted_values[:, 0]
    total = shortened(terms, cell.head_output[0], narrow, keep=[cell.j])
    _formula(
        rf"o_{{{i},1}}^{{({cell.h + 1})}} = \textstyle\sum_{{m=1}}^{{{len(terms)}}} A_{{{i},m}}\, v_{{m,1}}",
        *products(zip(cell.row_weights, run.trace.v[0, cell.h, :, 0], strict=True), total, narrow),
        *summed(r"\phantom{q}", total, narrow, cell.j, f"key {cell.j + 1}"),
    )
    key = _outline_row(cell.j, dashed=True)
    weights = cell.row_weights[:, None]
    blocked = ~cell.row_allowed[:, None]
    values, weighted = run.trace.v[0, cell.h], cell.weighted_values
    tokens = run.tokens
    _draw(
        narrow,
        "weighted_sum",
        Matrix(weights, "A", ("Tk", "1"), rows=tokens, outlines=(key,), blocked=blocked, scale=figures.WEIGHTS),
        Matrix(values, "v", ("Tk", "d_k"), rows=tokens, outlines=(key,), labels_rows=False),
        Matrix(
            weighted,
            "A \u00d7 v",
            ("Tk", "d_k"),
            rows=tokens,
            outlines=(key,),
            blocked=blocked.repeat(cell.d_k, axis=1),
            labels_rows=False,
            scale="weighted",  # with many keys far smaller than the values
        ),
    )
    _draw(
        narrow, "head_output", Matrix(cell.head_output[None], f"Their sum: output of head {cell.h + 1}", ("1", "d_k"))
    )


def _output(run: Pass, cell: Steps, narrow: bool) -> None:
    i, H = cell.i + 1, run.weights.num_heads
    place = _span(cell.columns.start + 1, cell.columns.stop)
    show.line(
        f"The heads' outputs stand side by side, head {cell.h + 1} at {place}, and go through W_o. "
        "That is the same as each head going through its own rows of W_o, and adding up what they give."
    )
    with_bias = run.weights.b_o is not None
    terms = [*cell.contributions[:, 0], *([cell.b_o[0]] if with_bias else [])]
    total = shortened(terms, cell.output[0], narrow, keep=[cell.h])
    bias = " + b_o" if with_bias else ""
    _formula(
        rf"\mathrm{{concat}}_{{{i}}} = [\,o_{{{i}}}^{{(1)}}"
        + (rf"\;\cdots\;o_{{{i}}}^{{({H})}}" if H > 1 else "")
        + r"\,]",
        rf"y_{{{i}}} = \mathrm{{concat}}_{{{i}}}\, W_o{bias}"
        rf" = \textstyle\sum_{{n=1}}^{{{H}}} o_{{{i}}}^{{(n)}}\, W_o^{{(n)}}{bias}",
        *summed(rf"y_{{{i},1}}", total, narrow, cell.h, f"head {cell.h + 1}"),
    )
    own = Outline(columns=cell.columns)
    _draw(narrow, "concat", Matrix(cell.concat[None], f"concat, row {i}", ("1", "D"), outlines=(own,)))
    _draw(
        narrow,
        "W_o",
        Matrix(cell.W_o, f"W_o, rows of head {cell.h + 1} framed", ("D", "D"), outlines=(Outline(rows=cell.columns),)),
        Matrix(
            cell.contributions,
            "What each head adds",
            ("h", "D"),
            outlines=(_outline_row(cell.h),),
        ),
    )
    _draw(narrow, "output", Matrix(cell.output[None], f"Output y, row {i}", ("1", "D")))
    _shares(cell)


def _shares(cell: Steps) -> None:
    """How much of the output row comes from each head, as bars with their numbers."""
    if np.isnan(cell.shares).any():
        show.line("No head adds anything to this row, so there are no shares.")
        return
    rows = [
        f"<span{' class=hl-this' if h == cell.h else ''}>Head {h + 1}</span>"
        f"<span{' class=hl-this' if h == cell.h else ''}>{100 * share:.1f}%</span>"
        f'<span class="hl-bar" style="width:{100 * share / cell.shares.max():.1f}%;background:'
        f'{figures.HEAD_COLOURS[h]}"></span>'
        for h, share in enumerate(cell.shares)
    ]
    show.line("Each head's share: the length of what it adds, of the sum of all these lengths.")
    st.html(f'<div class="hl-shares">{"".join(rows)}</div>')


_STEPS: tuple[Callable[[Pass, Steps, bool], None], ...] = (
    _embeddings,
    _projections,
    _query_key_value,
    _dot_product,
    _scaled,
    _masked,
    _softmax,
    _weighted_sum,
    _output,
)


def numbers(run: Pass, cell: Steps) -> None:
    """Every number of the cell's way as a table, made only when it is opened."""
    closed = st.expander("The numbers", key="numbers", on_change="rerun")
    if not closed.open:
        return
    labels = maps.position_labels(run.tokens)
    widths = [str(c + 1) for c in cell.columns]
    table = [
        ("q", widths, cell.q_i),
        ("k", widths, cell.k_j),
        ("q \u00d7 k", widths, cell.products),
        ("v", widths, cell.v_j),
        ("dot product", [""], np.array([cell.raw])),
        ("score", labels, cell.row_scores),
        ("power of e", labels, cell.powers),
        ("weight", labels, cell.row_weights),
        ("head output", widths, cell.head_output),
        ("share of head", [str(h + 1) for h in range(len(cell.shares))], cell.shares),
        ("output", [str(d + 1) for d in range(len(cell.output))], cell.output),
    ]
    frame = pd.DataFrame(
        [(name, at, value) for name, places, values in table for at, value in zip(places, values, strict=True)],
        columns=["number", "of", "value"],
    )
    with closed:
        st.dataframe(
            frame,
            hide_index=True,
            placeholder="not defined",
            column_config={"value": st.column_config.NumberColumn(format="%.6f")},
            alt="All numbers of the cell's way",
        )


def _draw(narrow: bool, key: str, *shown: Matrix) -> None:
    width = _NARROW_WIDTH if narrow else figures.MATRICES_WIDTH
    draw = partial(figures.matrices, shown, width=width, stacked=narrow)
    title = ", ".join(matrix.name for matrix in shown)
    show.chart(draw, key=f"matrices_{key}", alt=figures.describe_matrices(shown), title=title, width=width)


def _formula(*lines: str) -> None:
    """Formulas of ours, one below the other. Tokens never come here: they are named by their position."""
    for line in lines:
        st.latex(line, width="content")


def _outline_row(at: int, *, dashed: bool = False) -> Outline:
    return Outline(rows=range(at, at + 1), dashed=dashed)


def _rows_of_both(cell: Steps) -> tuple[Outline, ...]:
    query, key = _outline_row(cell.i), _outline_row(cell.j, dashed=True)
    return (query,) if cell.i == cell.j else (query, key)


def _around_cell(cell: Steps) -> tuple[Outline, ...]:
    """The query's row, the key's column, and where they meet."""
    row, column = range(cell.i, cell.i + 1), range(cell.j, cell.j + 1)
    return Outline(rows=row), Outline(columns=column, dashed=True), Outline(rows=row, columns=column)


def _counted(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}"


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"
