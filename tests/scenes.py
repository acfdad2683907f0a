"""Scenes that tests of exports share: every rule, alone and together, and any scene at all.

B = 2 texts, H = 3 heads, T = 7, K = 5: all different, so that a swapped axis cannot pass by luck.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from mha import masks
from mha.arrays import Array, Booleans
from mha.config import INITS, PRESETS, Model
from mha.export import Scene
from mha.masks import Rule

ONE = (("the", "cat", "sat", "on", "the", "mat", "."),)
TWO = (("the", "cat", "sat"), ("我", "喜欢", "don't", 'say "no"', "e\u0301", "\u202etfel", "back\\slash"))
H, T = 3, 7
MODEL = Model(seed=11, d_model=15, num_heads=H, init="normal")
GRID = np.array([[(3 * i + 5 * j) % 7 != 0 and (i * j) % 3 != 1 for j in range(T)] for i in range(T)])
ONE_HEAD = np.ones((1, H, T, T), dtype=np.bool_)
ONE_HEAD[0, 1] = GRID
BIG = 41  # 41 x 41 cells are more than a script prints

CAUSAL = masks.causal(T, T)
PADDING = masks.valid_lens([3, 7], T)
WINDOW = masks.window(T, T, 2, 1)
RANGES = masks.heads([[1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 1]], T)
SCATTERED = masks.heads([[1, 0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1, 1]], T)
CUSTOM = masks.custom(GRID)
BIG_GRID = masks.custom(np.random.default_rng(3).random((BIG, BIG)) < 0.5)


def scene(*rules: Rule, texts: tuple[tuple[str, ...], ...] = TWO, model: Model = MODEL) -> Scene:
    return Scene(texts, model, rules)


SCENES: dict[str, Scene] = {
    "none": scene(),
    "causal": scene(CAUSAL),
    "causal, one text": scene(CAUSAL, texts=ONE),
    "padding": scene(PADDING),
    "padding, one text": scene(masks.valid_lens([5], T), texts=ONE),
    "padding per query": scene(masks.valid_lens([[1, 2, 2, 3, 1, 2, 3], [7, 6, 5, 4, 3, 2, 1]], T)),
    "left padding": scene(masks.custom(np.arange(T) >= np.array([4, 0]).reshape(2, 1, 1, 1))),
    "window": scene(WINDOW),
    "window ahead": scene(masks.custom(np.triu(np.ones((T, T), dtype=np.bool_)))),
    "ranges": scene(RANGES),
    "scattered": scene(SCATTERED),
    "custom": scene(CUSTOM),
    "custom, one head": scene(masks.custom(ONE_HEAD)),
    "custom, per text and head": scene(masks.custom(np.random.default_rng(5).random((2, H, T, T)) < 0.7)),
    "two of a kind": scene(PADDING, CUSTOM, masks.valid_lens([3, 6], T), masks.custom(GRID.T), CAUSAL),
    "all": scene(CAUSAL, PADDING, masks.window(T, T, 4, None), RANGES, CUSTOM),
    "all, with biases": scene(
        CAUSAL, PADDING, WINDOW, RANGES, CUSTOM, model=Model(seed=2, d_model=15, num_heads=H, init="normal", bias=True)
    ),
    "halves and causal": scene(masks.halves(H, T), CAUSAL),
    "everything blocked": scene(masks.custom(np.zeros((T, T), dtype=np.bool_))),
    "a text of length 0": Scene(((), ONE[0]), MODEL, (masks.valid_lens([0, 7], T),)),
    "a file": Scene((tuple(f"w{i}" for i in range(BIG)),), MODEL, (BIG_GRID,)),
    "cross": Scene(TWO, MODEL, (masks.valid_lens([1, 2], 2), masks.causal(T, 2)), (("je",), ("sais", "cela"))),
    "positions": scene(CAUSAL, model=Model(d_model=15, num_heads=H, positions="sinusoidal", values="uniform")),
    **{
        f"{init}, biases {bias}": scene(PADDING, model=Model(seed=7, d_model=15, num_heads=H, init=init, bias=bias))
        for init in INITS
        for bias in (False, True)
    },
    **{preset.name: Scene((tuple(preset.text.split()),), preset.model) for preset in PRESETS},
}

# The restrictions of the exercise and of its page, each beside a scene's own rules.
ONE_OFF = np.ones((H, T), dtype=np.bool_)
ONE_OFF[1] = False
RESTRICTIONS: dict[str, Rule] = {
    "halves": masks.halves(H, T),
    "odd and even": SCATTERED,
    "own position": masks.custom(np.eye(T, dtype=np.bool_)),
    "nearest": masks.window(T, T, 1, 1),
    "first token": masks.custom(np.arange(T) == 0),
    "all but the first token": masks.custom(np.arange(T) > 0),
    "a head off": masks.heads(ONE_OFF, T),
    "all heads off": masks.heads(~np.ones((H, T), dtype=np.bool_), T),
    "all positions": masks.heads(np.ones((H, T), dtype=np.bool_), T),
    "a grid for one head": masks.custom(ONE_HEAD),
    "a length a text": masks.valid_lens([2, 5], T),
}
RESTRICTED: dict[str, Scene] = {
    **{name: replace(scene(), restriction=rule) for name, rule in RESTRICTIONS.items()},
    "halves, causal, padding": replace(scene(CAUSAL, PADDING), restriction=masks.halves(H, T)),
    "odd and even, everything": replace(SCENES["all, with biases"], restriction=SCATTERED),
    "cross, restricted": replace(SCENES["cross"], restriction=masks.halves(H, 2)),
    "one token": Scene((("only",),), MODEL, restriction=masks.halves(H, 1)),
    "a large grid": replace(
        SCENES["a file"], restriction=masks.custom(np.random.default_rng(8).random((1, H, BIG, BIG)) < 0.5)
    ),
    "Day 28": Scene((tuple("ABCD"),), PRESETS[1].model, restriction=masks.halves(2, 4)),
}


@st.composite
def scenes(draw: st.DrawFn, *, restricted: bool = False) -> Scene:
    """Any scene of up to three texts; with a restriction that may be any rule, or without."""
    B, Tk = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    crossing = draw(st.booleans())
    Tq = draw(st.integers(1, 6)) if crossing else Tk
    model = draw(
        st.builds(
            Model,
            seed=st.integers(0, 99),
            d_model=st.just(6),
            num_heads=st.sampled_from([1, 2, 3]),
            init=st.sampled_from(INITS),
            bias=st.booleans(),
            positions=st.sampled_from(["none", "sinusoidal"]),
            values=st.sampled_from(["normal", "uniform"]),
        )
    )

    def texts(longest: int) -> tuple[tuple[str, ...], ...]:
        lengths = [longest, *draw(st.lists(st.integers(0, longest), min_size=B - 1, max_size=B - 1))]
        return tuple(tuple("abcdef"[:length]) for length in lengths)

    def booleans(*shape: int) -> Booleans:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=np.bool_).reshape(shape)

    def whole(low: int, high: int, *shape: int) -> Array:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size))).reshape(shape)

    def reduced() -> tuple[int, ...]:
        return tuple(length if draw(st.booleans()) else 1 for length in (B, model.num_heads, Tq, Tk))

    bound = st.none() | st.integers(0, 6)
    makers = {
        "causal": lambda: masks.causal(Tq, Tk),
        "valid_lens": lambda: masks.valid_lens(whole(0, Tk, B), Tk),
        "per query": lambda: masks.valid_lens(whole(0, Tk, B, Tq), Tk),
        "window": lambda: masks.window(Tq, Tk, draw(bound), draw(bound)),
        "heads": lambda: masks.heads(booleans(model.num_heads, Tk), Tk),
        "halves": lambda: masks.halves(model.num_heads, Tk),
        "custom": lambda: masks.custom(booleans(*reduced())),
    }
    rules = tuple(makers[name]() for name in draw(st.lists(st.sampled_from(sorted(makers)), max_size=3)))
    restriction = makers[draw(st.sampled_from(sorted(makers)))]() if restricted else None
    return Scene(texts(Tq), model, rules, texts(Tk) if crossing else None, restriction)
