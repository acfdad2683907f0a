"""Steps: one cell of a map, followed through the whole sum with its own numbers."""

from collections.abc import Callable

from mha.ui import compute, controls, take_away, walk
from mha.ui.take_away import Taken


def steps(settings: controls.Settings) -> Callable[[], Taken]:
    tokens = controls.tokens(settings)
    places = walk.places()
    with places.walk:
        causal = controls.causal("Causal")
        step = walk.choose_step()
    with compute.errors_shown():
        run = compute.self_attention(tokens, settings.model, causal=causal)
    with places.cell:
        cell = walk.choose(run)
    walk.step_by_step(run, cell, settings.model, step)
    walk.numbers(run, cell)
    return lambda: take_away.of_text(run, settings.model)


controls.page("Steps", steps)
