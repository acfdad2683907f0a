"""A translation as one Python script in NumPy and the file of trained weights that it reads: what a student takes home.

It needs nothing of this project. It defines and prints `german`, the words, and `weights` of cross-attention
(H, T, S), a row for each word produced; `python translate_numpy.py --json` prints every digit, and the maps of the two
self-attentions too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mha.export.archive import archive
from mha.export.script import WIDTH
from mha.export.translation import TranslationScene
from mha.translator.restrictions import FirstWords, Halves, HeadPositions, HeadsOff, Restriction, Window
from mha.translator.weights import ATTENTIONS, shipped

FILE_NAME = "translate_numpy.py"


def translation_zip(scene: TranslationScene) -> bytes:
    """A zip file of the script and its weights, to be unpacked into one folder."""
    weights = shipped(scene.weights)
    return archive({FILE_NAME: translation_program(scene), weights.name: weights.read_bytes()})


def translation_program(scene: TranslationScene) -> str:
    """The text of a script that computes what `scene.followed()` does; its weights lie in a file beside it."""
    may_look = [_may_look(scene, name, *_OWN_RULE[name]) for name in ATTENTIONS]
    said = {"WORDS": " ".join(scene.source), "FILE": shipped(scene.weights).name, "MAY_LOOK": "\n\n\n".join(may_look)}
    text = _PROGRAM
    for name, value in said.items():
        text = text.replace(f"<{name}>", value)
    return text


# Of each attention: how many keys a row has, and what the model blocks by itself.
_OWN_RULE = {"encoder": ("S", ""), "decoder": ("(i + 1)", "j <= i"), "cross": ("S", "")}


def _may_look(scene: TranslationScene, name: str, keys: str, own: str) -> str:
    """A function that says for head h, row i and key j, arrays that broadcast, whether there may be a look."""
    terms = [own] if own else []
    terms += [_KINDS[type(restriction)](restriction, keys) for restriction in scene.restrictions(name)]
    joined = terms or ["True"]
    if len(terms) > 1:
        joined = [f"({term})" for term in terms]
    line = f"    return {' & '.join(joined)}"
    if len(line) > WIDTH:
        line = "    return (\n        " + "\n        & ".join(joined) + "\n    )"
    return f"def {name}_may_look(h, i, j):\n{line}" + ("  # no word that comes later" if terms == [own] else "")


def _heads_off(restriction: HeadsOff, keys: str) -> str:
    if len(restriction.heads) == 1:
        return f"h != {restriction.heads[0]}"
    return f"~np.isin(h, {list(restriction.heads)})"


def _halves(restriction: Halves, keys: str) -> str:
    return f"(h * {keys} // H <= j) & (j < (h + 1) * {keys} // H)"


def _positions(restriction: HeadPositions, keys: str) -> str:
    return f"np.stack([np.isin(j[0], own) for own in {[list(own) for own in restriction.positions]}])"


def _window(restriction: Window, keys: str) -> str:
    left = [] if restriction.left is None else [f"(i - {restriction.left} <= j)"]
    right = [] if restriction.right is None else [f"(j <= i + {restriction.right})"]
    return " & ".join([*left, *right]) or "j >= 0"


def _first_words(restriction: FirstWords, keys: str) -> str:
    return f"(j <= i + {restriction.ahead}) | (j == {keys} - 1)"


_KINDS: dict[type[Restriction], Callable[[Any, str], str]] = {
    HeadsOff: _heads_off,
    Halves: _halves,
    HeadPositions: _positions,
    Window: _window,
    FirstWords: _first_words,
}

_PROGRAM = """\
# A trained translator, English number words to German ones, in NumPy, step by step.
# Run it by: python translate_numpy.py, or python translate_numpy.py --json for every digit.
# It needs numpy, and <FILE> in the same folder, where the trained numbers are; nothing else.

import json
import sys
from pathlib import Path

import numpy as np

# Try other words: any number from zero to 999,999, without "and".
english = "<WORDS>".split()

# A safetensors file: in 8 bytes the length of its header, the header as JSON, then the numbers of all arrays.
file = Path(__file__).with_name("<FILE>").read_bytes()
start = 8 + int.from_bytes(file[:8], "little")
header = json.loads(file[8:start])
about = json.loads(header.pop("__metadata__")["headlight"])
arrays = {}
for name, entry in header.items():
    first, end = entry["data_offsets"]
    halves = np.frombuffer(file[start + first : start + end], dtype="<f2")  # float16, half the size
    arrays[name] = halves.astype(np.float64).reshape(entry["shape"])

source = [*english, "[end]"]
S = len(source)  # source words and end mark
H = about["num_heads"]
D = arrays["source.embedding"].shape[1]  # width of the model
K = D // H  # width of a head


# Who may look where, True = may look: head h, row i (who looks), key j (what is looked at), all from 0.
<MAY_LOOK>


def embed(side, words):  # (T, D): a row for each word, and the sine or cosine of its place added
    known = about[f"{side}_words"]
    place, column = np.arange(len(words))[:, None], np.arange(D)
    angle = place / 10_000 ** ((column - column % 2) / D)
    positions = np.where(column % 2, np.cos(angle), np.sin(angle))
    return arrays[f"{side}.embedding"][[known.index(word) for word in words]] + positions


def norm(name, x):  # every row to mean 0 and variance 1, then scaled and shifted as learned
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5)
    return x * arrays[f"{name}.gain"] + arrays[f"{name}.shift"]


def attend(name, rows, keys, may_look):  # (Tq, D) look at (Tk, D) -> output (Tq, D), weights (H, Tq, Tk)
    def projected(x, part):
        return x @ arrays[f"{name}.attention.W_{part}"] + arrays[f"{name}.attention.b_{part}"]

    def split(x):  # (T, D) -> (H, T, K): head h takes columns h*K:(h+1)*K
        return x.reshape(-1, H, K).swapaxes(0, 1)

    q, k, v = split(projected(rows, "q")), split(projected(keys, "k")), split(projected(keys, "v"))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(K)
    h, i, j = np.ogrid[:H, : len(rows), : len(keys)]
    allowed = np.broadcast_to(may_look(h, i, j), scores.shape)
    largest = scores.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    weights = np.exp(np.where(allowed, scores - largest, -np.inf))  # blocked: exp(-inf) is 0
    total = weights.sum(axis=-1, keepdims=True)
    weights /= np.where(total > 0, total, 1)  # each row sums to 1; with no key left it stays 0
    heads_side_by_side = (weights @ v).swapaxes(0, 1).reshape(-1, D)
    return projected(heads_side_by_side, "o"), weights


def feed_forward(name, x):  # every row by itself through two matrices, with max(0, ...) between them
    inner = x @ arrays[f"{name}.feed_forward.W_1"] + arrays[f"{name}.feed_forward.b_1"]
    return np.maximum(inner, 0) @ arrays[f"{name}.feed_forward.W_2"] + arrays[f"{name}.feed_forward.b_2"]


# The encoder, once: English words look at English words.
x = embed("source", source)
normed = norm("encoder.attention_norm", x)
output, encoder_weights = attend("encoder", normed, normed, encoder_may_look)
x = x + output
x = x + feed_forward("encoder", norm("encoder.feed_forward_norm", x))
memory = norm("encoder.final_norm", x)  # what the decoder looks at


def decode(words):  # scores of the next word after each of these (T, V), weights of both attentions
    y = embed("target", words)
    normed = norm("decoder.attention_norm", y)
    output, own_weights = attend("decoder", normed, normed, decoder_may_look)
    y = y + output
    output, cross_weights = attend("cross", norm("cross.attention_norm", y), memory, cross_may_look)
    y = y + output
    y = y + feed_forward("decoder", norm("decoder.feed_forward_norm", y))
    scores = norm("decoder.final_norm", y) @ arrays["output.W"] + arrays["output.b"]
    return scores, own_weights, cross_weights


# The decoder, word by word: the most probable next word is taken and goes in again.
produced = []
while "[end]" not in produced and len(produced) <= about["longest_target"]:
    scores, decoder_weights, weights = decode(["[start]", *produced])
    produced.append(about["target_words"][scores[-1].argmax()])
german = [word for word in produced if word != "[end]"]

results = {
    "german": german,
    "weights": weights.tolist(),  # (H, T, S), cross-attention: each word produced over the source
    "encoder_weights": encoder_weights.tolist(),  # (H, S, S)
    "decoder_weights": decoder_weights.tolist(),  # (H, T, T): over the start mark and the words before
}
if "--json" in sys.argv:  # every digit, for other programs
    print(json.dumps(results))
else:
    print(" ".join(english), "->", " ".join(german))
    np.set_printoptions(precision=4, suppress=True)
    for h in range(H):
        print(f"cross-attention, head {h + 1}: {', '.join(produced)} look at {', '.join(source)}")
        print(weights[h])
"""
