"""Restriction: each head may look at only a part of the positions, and what that changes."""

from collections.abc import Callable

from mha.ui import (
    compute,
    controls,
    many_seeds,
    prediction,
    restriction_change,
    restriction_controls,
    restriction_report,
    restriction_views,
    sentences,
    views,
)
from mha.ui.take_away import Taken


def restriction(settings: controls.Settings) -> Callable[[], Taken]:
    tokens = controls.tokens(settings)
    with compute.errors_shown():
        chosen = restriction_controls.choose(tokens, settings.model.num_heads)
        run = restriction_views.restricted(tokens, settings.model, chosen)
    if chosen.predict:
        prediction.first(run)
    restriction_views.measured(run)
    views.open_one(
        {
            "All heads": restriction_views.all_heads,
            "One head": restriction_views.one_head,
            "Arrows": restriction_views.arrows,
            "Output": restriction_change.output,
            "Heads": restriction_change.heads,
            "Many seeds": many_seeds.spread,
            "Findings": sentences.lists,
        },
        run,
        key="restrict_view",
    )
    restriction_change.no_key_left(run)
    restriction_views.untrained()
    return lambda: restriction_report.taken(run)


controls.page("Restriction", restriction)
