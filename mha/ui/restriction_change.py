"""What the restriction did to the output and to each head, as bars and tables, and the rows it left no key."""

from __future__ import annotations

from functools import partial
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from mha import figures, measures
from mha.arrays import Array
from mha.no_key import in_runs, rows_without_key
from mha.restriction import head_summaries
from mha.rounding import percent
from mha.ui import maps, show
from mha.ui.restriction_views import NUMBER, PERCENT, Restricted

MOST_UNFOLDED = 4  # lines of the list of rows with no key left that need no click


def output(run: Restricted) -> None:
    """How far the output moved at each position: as bars, and in numbers."""
    made = run.made
    length, relative, cosine = made.change_length[0], made.relative_change[0], made.cosine[0]
    show.line("How far each output moved, relative to its own length before:")
    draw = partial(
        figures.position_bars,
        100 * relative[None],
        run.tokens,
        names=["All heads together"],
        colours=[figures.MEAN_COLOUR],
        unit="change, %",
        number=".1f",
        **maps.fitting(),
    )
    known = relative[~np.isnan(relative)]
    alt = f"A bar for each of {len(relative)} positions, " + (
        f"from {percent(known.min())} to {percent(known.max())}." if len(known) else "none of them defined."
    )
    show.chart(draw, key="restriction_output", alt=alt)
    table = pd.DataFrame(
        {
            "before": np.linalg.norm(made.baseline.output[0], axis=-1),
            "now": np.linalg.norm(made.restricted.output[0], axis=-1),
            "length": length,
            "relative": 100 * relative,
            "cosine": cosine,
        },
        index=pd.Index(run.labels, name="Position"),
    )
    number = st.column_config.NumberColumn
    columns = {
        "before": number("Length before", format=NUMBER),
        "now": number("Length now", format=NUMBER),
        "length": number("Change", format=NUMBER, help="The length of restricted minus original output."),
        "relative": number("Of its length before", format=PERCENT),
        "cosine": number("Cosine", format="%.3f", help="1: same direction, 0: at right angles, -1: opposite."),
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt="Change of the output per position")


def heads(run: Restricted) -> None:
    """The change of the output split by head, what each head lost, and what heads have in common."""
    made = run.made
    show.line(
        "The output is a sum over the heads, each through its own rows of W_o, so its change is one too. Each bar is "
        "the length of the change, split by how far each head moved the output that way; a part below 0 goes against "
        "the others."
    )
    parts = np.where(np.isnan(made.head_shares[0]), 0.0, made.head_shares[0]) * made.change_length[0]
    draw = partial(
        figures.position_bars,
        parts,
        run.tokens,
        names=run.names,
        colours=figures.HEAD_COLOURS[: run.H],
        unit="change of the output",
        **maps.fitting(),
    )
    shares = _mean_shares(run)
    said = "; ".join(f"{name} {percent(share)}" for name, share in zip(run.names, shares, strict=True))
    told = "No output changes." if np.isnan(shares).any() else f"Mean shares: {said}."
    alt = f"Bars of {len(run.tokens)} positions, split by head. {told}"
    show.chart(draw, key="restriction_heads", alt=alt)
    _legend(run)
    kept = "within" if made.residual <= made.bound else "OUTSIDE"
    show.line(
        f"They add up: the heads’ changes summed differ from the output’s change by at most {made.residual:.1e}, "
        f"{kept} the bound for rounding of {made.bound:.1e}.",
        quiet=True,
    )
    _heads_table(run, shares)
    _overlap(run)


def _mean_shares(run: Restricted) -> Array:
    """Each head's share, (H,), mean over the positions whose output changed by more than rounding."""
    moved = run.made.change_length[0] > run.made.bound
    return measures.mean_defined(np.where(moved, run.made.head_shares[0], np.nan))[0]


def _legend(run: Restricted) -> None:
    items = "".join(
        f'<span style="white-space:nowrap">{show.swatch(figures.HEAD_COLOURS[h])} {escape(name)}</span> '
        for h, name in enumerate(run.names)
    )
    st.html(f'<p class="hl-line hl-heads" style="display:flex;flex-wrap:wrap">{items}</p>')


def _heads_table(run: Restricted, shares: Array) -> None:
    found = head_summaries(run.made)
    table = pd.DataFrame(
        {
            "lost": [100 * head.forbidden_weight for head in found],
            "even": [100 * head.forbidden_if_even for head in found],
            "before": [head.entropy_before for head in found],
            "now": [head.entropy_after for head in found],
            "entropy": [head.entropy_change for head in found],
            "length": [head.change_length for head in found],
            "share": 100 * shares,
            "empty": [head.empty_after for head in found],
        },
        index=pd.Index(run.names, name="Head"),
    )
    number = st.column_config.NumberColumn
    columns = {
        "lost": number(
            "On forbidden keys", format=PERCENT, help="How much of its attention had been on what is forbidden."
        ),
        "even": number("An even look", format=PERCENT, help="What it would have been had it looked at all keys alike."),
        "before": number("Entropy before", format="%.2f", help="In bits, mean over the queries with a key."),
        "now": number("Entropy now", format="%.2f", help="In bits, mean over the queries that have a key left."),
        "entropy": number("Its change", format="%+.2f", help="Mean over the queries that have a key in both."),
        "length": number(
            "Moved by",
            format=NUMBER,
            help="The change of what it adds to the output, mean length, through its rows of W_o.",
        ),
        "share": number("Share of change", format=PERCENT, help="Mean over positions that changed; sums to 100."),
        "empty": number("No key left", help=f"Rows, of {len(run.tokens)}."),
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt="What the restriction did to each head")


def _overlap(run: Restricted) -> None:
    if run.H == 1:
        return
    st.markdown("##### What two heads have in common")
    show.line(
        "The attention that both give to the same keys, mean over the queries: 1 is the same map, 0 no key in common.",
        quiet=True,
    )
    for place, title, trace in zip(
        st.columns(2), ("Original", "Restricted"), (run.made.baseline, run.made.restricted), strict=True
    ):
        found = measures.overlap(trace.weights[0], trace.mask[0])
        np.fill_diagonal(found, np.nan)
        table = pd.DataFrame(found, columns=run.names, index=pd.Index(run.names, name=title))
        number = st.column_config.NumberColumn(format="%.2f")
        with place:
            st.dataframe(
                table,
                column_config=dict.fromkeys(run.names, number),
                placeholder="–",
                alt=f"What two heads have in common, {title.lower()}",
            )


def no_key_left(run: Restricted) -> None:
    """Every row with no key left, and the rules that together leave it none."""
    found = rows_without_key(run.mask)
    if not found:
        return
    rows = sum(len(each.queries) for each in found)
    with st.expander(
        f"No key left in {rows:,} of {run.trace.empty_rows.size:,} rows", expanded=rows <= len(run.tokens)
    ):
        for each in found:
            queries = "query" if len(each.queries) == 1 else "queries"
            show.line(f"Head {each.h + 1}, {queries} {in_runs(each.queries)}: {why(each.rules, each.h, run)}.")
        show.line(
            "Such a row has no weights to share out: they are 0 here, and so is what the head adds at that position. "
            "PyTorch gives NaN there.",
            quiet=True,
        )


def why(names: tuple[str, ...], h: int, run: Restricted) -> str:
    """Why these rules leave a row of head h no key, in words."""
    if names == ("head off",):
        return "the head is off"
    if len(names) == 1:
        allowed = np.broadcast_to(
            next(rule for rule in run.mask.rules if rule.name == names[0]).allowed, run.mask.allowed.shape
        )
        owns_none = not allowed[0, h].any()
        return f"“{names[0]}” leaves this head no position" if owns_none else f"“{names[0]}” alone blocks all keys"
    listed = " and ".join(f"“{name}”" for name in names)
    return f"each of {listed} leaves it keys, but none that all of them allow"
