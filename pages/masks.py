"""Masks: rules stacked on each other, what each of them blocks, and what that does to the weights."""

from mha.ui import compute, controls, lines, maps, mask_views, proof, rules, show, views


def masks(settings: controls.Settings) -> None:
    batch = lines.batch(settings)
    with show.row():
        b = lines.choose(batch)
        lines.words(batch, b)
        show.line(mask_views.TRUE_MEANS, quiet=True)
    with compute.errors_shown():
        chosen = rules.choose(batch, b, settings.model.num_heads)
        run = mask_views.under_rules(batch, b, settings.model, chosen)
    mask_views.measured(run)
    views.open_one(
        {
            "All heads": mask_views.all_heads,
            "One head": mask_views.one_head,
            "Why blocked?": mask_views.why_blocked,
            "In numbers": mask_views.effects,
            "No key left": mask_views.no_key_left,
            "Other libraries": mask_views.other_libraries,
            "Proof": proof.against_pytorch,
        },
        run,
        key="mask_view",
    )
    maps.numbers(run)


controls.page("Masks", masks, field=lines.field, text_key="texts")
