"""The translator's script: run in a fresh process beside its weights, it gives the page's words and maps."""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mha.attention import tolerance
from mha.export.translation import TranslationScene
from mha.export.translation_program import FILE_NAME, translation_program, translation_zip
from mha.translator.numbers import german_words
from mha.translator.weights import SHIPPED, shipped
from tests.samples import assert_close, run_alone
from tests.translations import NUMBERS, RULES, SCENES

# One process for all of them, each in a namespace of its own, as by `python translate_numpy.py --json`.
RUN_ALL = """
import contextlib, runpy, sys
paths = sys.argv[1:]
for path in paths:
    sys.argv = [path, "--json"]
    with open(path + ".json", "w", encoding="utf-8") as said, contextlib.redirect_stdout(said):
        runpy.run_path(path, run_name="__main__")
"""


def unpacked(scene: TranslationScene, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(translation_zip(scene))) as archive:
        archive.extractall(folder)
    return folder / FILE_NAME


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("translations")
    paths = {name: unpacked(scene, folder / str(number)) for number, (name, scene) in enumerate(SCENES.items())}
    run_alone("-c", RUN_ALL, *map(str, paths.values()), folder=folder)
    return {name: json.loads(Path(f"{path}.json").read_text("utf-8")) for name, path in paths.items()}


@pytest.mark.parametrize("name", SCENES)
def test_a_script_gives_the_words_and_maps_of_the_page(name, made):
    _, translation, passes = SCENES[name].followed()
    assert tuple(made[name]["german"]) == translation.words
    maps = {"weights": passes.cross, "encoder_weights": passes.encoder, "decoder_weights": passes.decoder}
    for key, attention in maps.items():
        found = np.array(made[name][key])
        assert_close(found, attention.trace.weights[0], tolerance(attention.trace))
        assert not found[~attention.trace.mask[0]].any()


def test_a_restriction_makes_other_words(made):
    """Else the scripts could have left it out."""
    assert made["first words, 234, shared"]["german"] != made["none, 234, shared"]["german"]


@pytest.mark.parametrize("weights", SHIPPED)
def test_it_runs_from_any_folder_and_prints_the_words(weights, tmp_path):
    path = unpacked(TranslationScene(321, weights), tmp_path / "a folder")
    said = run_alone(str(path), folder=tmp_path)
    assert said.startswith("three hundred twenty one -> drei hundert ein und zwanzig\n")
    assert "cross-attention, head 4: drei, hundert, ein, und, zwanzig, [end] look at" in said


def test_other_words_are_translated_where_a_reader_writes_them(tmp_path):
    path = unpacked(TranslationScene(5, "shared"), tmp_path)
    text = path.read_text("utf-8")
    assert text.count('"five".split()') == 1
    path.write_text(text.replace('"five"', '"nine hundred eighty seven thousand"'), "utf-8")
    assert " ".join(german_words(987_000)) in run_alone(str(path), folder=tmp_path)


def test_the_zip_holds_the_script_and_the_weights_and_is_the_same_each_time():
    scene = TranslationScene(34, "one_head")
    with zipfile.ZipFile(io.BytesIO(translation_zip(scene))) as archive:
        assert archive.namelist() == [FILE_NAME, "one_head.safetensors"]
        assert archive.read("one_head.safetensors") == shipped("one_head").read_bytes()
    assert translation_zip(scene) == translation_zip(scene)


@pytest.mark.parametrize("rules", RULES)
def test_the_script_needs_numpy_alone_and_fits_a_screen(rules):
    text = translation_program(TranslationScene(NUMBERS[-1], "shared", RULES[rules]))
    modules = {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    modules |= {str(node.module) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert modules == {"json", "sys", "pathlib", "numpy"}
    lines = text.splitlines()
    assert max(map(len, lines)) <= 110
    assert len(lines) < 150
    assert not re.search("<[A-Z_]+>", text)  # nothing is left to fill in
