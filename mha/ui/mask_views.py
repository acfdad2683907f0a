"""The pictures and tables of the Masks page: one text without any rule, with all of them, and what lies between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mha import figures
from mha.arrays import Array, Booleans
from mha.batches import Batch, embed_batch
from mha.config import Model
from mha.conventions import Convention, no_key_row
from mha.export import Scene, snippets
from mha.mask_effects import MaskEffect, head_mean, mask_effect
from mha.masks import Rule
from mha.no_key import in_runs
from mha.ui import address, browser, compute, lines, maps, show, take_away
from mha.ui.compute import Pass
from mha.ui.take_away import Taken

TRUE_MEANS = "True, or a checked box, means “may look”."
SEVERAL = "A cell that several rules block opens only when all of them are off."
WHY = {
    "padding": "the key stands behind the text's valid length",
    "causal": "the key stands after the query",
    "window": "the key stands farther away than the window reaches",
    "key range": "the key lies outside the stretch that this head has to itself",
    "custom": "its box is not checked",
}
PERCENT = "%.1f %%"
MOST_SIDE_BY_SIDE = 8  # heads in one row
NAMED = 3  # keys named as those that gained most
GAINED = "Summed over the text's own queries: 1 is all the weight of one of them."


@dataclass(frozen=True, eq=False)
class Masked(Pass):
    """One text of a batch under the rules; the rules are those of this text alone."""

    effect: MaskEffect
    length: int  # tokens of its own
    number: int  # of the text, as the person counts
    scene: Scene  # the whole batch

    @property
    def labels(self) -> list[str]:
        return maps.position_labels(self.tokens)

    @property
    def names(self) -> list[str]:
        return maps.head_names(self.trace.weights.shape[1])


def under_rules(batch: Batch, b: int, model: Model, rules: tuple[Rule, ...]) -> Masked:
    """Text b of the batch, before and after."""
    X = embed_batch(batch, model)[b : b + 1]
    weights = compute.drawn_weights(model.d_model, model.num_heads, model.seed, model.init, model.bias)
    own = [Rule(rule.name, rule.allowed[b : b + 1]) if len(rule.allowed) > 1 else rule for rule in rules]
    effect = mask_effect(X, X, X, weights, own)
    return Masked(
        tokens=lines.padded(batch, b),
        X=X,
        weights=weights,
        mask=effect.mask,
        trace=effect.after,
        effect=effect,
        length=len(batch.texts[b]),
        number=batch.numbers[b],
        scene=Scene(tuple(map(tuple, batch.texts)), model, rules),
    )


def measured(run: Masked) -> None:
    """What all rules together did, in one sentence."""
    show.line(sentence(run))


def sentence(run: Masked) -> str:
    """The measured sentence: how much was blocked, how much weight that took away, and who is left without a key."""
    blocked, cells = int((~run.mask.allowed).sum()), run.mask.allowed.size
    if not blocked:
        return "No rule blocks a cell of this text: the weights before and after are the same."
    rows = run.effect.removed[0, :, : run.length]
    said = (
        f"The rules block {blocked:,} of {cells:,} cells of text {run.number}. On average they take "
        f"{rows.mean():.1%} of the weight of a row away"
    )
    empty, all_rows = int(run.trace.empty_rows.sum()), run.trace.empty_rows.size
    if empty == all_rows:
        return f"{said}: no row has a key left."
    spread = "; softmax gives it to the keys that stay, in proportion to what they had"
    left = f". {empty:,} of {all_rows:,} rows have no key left and get nothing" if empty else ""
    return f"{said}{spread}{left}."


def all_heads(run: Masked) -> None:
    """Three maps of every head: before, after, difference."""
    count = run.trace.weights.shape[1]
    columns_per_row = {"columns_per_row": 2 if browser.is_narrow() else MOST_SIDE_BY_SIDE} if count > 3 else {}
    heads = list(range(count))
    maps.panels(run, _panels(run, heads), heads, key="all", **columns_per_row)
    _about_grey_rows(run, heads)


def one_head(run: Masked) -> None:
    """The same three maps of one head, larger, with their numbers."""
    h = maps.choose_head(run)
    maps.panels(run, _panels(run, [h]), [h], key="one", show_values=True)
    _about_grey_rows(run, [h])


def _about_grey_rows(run: Masked, heads: list[int]) -> None:
    if run.trace.empty_rows[0, heads].any():
        show.line("Rows that are plain grey have no key left.", quiet=True)


def _panels(run: Masked, heads: list[int]) -> list[figures.Panel]:
    was, now, allowed = run.effect.before.weights[0], run.trace.weights[0], run.mask.allowed[0]
    gained = now - was
    bound = float(np.abs(gained).max()) or 1.0  # the same for all heads
    rules = [(rule.name, np.broadcast_to(rule.allowed[0], allowed.shape)[heads]) for rule in run.mask.rules]
    after = "After" if allowed.all() else "After: blocked cells are hatched"
    return [
        figures.Panel("Before: no rule", was[heads]),
        figures.Panel(after, now[heads], allowed=allowed[heads], rules=rules),
        figures.Panel("Difference: after minus before", gained[heads], kind="difference", bound=bound),
    ]


def taken(run: Masked) -> Taken:
    """The whole batch; the report is of the text that is shown."""
    tables = lambda: (  # noqa: E731 - made when the report is
        take_away.heads_table(run.trace, f"Measures of every head, text {run.number} under the rules"),
        take_away.output_table(run.effect, run.labels),
    )
    findings = lambda: take_away.section("What the rules did", [sentence(run)])  # noqa: E731
    return take_away.of_scene(run.scene, tables=tables, findings=findings, behind=lambda: maps.behind(run))


def why_blocked(run: Masked) -> None:
    """Which rules block the chosen cell, in a sentence."""
    with show.row():
        h = maps.choose_head(run)
        i = maps.choose_token(run, "Query (who looks)", "query")
        j = maps.choose_token(run, "Key (what is looked at)", "key")
    names = run.mask.blocked_by(0, h, i, j)
    cell = f"In head {h + 1}, {show.quoted(run.tokens[i])} ({i + 1}) "
    seen = f"look at {show.quoted(run.tokens[j])} ({j + 1})"
    was, now = (trace.weights[0, h, i, j] for trace in (run.effect.before, run.trace))
    if names:
        verdict = f"{cell}may not {seen}: <b>blocked by {escape(' and '.join(names))}</b>."
        after = "and is exactly 0 now"
    else:
        verdict = f"{cell}may {seen}: <b>no rule blocks it</b>."
        after = f"and is {now:.4f} now"
    st.html(f'<p class="hl-line">{verdict} Its weight was {was:.4f} without any rule {after}.</p>')
    for name in names:
        show.line(f"{name}: {WHY.get(name, 'the rule says so')}.", quiet=True)
    if len(names) > 1:
        show.line(SEVERAL, quiet=True)
    if run.trace.empty_rows[0, h, i]:
        show.line(f"Row {i + 1} of head {h + 1} has no key left.", quiet=True)


def effects(run: Masked) -> None:
    """What the rules did, as tables: rules, heads, positions, and the rows with no key left."""
    if run.mask.rules:
        st.markdown("##### What each rule did")
        _rules_table(run)
    st.markdown("##### What happened in each head")
    _heads_table(run)
    _rows_without_key(run)
    st.markdown("##### How far the output moved")
    _output_table(run)


def _rules_table(run: Masked) -> None:
    lens = [run.length]
    rows = []
    for effect in run.effect.rules:
        taken, _ = head_mean(effect.removed, lens)
        counts = {"cells": int(effect.blocked.sum()), "alone": int(effect.blocked_alone.sum())}
        by_itself = mask_effect(run.X, run.X, run.X, run.weights, [effect.rule])
        went = {"gained": _gained(run, by_itself.gained[0].mean(axis=0))}
        rows.append(counts | dict(zip(run.names, 100 * taken[0], strict=True)) | went)
    table = pd.DataFrame(rows, index=pd.Index([rule.name for rule in run.mask.rules], name="Rule"))
    columns: dict[str, Any] = {
        "cells": st.column_config.NumberColumn("Cells blocked", help="In all heads of this text."),
        "alone": st.column_config.NumberColumn("Only by it", help="Cells that open when this rule alone goes off."),
        **{name: st.column_config.NumberColumn(name, format=PERCENT) for name in run.names},
        "gained": st.column_config.TextColumn(
            "Goes to, by itself",
            help="Keys that gain most where this is the only rule, mean of all heads. " + GAINED,
        ),
    }
    st.dataframe(table, column_config=columns, alt="What each rule did")
    st.caption(
        "Under each head: the share of a row's weight that lay, before any rule, on cells this rule blocks; mean over "
        "the text's own queries. Rules overlap, so the shares of two need not add up."
    )


def _heads_table(run: Masked) -> None:
    lens = [run.length]
    effect, T = run.effect, len(run.tokens)
    taken, change = head_mean(effect.removed[..., :T], lens)[0][0], head_mean(effect.entropy_change, lens)[0][0]
    no_key = run.trace.empty_rows[0].sum(axis=-1)
    table = pd.DataFrame(
        {
            "taken": 100 * taken,
            "gained": [_gained(run, of_head) for of_head in effect.gained[0]],
            "entropy": change,
            "empty": no_key,
        },
        index=pd.Index(run.names, name="Head"),
    )
    number = st.column_config.NumberColumn
    columns = {
        "taken": number("Weight taken away", format=PERCENT, help="Mean over the text's own queries."),
        "gained": st.column_config.TextColumn(
            "Went to",
            help="Keys that gained most. " + GAINED,
        ),
        "entropy": number("Entropy, change", format="%+.2f", help="In bits, mean over own queries with a key left."),
        "empty": number("Rows without key", help=f"Of {T}."),
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt="What happened in each head")


def _gained(run: Masked, of_rows: Array) -> str:
    """The keys that gained most, of (Tq, Tk)."""
    gained = of_rows[: run.length].sum(axis=0)  # of the text's own queries, as the other columns
    first = [int(j) for j in np.argsort(-gained, kind="stable")[:NAMED] if gained[j] > 1e-12]
    return ", ".join(f"{run.labels[j]} +{gained[j]:.2f}" for j in first) or "nowhere"


def _rows_without_key(run: Masked) -> None:
    """Every such row, listed by head."""
    found = run.effect.no_key_left(0)
    if not found:
        show.line("Every row has a key left.", quiet=True)
        return
    empty = run.trace.empty_rows[0]
    alike = bool((empty == empty[:1]).all())
    listed = ["all heads"] if alike else [f"head {h + 1}" for h in range(len(empty)) if empty[h].any()]
    of_heads = empty[:1] if alike else empty[empty.any(axis=-1)]
    said = "; ".join(f"{name}: {_listed(rows)}" for name, rows in zip(listed, of_heads, strict=True))
    show.line(f"No key left in {len(found):,} rows: {said}.")


def _listed(rows: Booleans) -> str:
    """ "query 4", "queries 1 to 3, 6": runs are drawn together."""
    if rows.all():
        return "all queries"
    places = np.flatnonzero(rows)
    return f"{'query' if len(places) == 1 else 'queries'} {in_runs(places.tolist())}"


def _output_table(run: Masked) -> None:
    table = pd.DataFrame(
        {"length": run.effect.change_length[0], "relative": 100 * run.effect.relative_change[0]},
        index=pd.Index(run.labels, name="Position"),
    )
    columns = {
        "length": st.column_config.NumberColumn("Change", format="%.3f", help="Length of after minus before."),
        "relative": st.column_config.NumberColumn("Of its length before", format=PERCENT),
    }
    st.dataframe(table, column_config=columns, placeholder="not defined", alt="Change of the output per position")


def no_key_left(run: Masked) -> None:
    """A row with no key left by four conventions, beside each other."""
    h, i = _row(run)
    found = no_key_row(run.trace.scores[0, h, i])
    show.line(
        "What the weights of such a row should be has no right answer, and libraries differ. Four ways to fill it:"
    )
    table = pd.DataFrame(
        {_short_name(way): way.weights for way in found}, index=pd.Index(run.labels, name="Key"), dtype=float
    )
    number = st.column_config.NumberColumn(format="%.4f")
    st.dataframe(
        table, placeholder="NaN", column_config=dict.fromkeys(table.columns, number), alt="A row by four conventions"
    )
    for place, way in zip(st.columns(len(found)), found, strict=True):
        with place:
            _convention(way)
    _roundings(found[-1], run)


def _row(run: Masked) -> tuple[int, int]:
    rows = run.effect.no_key_left(0)
    if not rows:
        show.line("Every row of this text has a key left. Here is a row of your choice, as if all of it were blocked.")
        with show.row():
            return maps.choose_head(run), maps.choose_token(run, "The token that looks", "query")
    address.carry_over("row")
    chosen = st.session_state.get("row")
    if isinstance(chosen, int):
        st.session_state["row"] = min(chosen, len(rows) - 1)
    place: int = address.bound(
        st.selectbox,
        f"A row with no key left ({len(rows):,} in this text)",
        key="row",
        options=range(len(rows)),
        format_func=lambda place: f"Head {rows[place][0] + 1}, query {run.labels[rows[place][1]]}",
        width=360,
    )
    return rows[place]


SHORT_NAMES = ("Zeros", "NaN", "1/Tk", "As if unmasked")


def _short_name(way: Convention) -> str:
    return {name[0].lower(): name for name in SHORT_NAMES}[way.name[0].lower()]


def _convention(way: Convention) -> None:
    st.html(f'<p class="hl-line"><b>{escape(way.name[0].upper() + way.name[1:])}</b></p>')
    st.latex(way.formula)
    who = "".join(f"<li>{escape(name)}</li>" for name in way.who)
    st.html(f'<p class="hl-line hl-quiet">Who does it:</p><ul class="hl-who">{who}</ul>')


def _roundings(way: Convention, run: Masked) -> None:
    """The last way as computers do it: floats near a large number lie far apart, and the scores are rounded."""
    st.markdown("##### As if unmasked, after rounding")
    show.line(
        "Adding a large negative number leaves the softmax as it was only on paper. Floats of that size lie far apart, "
        "so each sum is rounded, and scores that are closer than that become equal."
    )
    table = pd.DataFrame({"exact": way.weights}, index=pd.Index(run.labels, name="Key"))
    for how in way.roundings:
        table[f"{how.number:g} in {how.dtype}, steps of {how.spacing:.2g}"] = how.weights
    number = st.column_config.NumberColumn(format="%.6f")
    st.dataframe(table, column_config=dict.fromkeys(table.columns, number), alt="The same row after rounding")


def other_libraries(run: Masked) -> None:
    """The current mask in the words of other libraries, each as a script that runs."""
    found = snippets(run.scene)
    place: int = address.bound(
        st.selectbox,
        "Written for",
        key="library",
        options=range(len(found)),
        format_func=lambda place: found[place].name,
        help="Each script gives the weights of this page for all texts, and prints them.",
    )
    snippet = found[place]
    st.html(f'<p class="hl-line"><b>{escape(snippet.says)}</b></p>')
    show.line(f"A row with no key left: {snippet.about_no_key}", quiet=True)
    for name, array in snippet.files:
        st.download_button(f"Save {name}, which the script loads", _npy(array), file_name=name, on_click="ignore")
    st.code(snippet.code, language="python")


def _npy(array: Booleans) -> Callable[[], bytes]:
    def written() -> bytes:
        file = BytesIO()
        np.save(file, array)
        return file.getvalue()

    return written
