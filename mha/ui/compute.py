"""The chain text -> Tokens -> X -> attend -> Trace for the pages, cached; a core error is shown and stops the page."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from mha import Tokens, Trace, Weights, attend, embed, masks
from mha.arrays import Array
from mha.config import Model
from mha.ui import show, sockets


class PageEnds(Exception):
    """Ends a page early; what stands around every page (the link, notes) is still drawn."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One text through one model."""

    tokens: Tokens  # who looks
    X: Array  # (1, T, D)
    weights: Weights
    mask: masks.Mask
    trace: Trace

    @property
    def keys(self) -> Tokens:
        """What is looked at: in self-attention the same tokens."""
        return self.tokens

    @property
    def key_vectors(self) -> Array:
        """(1, Tk, D)."""
        return self.X


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Import once what every session needs, and take it out of the garbage collector's sight.

    Streamlit collects garbage after every run, which costs time in proportion to all live objects; frozen ones
    are not looked at. Importing pandas here also keeps two first sessions from importing it at the same time.
    """
    import pandas  # noqa: F401, PLC0415

    sockets.send_at_once()
    freeze()


def freeze() -> None:
    """Take what is alive now out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def self_attention(tokens: Tokens, model: Model, *, causal: bool = False) -> Pass:
    """`tokens` looking at themselves."""
    T = len(tokens)
    X = embed(tokens, model.d_model, model.seed, positions=model.positions, values=model.values)[None]
    weights = drawn_weights(model.d_model, model.num_heads, model.seed, model.init, model.bias)
    rules = [masks.causal(T, T)] if causal else []
    mask = masks.combine(*rules, shape=(1, model.num_heads, T, T))
    return Pass(tokens, X, weights, mask, attend(X, X, X, weights, mask=mask))


# Eight times at most 8.4 MB (four matrices of 512 x 512). They are read-only, so sessions can share them.
@st.cache_resource(max_entries=8, show_spinner=False)
def drawn_weights(d_model: int, num_heads: int, seed: int, init: str, bias: bool) -> Weights:
    """`Weights.draw`, remembered: all else is drawn anew faster than it could be looked up."""
    return Weights.draw(d_model, num_heads, seed, init=init, bias=bias)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what the core refuses in its own words, and stop the page there."""
    try:
        yield
    except ValueError as problem:
        show.notes([str(problem)])
        raise PageEnds from problem
