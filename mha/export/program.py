"""A scene as one complete Python script, in NumPy or in PyTorch: what a student takes home and reads.

It needs nothing of this project and no other file. It defines and prints `weights` (B, H, Tq, Tk) and `output`
(B, Tq, D); with a restriction also `restricted_weights`, `restricted_output` and `change` (B, Tq), the length of the
output's change. A row with no key left is 0, as on the page. `python attention_numpy.py --json` prints every digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mha.config import Model, one_of
from mha.export import script
from mha.export.scene import Scene
from mha.export.script import Dialect, Lines, Part

LIBRARIES = ("numpy", "torch")

_NAMES = ("weights", "output")
_WITH_RESTRICTION = (*_NAMES, "restricted_weights", "restricted_output", "change")
_AXES = {
    "weights": "(B, H, Tq, Tk): each query's over its keys",
    "output": "(B, Tq, D)",
    "restricted_weights": "(B, H, Tq, Tk)",
    "restricted_output": "(B, Tq, D)",
    "change": "(B, Tq): length of the output's change",
}


@dataclass(frozen=True)
class _Library:
    """What the two flavours write differently."""

    dialect: Dialect
    file_name: str
    title: str
    needs: str
    imports: Lines  # beside the standard library's
    split: str
    scores: str
    softmax: Lines
    softmax_over_allowed: Lines
    merge: str
    length: str
    relative: Lines
    short: str  # prints few digits


_NUMPY = _Library(
    dialect=replace(script.NUMPY, in_one_file=True),
    file_name="attention_numpy.py",
    title="NumPy",
    needs="It needs numpy, nothing else.",
    imports=("import numpy as np",),
    split="x.reshape(B, -1, H, K).swapaxes(1, 2)",
    scores="q @ k.swapaxes(-1, -2) / np.sqrt(K)",
    softmax=(
        "weights = np.exp(scores - scores.max(axis=-1, keepdims=True))",
        "weights /= weights.sum(axis=-1, keepdims=True)  # softmax: each row sums to 1",
    ),
    softmax_over_allowed=(
        "largest = scores.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)",
        "weights = np.exp(np.where(allowed, scores - largest, -np.inf))  # blocked: exp(-inf) is 0",
        "total = weights.sum(axis=-1, keepdims=True)",
        "weights /= np.where(total > 0, total, 1)  # each row sums to 1; with no key left it stays 0",
    ),
    merge="(weights @ v).swapaxes(1, 2).reshape(B, Tq, D)",
    length="np.linalg.norm({}, axis=-1)",
    relative=(
        "length = np.linalg.norm(output, axis=-1)",
        "relative = np.divide(change, length, where=length > 0, out=np.full_like(change, np.nan))",
    ),
    short="np.set_printoptions(precision=4, suppress=True)",
)
_TORCH = _Library(
    dialect=replace(script.TORCH, in_one_file=True),
    file_name="attention_torch.py",
    title="PyTorch",
    needs="It needs torch, and numpy for the random numbers alone: those of a seed are the library's own.",
    imports=("import numpy as np", "import torch"),
    split="x.unflatten(-1, (H, K)).transpose(1, 2)",
    scores="q @ k.transpose(-1, -2) / K**0.5",
    softmax=("weights = torch.softmax(scores, dim=-1)  # each row sums to 1",),
    softmax_over_allowed=(
        "weights = torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1)  # each row sums to 1",
        "weights = weights.masked_fill(~allowed, 0)  # a row with no key left would be NaN",
    ),
    merge="(weights @ v).transpose(1, 2).flatten(2)",
    length="torch.linalg.norm({}, dim=-1)",
    relative=(
        "length = torch.linalg.norm(output, dim=-1)",
        "relative = torch.where(length > 0, change / length, torch.nan)",
    ),
    short="torch.set_printoptions(precision=4, sci_mode=False)",
)


def program(scene: Scene, library: str = "numpy") -> str:
    """The text of a script that computes what `scene.trace()`, or `scene.comparison()`, does.

    library: "numpy" or "torch", in which all the steps of attention are written.
    """
    flavour = _flavour(library)
    found = script.parts(scene, flavour.dialect)
    restriction = None if scene.restriction is None else script.restriction(scene, flavour.dialect)
    packed = any(part.packed for part in (*found, *([restriction] if restriction else [])))
    sections = (
        (*_header(flavour), *_imports(flavour, packed), "", *script.inputs(scene)),
        (*script.weights(scene.model), *_as_tensors(scene, flavour)),
        _mask(found, restriction, flavour),
        _split(flavour),
        _projected(scene.model, flavour),
        _one_pass(scene.model, found, flavour) if restriction is None else (),
        () if restriction is None else _two_passes(scene.model, restriction, flavour),
        _printed(restriction is not None, flavour),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def file_name(library: str) -> str:
    """What the script calls itself."""
    return _flavour(library).file_name


def _flavour(library: str) -> _Library:
    one_of(library, "library", LIBRARIES)
    return _NUMPY if library == "numpy" else _TORCH


def _header(flavour: _Library) -> Lines:
    return (
        f"# Multi-head attention in {flavour.title}, step by step, with the numbers that Headlight shows.",
        f"# Run it by: python {flavour.file_name}, or python {flavour.file_name} --json for every digit.",
        f"# {flavour.needs}",
        "# There is no dropout here: the weights are those before any dropout.",
    )


def _imports(flavour: _Library, packed: bool) -> Lines:
    standard = ["hashlib", "json", "sys", *(["base64", "zlib"] if packed else [])]
    return (*(f"import {name}" for name in sorted(standard)), "", *flavour.imports)


def _as_tensors(scene: Scene, flavour: _Library) -> Lines:
    """All arrays as tensors, for PyTorch."""
    if flavour is _NUMPY:
        return ()
    names = ["queries", "keys", "W_q", "W_k", "W_v", "W_o"]
    names += ["b_q", "b_k", "b_v", "b_o"] if script.has_biases(scene.model) else []
    listed = ", ".join(names)
    line = f"{listed} = map(torch.from_numpy, ({listed}))"
    if len(line) <= script.WIDTH:
        return (line,)
    return (f"{listed} = map(", f"    torch.from_numpy, ({listed})", ")")


def _mask(found: tuple[Part, ...], restriction: Part | None, flavour: _Library) -> Lines:
    lines = script.allowed_lines(found) if found else ()
    if restriction is None:
        return lines
    if not found:
        everything = flavour.dialect.ones.format("Tq, Tk")
        lines = (f"allowed = {everything}  # True = may look: every query at every key",)
    return (*lines, *restriction.lines)


def _split(flavour: _Library) -> Lines:
    return (
        "",
        "def split(x):  # (B, T, D) -> (B, H, T, K): head h takes columns h*K:(h+1)*K",
        f"    return {flavour.split}",
        "",  # two blank lines
    )


def _projected(model: Model, flavour: _Library) -> Lines:
    biased = script.has_biases(model)
    return (
        *(
            f"{x} = split({source} @ W_{x}{f' + b_{x}' if biased else ''})"
            for x, source in (("q", "queries"), ("k", "keys"), ("v", "keys"))
        ),
        f"scores = {flavour.scores}  # (B, H, Tq, Tk)",
    )


def _attention(model: Model, softmax: Lines, flavour: _Library) -> Lines:
    """Define weights and output; needs scores and v."""
    biased = " + b_o" if script.has_biases(model) else ""
    return (*softmax, f"output = {flavour.merge} @ W_o{biased}  # the heads side by side, (B, Tq, D)")


def _one_pass(model: Model, found: tuple[Part, ...], flavour: _Library) -> Lines:
    return _attention(model, flavour.softmax_over_allowed if found else flavour.softmax, flavour)


def _two_passes(model: Model, restriction: Part, flavour: _Library) -> Lines:
    return (
        "",
        "def attention(allowed):  # -> weights (B, H, Tq, Tk), output (B, Tq, D)",
        *(f"    {line}" for line in _attention(model, flavour.softmax_over_allowed, flavour)),
        "    return weights, output",
        "",
        "",
        "weights, output = attention(allowed)",
        f"restricted_weights, restricted_output = attention(allowed & {restriction.term})",
        f"change = {flavour.length.format('restricted_output - output')}  # |restricted - original|",
    )


def _printed(with_restriction: bool, flavour: _Library) -> Lines:
    names = _WITH_RESTRICTION if with_restriction else _NAMES
    relative: Lines = ()
    if with_restriction:
        relative = (
            *(f"    {line}" for line in flavour.relative),
            '    print("change relative to the length of the original output, NaN if that is 0:", relative, sep="\\n")',
        )
    return (
        "results = {",
        *(f'    "{name}": {name},  # {_AXES[name]}' for name in names),
        "}",
        'if "--json" in sys.argv:  # every digit, for other programs',
        "    print(json.dumps({name: array.tolist() for name, array in results.items()}))",
        "else:",
        f"    {flavour.short}",
        "    for name, array in results.items():",
        '        print(f"{name}, {tuple(array.shape)}:", array, sep="\\n")',
        *relative,
    )
