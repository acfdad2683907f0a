"""Snippets for other libraries: each is run in a fresh process and must give the page's weights.

Importing torch takes seconds, and Keras more, so each kind of script has one process: the first runs in it as it would
by `python snippet.py`, and its print is read; then the others do, each in a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mha import masks
from mha.arrays import Array, Booleans
from mha.attention import Trace, tolerance
from mha.config import Model
from mha.export import Scene, Snippet, script, snippets
from mha.torch_engine import BETWEEN_ENGINES
from tests.samples import run_alone
from tests.scenes import BIG_GRID, CAUSAL, CUSTOM, GRID, MODEL, ONE, PADDING, SCENES, TWO, T, scene, scenes

NO_TORCH = find_spec("torch") is None
KINDS = ("multihead_attention", "functional", "keras", "numpy_class", "exercise")
FIRST = "all"  # the scene whose scripts are the first in their process
EMPTY = ("halves and causal", "everything blocked", "a text of length 0")


@dataclass(frozen=True)
class Ran:
    weights: Array
    output: Array


# --- running -----------------------------------------------------------------------------------------------------

RUN_ALL = """
import contextlib, os, runpy, sys
import numpy as np
for path in sys.argv[1:]:
    os.chdir(os.path.dirname(path))  # where a script looks for its files
    quiet = contextlib.redirect_stdout(None) if path != sys.argv[1] else contextlib.nullcontext()
    with quiet:
        made = runpy.run_path(path, run_name="__main__")
    np.savez(path + ".npz", weights=np.asarray(made["weights"]), output=np.asarray(made["output"]))
"""
# A script may warn of nothing, but for these:
EXPECTED = (
    "-Wignore:__array__ implementation:DeprecationWarning",  # Keras and NumPy 2, inside Keras
    "-Wignore:invalid value encountered:RuntimeWarning",  # the NumPy class's -inf minus -inf
)


def python(*arguments: str, folder: Path) -> str:
    keras = {"KERAS_BACKEND": "torch", "KERAS_HOME": str(folder / "keras")}
    return run_alone(*EXPECTED, *arguments, folder=folder, **keras)


def written(snippet: Snippet, folder: Path, name: str) -> str:
    folder.mkdir(exist_ok=True)
    for file, array in snippet.files:
        np.save(folder / file, array)
    path = folder / f"{name}.py"
    path.write_text(snippet.code, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snippets")


@dataclass(frozen=True)
class Runs:
    made: dict[tuple[str, str], Ran]  # by scene and kind
    printed: dict[str, str]  # by kind, of the script that ran first
    keras_output_alone: Array


@pytest.fixture(scope="module")
def runs(folder: Path) -> Iterator[Runs]:
    if NO_TORCH:
        pytest.skip("PyTorch is not installed: runs where it is")
    paths: dict[tuple[str, str], str] = {}
    for number, (name, one) in enumerate(SCENES.items()):
        for kind, snippet in zip(KINDS, snippets(one), strict=True):
            paths[name, kind] = written(snippet, folder / str(number), f"snippet_{kind}")
    keras_code = snippets(SCENES["everything blocked"])[2].code
    no_scores = folder / "no_scores.py"
    no_scores.write_text(
        keras_code + "output = keras.ops.convert_to_numpy(layer(queries, keys, attention_mask=allowed))\n",
        encoding="utf-8",
    )

    def jobs(kind: str) -> list[str]:
        of_kind = {scene: path for (scene, other), path in paths.items() if other == kind}
        return [of_kind.pop(FIRST), *of_kind.values(), *([str(no_scores)] if kind == "keras" else [])]

    with ThreadPoolExecutor(2) as pool:
        longest_first = sorted(KINDS, key=lambda kind: kind != "keras")
        running = {kind: pool.submit(python, "-c", RUN_ALL, *jobs(kind), folder=folder) for kind in longest_first}
        printed = {kind: job.result() for kind, job in running.items()}
    made = {}
    for key, path in paths.items():
        with np.load(path + ".npz") as saved:
            made[key] = Ran(saved["weights"], saved["output"])
    with np.load(f"{no_scores}.npz") as saved:
        yield Runs(made, printed, saved["output"])


def assert_ours(made: Ran, trace: Trace) -> None:
    """Equal within the design's tolerance: weights of rows that have a key, output where every head has one."""
    bound = tolerance(trace, BETWEEN_ENGINES)
    has_key = ~trace.empty_rows
    positions = has_key.all(axis=1)
    assert made.weights.shape == trace.weights.shape
    assert made.output.shape == trace.output.shape
    assert made.weights.dtype == np.float64
    np.testing.assert_allclose(made.weights[has_key], trace.weights[has_key], rtol=0, atol=bound)
    np.testing.assert_allclose(made.output[positions], trace.output[positions], rtol=0, atol=bound)
    assert (made.weights[has_key][~trace.mask[has_key]] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCENES)
def test_gives_our_weights(runs: Runs, name: str, kind: str) -> None:
    assert_ours(runs.made[name, kind], SCENES[name].trace())


@pytest.mark.parametrize("kind", KINDS)
def test_prints_the_weights(runs: Runs, kind: str) -> None:
    trace = SCENES[FIRST].trace()
    has_key = ~trace.empty_rows
    assert has_key.mean() > 0.5
    numbers = runs.printed[kind].replace("[", " ").replace("]", " ").split()
    printed = np.array(numbers, dtype=np.float64).reshape(trace.weights.shape)
    np.testing.assert_allclose(printed[has_key], trace.weights[has_key], rtol=0, atol=0.0005 + 1e-9)


# --- rows with no key left ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EMPTY)
def test_a_row_with_no_key_left_is_what_the_page_says(runs: Runs, name: str, kind: str) -> None:
    snippet = snippets(SCENES[name])[KINDS.index(kind)]
    empty = SCENES[name].trace().empty_rows
    assert empty.any()
    rows = runs.made[name, kind].weights[empty]
    assert snippet.no_key == {
        "multihead_attention": "NaN", "functional": "0", "keras": "0", "numpy_class": "NaN", "exercise": "NaN",
    }[kind]  # fmt: skip
    assert np.isnan(rows).all() if snippet.no_key == "NaN" else (rows == 0).all()
    assert snippet.about_no_key.startswith(snippet.no_key)


@pytest.mark.parametrize("name", EMPTY)
def test_where_a_row_is_0_the_output_is_ours_too(runs: Runs, name: str) -> None:
    trace = SCENES[name].trace()
    for kind in ("functional", "keras"):
        difference = runs.made[name, kind].output - trace.output
        assert np.abs(difference).max() <= tolerance(trace, BETWEEN_ENGINES)


def test_multihead_attention_loses_the_whole_output_of_the_position(runs: Runs) -> None:
    trace = SCENES["halves and causal"].trace()
    some_head_is_empty: Booleans = np.asarray(trace.empty_rows.any(axis=1))
    assert (some_head_is_empty & ~trace.empty_rows.all(axis=1)).any()
    nan = np.isnan(runs.made["halves and causal", "multihead_attention"].output)
    np.testing.assert_array_equal(nan, np.broadcast_to(some_head_is_empty[..., None], nan.shape))


def test_keras_without_scores_gives_the_mean_of_all_values(runs: Runs) -> None:
    trace = SCENES["everything blocked"].trace()
    mean = trace.v.mean(axis=2).reshape(len(TWO), 1, -1)
    expected = mean @ SCENES["everything blocked"].weights().W_o
    # This way through Keras is not in double precision, so only 1/Tk itself is told from 0 and from the softmax.
    np.testing.assert_allclose(runs.keras_output_alone, np.broadcast_to(expected, trace.output.shape), atol=1e-5)
    assert np.abs(expected).min() > 1e-3


# --- the NumPy class: valid_lens or nothing ----------------------------------------------------------------------


def run_numpy_class(one: Scene) -> dict[str, object]:
    made: dict[str, object] = {"print": lambda *_: None}
    with np.errstate(invalid="ignore"):  # its -inf minus -inf
        exec(snippets(one)[3].code, made)
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", [7, 7]),
        ("padding", [3, 7]),
        ("a text of length 0", [0, 7]),
        ("causal", [[1, 2, 3, 4, 5, 6, 7]] * 2),
        ("window ahead", None),
        ("window", None),
        ("ranges", None),
        ("custom", None),
        ("custom, one head", None),
        ("all", None),
    ],
)
def test_valid_lens_says_the_mask_or_the_script_says_that_it_cannot(name: str, expected: object) -> None:
    code = snippets(SCENES[name])[3].code
    assert ("valid_lens cannot say this mask" in code) == (expected is None)
    if expected is not None:
        np.testing.assert_array_equal(np.asarray(run_numpy_class(SCENES[name])["valid_lens"]), expected)


def test_valid_lens_of_causal_and_padding_together() -> None:
    made = run_numpy_class(scene(CAUSAL, PADDING))
    np.testing.assert_array_equal(np.asarray(made["valid_lens"]), [[1, 2, 3, 3, 3, 3, 3], [1, 2, 3, 4, 5, 6, 7]])


def test_lengths_are_repeated_per_head_and_not_tiled() -> None:
    # case C11: 2 texts, 2 heads, 2 tokens, lengths 1 and 2
    one = Scene((("a",), ("b", "c")), Model(d_model=4, num_heads=2), (masks.valid_lens([1, 2], 2),))
    made = run_numpy_class(one)
    np.testing.assert_array_equal(np.asarray(made["lens"]).ravel(), [1, 1, 2, 2])


# --- the code ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("causal", "causal = torch.ones(Tq, Tk, dtype=torch.bool).tril()"),
        ("padding", "lens = torch.tensor([3, 7])"),
        ("window", "window = (step >= -2) & (step <= 1)"),
        ("window ahead", "window = step >= 0"),
        ("ranges", "first, end = torch.tensor([[0, 3], [2, 6], [1, 7]]).T  # of each head's own keys"),
        ("scattered", 'rows = "1010101 0101010 1111111".split()  # 1 = may look'),
        ("custom, one head", "custom[0, 1] = torch.tensor([[cell == \"1\" for cell in row] for row in rows])"),
    ],
)  # fmt: skip
def test_a_mask_is_written_by_the_shortest_rule_that_says_it(name: str, line: str) -> None:
    assert line in snippets(SCENES[name])[1].code.splitlines()


def test_who_turns_the_mask_round() -> None:
    multihead, functional, keras, _, exercise = (snippet.code for snippet in snippets(scene(CAUSAL, PADDING)))
    assert "attn_mask=~allowed," in multihead
    assert "key_padding_mask=~is_word," in multihead
    assert "attn_mask=allowed)" in functional
    assert "attention_mask=allowed[:, 0]," in keras
    assert "blocked = ~allowed" in exercise
    assert "~" not in functional + keras


def test_keras_says_which_shape_a_mask_per_head_needs() -> None:
    for name, one in SCENES.items():
        per_head = any((rule.allowed != rule.allowed[:, :1]).any() for rule in one.rules)
        assert ("has to be 4-D" in snippets(one)[2].code) == per_head, name


def test_a_large_mask_comes_in_a_file() -> None:
    for snippet in snippets(SCENES["a file"]):
        [(name, array)] = snippet.files
        assert f'np.load("{name}")' in snippet.code
        np.testing.assert_array_equal(array, BIG_GRID.allowed[0, 0])
    limit = masks.custom(np.random.default_rng(3).random((32, 32)) < 0.5)
    largest = Scene((tuple("abcdefghijklmnopqrstuvwxyz012345"),), MODEL, (limit,))
    assert limit.allowed.size == script.MAX_LITERAL_CELLS
    assert not any(snippet.files for snippet in snippets(largest))


def test_scripts_are_short() -> None:
    for name, one in SCENES.items():
        longest = max(snippet.code.count("\n") for snippet in snippets(one))
        assert longest <= (45 if len(one.texts) == 1 else 60), (name, longest)
        for snippet in snippets(one):
            lines = [line for line in snippet.code.splitlines() if ".split()" not in line]  # a text is one line
            assert max(map(len, lines)) <= 110, max(lines, key=len)


def test_a_rules_name_cannot_get_into_the_code() -> None:
    rule = masks.custom(GRID, "custom\nimport os #'\"")
    for with_name, without in zip(snippets(scene(rule)), snippets(scene(CUSTOM)), strict=True):
        assert with_name.code == without.code


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_any_token_is_written_so_that_it_comes_back(tokens: list[str]) -> None:
    one = Scene((tuple(tokens),), MODEL)
    made = run_numpy_class(one)
    queries, _ = one.vectors()
    np.testing.assert_array_equal(np.asarray(made["queries"]), queries)


@given(scenes())
@settings(deadline=None, max_examples=150)
def test_any_scene_comes_out_right(one: Scene) -> None:
    made = run_numpy_class(one)
    trace = one.trace()
    assert_ours(Ran(np.asarray(made["weights"]), np.asarray(made["output"])), trace)
    assert np.isnan(np.asarray(made["weights"])[trace.empty_rows]).all()


# --- scenes ------------------------------------------------------------------------------------------------------


def test_a_scene_pads_with_zeros() -> None:
    queries, keys = scene().vectors()
    assert queries.shape == (2, T, 15)
    assert (queries[0, 3:] == 0).all()
    assert (queries[0, :3] != 0).all()
    assert keys is queries


@pytest.mark.parametrize(
    ("texts", "looked_at", "message"),
    [
        ((), None, "expected texts to hold at least one token, got none"),
        (((), ()), None, "expected texts to hold at least one token, got none"),
        (TWO, ((),) * 2, "expected looked_at to hold at least one token, got none"),
        (TWO, ONE, "expected as many texts to look at as texts, B = 2, got 1"),
        (("word",), None, "expected texts to hold tuples of tokens, got 'word' at 0"),
        ((("a", "\ud800"),), None, "expected texts to be valid Unicode"),
    ],
)
def test_a_scene_refuses_what_makes_no_picture(texts: object, looked_at: object, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Scene(texts, MODEL, (), looked_at)  # type: ignore[arg-type]


def test_a_scene_refuses_a_rule_of_another_size() -> None:
    with pytest.raises(ValueError, match="expected rule 'causal' to broadcast"):
        scene(masks.causal(5, 5))
