"""The same restriction over many seeds: started by a button, shown as it runs, stopped by another, and kept."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from streamlit.errors import StreamlitAPIException

from mha import figures, findings, masks, seed_sweep
from mha.arrays import Array
from mha.seed_sweep import SEEDS, SeedChanges
from mha.ui import explain, maps, show
from mha.ui.restriction_views import Restricted

_RUNNING = "_seeds_running"  # the sweep that this session is computing

Sweep = dict[int, SeedChanges]  # by the first seed of each chunk, so that two sessions at once do no harm


@st.fragment
def spread(run: Restricted) -> None:
    """The spread of the change per position and per head, and the button that computes it.

    A fragment of its own, which reruns itself after every chunk: a click on Stop is noticed between two, while a click
    inside a fragment could not end a longer run.
    """
    show.line(
        f"The same text and the same restriction with other start values: seeds 0 to {SEEDS - 1}. One draw may show "
        "what another does not."
    )
    done = swept(run)
    count = counted(done)
    if count < SEEDS and st.session_state.get(_RUNNING) == _key(run):
        _one_chunk(run, done)
    if count < SEEDS:
        st.session_state[_RUNNING] = None
        st.button(
            f"Go on after {count} seeds" if count else f"Run {SEEDS} seeds",
            key="run_seeds",
            type="primary",
            on_click=_start,
            args=(_key(run),),
            help="Draws token vectors and projections anew for every seed.",
        )
    if 0 < count < SEEDS:
        show.notes([f"Stopped after {count} of {SEEDS} seeds; what follows is of these."])
    if done:
        _show(run, changes_of(done))


def _start(key: Hashable) -> None:
    st.session_state[_RUNNING] = key


def _stop() -> None:
    st.session_state[_RUNNING] = None


def _one_chunk(run: Restricted, done: Sweep) -> None:
    """Compute some seeds, and run this fragment again."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(counted(done) / SEEDS, text=f"{counted(done)} of {SEEDS} seeds")
        st.button("Stop", key="stop_seeds", on_click=_stop, help="What has been computed by then stays.")
    before, after = (masks.custom(trace.mask) for trace in (run.made.baseline, run.made.restricted))
    chunk = next(seed_sweep.sweep(run.tokens, run.model, after, mask=before, seeds=range(counted(done), SEEDS)))
    done[int(chunk.seeds[0])] = chunk
    try:
        st.rerun(scope="fragment")
    except (StreamlitAPIException, RuntimeError):
        # The whole page is being run, as when it has just been opened; or, which Streamlit calls impossible, the
        # fragment around this one, as when its tab has been opened again.
        st.rerun()


def counted(done: Sweep) -> int:
    """How many seeds have been computed."""
    return sum(len(chunk.seeds) for chunk in done.values())


def changes_of(done: Sweep) -> SeedChanges:
    """All that has been computed, as one."""
    return seed_sweep.joined([done[first] for first in sorted(done)])


def swept(run: Restricted) -> Sweep:
    """What has been computed of this sweep, by this or another session; it grows while one runs."""
    return _kept(_key(run))


def _key(run: Restricted) -> Hashable:
    """All that a sweep depends on: everything but the seed."""
    before, after = run.made.baseline.mask, run.made.restricted.mask
    return run.tokens, replace(run.model, seed=0), before.tobytes(), after.tobytes()


# At most 12 times 10 MB: 16 heads and 128 tokens; the usual 8 heads and 10 tokens take 0.4.
@st.cache_resource(max_entries=12, show_spinner=False)
def _kept(key: Any) -> Sweep:
    return {}


def _show(run: Restricted, changes: SeedChanges) -> None:
    for box in _boxes(run, changes, **maps.fitting()):
        st.html(f'<p class="hl-line"><b>{box.title}</b></p>')
        show.chart(box.draw, key=box.key, alt=box.alt, title=box.title)
    show.line(
        f"Over {len(changes.seeds)} seeds: the box is the middle half, the line in it the median, and the lines end at "
        f"5% and 95%. The diamond is {_own(run)}.",
        quiet=True,
    )
    for finding in findings.over_seeds(changes, run.tokens):
        st.html(f'<p class="hl-line">{explain.finding(finding)}</p>')


def on_paper(run: Restricted, changes: SeedChanges) -> list[show.Chart]:
    """The same boxes on white, for a report."""
    over = f", over {len(changes.seeds)} seeds"
    return [show.Chart(box.key, box.draw(theme="light"), box.alt, box.title + over) for box in _boxes(run, changes)]


@dataclass(frozen=True, eq=False)
class _Boxes:
    key: str
    title: str
    draw: show.Draw
    alt: str


def _own(run: Restricted) -> str:
    return f"seed {run.model.seed}, as in the other views"


def _boxes(run: Restricted, changes: SeedChanges, **layout: Any) -> tuple[_Boxes, _Boxes]:
    """A box for each position, and one for each head."""
    relative, by_head = 100 * changes.relative_change, changes.head_change_length.mean(axis=-1)
    positions = partial(
        figures.spread_boxes,
        relative,
        run.tokens,
        colours=[figures.MEAN_COLOUR] * len(run.tokens),
        unit="change, %",
        number=".1f",
        marked=100 * run.made.relative_change[0],
        marked_name=_own(run),
        **layout,
    )
    heads = partial(
        figures.spread_boxes,
        by_head,
        [str(h + 1) for h in range(run.H)],
        names=run.names,
        colours=figures.HEAD_COLOURS[: run.H],
        unit="change",
        title="head",
        marked=run.made.head_change_length[0].mean(axis=-1),
        marked_name=_own(run),
        **layout,
    )
    seeds = len(changes.seeds)
    return (
        _Boxes(
            "seeds_positions",
            "Change of the output at each position, relative to its length before",
            positions,
            _alt("positions", relative, seeds),
        ),
        _Boxes(
            "seeds_heads",
            "Change of what each head adds, mean over the positions",
            heads,
            _alt("heads", by_head, seeds),
        ),
    )


def _alt(what: str, values: Array, seeds: int) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return f"Boxes of {values.shape[1]} {what} over {seeds} seeds: nothing is defined."
    medians = np.nanmedian(values[:, ~np.isnan(values).all(axis=0)], axis=0)
    return (
        f"Boxes of {values.shape[1]} {what} over {seeds} seeds: medians from {medians.min():.3g} to "
        f"{medians.max():.3g}."
    )
