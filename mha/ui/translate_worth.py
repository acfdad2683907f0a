"""What a head of the translator is worth: accuracies on held-out numbers with it switched off, and restricted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mha import figures
from mha.translator.evaluate import Accuracy, Head, all_heads, hurts_most
from mha.translator.numbers import read_german
from mha.translator.restrictions import FREE, FirstWords, Rules
from mha.translator.split import is_held_out
from mha.ui import address, maps, prediction, show
from mha.ui.prediction import Question
from mha.ui.translate_run import Translated, accuracy, named

INTACT = "intact"
ALL = "all"
OWN = "your restriction"
LENGTHS = {ALL: None, **{str(digits): digits for digits in range(1, 7)}}
PERCENT = "%.1f %%"
PARTS = {
    "all": "All",
    **{str(digits): f"{digits} digit{'s' * (digits > 1)}" for digits in range(1, 7)},
    "crossing False": "No crossing",
    "crossing True": "Crossing",
}
_SEEN = "_worth_seen"  # names of the weights whose accuracies have been shown


def measured(run: Translated) -> None:
    """Whether this number came out right, and how many of the held-out ones do."""
    st.html(f'<p class="hl-line">{sentence(run)}</p>')


def sentence(run: Translated) -> str:
    """The same as HTML."""
    return f"{_this_number(run)} {_held_out(run)}"


def _this_number(run: Translated) -> str:
    words = show.phrase(run.translation.words) if run.translation.words else "nothing"
    seen = "held out of training" if is_held_out(run.number) else "not held out of training"
    begin = f"{run.number:,} ({seen}) becomes {words}"
    if run.is_right:
        return f"{begin}: right."
    if not run.translation.ended:
        return f"{begin} and does not end: wrong."
    meant = read_german(run.translation.words)
    return f"{begin}: wrong, {'no number' if meant is None else f'that is {meant:,}'}."


def _held_out(run: Translated) -> str:
    intact = accuracy(run.chosen.name, FREE)
    if run.chosen.rules == FREE:
        return f"{_of(intact)} held-out numbers come out right."
    now = accuracy(run.chosen.name, run.chosen.rules)
    parts = now.by_crossing()
    by_crossing = f"{_of(parts[False])} without a crossing, {_of(parts[True])} with one"
    return (
        f"Restricted like this, {_count(now)} of {len(now.right)} held-out numbers come out right "
        f"({_count(intact)} without the restriction): {by_crossing}."
    )


def heads(run: Translated) -> None:
    """Each head switched off, alone: accuracy as bars and as a table; first a guess, if that is wanted."""
    everyone = all_heads(run.translator.weights.num_heads)
    experiment = _experiment(run)
    if run.chosen.predict and not prediction.is_revealed(experiment):
        show.line("What do you expect? Each head is switched off, alone; the numbers come after your answer.")
        prediction.ask(experiment, [_question(everyone)])
        return
    found = _computed(run.chosen.name, everyone)
    st.session_state.setdefault(_SEEN, set()).add(run.chosen.name)
    if run.chosen.predict:
        prediction.compared([_question(everyone, found)])
    intact = accuracy(run.chosen.name, FREE)
    show.line(finding(intact, found))
    _bars(intact, found)
    rows = {INTACT: intact, **({OWN: accuracy(run.chosen.name, run.chosen.rules)} if run.chosen.rules != FREE else {})}
    _table(rows | {f"{named(head)} off": one for head, one in found.items()}, "Switched off", key="worth_table")
    show.line(
        f"{len(intact.right)} numbers that no training saw, the same for every row. Right is every word and the end "
        "mark. This is one training: other weights may share the work differently.",
        quiet=True,
    )


def seen(run: Translated) -> dict[Head, Accuracy]:
    """The accuracies that `heads` has shown in this session; none if it has not, or if a guess is to come first."""
    name = run.chosen.name
    is_shown = not run.chosen.predict or prediction.is_revealed(_experiment(run))
    if not is_shown or name not in st.session_state.get(_SEEN, ()):
        return {}
    return {head: accuracy(name, head.off()) for head in all_heads(run.translator.weights.num_heads)}


def _experiment(run: Translated) -> tuple[str, str]:
    return ("what is a head worth", run.chosen.name)


def _computed(name: str, everyone: tuple[Head, ...]) -> dict[Head, Accuracy]:
    """The accuracies with each head off, under a bar that shows how far they are."""
    place, found = st.empty(), {}
    for count, head in enumerate(everyone):
        with place:
            st.progress(count / len(everyone), text=f"{count} of {len(everyone)} heads")
        found[head] = accuracy(name, head.off())
    place.empty()
    return found


def _question(everyone: tuple[Head, ...], found: Mapping[Head, Accuracy] | None = None) -> Question:
    asks, answers = "Which head, switched off, hurts most?", tuple(named(head) for head in everyone)
    if found is None:
        return Question("guess_worth", asks, answers, frozenset(), "")
    worst = hurts_most(found)
    said = f"{' and '.join(named(head) for head in worst)}, {_of(found[worst[0]])} right."
    return Question("guess_worth", asks, answers, frozenset(everyone.index(head) for head in worst), said)


def finding(intact: Accuracy, found: Mapping[Head, Accuracy]) -> str:
    worst = hurts_most(found)
    rest = [int(one.right.sum()) for head, one in found.items() if head not in worst]
    whole = f"Intact, {_of(intact)} come out right."
    if not rest:
        return f"{whole} With any one head off, {_of(found[worst[0]])} do."
    unharmed = sum(bool((one.right >= intact.right).all()) for one in found.values())
    return (
        f"{whole} {' or '.join(named(head) for head in worst)} switched off: {_of(found[worst[0]])}; any "
        f"other head: at least {min(rest)}. {unharmed} of {len(found)} heads can be switched off, alone, without a "
        "number lost."
    )


def _bars(intact: Accuracy, found: Mapping[Head, Accuracy]) -> None:
    chosen = address.bound(
        st.segmented_control,
        "Numbers of so many digits",
        key="digits",
        options=list(LENGTHS),
        default=ALL,
        required=True,
        help="The accuracy on numbers of one length alone.",
    )
    digits = LENGTHS[chosen]
    shares = [100 * _among(one, digits).share for one in (intact, *found.values())]
    labels = [INTACT, *(f"{head.attention}{head.head + 1}" for head in found)]
    kinds = sorted({head.head for head in found})
    parts = np.full((1 + len(kinds), len(shares)), np.nan)
    parts[0, 0] = shares[0]
    for place, head in enumerate(found, 1):
        parts[1 + kinds.index(head.head), place] = shares[place]
    draw = partial(
        figures.position_bars,
        parts,
        labels,
        names=[INTACT, *maps.head_names(len(kinds))],
        colours=[figures.MEAN_COLOUR, *figures.HEAD_COLOURS[: len(kinds)]],
        unit="right, %",
        number=".1f",
        title="head switched off",
        **maps.fitting(),
    )
    alt = "Right, in percent: " + ", ".join(f"{label} {share:.1f}" for label, share in zip(labels, shares, strict=True))
    show.chart(draw, key="worth_bars", alt=f"{alt}.")


def looking_ahead(run: Translated) -> None:
    """Word i made from source words 1 to i alone, and from one more: what that does to numbers with a crossing."""
    name, intact = run.chosen.name, accuracy(run.chosen.name, FREE)
    none, one = (accuracy(name, Rules(cross=(FirstWords(ahead),))) for ahead in (0, 1))
    parts, more = none.by_crossing(), one.by_crossing()
    show.line(
        "Word i of the translation may look only at source words 1 to i and the end mark: "
        f"{_of(parts[False])} numbers without a crossing come out right, and {_of(parts[True])} with one. With "
        f"one word more, source words 1 to i + 1, it is {_of(more[False])} and {_of(more[True])}."
    )
    rows = {"words 1 to i": none, "words 1 to i + 1": one, INTACT: intact}
    if run.chosen.rules != FREE:
        rows[OWN] = accuracy(name, run.chosen.rules)
    _table(rows, "May look at", key="ahead_table")
    show.line(
        "In “vier und dreißig” the units come first, in “thirty four” last: there a word of the translation needs a "
        "source word that stands one place further on. Choose “Words 1 to i” above to see it happen.",
        quiet=True,
    )


def _table(rows: Mapping[str, Accuracy], kind: str, *, key: str) -> None:
    titles = {name: f"{PARTS[name]} ({len(part.right)})" for name, part in parts(next(iter(rows.values()))).items()}
    shares = [{name: 100 * part.share for name, part in parts(one).items()} for one in rows.values()]
    table = pd.DataFrame(shares, index=pd.Index(list(rows), name=kind))
    config = {name: st.column_config.NumberColumn(title, format=PERCENT) for name, title in titles.items()}
    st.dataframe(
        table,
        key=key,
        height="content",
        column_config=config,
        alt="Right numbers in percent, by digits and by crossing",
    )


def parts(one: Accuracy) -> dict[str, Accuracy]:
    """The whole, and its parts by digits and by crossing, by their names in PARTS."""
    return {
        "all": one,
        **{str(digits): part for digits, part in one.by_digits().items()},
        **{f"crossing {is_so}": part for is_so, part in one.by_crossing().items()},
    }


def _among(one: Accuracy, digits: int | None) -> Accuracy:
    return one if digits is None else one.by_digits()[digits]


def _count(one: Accuracy) -> int:
    return int(one.right.sum())


def _of(one: Accuracy) -> str:
    return f"{_count(one)} of {len(one.right)}"
