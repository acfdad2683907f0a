"""Steps: one cell of a map, followed through the whole sum with its own numbers."""

from mha.ui import compute, controls, walk


def steps(settings: controls.Settings) -> None:
    tokens = controls.tokens(settings)
    with walk.introduction():
        causal = controls.causal()
    with compute.errors_shown():
        run = compute.self_attention(tokens, settings.model, causal=causal)
    cell = walk.choose(run)
    walk.step_by_step(run, cell, settings.model)
    walk.numbers(run, cell)


controls.page("Steps", steps)
