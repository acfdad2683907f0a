"""Heads: what every head looks at, with the person's own words on the axes."""

from collections.abc import Callable
from functools import partial

from mha.ui import compute, controls, explain, maps, proof, show, tables, take_away, views
from mha.ui.take_away import Taken


def heads(settings: controls.Settings) -> Callable[[], Taken]:
    tokens = controls.tokens(settings)
    with show.row():
        explain.heads()
        causal = controls.causal()
    with compute.errors_shown():
        run = compute.self_attention(tokens, settings.model, causal=causal)
    view = views.open_one(
        {
            "All heads": partial(maps.all_heads, with_mean=settings.with_mean),
            "One head": maps.one_head,
            "Arrows": maps.arrows,
            "One token": maps.one_token,
            "Measures": tables.measured,
            "Proof": proof.against_pytorch,
        },
        run,
    )
    explain.what_to_look_for(run, view)
    explain.saturation(run)
    maps.numbers(run)
    return lambda: take_away.of_text(run, settings.model)


controls.page("Heads", heads)
