"""Restriction: each head may look at only a part of the positions, and what that changes."""

from mha.ui import (
    compute,
    controls,
    many_seeds,
    prediction,
    restriction_change,
    restriction_controls,
    restriction_views,
    sentences,
    views,
)


def restriction(settings: controls.Settings) -> None:
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


controls.page("Restriction", restriction)
