"""Translate: a small trained translator, word by word, and what its heads are worth."""

from collections.abc import Callable

from mha.ui import (
    compute,
    controls,
    translate_controls,
    translate_report,
    translate_run,
    translate_text,
    translate_views,
    translate_worth,
    views,
)
from mha.ui.take_away import Taken


def translate(settings: controls.Settings) -> Callable[[], Taken]:
    with compute.errors_shown():
        chosen = translate_controls.choose()
        number = translate_text.number(settings.text)
        run = translate_run.translated(number, chosen)
        translate_worth.measured(run)  # of weights that are not ours, other numbers may fail where this one did not
    step = translate_controls.choose_step(run)
    shown = run.at(step)
    views.open_one(
        {
            "All heads": translate_views.cross,
            "One step": translate_views.one_step,
            "Encoder": translate_views.encoder,
            "Decoder": translate_views.decoder,
            "Untrained beside": translate_views.untrained,
            "What is a head worth?": translate_worth.heads,
            "Looking ahead": translate_worth.looking_ahead,
            "Proof": translate_views.against_pytorch,
        },
        shown,
        key="translate_view",
    )
    return lambda: translate_report.taken(shown)


controls.page("Translate", translate, field=translate_text.field, text_key="number", sidebar=translate_controls.sidebar)
