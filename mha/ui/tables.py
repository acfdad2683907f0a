"""The measures of the heads as tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

import pandas as pd
import streamlit as st

from mha import measures
from mha.ui.compute import Pass
from mha.ui.maps import head_names, position_labels

COLUMNS = {
    "entropy": ("Entropy, bits", "%.2f", "0 is one key only; log2(n) is all n keys alike."),
    "entropy_share": ("Entropy, % of its maximum", "%.1f", "The maximum is log2 of the keys a query may look at."),
    "distance": ("Mean distance", "%.2f", "How many positions away the looked-at keys lie, weighted."),
    "peak": ("Largest weight", "%.3f", "The weight of each query's strongest key."),
    "on_first": ("On first token", "%.3f", "The weight that goes to the first token."),
    "on_self": ("On itself", "%.3f", "The weight a token keeps on itself."),
    "on_previous": ("On previous token", "%.3f", "The weight on the token before; not defined for the first."),
}


def measured(run: Pass) -> None:
    """The measures of every head, and the strongest key of every query."""
    head_measures(run)
    strongest_keys(run)


def head_measures(run: Pass, shown: Collection[str] = tuple(COLUMNS), *, self_attention: bool = True) -> None:
    """A row per head: means over the queries for which a measure is defined. shown: some of COLUMNS."""
    summary = measures.summarise(run.trace, self_attention=self_attention)
    table = pd.DataFrame([asdict(head) for head in summary], index=pd.Index(head_names(len(summary)), name="Head"))
    table["entropy_share"] *= 100
    columns = {name: column for name, column in COLUMNS.items() if name in shown}
    config = {
        name: st.column_config.NumberColumn(label, format=form, help=help_text)
        for name, (label, form, help_text) in columns.items()
    }
    st.dataframe(table[list(columns)], column_config=config, placeholder="not defined", alt="Measures of every head")
    queries = len(run.tokens)
    noun = "query" if queries == 1 else "queries"
    left_out = {label: summary[0].not_defined[name] for name, (label, _, _) in columns.items()}
    said = [f"{label} for {count} of {queries}" for label, count in left_out.items() if count]
    if said:
        st.caption(f"Means over {queries} {noun}. Left out because not defined: {'; '.join(said)}.")
    else:
        st.caption(f"Means over {queries} {noun}.")


def strongest_keys(run: Pass) -> None:
    """A row per query, a column per head: the key with the largest weight, and that weight."""
    labels = position_labels(run.tokens)
    weights, allowed = run.trace.weights[0], run.trace.mask[0]
    keys, peaks = measures.strongest_key(weights, allowed), measures.peak(weights, allowed)
    columns = {
        name: [
            left_to_right(f"{labels[j]}  {weight:.2f}") if j >= 0 else "no key left"
            for j, weight in zip(keys[h], peaks[h], strict=True)
        ]
        for h, name in enumerate(head_names(len(weights)))
    }
    st.dataframe(
        pd.DataFrame(columns, index=pd.Index(labels, name="Query")), alt="Strongest key of every query, by head"
    )


def left_to_right(text: str) -> str:
    """The text with its parts in order even when a token in it is written from right to left."""
    return f"\u2066{text}\u2069"
