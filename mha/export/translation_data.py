"""The numbers of a translation, to take away as CSV, NPZ or JSON: every step of all three attentions.

Names are those of `mha.export.data` behind the name of the attention: "encoder_weights" (1, H, S, S),
"decoder_weights" (1, H, T, T), "cross_weights" (1, H, T, S), S source words and T produced ones with their end marks.
"probabilities" (1, T, V) are those of each word of the target's vocabulary at each step. "X" are the vectors that
look, which differ from those looked at, "X_keys", in cross-attention alone. The settings say all words.

CSV is tidy, as that of other pages, with one column more, which of the attentions it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np

from mha.export import data_csv, data_json, data_npz, strict_json
from mha.export.data import AXES, MAPS, Arrays, is_boolean, picked, refuse_unlike
from mha.export.described import read_link
from mha.export.translation import RESTRICTIONS, TranslationScene, seen_words
from mha.translator.model import Attention, Words
from mha.translator.restrictions import Places, Restriction, Rules
from mha.translator.weights import ATTENTIONS, END
from mha.weights import BIASES, MATRICES

FORMAT = "headlight translation"
VERSION = 1
PROBABILITIES = "probabilities"

_AXES = {
    **{
        f"{attention}_{name}": axes
        for attention in ATTENTIONS
        for name, axes in AXES.items()
        if name != "X_keys" or attention == "cross"
    },
    PROBABILITIES: "B Tq V",
}
NAMES = tuple(_AXES)
MAP_NAMES = tuple(f"{attention}_{name}" for attention in ATTENTIONS for name in MAPS)
_PLACE = ("attention", *data_csv.PLACE)


@dataclass(frozen=True, eq=False)
class TranslationData:
    """Arrays by the names above, the scene and the words produced that they belong to, and the link to it.

    produced: with the end mark, if it came. Raises ValueError for names that there are not, and for arrays of another
    shape or dtype, NaN and infinity.
    """

    scene: TranslationScene
    produced: Words
    arrays: Arrays
    link: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = _shapes(self.scene, self.produced)
        for name, array in self.arrays.items():
            if name not in shapes:
                raise ValueError(f"expected arrays that a translation has, got {name!r}")
            refuse_unlike(array, name, _AXES[name], shapes[name], _of_booleans(name))


def translation_data(scene: TranslationScene, link: Mapping[str, str] | None = None) -> TranslationData:
    """Everything: what goes in, the matrices, and every step."""
    translator, translation, passes = scene.followed()
    arrays = {PROBABILITIES: passes.probabilities}
    for name in ATTENTIONS:
        attention: Attention = getattr(passes, name)
        inputs = {"X": attention.queries, "X_keys": attention.keys}
        weights = translator.weights.attention(name)
        for part in AXES:
            if f"{name}_{part}" in _AXES:
                of = weights if part in (*MATRICES, *BIASES) else attention.trace
                arrays[f"{name}_{part}"] = inputs[part] if part in inputs else getattr(of, part)
    return TranslationData(scene, translation.produced, {name: arrays[name] for name in NAMES}, dict(link or {}))


def write_translation_csv(data: TranslationData) -> bytes:
    """The maps of all three attentions; `data` may lack everything else."""
    maps = picked(data.arrays, MAP_NAMES)
    columns = {
        data_csv.COLUMNS[part]: np.concatenate([maps[f"{attention}_{part}"].ravel() for attention in ATTENTIONS])
        for part in MAPS
    }
    places = _places(data.scene, data.produced)
    return data_csv.packed(_PLACE, places, columns, _described(data))


def read_translation_csv(data: bytes | str) -> TranslationData:
    """The maps that `write_translation_csv` wrote, to the bit. ValueError for what is no such file, or changed."""
    file = data_csv.opened(data, _PLACE)
    scene, produced, link = _read(file.settings)
    columns = {data_csv.COLUMNS[part]: is_boolean(part) for part in MAPS}
    numbers = data_csv.numbers_in(file, list(_places(scene, produced)), columns)
    shapes = _shapes(scene, produced)
    arrays, first = {}, 0
    for attention in ATTENTIONS:
        end = first + prod(shapes[f"{attention}_weights"])
        for part in MAPS:
            name = f"{attention}_{part}"
            arrays[name] = numbers[data_csv.COLUMNS[part]][first:end].reshape(shapes[name])
        first = end
    return TranslationData(scene, produced, arrays, link)


def write_translation_npz(data: TranslationData) -> bytes:
    """The file, with every array; ValueError if `data` has not all of them."""
    return data_npz.packed(_described(data), picked(data.arrays, NAMES))


def read_translation_npz(data: bytes) -> TranslationData:
    """What `write_translation_npz` wrote, to the bit. ValueError for what is no such file."""
    with data_npz.opened(data) as archive:
        scene, produced, link = _read(data_npz.settings_in(archive))
        shapes = _shapes(scene, produced)
        arrays = {name: data_npz.array_in(archive, name, shapes[name], _of_booleans(name)) for name in NAMES}
    return TranslationData(scene, produced, arrays, link)


def write_translation_json(data: TranslationData) -> bytes:
    """The file, with every array; ValueError if `data` has not all of them."""
    return data_json.packed(_described(data), picked(data.arrays, NAMES))


def read_translation_json(data: bytes | str) -> TranslationData:
    """What `write_translation_json` wrote, to the bit. ValueError for what is no such file."""
    settings, lists = data_json.unpacked(data)
    scene, produced, link = _read(settings)
    arrays = data_json.arrays_of(lists, {name: _of_booleans(name) for name in NAMES})
    return TranslationData(scene, produced, arrays, link)


def _places(scene: TranslationScene, produced: Words) -> Iterator[data_csv.Place]:
    H = scene.translator().weights.num_heads
    for attention in ATTENTIONS:
        for place in data_csv.map_places(1, H, *seen_words(attention, scene.source, produced)):
            yield attention, *place


def _shapes(scene: TranslationScene, produced: Words) -> dict[str, tuple[int, ...]]:
    weights = scene.translator().weights
    sizes = {"B": 1, "H": weights.num_heads, "D": weights.d_model, "V": len(weights.target_words)}
    sizes["K"] = sizes["D"] // sizes["H"]
    found = {}
    for name, axes in _AXES.items():
        attention = "cross" if name == PROBABILITIES else name.partition("_")[0]  # whose rows are the words produced
        rows, columns = seen_words(attention, scene.source, produced)
        lengths = sizes | {"Tq": len(rows), "Tk": len(columns)}
        found[name] = tuple(lengths[axis] for axis in axes.split())
    return found


def _of_booleans(name: str) -> bool:
    return is_boolean(name.partition("_")[2])


def _described(data: TranslationData) -> dict[str, Any]:
    """The settings of a file, as a JSON value; the words are there for who reads it without this project."""
    scene, weights = data.scene, data.scene.translator().weights
    fed = seen_words("decoder", scene.source, data.produced)[1]
    return {
        "format": FORMAT,
        "version": VERSION,
        "link": dict(data.link),
        "number": scene.number,
        "weights": scene.weights,
        "num_heads": weights.num_heads,
        "d_model": weights.d_model,
        "restrictions": {name: [_said(one) for one in scene.restrictions(name)] for name in ATTENTIONS},
        "source": [*scene.source, END],
        "fed": fed,
        "produced": data.produced,
        "target_words": weights.target_words,
    }


def _said(restriction: Any) -> dict[str, Any]:
    return {"kind": type(restriction).__name__, **asdict(restriction)}


def _read(value: object) -> tuple[TranslationScene, Words, dict[str, str]]:
    """The scene, the words produced and the link that `_described` made `value` from; ValueError for anything else."""
    document = strict_json.document(value, FORMAT, VERSION)
    parts = ("number", "weights", "restrictions", "produced", "link")
    number, weights, restrictions, produced, link = strict_json.fields(document, *parts)
    if not isinstance(restrictions, dict) or not all(isinstance(said, list) for said in restrictions.values()):
        raise ValueError(f"expected restrictions of each attention, got {strict_json.quoted(restrictions)}")
    if not isinstance(produced, list) or not produced:
        raise ValueError(f"expected produced to be at least one word, got {strict_json.quoted(produced)}")
    of_all = strict_json.fields(restrictions, *ATTENTIONS)
    rules = Rules(*(tuple(map(_read_restriction, said)) for said in of_all))
    scene, link = TranslationScene(number, weights, rules), read_link(link)
    _refuse_what_cannot_restrict(scene)
    data = TranslationData(scene, tuple(produced), {}, link)
    expected = strict_json.loads(strict_json.dumps(_described(data)))
    for name, wanted in expected.items():
        if document.get(name) != wanted:
            raise ValueError(
                f"expected {name} to be {strict_json.quoted(wanted)}, as number, weights and produced have it, "
                f"got {strict_json.quoted(document.get(name))}"
            )
    return scene, data.produced, link


def _read_restriction(value: object) -> Restriction:
    if not isinstance(value, dict) or value.get("kind") not in tuple(RESTRICTIONS):
        raise ValueError(f"expected a restriction, one of {', '.join(RESTRICTIONS)}, got {strict_json.quoted(value)}")
    given = {name: _as_tuples(part) for name, part in value.items() if name != "kind"}
    try:
        made: Restriction = RESTRICTIONS[value["kind"]](**given)
    except TypeError as problem:
        raise ValueError(f"expected what {value['kind']} takes, got a fault: {problem}") from None
    return made


def _as_tuples(value: object) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _refuse_what_cannot_restrict(scene: TranslationScene) -> None:
    """ValueError for restrictions that say no positions and heads: they are tried on one row and one key."""
    places = Places(scene.translator().weights.num_heads, np.ones((1, 1), dtype=np.int64), 1)
    for name in ATTENTIONS:
        for restriction in scene.restrictions(name):
            try:
                restriction(places)
            except (TypeError, ValueError) as problem:
                raise ValueError(f"expected a restriction of {name} that can be, got a fault: {problem}") from None
