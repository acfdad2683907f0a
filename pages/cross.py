"""Cross-attention: one text looks, another is looked at."""

from collections.abc import Callable
from functools import partial

from mha.ui import compute, controls, cross_views, maps, proof, take_away, views
from mha.ui.take_away import Taken


def cross(settings: controls.Settings) -> Callable[[], Taken]:
    queries = controls.tokens(settings)
    keys = cross_views.second_text(settings)
    cross_views.about()
    with compute.errors_shown():
        rules = cross_views.choose_rules(queries, keys)
        run = cross_views.crossed(queries, keys, settings.model, rules)
    views.open_one(
        {
            "All heads": partial(cross_views.all_heads, with_mean=settings.with_mean),
            "One head": maps.one_head,
            "Arrows": maps.arrows,
            "Measures": cross_views.measured,
            "Proof": proof.against_pytorch,
        },
        run,
        key="cross_view",
    )
    cross_views.what_to_look_for(run)
    maps.numbers(run)
    return lambda: take_away.of_text(run, settings.model)


controls.page("Cross-attention", cross)
