"""The top of every page: the text field and the shared sidebar, as one frozen Settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from mha import Tokens, config, tokenize
from mha.config import EXAMPLES, PRESETS, Model
from mha.ui import address, browser, compute, explain, frame, share, show, take_away
from mha.ui.take_away import Taken

# Long enough that a word typed fluently (about 0.1 to 0.25 s between two keys) is drawn once and not once a letter;
# short enough that the picture answers while one still looks at the word.
TYPING_PAUSE = "300ms"


@dataclass(frozen=True)
class Settings:
    """What holds for all pages."""

    text: str
    split: str = config.SPLITS[0]
    model: Model = PRESETS[0].model
    with_mean: bool = False


Draw = Callable[[Settings], Callable[[], Taken] | None]  # draws a page; what it returns makes what can be taken away


def page(
    title: str,
    draw: Draw,
    field: Callable[[], str] | None = None,
    text_key: str = "text",
    sidebar: Callable[[], None] | None = None,
) -> None:
    """A whole page, cold or not: the shared sidebar, and the body, which `draw` fills.

    field: draws another text field than the common one, and returns its text; text_key: its key. sidebar: is drawn
    instead of the shared one, for a page that the shared settings do not concern.

    The body is a fragment of its own: what someone types reruns the body and leaves the sidebar alone, which saves
    more than half of the work on both ends.
    """
    frame.set_up(title)
    compute.warm_up()
    address.read(title)
    frame.run_the_router_first()
    with st.sidebar:
        if sidebar:
            sidebar()
        shared = {} if sidebar else _sidebar(text_key)
    st.session_state.pop(share.SIDEBAR_TOO, None)  # this run is one of the whole page
    _body(title, shared, draw, field or _text_field)


@st.fragment
def _body(title: str, shared: dict[str, Any], draw: Draw, field: Callable[[], str]) -> None:
    """The text field, what `draw` makes of it, notes on the link, Share, and what `draw` gives to take away.

    Share comes last, even when the page ends early: its link names what the page has drawn by then.
    """
    if st.session_state.pop(share.SIDEBAR_TOO, False):
        st.rerun()  # a button of the body has set what stands in the sidebar
    with st.container(key="text_row", horizontal=True, vertical_alignment="center"):
        text = field()
        explain.words()
        share_place, take_away_place = st.container(width="content"), st.container(width="content")
    notes = st.container()
    browser.listen()
    taken = None
    with show.charts_noted() as charts, suppress(compute.PageEnds):
        taken = draw(Settings(text=text, **shared))
    with share_place:
        share.control(title)
    if taken is not None:
        with take_away_place:
            take_away.control(title, taken, charts)
    with notes:
        show.notes([*share.said(), *address.ignored()])


def tokens(settings: Settings) -> Tokens:
    """The text's tokens, with a word on what was cut; no tokens: examples to click, and the page stops."""
    found = tokenize(settings.text, settings.split)
    show.notes(found.notes)
    if not found:
        show.line("There are no tokens yet. Type a few words above, or take one of these:")
        for number, example in enumerate(EXAMPLES):
            st.button(example, key=f"example_{number}", on_click=_take_example, args=(example,))
        raise compute.PageEnds
    return found


def _take_example(text: str) -> None:
    st.session_state["text"] = text


def causal(label: str = "Causal: no looking ahead") -> bool:
    """Whether a token may look only at itself and at what stands before it."""
    return address.bound(
        st.toggle,
        label,
        key="causal",
        help="Blocks every key that stands after the query, as in a model that writes word by word.",
    )


def _text_field() -> str:
    return address.bound(
        st.text_input,
        "Your text",
        key="text",
        value=PRESETS[0].text,
        placeholder="Type a few words",
        live=TYPING_PAUSE,
        label_visibility="collapsed",  # every line counts: all eight heads belong on the first screen
    )


def _sidebar(text_key: str) -> dict[str, Any]:
    """Everything of `Settings` but the text."""
    presets = st.container()  # drawn last: which preset it is shows only when the others have been drawn
    st.markdown("##### Splitting")
    split = address.bound(
        st.segmented_control,
        "Split the text",
        key="split",
        options=config.SPLITS,
        default=config.SPLITS[0],
        required=True,
        help="At spaces, into words and punctuation, or into characters. What comes out are the tokens.",
    )
    st.markdown("##### Model")
    model = _model()
    with presets:
        _preset(model, text_key)
    st.markdown("##### Display")
    with_mean = address.bound(
        st.toggle,
        "Mean of heads",
        key="mean",
        help="Adds one map, the mean of all heads' weights. It is no head's own.",
    )
    return {"split": split, "model": model, "with_mean": with_mean}


def _model() -> Model:
    default = PRESETS[0].model
    left, right = st.columns(2)
    with left:
        heads = address.bound(
            st.selectbox,
            "Heads (h)",
            key="heads",
            options=range(1, config.MAX_HEADS + 1),
            index=default.num_heads - 1,
            help="How many heads look at the text side by side, each with its own projections.",
        )
    width_before = st.session_state.get("width")
    with right:
        width = _width(heads)
    st.caption(f"$d_k$ = {width} / {heads} = {width // heads} numbers a head.")
    if width_before not in (None, width):
        st.caption(f"{heads} heads do not divide {width_before}: the width is {width} now.")
    init = address.bound(
        st.selectbox,
        "Start values (W)",
        key="init",
        options=config.INITS,
        index=config.INITS.index(default.init),
        help="The rule the projection matrices are drawn by: as PyTorch does, Xavier (Glorot), standard normal, "
        "uniform from 0 to 1 (all positive), or that minus 0.5.",
    )
    seed = address.bound(
        st.number_input,
        "Seed",
        key="seed",
        min_value=0,
        max_value=config.MAX_SEED,
        value=default.seed,
        help="Every number drawn follows from it: the same seed gives the same numbers on any machine.",
    )
    values = address.bound(
        st.selectbox,
        "Token vectors (X)",
        key="values",
        options=config.VALUES,
        index=config.VALUES.index(default.values),
        help="How a token's vector is drawn: standard normal, or uniform from 0 to 1 (all positive).",
    )
    positions = address.bound(
        st.selectbox,
        "Positions",
        key="positions",
        options=config.POSITIONS,
        index=config.POSITIONS.index(default.positions),
        help="Without positions a repeated word is the same everywhere; sinusoidal adds waves that tell places apart.",
    )
    bias = address.bound(
        st.toggle,
        "Bias (b)",
        key="bias",
        value=default.bias,
        help="Adds a vector after each projection. It starts at 0 for pytorch and xavier, as in PyTorch, "
        "and then changes nothing.",
    )
    return Model(int(seed), int(width), int(heads), init, bias, positions, values)


def _width(heads: int) -> int:
    """The model width, of those that the heads divide."""
    widths = config.widths_for(heads)
    wanted = st.session_state.get("width")
    if wanted is not None and wanted not in widths:
        st.session_state["width"] = config.nearest_width(wanted, heads)
    return address.bound(
        st.selectbox,
        "Width (d)",
        key="width",
        options=widths,
        index=widths.index(config.nearest_width(PRESETS[0].model.d_model, heads)),
        help="How many numbers stand for a token (d_model). Only widths that the heads divide are offered.",
    )


def _preset(model: Model, text_key: str) -> None:
    """A preset is no setting: it sets the others, and its name stands there as long as they are as it set them."""
    st.session_state["preset"] = _name_of(model)
    st.selectbox(
        "Preset",
        [preset.name for preset in PRESETS],
        index=None,
        key="preset",
        placeholder="Your own settings",
        on_change=_apply_preset,
        args=(text_key,),
        help="Sets the model and an example text: PyTorch's start values, the Day 28 exercise, or the NumPy article.",
    )


def _name_of(model: Model) -> str | None:
    """The preset that has this model, whatever the seed."""
    return next((preset.name for preset in PRESETS if replace(model, seed=preset.model.seed) == preset.model), None)


def _apply_preset(text_key: str) -> None:
    preset = next((preset for preset in PRESETS if preset.name == st.session_state["preset"]), None)
    if preset is not None:
        take(preset.model, **{text_key: preset.text})


def take(model: Model, **others: object) -> None:
    """Set the model and other settings, by the keys of their widgets; for callbacks, before the widgets are drawn."""
    st.session_state.update({**_model_keys(model), **others, share.SIDEBAR_TOO: True})


def _model_keys(model: Model) -> dict[str, object]:
    """A model by the keys of its widgets."""
    return {
        "seed": model.seed,
        "width": model.d_model,
        "heads": model.num_heads,
        "init": model.init,
        "bias": model.bias,
        "positions": model.positions,
        "values": model.values,
    }
