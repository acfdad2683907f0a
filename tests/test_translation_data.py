"""A translation's numbers to take away: every format gives them back to the bit; what is broken is refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mha import masks
from mha.export import data_npz
from mha.export.translation import TranslationScene
from mha.export.translation_data import (
    NAMES,
    TranslationData,
    read_translation_csv,
    read_translation_json,
    read_translation_npz,
    translation_data,
    write_translation_csv,
    write_translation_json,
    write_translation_npz,
)
from mha.translator.model import Translator
from mha.translator.numbers import english_words
from mha.translator.restrictions import FirstWords, HeadsOff, Rules
from mha.translator.weights import load, shipped
from tests.translations import RULES, SCENES

FORMATS: dict[str, tuple[Callable[[TranslationData], bytes], Callable[[bytes], TranslationData]]] = {
    "csv": (write_translation_csv, read_translation_csv),
    "npz": (write_translation_npz, read_translation_npz),
    "json": (write_translation_json, read_translation_json),
}
LINK = {"v": "1", "number": 'two hundred, "and" =1+1', "weights": "work shared"}
SCENE = TranslationScene(34, "shared", Rules(cross=(FirstWords(1), HeadsOff((0,)))))
SHAPES = {
    # four heads of width 8; three source words and end marks, "thirty four [end]", four produced with theirs
    "encoder_X": (1, 3, 32),
    "encoder_weights": (1, 4, 3, 3),
    "decoder_scores": (1, 4, 4, 4),
    "cross_mask": (1, 4, 4, 3),
    "cross_X": (1, 4, 32),
    "cross_X_keys": (1, 3, 32),
    "cross_W_q": (32, 32),
    "cross_b_o": (32,),
    "cross_k": (1, 4, 3, 8),
    "cross_empty_rows": (1, 4, 4),
    "cross_contributions": (1, 4, 4, 32),
}


@pytest.fixture(scope="module")
def data() -> TranslationData:
    return translation_data(SCENE, LINK)


# --- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", [name for name in SCENES if "234" not in name])
def test_comes_back_to_the_bit(name, form):
    write, read = FORMATS[form]
    given = translation_data(SCENES[name], LINK)
    found = read(write(given))
    assert (found.scene, found.produced, found.link) == (given.scene, given.produced, LINK)
    assert set(found.arrays) == set(NAMES) if form != "csv" else len(found.arrays) == 9  # three maps, three times
    for each, array in found.arrays.items():
        assert array.dtype == given.arrays[each].dtype
        assert array.tobytes() == given.arrays[each].tobytes(), each
    assert write(given) == write(translation_data(SCENES[name], LINK))  # the same bytes each time


# --- what is in it -----------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_library(data):
    model, source = Translator(load(shipped("shared"))), english_words(34)
    [translation] = model.translate([source], SCENE.rules)
    passes = model.follow([source], [translation.produced], SCENE.rules)
    assert data.produced == translation.produced
    np.testing.assert_array_equal(data.arrays["probabilities"], passes.probabilities)
    for name in ("encoder", "decoder", "cross"):
        attention, weights = getattr(passes, name), model.weights.attention(name)
        for part in attention.trace.__dataclass_fields__:
            np.testing.assert_array_equal(data.arrays[f"{name}_{part}"], getattr(attention.trace, part))
        np.testing.assert_array_equal(data.arrays[f"{name}_X"], attention.queries)
        np.testing.assert_array_equal(data.arrays[f"{name}_W_v"], weights.W_v)
    np.testing.assert_array_equal(data.arrays["cross_X_keys"], passes.cross.keys)
    assert {name: data.arrays[name].shape for name in SHAPES} == SHAPES


def test_csv_has_a_row_for_each_attention_head_query_and_key(data):
    rows = list(csv.DictReader(io.StringIO(write_translation_csv(data).decode(), newline="")))
    assert list(rows[0]) == [
        "attention", "text", "head", "query_position", "query_token", "key_position", "key_token",
        "score", "allowed", "weight", "settings",
    ]  # fmt: skip
    source, produced = ["thirty", "four", "[end]"], list(data.produced)
    words = {
        "encoder": (source, source),
        "decoder": (produced, ["[start]", *produced[:-1]]),
        "cross": (produced, source),
    }
    read = iter(rows)
    for attention, (queries, keys) in words.items():
        for h in range(4):
            for i, query in enumerate(queries):
                for j, key in enumerate(keys):
                    row = next(read)
                    place = [attention, "1", str(h + 1), str(i + 1), query, str(j + 1), key]
                    assert list(row.values())[:7] == place
                    assert float(row["score"]) == data.arrays[f"{attention}_scores"][0, h, i, j]
                    assert float(row["weight"]) == data.arrays[f"{attention}_weights"][0, h, i, j]
                    assert row["allowed"] == str(int(data.arrays[f"{attention}_mask"][0, h, i, j]))
    assert next(read, None) is None


def test_others_can_read_it(data):
    """By json and NumPy alone; the settings name every word that a row or a column stands for."""
    document = json.loads(write_translation_json(data))
    with np.load(io.BytesIO(write_translation_npz(data)), allow_pickle=False) as file:
        assert json.loads(str(file["settings"])) == document["settings"]
        np.testing.assert_array_equal(file["cross_weights"], np.array(document["arrays"]["cross_weights"]))
    said = document["settings"]
    assert (said["number"], said["weights"], said["link"]) == (34, "shared", LINK)
    assert said["source"] == ["thirty", "four", "[end]"]
    assert said["fed"] == ["[start]", *said["produced"][:-1]]
    best = np.array(document["arrays"]["probabilities"])[0].argmax(axis=-1)
    assert [said["target_words"][v] for v in best] == said["produced"] == list(data.produced)
    assert said["restrictions"] == {
        "encoder": [],
        "decoder": [],
        "cross": [{"kind": "FirstWords", "ahead": 1}, {"kind": "HeadsOff", "heads": [0]}],
    }


# --- what is broken ----------------------------------------------------------------------------------------------


def changed(**settings: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["settings"].update(settings)


def restricted(**cross: Any) -> Callable[[dict[str, Any]], None]:
    return changed(restrictions={"encoder": [], "decoder": [], "cross": [cross]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(format="headlight data"), "expected a file of the format 'headlight translation'"),
        (changed(version=2), "it was saved by a newer Headlight"),
        (changed(number=1_000_000), "number"),
        (changed(weights="mine"), "weights"),
        (changed(source=["thirty", "five", "[end]"]), "expected source to be"),
        (changed(d_model=64), "expected d_model to be 32"),
        (changed(produced=[]), "expected produced to be at least one word"),
        (changed(produced="vier"), "expected produced to be at least one word"),
        (changed(produced=["vier", "[end]"]), "expected fed to be"),
        (changed(link={"v": 1}), "expected link to be names and texts"),
        (changed(restrictions=[]), "expected restrictions of each attention"),
        (changed(restrictions={"encoder": [], "decoder": []}), "expected cross"),
        (restricted(kind="Rules"), "expected a restriction, one of HeadsOff"),
        (restricted(kind=["HeadsOff"]), "expected a restriction, one of HeadsOff"),
        (restricted(kind="HeadsOff", tail=1), "expected what HeadsOff takes"),
        (restricted(kind="HeadsOff", heads=[4]), "expected a restriction of cross that can be"),
        (restricted(kind="HeadsOff", heads=None), "expected a restriction of cross that can be"),
        (restricted(kind="FirstWords", ahead="x"), "expected a restriction of cross that can be"),
        (lambda document: document["arrays"].pop("cross_q"), "expected cross_q in the file"),
        (lambda document: document["arrays"].update(cross_b_q=[0.5]), r"expected cross_b_q of shape \(D\) = \(32,\)"),
        (lambda document: document["arrays"].update(cross_b_q=[True]), "expected cross_b_q to hold numbers"),
        (lambda document: document.pop("settings"), "expected settings in the file"),
    ],
)  # fmt: skip
def test_a_bad_json_is_refused(change, message, data):
    document = json.loads(write_translation_json(data))
    change(document)
    with pytest.raises(ValueError, match=message):
        read_translation_json(json.dumps(document))


def test_a_bad_csv_is_refused(data):
    lines = write_translation_csv(data).decode().splitlines(keepends=True)
    with pytest.raises(ValueError, match="expected 148 rows, as the settings say, got 147"):  # 4 * (9 + 16 + 12)
        read_translation_csv("".join(lines[:-1]))
    with pytest.raises(ValueError, match="row 2 to begin with encoder, 1, 1, 1, thirty, 2, four"):
        read_translation_csv("".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    with pytest.raises(ValueError, match="expected columns attention, text, head"):
        read_translation_csv("".join(line.partition(",")[2] for line in lines))


def test_a_bad_npz_is_refused(data):
    with pytest.raises(ValueError, match="expected an NPZ file"):
        read_translation_npz(b"no zip")
    whole = json.loads(write_translation_json(data))["settings"]
    with pytest.raises(ValueError, match="expected the array encoder_X in the file"):
        read_translation_npz(data_npz.packed(whole, {}))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("cross_weight", np.zeros(1), "expected arrays that a translation has, got 'cross_weight'"),
        ("encoder_X_keys", np.zeros((1, 3, 32)), "expected arrays that a translation has"),
        ("cross_b_o", np.full(32, np.nan), "expected cross_b_o to be finite"),
        ("cross_b_o", np.zeros(32, dtype=np.float32), "expected cross_b_o to be float64, got float32"),
        ("cross_mask", np.zeros((1, 4, 4, 3)), "expected cross_mask to be bool, got float64"),
    ],
)
def test_arrays_that_are_not_the_translations_are_refused(name, array, message, data):
    with pytest.raises(ValueError, match=message):
        replace(data, arrays={**data.arrays, name: array})


def test_the_whole_trace_is_needed_for_a_file_of_it(data):
    maps = read_translation_csv(write_translation_csv(data))
    for write in (write_translation_npz, write_translation_json):
        with pytest.raises(ValueError, match="expected the array encoder_X, got only encoder_scores"):
            write(maps)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TranslationScene(-1, "shared"), "number"),
        (lambda: TranslationScene(1, "mine"), "weights"),
        (
            lambda: TranslationScene(1, "shared", Rules(cross=(lambda places: masks.causal(1, 1),))),
            "a restriction of cross",
        ),
    ],
)
def test_a_scene_that_no_file_can_say_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_scene_is_a_value():
    assert TranslationScene(1, "shared", RULES["windows"]) == TranslationScene(1, "shared", RULES["windows"])
