"""What the Restriction page gives to take away: both passes as one scene, and the exercise as a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mha import findings, masks
from mha.export import Scene
from mha.findings import Finding
from mha.masks import Rule
from mha.restriction import head_summaries
from mha.ui import explain, many_seeds, maps, restriction_views, sentences, show, take_away
from mha.ui.restriction_views import Restricted
from mha.ui.take_away import Taken

HEAD_COLUMNS = ("Head", "On forbidden keys before", "Entropy before, bits", "Entropy now, bits", "Rows without key")
MOST_ON_PAPER = 8  # heads side by side in a table


def taken(run: Restricted) -> Taken:
    """Everything that the page shows, whichever view is open."""
    scene = Scene((tuple(run.tokens),), run.model, run.base, restriction=_as_one_rule(run))
    done = many_seeds.swept(run)  # read here: what is called later has no session
    return take_away.of_scene(
        scene,
        tables=lambda: _tables(run),
        findings=lambda: _findings(run, done),
        pictures=lambda: _pictures(run, done),
        behind=lambda: _pictures(run, {})[0],
        own_words=sentences.own_sentences(),
    )


def _as_one_rule(run: Restricted) -> Rule:
    shape = run.mask.allowed.shape
    name = " and ".join(rule.name for rule in run.restriction) or "no restriction"
    return Rule(name, masks.combine(*run.restriction, shape=shape).allowed)


def _pictures(run: Restricted, done: many_seeds.Sweep) -> list[show.Chart]:
    from mha import pictures  # noqa: PLC0415 - a page that is only looked at needs no renderer

    heads = list(range(run.H))
    layout: dict[str, Any] = {"columns_per_row": restriction_views.MOST_SIDE_BY_SIDE} if run.H > 3 else {}
    shown = maps.panels_chart(run, restriction_views.panels(run, heads), heads, key="maps", **layout)
    bars = pictures.bars(
        run.made.relative_change[0], run.labels, word="change of the output, relative to its length before"
    )
    told = ", ".join(
        f"{label} {value:.3f}" for label, value in zip(run.labels, run.made.relative_change[0], strict=True)
    )
    change = show.Chart("output", {}, f"A bar per position: {told}.", "Change of the output", bars)
    return [shown, change, *(many_seeds.on_paper(run, many_seeds.changes_of(done)) if done else [])]


def _tables(run: Restricted) -> tuple[Any, ...]:
    from mha.export.report import Table  # noqa: PLC0415

    heads = tuple(
        (f"Head {h + 1}", head.forbidden_weight, head.entropy_before, head.entropy_after, head.empty_after)
        for h, head in enumerate(head_summaries(run.made))
    )
    bound = f"The heads' changes summed differ from the output's change by {run.made.residual:.1e}; the bound for "
    return (
        take_away.output_table(run.made, run.labels),
        Table("What each head lost", HEAD_COLUMNS, heads, "Means over the queries for which a measure is defined."),
        *_shares(run, f"{bound}rounding is {run.made.bound:.1e}."),
    )


def _shares(run: Restricted, note: str) -> Iterator[Any]:
    """Share of each head in each position's change; a sheet of paper is as wide as eight heads."""
    from mha.export.report import Table  # noqa: PLC0415

    shares = run.made.head_shares[0]  # (H, T)
    for first in range(0, run.H, MOST_ON_PAPER):
        end = min(first + MOST_ON_PAPER, run.H)
        title = "Share of each head in the change" + (f", heads {first + 1} to {end}" if run.H > MOST_ON_PAPER else "")
        rows: tuple[tuple[Any, ...], ...] = tuple(
            (label, *map(float, of_heads)) for label, of_heads in zip(run.labels, shares[first:end].T, strict=True)
        )
        yield Table(title, ("Position", *run.names[first:end]), rows, note)


def _findings(run: Restricted, done: many_seeds.Sweep) -> tuple[Any, ...]:
    measured = take_away.section("What was measured", [take_away.plain(restriction_views.sentence(run))])
    changed = take_away.section("What changed", _sentences(findings.what_changed(run.made, run.tokens)))
    suggests = take_away.section("What this suggests", _sentences(findings.what_this_suggests(run.made, run.tokens)))
    seeds: tuple[Any, ...] = ()
    if done:
        over = findings.over_seeds(many_seeds.changes_of(done), run.tokens)
        seeds = take_away.section("With other seeds", _sentences(over))
    return (*measured, *changed, *suggests, *seeds)


def _sentences(found: Sequence[Finding]) -> list[str]:
    return [take_away.plain(explain.finding(finding)) for finding in found]
