"""The mask of a scene in the words of other libraries, as scripts that run: each gives the weights of the page.

Here True means "may look". The scripts show who says the opposite, and `no_key` what becomes of a row with no key left.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from mha.arrays import Booleans, Integers
from mha.export import script
from mha.export.scene import Scene
from mha.export.script import NUMPY, TORCH, Lines, Part


@dataclass(frozen=True, eq=False)
class Snippet:
    """A script for one library. It defines `weights` (B, H, Tq, Tk) and `output` (B, Tq, D) and prints the weights.

    says: what True means there. no_key: what the weights of a row with no key left are there, "NaN" or "0";
    about_no_key says more. files: what the script loads, as (file name, array), each to be saved beside it by np.save;
    most scripts need none.
    """

    name: str
    says: str
    no_key: str
    about_no_key: str
    code: str
    files: tuple[tuple[str, Booleans], ...] = ()


def snippets(scene: Scene) -> tuple[Snippet, ...]:
    """The same scene in five ways: three libraries, and the two articles."""
    return (
        _multihead_attention(scene),
        _functional(scene),
        _keras(scene),
        _numpy_class(scene),
        _exercise(scene),
    )


def _multihead_attention(scene: Scene) -> Snippet:
    found = script.parts(scene, TORCH)
    padding = [part for part in found if part.pads]
    others = tuple(part for part in found if not part.pads)
    arguments = []
    if others:
        per_head = any(part.by_text or part.by_head for part in others)
        # PyTorch takes one mask for all, or one for each text and head, folded into one axis.
        arguments.append(f"attn_mask=~allowed{'.expand(B, H, Tq, Tk).flatten(0, 1)' if per_head else ''}")
    if padding:
        words = " & ".join(part.name for part in padding)
        arguments.append(f"key_padding_mask=~{words if len(padding) == 1 else f'({words})'}")
    biases: Lines = ()
    if script.has_biases(scene.model):
        biases = (
            "    mha.in_proj_bias.copy_(torch.from_numpy(np.concatenate([b_q, b_k, b_v])))",
            "    mha.out_proj.bias.copy_(torch.from_numpy(b_o))",
        )
    mask: Lines = tuple(line for part in padding for line in part.lines)
    if others:
        mask += script.allowed_lines(others)
    says = "True means blocked, in attn_mask and in key_padding_mask: our mask is turned round by ~."
    body = (
        f"mha = torch.nn.MultiheadAttention(D, H, bias={bool(biases)}, batch_first=True, dtype=torch.float64)",
        "x, y = torch.from_numpy(queries), torch.from_numpy(keys)",
        "with torch.no_grad():",
        "    W_in = np.concatenate([W_q, W_k, W_v], axis=1)",
        "    mha.in_proj_weight.copy_(torch.from_numpy(W_in.T))  # PyTorch keeps the transposes",
        "    mha.out_proj.weight.copy_(torch.from_numpy(W_o.T))",
        *biases,
        "    output, weights = mha(",
        "        x, y, y, average_attn_weights=False,",
        *(f"        {argument},  # True = blocked" for argument in arguments),
        "    )",
    )
    return Snippet(
        name="PyTorch: nn.MultiheadAttention",
        says=says,
        no_key="NaN",
        about_no_key="NaN, and so is the whole output of that position, whatever the other heads found.",
        code=_code(scene, f"torch.nn.MultiheadAttention. {says}", "torch", mask, body, "weights.numpy()"),
        files=_files(found),
    )


def _functional(scene: Scene) -> Snippet:
    found = script.parts(scene, TORCH)
    mask = script.allowed_lines(found) if found else ()
    argument = ", attn_mask=allowed" if found else ""
    says = "True means may look, as here, though the argument has the same name as in nn.MultiheadAttention."
    body = (
        *_projected(scene, "torch.from_numpy({}).unflatten(-1, (H, K)).transpose(1, 2)  # (B, H, T, K)"),
        "attention = torch.nn.functional.scaled_dot_product_attention",
        f"output = attention(q, k, v{argument}).transpose(1, 2).flatten(2).numpy() @ W_o{_plus_bias(scene)}",
        "# It keeps its weights to itself; with the unit matrix as values they are the output.",
        f"weights = attention(q, k, torch.eye(Tk, dtype=q.dtype){argument})",
    )
    return Snippet(
        name="PyTorch: F.scaled_dot_product_attention",
        says=says,
        no_key="0",
        about_no_key="0, as here; before PyTorch 2.5 it was NaN.",
        code=_code(scene, f"F.scaled_dot_product_attention. {says}", "torch", mask, body, "weights.numpy()"),
        files=_files(found),
    )


def _keras(scene: Scene) -> Snippet:
    found = script.parts(scene, NUMPY)
    mask = script.allowed_lines(found) if found else ()
    argument: Lines = ()
    if any(part.by_head for part in found):
        mask += (
            "# Keras documents a mask (B, Tq, Tk) only. One for each head has to be 4-D, (B, H, Tq, Tk) or",
            "# with ones in it: three axes (H, Tq, Tk) would be taken for one mask a text.",
        )
        argument = ("    attention_mask=allowed,",)
    elif any(part.by_text for part in found):
        argument = ("    attention_mask=allowed[:, 0],  # (B, Tq, Tk), the same for all heads",)
    elif found:
        argument = ("    attention_mask=allowed,",)
    has_biases = script.has_biases(scene.model)
    if has_biases:
        set_weights: Lines = (
            "layer.set_weights([",
            *(f"    W_{x}.reshape(D, H, K), b_{x}.reshape(H, K)," for x in "qkv"),
            "    W_o.reshape(H, K, D), b_o,",
            "])",
        )
    else:
        set_weights = ("layer.set_weights([W.reshape(D, H, K) for W in (W_q, W_k, W_v)] + [W_o.reshape(H, K, D)])",)
    says = "True, or 1, means may look, as here."
    body = (
        f'layer = keras.layers.MultiHeadAttention(H, key_dim=K, use_bias={has_biases}, dtype="float64")',
        "layer.build(queries.shape, keys.shape)",
        *set_weights,
        "output, weights = layer(",
        "    queries, value=keys, key=keys,  # by name: Keras wants the values before the keys",
        *argument,
        "    return_attention_scores=True,",
        ")",
        "output, weights = map(keras.ops.convert_to_numpy, (output, weights))",
    )
    return Snippet(
        name="Keras: layers.MultiHeadAttention",
        says=says,
        no_key="0",
        about_no_key="0, as here; before Keras 3.10 it was 1/Tk over all keys, and without return_attention_scores "
        "the output still is what 1/Tk gives.",
        code=_code(scene, f"keras.layers.MultiHeadAttention. {says}", "keras", mask, body),
        files=_files(found),
    )


def _numpy_class(scene: Scene) -> Snippet:
    found = script.parts(scene, NUMPY)
    lens = script.lengths(scene.mask.allowed)
    says = "No True at all: valid_lens says how many keys may be looked at, and the rest of the scores becomes -inf."
    files: tuple[tuple[str, Booleans], ...] = ()
    if lens is None:
        mask: Lines = (
            "# valid_lens cannot say this mask: it only cuts off the end of a row, in all heads alike.",
            *script.allowed_lines(found),
            "allowed = np.broadcast_to(allowed, (B, H, Tq, Tk)).reshape(B * H, Tq, Tk)",
        )
        files = _files(found)
    else:
        mask = (
            *_valid_lens(found, lens),
            "lens = np.repeat(valid_lens, H, axis=0).reshape(B * H, -1, 1)  # text 1, text 1, ..., text 2",
            "allowed = np.arange(Tk) < lens  # (B * H, 1 or Tq, Tk)",
        )
    body = (
        "# The class also takes a dropout, which its code never uses: there is none here.",
        *_projected(scene, "({}).reshape(B, -1, H, K).swapaxes(1, 2).reshape(B * H, -1, K)"),
        "scores = np.where(allowed, q @ k.swapaxes(1, 2) / np.sqrt(K), -np.inf)",
        "weights = np.exp(scores - scores.max(axis=-1, keepdims=True))",
        "weights /= weights.sum(axis=-1, keepdims=True)",
        "output = (weights @ v).reshape(B, H, Tq, K).swapaxes(1, 2).reshape(B, Tq, D) @ W_o" + _plus_bias(scene),
        "weights = weights.reshape(B, H, Tq, Tk)",
    )
    return Snippet(
        name="The NumPy class of the article on the maths",
        says=says,
        no_key="NaN",
        about_no_key="NaN, and NumPy warns: -inf minus the row's largest score, which is -inf too.",
        code=_code(scene, f"The NumPy way. {says}", "numpy", mask, body),
        files=files,
    )


def _valid_lens(found: tuple[Part, ...], lens: Integers) -> Lines:
    """Define `valid_lens`, (B,) or (B, Tq)."""
    if (lens == lens[:, :1]).all():
        return (f"valid_lens = np.array({lens[:, 0].tolist()})",)
    if [part.name for part in found] == ["causal"]:
        return ("valid_lens = np.tile(np.arange(Tq) + 1, (B, 1))  # causal: query i may look at its first i + 1 keys",)
    return script.array_literal("valid_lens", lens, NUMPY)


def _exercise(scene: Scene) -> Snippet:
    found = script.parts(scene, TORCH)
    mask: Lines = ()
    if found:
        differs = any(part.by_text or part.by_head for part in found)
        full = "allowed.expand(B, H, Tq, Tk)" if differs else "allowed"
        mask = (*script.allowed_lines(found), f"blocked = ~{full}  # masked_fill fills where True")
        index = "[:, h]" if differs else ""
        fill: Lines = (f'    scores = scores.masked_fill(blocked{index}, float("-inf"))',)
    else:
        fill = ()
    if script.has_biases(scene.model):
        names, projected = "W_q, W_k, W_v, W_o, b_q, b_k, b_v, b_o", "a @ W[:, own] + b[own] for a, W, b in"
        sources = "(x, W_q, b_q), (y, W_k, b_k), (y, W_v, b_v)"
    else:
        names, projected = "W_q, W_k, W_v, W_o", "a @ W[:, own] for a, W in"
        sources = "(x, W_q), (y, W_k), (y, W_v)"
    as_tensors = f"x, y, {names} = map(torch.from_numpy, (queries, keys, {names}))"
    if len(as_tensors) > script.WIDTH:
        as_tensors = as_tensors.replace("map(", "map(\n    ").replace("))", ")\n)")
    says = "masked_fill fills where its mask is True, so True means blocked: our mask is turned round by ~."
    body = (
        "# The exercise draws the matrices by torch.randn; these are the page's.",
        *as_tensors.splitlines(),
        "weights, outputs = [], []",
        "for h in range(H):",
        "    own = slice(h * K, (h + 1) * K)  # the columns of this head",
        f"    q, k, v = ({projected} ({sources}))",
        "    scores = q @ k.transpose(1, 2) / K**0.5",
        *fill,
        "    weights.append(torch.softmax(scores, dim=-1))",
        "    outputs.append(weights[h] @ v)",
        f"output = torch.cat(outputs, dim=-1) @ W_o{_plus_bias(scene)}",
        "weights = torch.stack(weights, dim=1)",
    )
    return Snippet(
        name="The Day 28 exercise: plain matrices",
        says=says,
        no_key="NaN",
        about_no_key="NaN: the softmax of nothing but -inf.",
        code=_code(scene, f"Plain matrices in PyTorch. {says}", "torch", mask, body, "weights.numpy()"),
        files=_files(found),
    )


def _projected(scene: Scene, split: str) -> Lines:
    """Define q, k, v; `split` says how {}, the projected x (B, T, D), is cut into heads."""
    if script.has_biases(scene.model):
        names, projected = "x, W, b", "x @ W + b"
        sources = "(queries, W_q, b_q), (keys, W_k, b_k), (keys, W_v, b_v)"
    else:
        names, projected = "x, W", "x @ W"
        sources = "(queries, W_q), (keys, W_k), (keys, W_v)"
    return ("q, k, v = (", f"    {split.format(projected)}", f"    for {names} in ({sources})", ")")


def _plus_bias(scene: Scene) -> str:
    return " + b_o" if script.has_biases(scene.model) else ""


def _files(found: tuple[Part, ...]) -> tuple[tuple[str, Booleans], ...]:
    return tuple(part.file for part in found if part.file is not None)


def _code(scene: Scene, about: str, library: str, mask: Lines, body: Lines, shown: str = "weights") -> str:
    """The script: what it shows, inputs, weights, mask, the library's own part, and the weights printed."""
    needs, imports = _IMPORTS[library]
    lines = (
        *wrap(f"{about} Needs {needs}.", script.WIDTH, initial_indent="# ", subsequent_indent="# "),
        *imports,
        "",
        *script.inputs(scene),
        *script.weights(scene.model),
        "",
        *((*mask, "") if mask else ()),
        *body,
        f"print(np.round({shown}, 3))  # (B, H, Tq, Tk)",
    )
    return "\n".join(lines) + "\n"


_IMPORTS: dict[str, tuple[str, Lines]] = {
    "numpy": ("numpy", ("import hashlib", "", "import numpy as np")),
    "torch": ("numpy and torch", ("import hashlib", "", "import numpy as np", "import torch")),
    "keras": (
        "numpy, torch and keras from 3.10 on",
        (
            "import hashlib",
            "import os",
            "",
            'os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported',
            "import keras",
            "import numpy as np",
        ),
    ),
}
