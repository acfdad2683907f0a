"""What the Translate page gives to take away: the translation as one scene, and a report of all three attentions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mha import figures
from mha.export import translation_data
from mha.export.translation import TranslationScene
from mha.export.translation_data import TranslationData
from mha.export.translation_program import translation_zip
from mha.translator.evaluate import Accuracy, Head
from mha.translator.restrictions import FREE
from mha.ui import maps, show, take_away, translate_views, translate_worth
from mha.ui.take_away import Numbers, Taken
from mha.ui.translate_controls import WHERE
from mha.ui.translate_run import Translated, accuracy, named

TRAINED = "One small translator with trained weights: what its heads do says nothing about other trainings."
ABOUT = (
    "Numbers and code need nothing of this app. The code is a zip file of a script and the trained weights that it "
    "reads: it translates the same number under the same restriction. The report holds “What is a head worth?” once "
    "you have opened that tab."
)


def taken(run: Translated) -> Taken:
    """Everything that the page shows, whichever view is open; of what takes long, only what has been shown before."""
    scene = TranslationScene(run.number, run.chosen.name, run.chosen.rules)
    # read here: what is called later has no session
    accuracies = {translate_worth.INTACT: accuracy(run.chosen.name, FREE)}
    if run.chosen.rules != FREE:
        accuracies[translate_worth.OWN] = accuracy(run.chosen.name, run.chosen.rules)
    worth, measured = translate_worth.seen(run), translate_worth.sentence(run)
    return Taken(
        _numbers(scene),
        [("NumPy", "translate_numpy.zip", "application/zip", lambda: translation_zip(scene))],
        tables=lambda: _tables(run, accuracies, worth),
        findings=lambda: _findings(run, measured, accuracies, worth),
        pictures=lambda: [_maps(run, label, name) for label, name in WHERE.items()],
        behind=lambda: _maps(run, "Cross-attention", "cross"),
        about=ABOUT,
        notes=(TRAINED,),
    )


def _numbers(scene: TranslationScene) -> Numbers:
    def written(write: Callable[[TranslationData], bytes]) -> Callable[[Mapping[str, str]], bytes]:
        return lambda settings: write(translation_data.translation_data(scene, settings))

    return Numbers(
        written(translation_data.write_translation_csv),
        written(translation_data.write_translation_npz),
        written(translation_data.write_translation_json),
    )


def _maps(run: Translated, label: str, name: str) -> show.Chart:
    seen = run.seen(name)
    weights, allowed = seen.trace.weights[0], seen.trace.mask[0]
    texts: tuple[Any, ...] = (weights, seen.tokens, seen.keys)
    names = maps.head_names(len(weights))
    layout: dict[str, Any] = {"columns_per_row": len(weights), "height": translate_views.HEIGHT}
    figure = figures.head_maps(*texts, names=names, allowed=allowed, **layout)
    return show.Chart(name, figure, figures.describe_maps(*texts, names=names, allowed=allowed), label)


def _tables(run: Translated, accuracies: Mapping[str, Accuracy], worth: Mapping[Head, Accuracy]) -> tuple[Any, ...]:
    found = [_steps(run), _measures(run), _right(accuracies, "Held-out numbers that come out right", "Model")]
    if worth:
        off = {named(head): one for head, one in worth.items()}
        rows = {translate_worth.INTACT: accuracies[translate_worth.INTACT], **off}
        found.append(_right(rows, "What is a head worth? Held-out numbers that come out right", "Switched off"))
    return tuple(found)


def _steps(run: Translated) -> Any:
    """A row per word produced: how sure it was, what else might have come, and what each head looked at most."""
    from mha.export.report import Table  # noqa: PLC0415

    seen, words = run.seen("cross"), run.translator.weights.target_words
    rows: list[tuple[Any, ...]] = []
    for i, chances in enumerate(run.passes.probabilities[0]):
        best, second = np.argsort(-chances, kind="stable")[:2].tolist()
        looks = [_most(seen.trace.weights[0, h, i], seen.keys) for h in range(len(seen.trace.weights[0]))]
        next_best = f"{words[second]} {chances[second]:.2f}"
        rows.append((i + 1, run.produced[i], float(chances[best]), next_best, *looks))
    names = maps.head_names(run.translator.weights.num_heads)
    return Table(
        "The translation, step by step",
        ("Step", "Word", "Probability", "Next best", *names),
        tuple(rows),
        "Under each head of cross-attention: the English word that it looks most at, and its weight.",
    )


def _most(weights: Any, keys: tuple[str, ...]) -> str:
    j = int(weights.argmax())
    return f"{keys[j]} {weights[j]:.2f}" if weights[j] else "nothing"


def _measures(run: Translated) -> Any:
    """The measures of all twelve heads in one table."""
    from mha.export.report import Table  # noqa: PLC0415

    rows: list[tuple[Any, ...]] = []
    for name in WHERE.values():
        table = take_away.heads_table(run.seen(name).trace, self_attention=name != "cross")
        rows += [(named(Head(name, h)), *row[1:]) for h, row in enumerate(table.rows)]
    return Table("Measures of every head", take_away.HEAD_COLUMNS, tuple(rows))


def _right(rows: Mapping[str, Accuracy], title: str, kind: str) -> Any:
    from mha.export.report import Table  # noqa: PLC0415

    parts = {label: translate_worth.parts(one) for label, one in rows.items()}
    sizes = {name: len(part.right) for name, part in next(iter(parts.values())).items()}
    return Table(
        title,
        (kind, *(f"{translate_worth.PARTS[name]} ({size})" for name, size in sizes.items())),
        tuple((label, *(int(part.right.sum()) for part in of.values())) for label, of in parts.items()),
        "Numbers that no training saw; in brackets, how many there are. Right is every word and the end mark.",
    )


def _findings(
    run: Translated, measured: str, accuracies: Mapping[str, Accuracy], worth: Mapping[Head, Accuracy]
) -> tuple[Any, ...]:
    from mha.export.report import Section  # noqa: PLC0415

    hurts = [translate_worth.finding(accuracies[translate_worth.INTACT], worth)] if worth else []
    return (
        *take_away.section("What was measured", [take_away.plain(measured)]),
        *(Section(name, (take_away.plain(said),)) for name, said in translate_views.crossing_sentences(run).items()),
        *take_away.section("What a head is worth", hurts),
    )
