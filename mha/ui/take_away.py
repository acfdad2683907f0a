"""What a page gives to take away: picture, data, code and report, each made only when somebody asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape
from math import prod
from typing import Any, NamedTuple

import streamlit as st

from mha import export, figures
from mha.attention import Trace
from mha.between import Between
from mha.config import Model
from mha.export import Scene
from mha.export.archive import archive
from mha.export.program import file_name
from mha.measures import summarise
from mha.ui import address, explain, maps, show
from mha.ui.compute import Pass

# Of either about 20 MB and three seconds; NPZ takes any number.
MOST_CSV_ROWS, MOST_JSON_NUMBERS = 300_000, 1_000_000
HEAD_COLUMNS = ("Head", "Entropy, bits", "Largest weight", "On first token", "Saturated rows", "Rows without key")
OUTPUT_COLUMNS = ("Position", "Change", "Of its length before", "Cosine")
DRAWN_AGAIN = (
    "Code and numbers need nothing of this app. The script draws the same vectors and matrices and prints the same "
    "weights; dropout is not part of it."
)

Offer = tuple[str, str, str, Callable[[], str | bytes]]  # label, file name, kind, and what makes it


class Numbers(NamedTuple):
    """What makes each file of data, from the link's settings by name; None where the file would be too long."""

    csv: Callable[[Mapping[str, str]], bytes] | None
    npz: Callable[[Mapping[str, str]], bytes]
    json: Callable[[Mapping[str, str]], bytes] | None


@dataclass(frozen=True, eq=False)
class Taken:
    """One page's part: what makes its numbers and its code, and what its report holds beside the pictures.

    about: a sentence below the buttons. notes: what the report's reader should know first. pictures: the charts of the
    report; None takes those that are shown. behind: the picture to take away from a view that shows none. What is
    callable is called when somebody asks for the file, outside of the session: it must not look into the session's
    state.
    """

    numbers: Numbers
    code: list[Offer]
    tables: Callable[[], tuple[Any, ...]] = tuple
    findings: Callable[[], tuple[Any, ...]] = tuple
    pictures: Callable[[], list[show.Chart]] | None = None
    behind: Callable[[], show.Chart] | None = None
    own_words: str = ""
    about: str = DRAWN_AGAIN
    notes: tuple[str, ...] = (explain.UNTRAINED,)


def of_scene(scene: Scene, **report: Any) -> Taken:
    """What a page whose numbers come from one scene gives; report: what `Taken` has for the report."""

    def written(write: Callable[[export.Data], bytes]) -> Callable[[Mapping[str, str]], bytes]:
        return lambda settings: write(export.data_of(scene, settings))

    csv = written(export.write_csv) if prod(scene.shape) <= MOST_CSV_ROWS else None
    json = written(export.write_json) if export.count_numbers(scene) <= MOST_JSON_NUMBERS else None
    code: list[Offer] = [
        ("NumPy", file_name("numpy"), "text/x-python", lambda: export.program(scene, "numpy")),
        ("PyTorch", file_name("torch"), "text/x-python", lambda: export.program(scene, "torch")),
    ]
    return Taken(Numbers(csv, written(export.write_npz), json), code, **report)


def control(title: str, make: Callable[[], Taken], charts: list[show.Chart]) -> None:
    """The popover; call it when the page has been drawn. charts: what is shown."""
    popover = st.popover(
        "Take away",
        icon=":material/download:",
        key="take_away",
        on_change="rerun",  # seven buttons are drawn only where they are seen
        help="The picture, the numbers, code that gives the same numbers, or a report.",
    )
    if not popover.open:
        return
    name = title.lower()
    with popover:
        try:
            taken = make()
        except ValueError as problem:
            show.line(f"There is nothing to take away: {problem}")
            return
        show.line("Each file is made from what you see now, when you click.", quiet=True)
        if charts or taken.behind:
            _row("Picture", _pictures(name, taken, charts))
        else:
            show.line("There is no picture in this view; others have one.", quiet=True)
        _row("Numbers", _numbers(name, taken.numbers))
        if missing := [kind.upper() for kind, make in taken.numbers._asdict().items() if make is None]:
            show.line(f"Too many numbers for {' or '.join(missing)}; NPZ holds them all.", quiet=True)
        _row("Code", taken.code)
        _row("Report", _reports(title, taken, charts))
        show.line(taken.about, quiet=True)


def _row(label: str, offers: list[Offer]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<p class="hl-line" style="width:4.5rem"><b>{label}</b></p>', width="content")
        for text, file, mime, made in offers:
            st.download_button(
                text, made, file_name=file, mime=mime, key=f"take_{label}_{text}", on_click="ignore", type="secondary"
            )


def _pictures(name: str, taken: Taken, charts: list[show.Chart]) -> list[Offer]:
    def drawn() -> list[str]:
        return [svg for _, svg in drawings(_shown(taken, charts))]

    def as_svg() -> str | bytes:
        return _one_or_zip(drawn(), name, "svg")

    def as_png() -> str | bytes:
        from mha.pictures import png  # noqa: PLC0415

        return _one_or_zip([png(svg) for svg in drawn()], name, "png")

    name = f"headlight-{name}"
    if len(charts) > 1:
        return [(kind, f"{name}.zip", "application/zip", made) for kind, made in (("PNG", as_png), ("SVG", as_svg))]
    return [("PNG", f"{name}.png", "image/png", as_png), ("SVG", f"{name}.svg", "image/svg+xml", as_svg)]


def _shown(taken: Taken, charts: list[show.Chart]) -> list[show.Chart]:
    """What is shown; tables and sentences have the maps behind them."""
    return charts or ([taken.behind()] if taken.behind else [])


def drawings(charts: list[show.Chart]) -> list[tuple[show.Chart, str]]:
    """Each chart, and its SVG."""
    from mha import pictures  # noqa: PLC0415 - a page that is only looked at needs no renderer

    return [
        (chart, chart.svg or pictures.svg(chart.figure, theme=chart.theme, alt=chart.alt, width=chart.width))
        for chart in charts
    ]


def _one_or_zip(files: Sequence[str | bytes], name: str, ending: str) -> str | bytes:
    if len(files) == 1:
        return files[0]
    return archive({f"{name}-{number}.{ending}": data for number, data in enumerate(files, start=1)})


def _numbers(name: str, numbers: Numbers) -> list[Offer]:
    settings = dict(address.settings())
    kinds = (
        ("CSV", "text/csv", numbers.csv),
        ("NPZ", "application/zip", numbers.npz),
        ("JSON", "application/json", numbers.json),
    )
    return [
        (kind, f"headlight-{name}.{kind.lower()}", mime, partial(make, settings))
        for kind, mime, make in kinds
        if make is not None
    ]


def _reports(title: str, taken: Taken, charts: list[show.Chart]) -> list[Offer]:
    link, settings = address.share_link(), address.settings()

    def made() -> Any:
        from mha.export import report  # noqa: PLC0415

        wanted = taken.pictures() if taken.pictures else _shown(taken, charts)
        found = drawings([chart.on_paper() for chart in wanted])
        return report.Report(
            title=f"{title} · Headlight",
            settings=tuple(settings.items()),
            link=link if len(link.encode()) <= address.MAX_LINK_BYTES else "",
            notes=taken.notes,
            pictures=tuple(report.Picture(chart.title, svg, chart.alt) for chart, svg in found),
            tables=taken.tables(),
            findings=taken.findings(),
            own_words=taken.own_words,
        )

    def as_html() -> str:
        from mha.export import report  # noqa: PLC0415

        return report.html(made())

    def as_markdown() -> bytes:
        from mha.export import report  # noqa: PLC0415

        return report.markdown_zip(made())

    name = title.lower()
    return [
        ("HTML", f"headlight-{name}-report.html", "text/html", as_html),
        ("Markdown", f"headlight-{name}-report.zip", "application/zip", as_markdown),
    ]


def of_text(run: Pass, model: Model) -> Taken:
    """What a page that shows one forward pass gives."""
    looked_at = None if run.keys is run.tokens else (tuple(run.keys),)
    scene = Scene((tuple(run.tokens),), model, run.mask.rules, looked_at=looked_at)
    tables = lambda: (heads_table(run.trace, self_attention=looked_at is None),)  # noqa: E731 - made when the report is
    return of_scene(scene, tables=tables, behind=lambda: maps.behind(run))


def plain(markup: str) -> str:
    """One of our own sentences without its tags; a word from right to left keeps to itself, as it does on the page."""
    isolated = re.sub("<bdi>(.*?)</bdi>", lambda found: figures.full_label(unescape(found[1])), markup)
    return unescape(re.sub("<[^>]*>", "", isolated))


def section(title: str, sentences: Sequence[str]) -> tuple[Any, ...]:
    """Sentences under a heading, if there are any."""
    from mha.export.report import Section  # noqa: PLC0415

    return (Section(title, tuple(sentences)),) if sentences else ()


def heads_table(trace: Trace, title: str = "Measures of every head", *, self_attention: bool = True) -> Any:
    """A row per head: means over the queries for which a measure is defined."""
    from mha.export.report import Table  # noqa: PLC0415

    rows = tuple(
        (f"Head {h + 1}", head.entropy, head.peak, head.on_first, head.saturated_rows, head.empty_rows)
        for h, head in enumerate(summarise(trace, self_attention=self_attention))
    )
    return Table(title, HEAD_COLUMNS, rows)


def output_table(between: Between, labels: list[str]) -> Any:
    """How far the output of each position moved, and where to."""
    from mha.export.report import Table  # noqa: PLC0415

    columns = zip(between.change_length[0], between.relative_change[0], between.cosine[0], strict=True)
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (label, *map(float, values)) for label, values in zip(labels, columns, strict=True)
    )
    return Table("Change of the output per position", OUTPUT_COLUMNS, rows)
