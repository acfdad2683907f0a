"""The names that notebooks, exported code and outside checks rely on."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

import mha
from mha import Trace, Weights, masks


def test_everything_the_design_names_is_there() -> None:
    named = "Tokens tokenize embed Weights Trace attend scaled_dot_product_attention masks restrict measures"
    assert set(named.split()) <= set(mha.__all__)
    assert all(hasattr(mha, name) for name in mha.__all__)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (mha.tokenize, "text, how='spaces'"),
        (mha.embed, "tokens, d_model, seed, *, positions='none', values='normal'"),
        (Weights, "W_q, W_k, W_v, W_o, num_heads, b_q=None, b_k=None, b_v=None, b_o=None"),
        (Weights.draw, "d_model, num_heads, seed, *, init='pytorch', bias=False"),
        (mha.scaled_dot_product_attention, "q, k, v, *, mask=None, bias=None, scale=None"),
        (mha.attend, "queries, keys, values, weights, *, mask=None, bias=None, engine='numpy'"),
        (mha.restrict, "queries, keys, values, weights, restriction, *, mask=None, bias=None, engine='numpy'"),
        (masks.causal, "Tq, Tk"),
        (masks.valid_lens, "lens, Tk"),
        (masks.window, "Tq, Tk, left, right"),
        (masks.heads, "allowed, Tk"),
        (masks.halves, "num_heads, Tk"),
        (masks.custom, "array, name='custom'"),
        (masks.combine, "*rules, shape"),
        (masks.Mask.blocked_by, "self, b, h, i, j"),
    ],
)
def test_signatures_are_those_of_the_design(function: object, signature: str) -> None:
    given = inspect.signature(function)  # type: ignore[arg-type]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given.parameters.values()]
    assert str(inspect.Signature(bare)) == f"({signature})"


def test_fields_are_those_of_the_design() -> None:
    trace = "q k v scores mask weights head_outputs concat output empty_rows contributions"
    assert [field.name for field in fields(Trace)] == trace.split()
    assert [field.name for field in fields(masks.Rule)] == ["name", "allowed"]
    assert [field.name for field in fields(masks.Mask)] == ["allowed", "rules"]
    assert [field.name for field in fields(mha.Restriction)] == ["baseline", "restricted"]


def test_the_whole_way_from_text_to_output_in_a_notebook() -> None:
    tokens = mha.tokenize("The cat sat")
    x = mha.embed(tokens, 64, 0)[None]
    weights = Weights.draw(64, 8, 0)
    trace = mha.attend(x, x, x, weights, mask=masks.causal(len(tokens), len(tokens)))
    # the same by the layer below: one head of scaled dot-product attention at a time
    for h in range(8):
        own = slice(8 * h, 8 * (h + 1))
        output, _ = mha.scaled_dot_product_attention(
            x @ weights.W_q[:, own], x @ weights.W_k[:, own], x @ weights.W_v[:, own], mask=trace.mask[:, h]
        )
        assert np.abs(trace.head_outputs[:, h] - output).max() <= 1e-12 * max(1, np.abs(trace.scores).max())
