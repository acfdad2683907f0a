"""The parts that exported scripts share: the inputs, the weights and the mask of a scene as lines of Python.

A rule is read from its array, not from its name, so that the code cannot say anything else than the mask does: causal,
a window, lengths and each head's own keys become one line; any other mask is written out in 0 and 1.
"""

from __future__ import annotations

import base64
import unicodedata
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from mha.arrays import Booleans, Integers
from mha.config import Model
from mha.export.scene import Scene, Texts
from mha.masks import Rule

MAX_LITERAL_CELLS = 1_024  # 32 x 32: a larger mask is packed or loaded from a file, or the code could not be read
WIDTH = 100  # of a line of code

Lines = tuple[str, ...]
Named = Callable[[str], str]


@dataclass(frozen=True)
class Dialect:
    """How NumPy and PyTorch each write the few things of a mask in which they differ."""

    module: str  # arange, and arrays by `array`
    array: str
    triangle: str
    ones: str  # to be filled with a shape
    from_numpy: str  # to be filled with an array of NumPy
    in_one_file: bool = False  # a large mask is packed into the code instead of being loaded from a file


NUMPY = Dialect(
    module="np",
    array="np.array",
    triangle="np.tri(Tq, Tk, dtype=bool)",
    ones="np.ones(({}), dtype=bool)",
    from_numpy="{}",
)
TORCH = Dialect(
    module="torch",
    array="torch.tensor",
    triangle="torch.ones(Tq, Tk, dtype=torch.bool).tril()",
    ones="torch.ones({}, dtype=torch.bool)",
    from_numpy="torch.from_numpy({})",
)


@dataclass(frozen=True, eq=False)
class Part:
    """One rule as code: `lines` define `name`, `term` is that, made to broadcast to (Tq, Tk) or (B, H, Tq, Tk)."""

    name: str
    lines: Lines
    term: str
    by_text: bool = False
    by_head: bool = False
    pads: bool = False  # `name` is (B, Tk), True = a word: what PyTorch turns round for key_padding_mask
    file: tuple[str, Booleans] | None = None  # what the lines load, to be saved by np.save
    packed: bool = False  # the lines need base64 and zlib


def inputs(scene: Scene) -> Lines:
    """Define seed, D, H, K, queries (B, Tq, D), keys (B, Tk, D), B, Tq, Tk. Needs hashlib and np."""
    model = scene.model
    draw = "standard_normal(D)" if model.values == "normal" else "random(D)"
    add_position: Lines = ()
    if model.positions == "sinusoidal":
        add_position = (
            "            angle = t / 10_000 ** ((column - column % 2) / D)",
            "            x[b, t] += np.where(column % 2, np.cos(angle), np.sin(angle))",
        )
    return (
        f"seed, D, H = {model.seed}, {model.d_model}, {model.num_heads}",
        "K = D // H  # width of a head",
        *(("column = np.arange(D)",) if add_position else ()),
        "",
        "",
        "def embed(texts):  # (B, T, D): a word has the same vector everywhere, padding is 0",
        "    x = np.zeros((len(texts), max(map(len, texts)), D))",
        "    for b, text in enumerate(texts):",
        "        for t, word in enumerate(text):",
        '            digest = hashlib.sha256(f"{seed}|{D}|{word}".encode()).digest()[:16]',
        f'            x[b, t] = np.random.default_rng(int.from_bytes(digest, "big")).{draw}',
        *add_position,
        "    return x",
        "",
        "",
        *_embedded("queries = keys" if scene.looked_at is None else "queries", scene.texts),
        *(() if scene.looked_at is None else _embedded("keys", scene.looked_at)),
        "B, Tq, Tk = len(queries), queries.shape[1], keys.shape[1]",
    )


def _embedded(name: str, texts: Texts) -> Lines:
    if len(texts) == 1:
        return (f"{name} = embed([{_text(texts[0])}])",)
    return (f"{name} = embed([", *(f"    {_text(text)}," for text in texts), "])")


def _text(tokens: tuple[str, ...]) -> str:
    """A literal of the tokens, in the NFC form whose bytes their vectors come from."""
    words = [unicodedata.normalize("NFC", token) for token in tokens]
    line = " ".join(words)
    if not words or line.split() != words:
        return repr(words)
    quoted = repr(line)
    return f"{quoted}.split()" if '"' in quoted else f'"{quoted[1:-1]}".split()'


def has_biases(model: Model) -> bool:
    """Whether the model has biases other than 0."""
    return model.bias and model.init not in ("pytorch", "xavier")


def weights(model: Model) -> Lines:
    """Define W_q, W_k, W_v, W_o (D, D), and b_q, b_k, b_v, b_o (D,) if they are not all 0. Needs seed, D and np."""
    if model.init == "pytorch":
        limits: Lines = ("limits = [np.sqrt(6 / (4 * D))] * 3 + [1 / np.sqrt(D)]  # as PyTorch starts",)
        draw = "-limit + 2 * limit * rng.random((D, D)) for limit in limits"
    elif model.init == "xavier":
        limits = ("limit = np.sqrt(6 / (2 * D))",)
        draw = "-limit + 2 * limit * rng.random((D, D)) for _ in range(4)"
    else:
        limits = ()
        draw = f"{_draw(model.init, '(D, D)')} for _ in range(4)"
    lines: Lines = ("rng = np.random.default_rng(seed)", *limits, f"W_q, W_k, W_v, W_o = ({draw})")
    if has_biases(model):
        lines += (f"b_q, b_k, b_v, b_o = ({_draw(model.init, 'D')} for _ in range(4))",)
    elif model.bias:
        lines += ("# the biases start at 0, so they are left out",)
    return lines


def _draw(init: str, shape: str) -> str:
    drawn = {"normal": "standard_normal({})", "uniform": "random({})", "uniform_centred": "random({}) - 0.5"}
    return f"rng.{drawn[init].format(shape)}"


def parts(scene: Scene, dialect: Dialect) -> tuple[Part, ...]:
    """Each rule that blocks anything, as code that needs B, H, Tq, Tk and np (and torch)."""
    names: list[str] = []

    def named(base: str) -> str:
        names.append(base)
        count = names.count(base)
        return base if count == 1 else f"{base}_{count}"

    found = []
    for rule in scene.rules:
        allowed = np.broadcast_to(rule.allowed, scene.shape)
        if not allowed.all():
            forms = (_lengths, _own_keys, _causal, _window, _lengths_per_query, _one_head, _written_out)
            found.append(next(part for form in forms if (part := form(rule, allowed, dialect, named))))
    return tuple(found)


def restriction(scene: Scene, dialect: Dialect) -> Part:
    """The restriction of a scene as code that defines `restriction` and needs what `parts` needs."""
    if scene.restriction is None:
        raise ValueError("expected a scene with a restriction, got one without")
    allowed = np.broadcast_to(scene.restriction.allowed, scene.shape)
    if allowed.all():
        return Part("restriction", (f"restriction = {dialect.ones.format('Tq, Tk')}  # blocks nothing",), "restriction")
    # Lengths would be read as words and padding, which a restriction does not mean.
    forms = (_same_keys, _own_keys, _causal, _window, _one_head, _written_out)
    made = (form(scene.restriction, allowed, dialect, lambda _: "restriction") for form in forms)
    return next(part for part in made if part)


def allowed_lines(found: tuple[Part, ...]) -> Lines:
    """The parts, and `allowed` from all of them: (Tq, Tk), or 4-D, to broadcast to (B, H, Tq, Tk)."""
    terms = " & ".join(part.term for part in found)
    return (*(line for part in found for line in part.lines), f"allowed = {terms}  # True = may look")


def _lengths(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    keys = _without_constant(allowed, 0, 1, 2)
    lens = keys.sum(axis=-1)
    if keys.shape[1:3] != (1, 1) or not _are_lengths(keys, lens):
        return None
    per_text = np.broadcast_to(lens.reshape(-1), (len(allowed),))
    name, values = named("is_word"), named("lens")
    lines = (
        f"{values} = {dialect.array}({per_text.tolist()})",
        f"{name} = {dialect.module}.arange(Tk) < {values}[:, None]  # (B, Tk)",
    )
    return Part(name, lines, f"{name}[:, None, None]", by_text=True, pads=True)


def _same_keys(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    keys = _without_constant(allowed, 0, 1, 2)
    if keys.shape[:3] != (1, 1, 1):
        return None
    first = int(keys[0, 0, 0].argmax())
    end = first + int(keys.sum())
    if not keys[0, 0, 0, first:end].all():
        return None
    name = named("same_key")
    lines = (
        f"key = {dialect.module}.arange(Tk)",
        f"{name} = (key >= {first}) & (key < {end})  # (Tk,), the same for all heads and queries",
    )
    return Part(name, lines, name)


def _own_keys(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    keys = _without_constant(allowed, 0, 1, 2)
    if keys.shape[0] != 1 or keys.shape[2] != 1 or keys.shape[1] == 1:
        return None
    per_head = keys[0, :, 0]  # (H, Tk)
    first = per_head.argmax(axis=-1)
    end = first + per_head.sum(axis=-1)
    key = np.arange(per_head.shape[1])
    if not np.array_equal((key >= first[:, None]) & (key < end[:, None]), per_head):
        return None
    name = named("own_key")
    ranges = np.stack([first, end], axis=-1).tolist()
    lines = (
        f"first, end = {dialect.array}({ranges}).T  # of each head's own keys",
        f"key = {dialect.module}.arange(Tk)",
        f"{name} = (key >= first[:, None]) & (key < end[:, None])  # (H, Tk)",
    )
    return Part(name, lines, f"{name}[None, :, None]", by_head=True)


def _causal(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    grid = _grid(allowed)
    if grid is None or not np.array_equal(grid, np.tri(*grid.shape, dtype=np.bool_)):
        return None
    name = named("causal")
    return Part(name, (f"{name} = {dialect.triangle}",), name)


def _window(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    grid = _grid(allowed)
    if grid is None or not grid.any():
        return None
    Tq, Tk = grid.shape
    step = np.arange(Tk) - np.arange(Tq)[:, None]
    low, high = int(step[grid].min()), int(step[grid].max())
    if not np.array_equal((step >= low) & (step <= high), grid):
        return None
    bounds = [f"step >= {low}"] if low > step.min() else []
    bounds += [f"step <= {high}"] if high < step.max() else []
    name = named("window")
    lines = (
        f"step = {dialect.module}.arange(Tk) - {dialect.module}.arange(Tq)[:, None]  # from query to key",
        f"{name} = {bounds[0] if len(bounds) == 1 else ' & '.join(f'({bound})' for bound in bounds)}",
    )
    return Part(name, lines, name)


def _lengths_per_query(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    # Only where they were meant: a grid drawn by hand that happens to be made of lengths reads better as a grid.
    rows = _without_constant(allowed, 0, 1)
    lens = rows.sum(axis=-1)
    if rule.name != "valid_lens" or rows.shape[1] != 1 or not _are_lengths(rows, lens):
        return None
    name, values = named("is_word"), named("lens")
    lines = (
        *array_literal(values, lens[:, 0], dialect),
        f"{name} = {dialect.module}.arange(Tk) < {values}[:, :, None]  # (B, Tq, Tk)",
    )
    return Part(name, lines, f"{name}[:, None]", by_text=True)


def _one_head(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part | None:
    per_head = _without_constant(allowed, 0)[0]  # (H, Tq, Tk) if the texts do not differ
    ruled = np.flatnonzero(~per_head.all(axis=(1, 2)))
    if len(_without_constant(allowed, 0)) != 1 or len(per_head) == 1 or len(ruled) != 1:
        return None
    head = int(ruled[0])
    grid = per_head[head]
    if grid.size > MAX_LITERAL_CELLS:
        return None
    name = named("custom")
    lines = (
        f"{name} = {dialect.ones.format('1, H, Tq, Tk')}",
        *_rows(grid),
        f"{name}[0, {head}] = {dialect.array}({_FROM_ROWS})",
    )
    return Part(name, lines, name, by_head=True)


def _written_out(rule: Rule, allowed: Booleans, dialect: Dialect, named: Named) -> Part:
    grid = _grid(allowed)
    small = _without_constant(allowed, 0, 1, 2) if grid is None else grid  # (Tq, Tk), or 4-D
    by_text, by_head = grid is None and len(small) > 1, grid is None and small.shape[1] > 1
    name = named("custom")
    if small.size > MAX_LITERAL_CELLS:
        if dialect.in_one_file:
            return Part(name, _packed(name, small, dialect), name, by_text, by_head, packed=True)
        file = f"{name}.npy"
        load = dialect.from_numpy.format(f'np.load("{file}")')
        loaded = (f"{name} = {load}  # too large to print: {_shown(small.shape)}, True = may look",)
        return Part(name, loaded, name, by_text, by_head, file=(file, small))
    shaped = "" if grid is not None else f".reshape{small.shape}"
    lines = (*_rows(small.reshape(-1, small.shape[-1])), f"{name} = {dialect.array}({_FROM_ROWS}){shaped}")
    return Part(name, lines, name, by_text, by_head)


def _packed(name: str, allowed: Booleans, dialect: Dialect) -> Lines:
    """Define `name` from its bits, eight cells a byte; they stay on one line, however long, to be scrolled past."""
    bits = base64.b64encode(zlib.compress(np.packbits(allowed).tobytes(), 9)).decode()
    return (
        f"# too large to print: {_shown(allowed.shape)} cells as packed bits, 1 = may look",
        f'packed = zlib.decompress(base64.b64decode("{bits}"))',
        f"cells = np.unpackbits(np.frombuffer(packed, np.uint8), count={allowed.size})",
        f"{name} = {dialect.from_numpy.format(f'cells.reshape{allowed.shape} == 1')}",
    )


_FROM_ROWS = '[[cell == "1" for cell in row] for row in rows]'


def _rows(grid: Booleans) -> Lines:
    """Define `rows`: a row of the grid is one str of 0 and 1."""
    text = " ".join("".join("1" if cell else "0" for cell in row) for row in grid)
    if len(text) <= WIDTH - 40:
        return (f'rows = "{text}".split()  # 1 = may look',)
    pieces = wrap(text, max(WIDTH - 10, grid.shape[-1]))
    return ("rows = (  # 1 = may look", *(f'    "{piece} "' for piece in pieces), ").split()")


def array_literal(name: str, array: Integers, dialect: Dialect) -> Lines:
    """Define `name` as a 2-D array of whole numbers, a row a line if one line does not hold it."""
    line = f"{name} = {dialect.array}({array.tolist()})"
    if len(line) <= WIDTH:
        return (line,)
    return (f"{name} = {dialect.array}([", *(f"    {row}," for row in array.tolist()), "])")


def lengths(allowed: Booleans) -> Integers | None:
    """The lengths (B, Tq) that say the same as a mask (B, H, Tq, Tk), or None if there are none."""
    rows = _without_constant(allowed, 1)
    lens: Integers = rows.sum(axis=-1)
    return lens[:, 0] if rows.shape[1] == 1 and _are_lengths(rows, lens) else None


def _are_lengths(rows: Booleans, lens: Integers) -> bool:
    return np.array_equal(np.arange(rows.shape[-1]) < lens[..., None], rows)


def _grid(allowed: Booleans) -> Booleans | None:
    """The (Tq, Tk) that is the same for all texts and heads, if it is."""
    small = _without_constant(allowed, 0, 1)
    return small[0, 0] if small.shape[:2] == (1, 1) else None


def _without_constant(allowed: Booleans, *axes: int) -> Booleans:
    """The array with each of these axes cut to length 1 if nothing changes along it."""
    for axis in axes:
        first = allowed.take([0], axis=axis)
        if (allowed == first).all():
            allowed = first
    return allowed


def _shown(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
