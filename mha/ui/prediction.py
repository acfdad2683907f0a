"""Predict, then reveal: a few questions before the numbers, and the answers beside what was measured."""

from __future__ import annotations

import base64
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from mha import masks
from mha.arrays import Array
from mha.figures.small_mask import small_mask
from mha.rounding import percent, written
from mha.ui import compute, maps, show
from mha.ui.compute import Pass
from mha.ui.restriction_views import Restricted

PICTURE = 168  # px
_REVEALED = "_revealed"  # the experiment whose numbers may be seen
_GUESSES = "_guesses"  # question -> number of the answer that was given for it, or None


@dataclass(frozen=True)
class Question:
    """One question, its answers, and what was measured."""

    key: str
    asks: str
    answers: tuple[str, ...]
    right: frozenset[int]  # several where they are equal
    measured: str


def first(run: Restricted) -> None:
    """The questions, and the page ends there, until the person asks for the numbers; then the answers beside them."""
    questions = _questions(run)
    experiment = _experiment(run)
    if is_revealed(experiment):
        compared(questions)
        return
    show.line("What do you expect? These are the maps without the restriction; the numbers come after your answers.")
    ask(experiment, questions)
    _what_each_head_may_look_at(run)
    mask = masks.combine(*run.base, shape=run.mask.allowed.shape)
    maps.all_heads(Pass(run.tokens, run.X, run.weights, mask, run.made.baseline))
    raise compute.PageEnds


def is_revealed(experiment: Hashable) -> bool:
    """Whether the numbers of this experiment may be seen."""
    return bool(st.session_state.get(_REVEALED) == experiment)


def ask(experiment: Hashable, questions: Sequence[Question]) -> None:
    """The questions, and the button that reveals the numbers."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="questions"):
        for question in questions:
            _choice(question)
        st.button("Reveal", key="reveal", type="primary", on_click=_reveal, args=(experiment, questions))


def _experiment(run: Restricted) -> Hashable:
    """What makes an experiment another one, so that it is predicted anew."""
    return run.tokens, run.model, run.made.baseline.mask.tobytes(), run.mask.allowed.tobytes()


def _questions(run: Restricted) -> tuple[Question, ...]:
    made, bound = run.made, run.made.bound
    found = []
    if len(run.tokens) > 1:
        changes = made.change_length[0]
        i = int(changes.argmax())
        named = f"{run.labels[i]}, by {written(changes[i])}" if changes[i] > bound else "none changes"
        right = _largest(changes, bound) if changes[i] > bound else frozenset[int]()
        found.append(
            Question(
                "guess_position", "Which output changes most, by its length?", tuple(run.labels), right, f"{named}."
            )
        )
    if run.H > 1:
        lost = made.forbidden_weight[0].mean(axis=-1)
        h = int(lost.argmax())
        named = f"{run.names[h]}, {percent(lost[h])} of it on average" if lost[h] > 0 else "none loses any"
        right = _largest(lost, bound) if lost[h] > 0 else frozenset[int]()
        found.append(Question("guess_head", "Which head loses most attention?", tuple(run.names), right, f"{named}."))
    empty = int(run.trace.empty_rows.sum())
    count = f"{empty} of {run.trace.empty_rows.size}" if empty else "none"
    found.append(
        Question("guess_empty", "Any row with no key left?", ("Yes", "No"), frozenset({0 if empty else 1}), f"{count}.")
    )
    return tuple(found)


def _largest(values: Array, bound: float) -> frozenset[int]:
    """All that are as large as the largest, but for rounding."""
    return frozenset(np.flatnonzero(values >= values.max() - bound).tolist())


def _choice(question: Question) -> None:
    chosen = st.session_state.get(question.key)
    if isinstance(chosen, int) and chosen >= len(question.answers):
        st.session_state[question.key] = None
    st.selectbox(
        question.asks,
        options=range(len(question.answers)),
        format_func=question.answers.__getitem__,
        index=None,
        key=question.key,
        placeholder="Your guess",
        width=220,
    )


def _reveal(experiment: Hashable, questions: Sequence[Question]) -> None:
    state = st.session_state
    state[_REVEALED] = experiment
    state[_GUESSES] = {question.key: state.get(question.key) for question in questions}


def compared(questions: Sequence[Question]) -> None:
    """Each guess beside what was measured."""
    guesses = st.session_state[_GUESSES]
    for question in questions:
        guess = guesses.get(question.key)
        if guess is None:
            said = "no guess"
        else:
            verdict = "as measured" if guess in question.right else "not so"
            said = f"you said {question.answers[guess]}: {verdict}"
        show.line(f"{question.asks} {said[0].upper()}{said[1:]}. Measured: {question.measured}")


def _what_each_head_may_look_at(run: Restricted) -> None:
    data = base64.b64encode(small_mask(run.mask.allowed[0], size=PICTURE, theme=show.theme())).decode()
    rules = ", ".join(rule.name for rule in run.mask.rules) or "nothing"
    show.line(f"Then hatched cells will be blocked, head by head (by {rules}):", quiet=True)
    alt = f"{int(run.mask.allowed.sum()):,} of {run.mask.allowed.size:,} cells may be looked at"
    st.html(f'<img style="display:block;height:{PICTURE // 2}px" src="data:image/png;base64,{data}" alt="{alt}">')
