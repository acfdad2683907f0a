"""The complete scripts: run in a fresh process, they must give the page's numbers, restriction included.

Importing torch takes seconds, so each flavour has one process: the first script runs in it as it would by
`python attention_numpy.py`, and its print is read; then the others do with --json, each in a namespace of its own.
"""

from __future__ import annotations

import ast
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha import masks
from mha.arrays import Array
from mha.attention import Trace, tolerance
from mha.config import Model
from mha.export import Scene, program
from mha.export.program import LIBRARIES, file_name
from mha.restriction import Restriction
from mha.torch_engine import BETWEEN_ENGINES
from tests.samples import run_alone
from tests.scenes import MODEL, RESTRICTED, SCENES, scenes

NO_TORCH = find_spec("torch") is None
ALL = {**SCENES, **RESTRICTED}
FIRST = "halves, causal, padding"  # the scene whose scripts are the first in their process
NAMES = ("weights", "output", "restricted_weights", "restricted_output", "change")

# --- running -----------------------------------------------------------------------------------------------------

RUN_ALL = """
import contextlib, runpy, sys
import numpy as np
first, *others = sys.argv[1:]
for path in (first, *others):
    sys.argv = [path] if path == first else [path, "--json"]
    with open(path + ".txt", "w", encoding="utf-8") as said, contextlib.redirect_stdout(said):
        made = runpy.run_path(path, run_name="__main__")
    np.savez(path + ".npz", **{name: np.asarray(made[name]) for name in made["results"]})
"""


@dataclass(frozen=True)
class Runs:
    made: dict[tuple[str, str], dict[str, Array]]  # by scene and library
    printed: dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    if NO_TORCH:
        pytest.skip("PyTorch is not installed: runs where it is")
    folder = tmp_path_factory.mktemp("programs")
    paths: dict[tuple[str, str], Path] = {}
    for number, (name, scene) in enumerate(ALL.items()):
        for library in LIBRARIES:
            paths[name, library] = folder / f"{number}_{library}.py"
            paths[name, library].write_text(program(scene, library), encoding="utf-8")

    names = [FIRST, *(name for name in ALL if name != FIRST)]
    with ThreadPoolExecutor(2) as pool:
        scripts = [[str(paths[name, library]) for name in names] for library in LIBRARIES]
        for job in [pool.submit(run_alone, "-c", RUN_ALL, *some, folder=folder) for some in scripts]:
            job.result()
    made = {}
    for key, path in paths.items():
        with np.load(f"{path}.npz") as saved:
            made[key] = dict(saved)
    return Runs(made, {key: Path(f"{path}.txt").read_text("utf-8") for key, path in paths.items()})


# --- the numbers -------------------------------------------------------------------------------------------------


def assert_weights_and_output(weights: Array, output: Array, trace: Trace) -> None:
    bound = tolerance(trace, BETWEEN_ENGINES)
    assert weights.dtype == output.dtype == np.float64
    assert weights.shape == trace.weights.shape
    assert output.shape == trace.output.shape
    np.testing.assert_allclose(weights, trace.weights, rtol=0, atol=bound)
    np.testing.assert_allclose(output, trace.output, rtol=0, atol=bound)
    assert (weights[~trace.mask] == 0).all()  # rows with no key left among them


def assert_ours(made: dict[str, Array], scene: Scene) -> None:
    """Equal within the design's tolerance, everywhere: a row with no key left is 0 here too."""
    assert_weights_and_output(made["weights"], made["output"], scene.trace())
    assert set(made) == set(NAMES if scene.restriction else NAMES[:2])
    if scene.restriction:
        both = scene.comparison()
        assert_weights_and_output(made["restricted_weights"], made["restricted_output"], both.restricted)
        # The length of a difference of two outputs, each of D numbers that may be off by the tolerance.
        bound = (
            2
            * np.sqrt(scene.model.d_model)
            * max(tolerance(trace, BETWEEN_ENGINES) for trace in (both.baseline, both.restricted))
        )
        np.testing.assert_allclose(made["change"], both.change_length, rtol=0, atol=bound)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ALL)
def test_gives_our_numbers(runs: Runs, name: str, library: str) -> None:
    assert_ours(runs.made[name, library], ALL[name])


@pytest.mark.parametrize("library", LIBRARIES)
def test_prints_all_numbers_rounded(runs: Runs, library: str) -> None:
    both = ALL[FIRST].comparison()
    expected = {
        "weights": both.baseline.weights,
        "output": both.baseline.output,
        "restricted_weights": both.restricted.weights,
        "restricted_output": both.restricted.output,
        "change": both.change_length,
        "change relative": both.relative_change,
    }
    lines = runs.printed[FIRST, library].splitlines()
    titles = [i for i, line in enumerate(lines) if line.endswith(":")]
    assert len(titles) == len(expected)
    for (name, array), start, end in zip(expected.items(), titles, [*titles[1:], None], strict=True):
        assert lines[start].startswith(name)
        said = "".join(lines[start + 1 : end]).replace("dtype=torch.float64", "")
        numbers = "".join(" " if sign in "[](),=" else sign for sign in said).replace("tensor", "").split()
        np.testing.assert_allclose(np.array(numbers, float), array.ravel(), rtol=0, atol=0.00005 + 1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_prints_every_digit_as_json(runs: Runs, library: str) -> None:
    for name in ("odd and even, everything", "cross, restricted", "causal"):
        said = json.loads(runs.printed[name, library], parse_constant=pytest.fail)
        made = runs.made[name, library]
        assert said.keys() == made.keys()
        for each, array in made.items():
            np.testing.assert_array_equal(np.array(said[each]), array)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_restriction_to_all_positions_changes_nothing_exactly(runs: Runs, library: str) -> None:
    made = runs.made["all positions", library]
    np.testing.assert_array_equal(made["restricted_output"], made["output"])
    assert (made["change"] == 0).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_with_all_heads_off_nothing_is_left(runs: Runs, library: str) -> None:
    made = runs.made["all heads off", library]
    assert (made["restricted_output"] == 0).all()  # there are no biases
    assert (made["restricted_weights"] == 0).all()


def run_numpy(scene: Scene) -> dict[str, Array]:
    made: dict[str, object] = {"print": lambda *_, **__: None}
    exec(program(scene), made)
    return {name: np.asarray(made[name]) for name in made["results"]}  # type: ignore[attr-defined]


@given(st.booleans().flatmap(lambda restricted: scenes(restricted=restricted)))
def test_any_scene_comes_out_right(scene: Scene) -> None:
    assert_ours(run_numpy(scene), scene)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), min_size=1, max_size=5))
def test_any_token_is_written_so_that_it_comes_back(tokens: list[str]) -> None:
    scene = Scene((tuple(tokens),), MODEL)
    assert_ours(run_numpy(scene), scene)


def test_the_relative_change_of_an_output_of_0_is_not_defined() -> None:
    nothing = masks.custom(np.zeros((1, 1), dtype=np.bool_))
    made: dict[str, object] = {"print": lambda *_, **__: None}
    exec(program(Scene((("a",),), MODEL, (nothing,), restriction=nothing)), made)
    assert np.isnan(made["relative"]).all()  # type: ignore[call-overload]


# --- the code ----------------------------------------------------------------------------------------------------


def code_lines(scene: Scene, library: str) -> list[str]:
    return program(scene, library).splitlines()


@pytest.mark.parametrize("library", LIBRARIES)
def test_is_short(library: str) -> None:
    for name, scene in ALL.items():
        lines = [line for line in code_lines(scene, library) if ".split()" not in line and "b64decode" not in line]
        assert len(lines) <= (95 if scene.restriction else 80), (name, len(lines))
        assert max(map(len, lines)) <= 115, max(lines, key=len)
    # The exercise as given, and a preset's text with nothing on top.
    assert len(code_lines(RESTRICTED["Day 28"], library)) <= 75
    assert len(code_lines(SCENES["PyTorch default"], library)) <= 60


@pytest.mark.parametrize("library", LIBRARIES)
def test_needs_numpy_and_for_pytorch_torch_and_nothing_else(library: str) -> None:
    for name in ("none", "all, with biases", "positions", "cross, restricted", "a large grid"):
        scene = ALL[name]
        tree = ast.parse(program(scene, library))
        found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
        assert found - set(sys.stdlib_module_names) == {"numpy", *({"torch"} & {library})}
        used = {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Subscript)
                if isinstance(node.value, ast.Name)}  # fmt: skip
        assert found <= used | {"numpy"}, "imports what it does not use"
        assert "open(" not in program(scene, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_itself_by_the_name_it_is_saved_under(library: str) -> None:
    name = file_name(library)
    assert f"python {name}, or python {name} --json" in program(SCENES["none"], library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_says_that_there_is_no_dropout(library: str) -> None:
    assert "There is no dropout here" in program(SCENES["none"], library)


def test_pytorch_draws_with_numpy_and_does_the_rest_itself() -> None:
    for scene in ALL.values():
        _, found, attention = program(scene, "torch").partition("torch.from_numpy")
        assert found
        of_numpy = [line for line in attention.splitlines() if "np." in line]
        assert all(line.startswith("cells = np.unpackbits(") for line in of_numpy), of_numpy  # a packed mask's bits


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("halves", "first, end = np.array([[0, 2], [2, 4], [4, 7]]).T  # of each head's own keys"),
        ("odd and even", 'rows = "1010101 0101010 1111111".split()  # 1 = may look'),
        ("own position", "restriction = (step >= 0) & (step <= 0)"),
        ("nearest", "restriction = (step >= -1) & (step <= 1)"),
        ("first token", "restriction = (key >= 0) & (key < 1)"),
        (
            "all but the first token",
            "restriction = (key >= 1) & (key < 7)  # (Tk,), the same for all heads and queries",
        ),
        ("all heads off", "restriction = (key >= 0) & (key < 0)"),
        ("a head off", "first, end = np.array([[0, 7], [0, 0], [0, 7]]).T  # of each head's own keys"),
        ("all positions", "restriction = np.ones((Tq, Tk), dtype=bool)  # blocks nothing"),
    ],
)
def test_a_restriction_is_written_by_the_shortest_rule_that_says_it(name: str, line: str) -> None:
    assert any(written.startswith(line) for written in code_lines(RESTRICTED[name], "numpy"))


def test_without_rules_a_scene_does_not_speak_of_masks() -> None:
    assert "allowed" not in program(SCENES["none"])
    assert "restrict" not in program(SCENES["all"])


def test_names_of_rules_cannot_get_into_the_code() -> None:
    evil = "custom\nimport os #'\""
    for library in LIBRARIES:
        for rule in RESTRICTED["odd and even"], RESTRICTED["own position"]:
            named = replace(rule.restriction, name=evil)  # type: ignore[type-var]
            assert program(replace(rule, restriction=named), library) == program(rule, library)


def test_a_large_mask_is_in_the_script_itself() -> None:
    lines = [line for line in code_lines(RESTRICTED["a large grid"], "numpy") if "b64decode" in line]
    assert len(lines) == 2  # the rule's and the restriction's
    assert "np.load" not in program(RESTRICTED["a large grid"])


def test_another_library_is_refused() -> None:
    with pytest.raises(ValueError, match="expected library to be one of numpy, torch, got 'jax'"):
        program(SCENES["none"], "jax")


# --- a scene with a restriction ----------------------------------------------------------------------------------


def test_a_scene_holds_both_passes() -> None:
    scene = RESTRICTED["halves, causal, padding"]
    both = scene.comparison()
    assert isinstance(both, Restriction)
    assert [rule.name for rule in scene.mask.rules] == ["causal", "valid_lens"]
    assert [rule.name for rule in scene.restricted_mask.rules] == ["causal", "valid_lens", "halves"]
    assert both.baseline.output.tobytes() == scene.trace().output.tobytes()
    np.testing.assert_array_equal(both.restricted.mask, scene.restricted_mask.allowed)
    alone = scene.restricted()
    assert alone.restriction is None
    assert alone.trace().output.tobytes() == both.restricted.output.tobytes()


def test_a_scene_without_a_restriction_has_one_pass() -> None:
    scene = SCENES["causal"]
    np.testing.assert_array_equal(scene.restricted_mask.allowed, scene.mask.allowed)
    with pytest.raises(ValueError, match="expected a scene with a restriction, got one without"):
        scene.comparison()


def test_a_scene_refuses_a_restriction_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="expected rule 'halves' to broadcast"):
        Scene((("a", "b"),), Model(), restriction=masks.halves(8, 5))
    with pytest.raises(ValueError, match="expected the restriction to be a Rule or None, got ndarray"):
        Scene((("a",),), Model(), restriction=np.ones((8, 1), dtype=np.bool_))  # type: ignore[arg-type]
