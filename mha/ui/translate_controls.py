"""The controls of the Translate page: which weights, which heads are off, who may look where, and which word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from mha.translator.evaluate import Head, all_heads
from mha.translator.restrictions import FREE, FirstWords, Halves, HeadPositions, HeadsOff, Restriction, Rules, Window
from mha.ui import address, restriction_controls, translate_run
from mha.ui.translate_run import Chosen, Translated

WEIGHTS = {"work shared": "shared", "one head": "one_head"}
WHERE = {"Cross-attention": "cross", "Encoder": "encoder", "Decoder": "decoder"}
NONE, BLOCKS, WINDOW, POSITIONS, FIRST = "None", "Equal blocks", "Window", "Own positions", "Words 1 to i"
SAYS = {
    NONE: "no restriction",
    BLOCKS: "each head its own block of what there is to look at, as in the exercise’s halves",
    WINDOW: "row i looks only so far back and on, counted in positions",
    POSITIONS: "each head at positions of its own",
    FIRST: "word i of the translation is made from source words 1 to i, k more, and the end mark",
}
MOST = 12  # positions: the longest translation with its end mark
FOUR_PARTS = "1,2; 3,4; 5,6; 7-12"
_OFF = "_translate_off"


def sidebar() -> None:
    """Instead of the shared settings, why they are not here."""
    st.markdown("##### Model")
    st.caption(
        "This page runs a small translator with trained weights. The settings of the other pages (splitting, heads, "
        "width, start values, seed) do not concern it; they are kept until you go back."
    )


def choose() -> Chosen:
    """All controls in one row; on a narrow screen they wrap."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="translate_controls"):
        name = WEIGHTS[
            address.bound(
                st.selectbox,
                "Weights",
                key="weights",
                options=list(WEIGHTS),
                width=140,
                help="Two trainings. In one, several heads of cross-attention matter; in the other nearly all hangs on "
                "one. “What is a head worth?” measures it.",
            )
        ]
        # What is refused must not take the other controls along: a damaged file is read after they are drawn, and
        # positions that cannot be after all of them.
        place = st.container(width="content")
        limits = _limits()
        predict = restriction_controls.predict_first("which head hurts most, before “What is a head worth?” shows it")
    with place:
        off = _heads_off(translate_run.translator(name).weights.num_heads)
    return Chosen(name, _joined(limits, off), predict)


@dataclass(frozen=True)
class _Limit:
    """One restriction of one attention."""

    where: str
    make: Callable[[], Restriction]  # ValueError for positions that cannot be


def _limits() -> list[_Limit]:
    kind = address.bound(
        st.selectbox,
        "Restriction",
        key="limit",
        options=list(SAYS),
        width=140,
        help="; ".join(f"**{name}**: {says}" for name, says in SAYS.items()) + ".",
    )
    if kind == NONE:
        return []
    if kind == FIRST:
        return [_Limit("cross", partial(FirstWords, _whole("Further words (k)", "ahead", 0)))]
    where = WHERE[
        address.bound(
            st.selectbox, "In", key="limit_in", options=list(WHERE), width=150, help="The attention that is restricted."
        )
    ]
    if kind == BLOCKS:
        return [_Limit(where, Halves)]
    if kind == WINDOW:
        return [_Limit(where, partial(Window, _whole("Back", "look_back", 1), _whole("On", "look_on", 1)))]
    typed = address.bound(
        st.text_input,
        "Positions of the heads",
        key="head_places",
        value=FOUR_PARTS,
        width=200,
        help="A list for each head with semicolons between; 1 is the first word (in the decoder, the start mark).",
    )
    return [_Limit(where, lambda: HeadPositions(read_places(typed)))]


def _whole(label: str, key: str, value: int) -> int:
    found = address.bound(
        st.number_input,
        label,
        key=key,
        min_value=0,
        max_value=MOST,
        value=value,
        width=120,
        help=f"From 0 to {MOST} positions.",
    )
    return int(found)


def read_places(typed: str) -> tuple[tuple[int, ...], ...]:
    """ "1,2; 3-5" as positions of each head, from 0. ValueError for anything else, naming it."""
    return tuple(tuple(at for part in head.split(",") for at in _range(part)) for head in typed.split(";"))


def _range(part: str) -> range:
    part = part.strip()
    found = re.fullmatch(r"(\d{1,3})(?:\s*-\s*(\d{1,3}))?", part, re.ASCII)
    if found is None:
        if not part:
            return range(0)
        raise ValueError(f'expected positions such as "1,2; 3-5", got "{part[:20]}"')
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last <= MOST:
        raise ValueError(f'expected positions from 1 to {MOST}, rising, got "{part}"')
    return range(first - 1, last)


def _joined(limits: list[_Limit], off: tuple[Head, ...]) -> Rules:
    rules = FREE
    for limit in limits:
        rules = replace(rules, **{limit.where: (*getattr(rules, limit.where), limit.make())})
    for name in dict.fromkeys(head.attention for head in off):
        switched = HeadsOff(tuple(head.head for head in off if head.attention == name))
        rules = replace(rules, **{name: (*getattr(rules, name), switched)})
    return rules


def _heads_off(num_heads: int) -> tuple[Head, ...]:
    """Heads that are switched off, in the order of `all_heads`."""
    by_code = {f"{head.attention}{head.head + 1}": head for head in all_heads(num_heads)}
    if said := address.given("heads_off"):
        codes = said.split(",")
        st.session_state[_OFF] = codes if codes == [code for code in by_code if code in codes] else None
    off = [code for code in by_code if code in (st.session_state.get(_OFF) or ())]
    with st.popover(
        f"Off: {', '.join(off)}" if 0 < len(off) < restriction_controls.MOST_NAMED else _counted(len(off)),
        help="A head that is off may look at nothing and adds nothing.",
    ):
        st.session_state["translate_heads_off"] = off
        st.pills(
            "Switch these heads off",
            options=list(by_code),
            selection_mode="multi",
            format_func=lambda code: translate_run.named(by_code[code]),
            key="translate_heads_off",
            on_change=_take_off,
        )
    expected = "heads such as encoder1,cross3, in the order of the list, with commas between"
    address.keep("heads_off", ",".join(off), expected, is_default=not off)
    return tuple(by_code[code] for code in off)


def _counted(off: int) -> str:
    return f"Off: {off} heads" if off else "All heads on"


def _take_off() -> None:
    st.session_state[_OFF] = list(st.session_state["translate_heads_off"])


def choose_step(run: Translated) -> int:
    """The step of decoding that is shown, from 0; the translation so far stands beside its slider."""
    count = len(run.produced)
    with st.container(key="decoding", horizontal=True, vertical_alignment="center", gap="medium"):
        step = _slider(count) if count > 1 else 0
        translate_run.so_far(run, step)
    return step


def _slider(count: int) -> int:
    kept = st.session_state.get("word")
    if isinstance(kept, int):
        st.session_state["word"] = min(kept, count)
    step = address.bound(
        st.slider,
        "Step of decoding",
        key="word",
        min_value=1,
        max_value=count,
        value=1,
        width=260,
        label_visibility="collapsed",
        help="Which word is being produced; the arrow keys move it too.",
    )
    return int(step) - 1
