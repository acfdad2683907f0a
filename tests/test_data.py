"""Data to take away: every format gives back the same numbers, to the bit, and the scene; what is broken is refused."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha import masks
from mha.config import Model
from mha.export import (
    Data,
    Scene,
    data_of,
    read_csv,
    read_json,
    read_npz,
    write_csv,
    write_json,
    write_npz,
)
from mha.export.data import map_names, names, shape
from mha.export.data_csv import MAX_CELL
from mha.export.described import described, scene_of
from tests.scenes import MODEL, RESTRICTED, SCENES, scenes

FORMATS: dict[str, tuple[Callable[[Data], bytes], Callable[[bytes], Data]]] = {
    "csv": (write_csv, read_csv),
    "npz": (write_npz, read_npz),
    "json": (write_json, read_json),
}
LINK = {"v": "1", "text": 'the "cat", =1+1\n#', "seed": "11"}
PICKED = {
    name: {**SCENES, **RESTRICTED}[name]
    for name in (
        "none",
        "all, with biases",
        "a text of length 0",
        "cross",
        "cross, restricted",
        "halves, causal, padding",
        "odd and even, everything",
        "one token",
    )
}
RICH = PICKED["odd and even, everything"]
SMALL = Scene((("a", "b"),), Model(d_model=6, num_heads=3), (masks.causal(2, 2),), restriction=masks.halves(3, 2))

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
# Texts that a spreadsheet or a reader of CSV could take for something else.
tricky = st.sampled_from(
    ["=1+1", "'=1", "''=1", "-", "--", "@x", "'tis", "\t=1", "\r\n", "#", '"', ",", ";", "", " ", "NA", "nan", "12",
     "1e5", "[pad]", "＝1", "\u202etfel", "👩‍👩‍👧", "مرحبا", "\x00", "\ufeff", "{", "+\n"]
)  # fmt: skip
tokens = st.lists(any_text | tricky | st.builds("{}{}".format, tricky, any_text), min_size=1, max_size=4)


def same_rules(one: tuple[masks.Rule, ...], other: tuple[masks.Rule, ...]) -> bool:
    return [rule.name for rule in one] == [rule.name for rule in other] and all(
        np.array_equal(a.allowed, b.allowed) for a, b in zip(one, other, strict=True)
    )


def assert_same_scene(one: Scene, other: Scene) -> None:
    assert (one.texts, one.looked_at, one.model) == (other.texts, other.looked_at, other.model)
    assert same_rules(one.rules, other.rules)
    assert (one.restriction is None) == (other.restriction is None)
    assert same_rules(tuple(filter(None, [one.restriction])), tuple(filter(None, [other.restriction])))


def assert_comes_back(data: Data, form: str) -> None:
    write, read = FORMATS[form]
    found = read(write(data))
    assert_same_scene(found.scene, data.scene)
    assert found.link == data.link
    assert tuple(found.arrays) == (map_names(data.scene) if form == "csv" else names(data.scene))
    for name, array in found.arrays.items():
        assert array.dtype == data.arrays[name].dtype
        assert array.shape == data.arrays[name].shape
        assert array.tobytes() == data.arrays[name].tobytes(), name  # the sign of zero included
    assert write(found if form != "csv" else replace(found, arrays=data.arrays)) == write(data)


# --- what is in it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICKED)
def test_data_of_a_scene_is_its_trace(name: str) -> None:
    scene = PICKED[name]
    data = data_of(scene, LINK)
    trace, weights = scene.trace(), scene.weights()
    for each in trace.__dataclass_fields__:
        np.testing.assert_array_equal(data.arrays[each], getattr(trace, each))
    np.testing.assert_array_equal(data.arrays["X"], scene.vectors()[0])
    np.testing.assert_array_equal(data.arrays["W_v"], weights.W_v)
    assert ("b_o" in data.arrays) == scene.model.bias
    assert ("X_keys" in data.arrays) == (scene.looked_at is not None)
    if scene.looked_at is not None:
        np.testing.assert_array_equal(data.arrays["X_keys"], scene.vectors()[1])
    if scene.restriction is None:
        assert not any(each.startswith("restricted_") for each in data.arrays)
    else:
        restricted = scene.comparison().restricted
        for each in ["mask", "weights", "head_outputs", "concat", "output", "empty_rows", "contributions"]:
            np.testing.assert_array_equal(data.arrays[f"restricted_{each}"], getattr(restricted, each))


def test_the_shapes_are_those_of_the_axes() -> None:
    """B = 2, H = 3, Tq = 7, Tk = 2, D = 15, K = 5, all different."""
    scene = PICKED["cross"]
    found = {
        name: shape(name, scene) for name in ("X", "X_keys", "W_o", "b_q", "q", "v", "mask", "empty_rows", "concat")
    }
    assert found == {
        "X": (2, 7, 15),
        "X_keys": (2, 2, 15),
        "W_o": (15, 15),
        "b_q": (15,),
        "q": (2, 3, 7, 5),
        "v": (2, 3, 2, 5),
        "mask": (2, 3, 7, 2),
        "empty_rows": (2, 3, 7),
        "concat": (2, 7, 15),
    }


# --- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", PICKED)
def test_comes_back_to_the_bit(name: str, form: str) -> None:
    assert_comes_back(data_of(PICKED[name], LINK), form)


@given(st.booleans().flatmap(lambda restricted: scenes(restricted=restricted)), st.sampled_from(sorted(FORMATS)))
def test_any_scene_comes_back(scene: Scene, form: str) -> None:
    assert_comes_back(data_of(scene), form)


@given(tokens, tokens, any_text)
def test_any_token_comes_back(queries: list[str], keys: list[str], said: str) -> None:
    scene = Scene((tuple(queries),), Model(d_model=2, num_heads=1), looked_at=(tuple(keys),))
    data = data_of(scene, {"text": said})
    for form in FORMATS:
        assert_comes_back(data, form)


def test_every_number_that_float64_has_comes_back() -> None:
    data = data_of(SMALL)
    odd = [-0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3, -1e-300, 1e16, 123456789.0,
           1e22, 9007199254740993.0, 2.0]  # fmt: skip
    scores = np.array(odd).reshape(data.arrays["scores"].shape)
    for form in FORMATS:
        assert_comes_back(replace(data, arrays={**data.arrays, "scores": scores}), form)


# --- others can read it ------------------------------------------------------------------------------------------


def test_csv_has_a_row_for_each_text_head_query_and_key() -> None:
    scene = RICH
    both = scene.comparison()
    rows = list(csv.DictReader(io.StringIO(write_csv(data_of(scene)).decode(), newline="")))
    assert list(rows[0]) == [
        "text", "head", "query_position", "query_token", "key_position", "key_token",
        "score", "allowed", "weight", "restricted_allowed", "restricted_weight", "settings",
    ]  # fmt: skip
    B, H, Tq, Tk = scene.shape
    read = iter(rows)
    for b in range(B):
        for h in range(H):
            for i in range(Tq):
                for j in range(Tk):
                    row = next(read)
                    assert [row["text"], row["head"]] == [str(b + 1), str(h + 1)]
                    assert [row["query_position"], row["key_position"]] == [str(i + 1), str(j + 1)]
                    assert row["query_token"] == (scene.texts[b][i] if i < len(scene.texts[b]) else "[pad]")
                    assert row["key_token"] == (scene.texts[b][j] if j < len(scene.texts[b]) else "[pad]")
                    at = b, h, i, j
                    assert float(row["score"]) == both.baseline.scores[at]
                    assert float(row["weight"]) == both.baseline.weights[at]
                    assert float(row["restricted_weight"]) == both.restricted.weights[at]
                    assert row["allowed"] == str(int(both.baseline.mask[at]))
                    assert row["restricted_allowed"] == str(int(both.restricted.mask[at]))
    assert next(read, None) is None
    assert scene_of(json.loads(rows[0]["settings"]))[0].texts == scene.texts
    assert {row["settings"] for row in rows[1:]} == {""}


def test_pandas_reads_the_same_numbers_and_tokens() -> None:
    words = ("NA", "12", "", '"', "a,b", "two\nlines", "#", "null", "é")
    scene = Scene((words,), MODEL, (masks.causal(9, 9),))
    before_3_1 = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if before_3_1 else {}
    table = pd.read_csv(
        io.BytesIO(write_csv(data_of(scene))),
        **exact,
        keep_default_na=False,
        dtype={"query_token": str, "key_token": str},
    )
    trace = scene.trace()
    assert table["weight"].to_numpy().tobytes() == trace.weights.tobytes()
    assert table["score"].to_numpy().tobytes() == trace.scores.tobytes()
    np.testing.assert_array_equal(table["allowed"].to_numpy(), trace.mask.ravel())
    assert list(table["key_token"][:9]) == list(words)
    assert list(table["query_token"][::9][:9]) == list(words)
    plain = pd.read_csv(io.BytesIO(write_csv(data_of(scene))))  # without any option
    np.testing.assert_allclose(plain["weight"], trace.weights.ravel(), rtol=1e-14)


def test_no_cell_of_csv_is_a_formula() -> None:
    words = ("=1+1", "+x", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-", "'=1", "'tis", "ok")
    scene = Scene((words,), MODEL)
    rows = list(csv.reader(io.StringIO(write_csv(data_of(scene)).decode(), newline="")))
    found = [row[5] for row in rows[1 : len(words) + 1]]
    assert found == ["'=1+1", "'+x", "'-2", "'@SUM(A1)", "'\t=1", "'\r=1", "'\n=1", "'＝1", "-", "''=1", "'tis", "ok"]


def test_long_settings_take_several_cells() -> None:
    """A spreadsheet's cell has room for 32,767 characters, and Python's reader takes 131,072."""
    scene = Scene((tuple("abcdefg"),), MODEL, (masks.custom(np.eye(7, dtype=np.bool_)),))
    long = {"text": "=" * 140_000}  # so that a piece begins with a formula
    data = data_of(scene, long)
    cells = [row[-1] for row in csv.reader(io.StringIO(write_csv(data).decode(), newline=""))][1:]
    used = [cell for cell in cells if cell]
    assert len(used) > 3
    assert cells[: len(used)] == used
    assert max(map(len, used)) <= MAX_CELL + 1
    assert not any(cell.startswith("=") for cell in used)
    found = read_csv(write_csv(data))
    assert found.link == long
    assert_same_scene(found.scene, scene)


def test_numpy_reads_npz_without_pickle() -> None:
    data = data_of(RICH, LINK)
    with np.load(io.BytesIO(write_npz(data)), allow_pickle=False) as found:
        assert set(found) == {"settings", *data.arrays}
        np.testing.assert_array_equal(found["contributions"], data.arrays["contributions"])
        settings = json.loads(str(found["settings"]))
    assert settings["model"]["seed"] == RICH.model.seed
    assert settings["link"] == LINK


def test_any_reader_of_json_reads_json() -> None:
    data = data_of(RICH, LINK)
    found = json.loads(write_json(data), parse_constant=pytest.fail)
    assert found["settings"]["texts"] == [list(text) for text in RICH.texts]
    np.testing.assert_array_equal(np.array(found["arrays"]["restricted_output"]), data.arrays["restricted_output"])
    assert found["arrays"]["mask"] == RICH.trace().mask.tolist()  # of true and false, as == takes 1 for true as well
    assert isinstance(found["arrays"]["mask"][0][0][0][0], bool)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_scene_gives_the_same_bytes(form: str) -> None:
    write, _ = FORMATS[form]
    again = Scene(RICH.texts, RICH.model, RICH.rules, RICH.looked_at, RICH.restriction)
    assert write(data_of(RICH, LINK)) == write(data_of(again, LINK))


# --- what is refused ---------------------------------------------------------------------------------------------


def changed(name: str, array: Any) -> Data:
    data = data_of(SMALL)
    return Data(SMALL, {**data.arrays, name: array})


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("weights", np.zeros((1, 3, 2, 3)), r"expected weights of shape \(B, H, Tq, Tk\) = \(1, 3, 2, 2\), got"),
        ("output", np.zeros((1, 2, 6), np.float32), "expected output to be float64, got float32"),
        ("mask", np.zeros((1, 3, 2, 2)), "expected mask to be bool, got float64"),
        ("q", np.full((1, 3, 2, 2), np.nan), r"expected q to be finite, got nan at \(0, 0, 0, 0\)"),
        ("mask", np.ones((1, 3, 2, 2), np.bool_), r"expected mask to be as the rules in the file say, got True at"),
        ("restricted_mask", np.ones((1, 3, 2, 2), np.bool_), "expected restricted_mask to be as the rules"),
        ("b_q", np.zeros(6), "expected arrays that the scene has, got 'b_q'"),
        ("X", [[[0.0]]], "expected X to be float64, got list"),
    ],
)
def test_data_that_is_not_the_scenes_is_refused(name: str, array: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(name, array)


@pytest.mark.parametrize("form", ["npz", "json"])
def test_the_whole_trace_is_needed_for_a_file_of_it(form: str) -> None:
    with pytest.raises(ValueError, match="expected the array X, got only scores, mask, weights"):
        FORMATS[form][0](read_csv(write_csv(data_of(SCENES["none"]))))


def npz(**arrays: Any) -> bytes:
    """The small scene's file with other arrays; None leaves one out."""
    data = data_of(SMALL)
    settings = np.array(json.dumps(described(SMALL)))
    every = {"settings": settings, **data.arrays, **arrays}
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in every.items() if array is not None})
    return buffer.getvalue()


def test_npz_of_other_hands_is_read_too() -> None:
    np.testing.assert_array_equal(read_npz(npz()).arrays["output"], SMALL.trace().output)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: b"", "expected an NPZ file, got no zip archive"),
        (lambda: b"PK\x05\x06" + bytes(18), "expected the array settings in the file, got an empty file"),
        (lambda: npz(weights=None), "expected the array weights in the file, got settings, X, W_q, W_k, W_v"),
        (lambda: npz(weights=np.array([None])), "expected weights to be an array without pickled objects, got: Object"),
        (lambda: npz(settings=np.array([1.0])), r"expected settings to be a text, got float64 of shape \(1,\)"),
        (lambda: npz(settings=np.array("{}")), "expected a file of the format 'headlight data', got None"),
        (lambda: npz(q=np.zeros((1, 3, 2, 1))), r"expected q of shape \(B, H, Tq, K\) = \(1, 3, 2, 2\), got"),
        (lambda: npz(q=np.zeros((1, 3, 2, 2), np.float32)), "expected q to be float64, got float32"),
        (lambda: npz(q=np.full((1, 3, 2, 2), np.inf)), r"expected q to be finite, got inf at \(0, 0, 0, 0\)"),
        (lambda: npz(q=np.zeros(5_000)), "expected q to take at most 96 bytes, got 40,128"),
        (lambda: npz()[:-400], "expected an NPZ file, got no zip archive"),
    ],
)
def test_a_bad_npz_is_refused(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_npz(make())


def test_a_damaged_array_in_npz_is_refused() -> None:
    data = bytearray(write_npz(data_of(SMALL)))
    start = data.index(SMALL.trace().output.tobytes())
    data[start] ^= 1
    with pytest.raises(ValueError, match="expected output to be an array without pickled objects, got: Bad CRC"):
        read_npz(bytes(data))


def test_an_array_that_claims_to_be_huge_is_refused_before_it_is_made() -> None:
    data = data_of(SMALL)
    content = io.BytesIO()
    np.lib.format.write_array(content, data.arrays["q"])
    claims = content.getvalue().replace(b"(1, 3, 2, 2)", b"(9,9**9,9,9)")
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(write_npz(data))) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, claims if name == "q.npy" else old.read(name))
    with pytest.raises(ValueError, match="expected q to be an array"):
        read_npz(buffer.getvalue())


def json_file(change: Callable[[dict[str, Any]], object]) -> bytes:
    value = json.loads(write_json(data_of(SMALL)))
    change(value)
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop("arrays"), "expected arrays in the file, got only 'settings'"),
        (lambda v: v.update(arrays=[]), r"expected arrays by name, got \[\]"),
        (lambda v: v["arrays"].pop("output"), "expected output in the file, got only"),
        (lambda v: v["arrays"]["q"][0][0].pop(), "expected q to be lists of the same length"),
        (lambda v: v["arrays"].update(q=[[[["1"]]]]), r"expected q to hold numbers, got \['1'\]"),
        (lambda v: v["arrays"].update(q=[[[[1.0]]]]), r"expected q of shape \(B, H, Tq, K\) = \(1, 3, 2, 2\), got"),
        (lambda v: v["arrays"].update(mask=[[[[1]]]]), r"expected mask to hold true and false, got \[1\]"),
        (lambda v: v["arrays"]["q"][0][0][0].__setitem__(0, float("nan")), "expected finite numbers, got NaN"),
        (lambda v: v["arrays"]["q"][0][0][0].__setitem__(0, None), "expected q to hold numbers, got"),
        (lambda v: v["arrays"]["q"][0][0][0].__setitem__(0, 10**400), "expected numbers of at most 400 digits"),
        (lambda v: v["arrays"]["q"][0][0][0].__setitem__(0, 10**300), "expected q to hold numbers, got"),
        (lambda v: v["settings"].update(version=2), "expected version 1 .* got 2: it was saved by a newer Headlight"),
        (lambda v: v["settings"].update(version="1"), "expected version 1 of the format 'headlight data', got '1'"),
        (lambda v: v["settings"].update(format="x"), "expected a file of the format 'headlight data', got 'x'"),
        (lambda v: v["settings"].update(texts=["ab"]), "expected texts to be lists of tokens, got"),
        (lambda v: v["settings"].update(texts=[["a", 1]]), "expected texts to hold tokens, got"),
        (lambda v: v["settings"].update(texts=[["a"] * 129]), "expected texts of at most 128 tokens, got 129"),
        (lambda v: v["settings"].update(texts=[["a"]] * 9), "expected texts to be at most 8, got 9"),
        (lambda v: v["settings"].update(texts=[["a" * 5001]]), "expected texts of at most 5,000 characters, got 5,001"),
        (lambda v: v["settings"].update(texts=[["\ud800"]]), "expected settings to be valid Unicode"),
        (lambda v: v["settings"].update(model={}), "expected a model with seed, d_model, num_heads"),
        (lambda v: v["settings"]["model"].update(num_heads=4), "expected num_heads to divide d_model"),
        (lambda v: v["settings"].update(rules=None), "expected rules to be a list, got None"),
        (lambda v: v["settings"].update(rules=[1]), "expected a rule with name, shape and allowed, got 1"),
        (lambda v: v["settings"].update(rules=v["settings"]["rules"] * 17), "expected at most 16 rules, got 17"),
        (lambda v: v["settings"]["rules"][0].update(shape=[1, 1, 9, 9]), r"a rule whose shape broadcasts to \(1, 3, 2"),
        (lambda v: v["settings"]["rules"][0].update(shape=[1, 1, 2.0, 2]), "to be a whole number of at least 1"),
        (lambda v: v["settings"]["rules"][0].update(allowed="AAAA"), "expected a packed mask of shape"),
        (lambda v: v["settings"]["rules"][0].update(allowed=5), "expected a packed mask, got 5"),
        (lambda v: v["settings"].update(link=[1]), "expected link to be names and texts"),
        (lambda v: v["settings"].update(rules=[]), "expected mask to be as the rules in the file say"),
    ],
)
def test_a_bad_json_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    data = json_file(change)
    with pytest.raises(ValueError, match=message):
        read_json(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected JSON, got an empty file"),
        (b"[]", r"expected a file with settings and arrays, got \[\]"),
        (b"{", "expected JSON, got a fault in line 1, column 2"),
        (b"\xff", "expected a text file in UTF-8, got byte 0xff at position 1"),
        (b"[" * 100_000, "expected JSON of a few levels, got far more"),
        (b'{"a": 1, "a": 2}', "expected every name once, got 'a' twice"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_json(data)


CSV = write_csv(data_of(SMALL)).decode()
LINES = CSV.splitlines(keepends=True)
ALL_BUT_TWO, ALL_BUT_THREE = (CSV.rsplit(",", cells)[0] for cells in (2, 3))


def test_csv_may_come_with_a_byte_order_mark_and_other_line_ends() -> None:
    again = ("\ufeff" + CSV.replace("\n", "\r\n") + "\r\n").encode()
    np.testing.assert_array_equal(read_csv(again).arrays["weights"], SMALL.trace().weights)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "expected a header and at least one row, got 0 lines"),
        (LINES[0], "expected a header and at least one row, got 1 lines"),
        ("a,b\n1,2\n", "expected columns text, head, query_position"),
        ("".join(LINES[:-1]), "expected 12 rows, as the settings say, got 11"),
        (CSV + LINES[-1], "expected 12 rows, as the settings say, got 13"),
        ("".join([*LINES[:2], LINES[3], LINES[2], *LINES[4:]]), 'row 2 to begin with 1, 1, 1, a, 2, b, as'),
        (CSV.replace('1,2,1,"a"', '1,2,1,"z"'), "row 5 to begin with 1, 2, 1, a, 1, a, as the settings say, got 1, 2"),
        (ALL_BUT_TWO + "\n", "expected 12 cells in row 12, got 10"),
        (ALL_BUT_TWO + ',x,""\n', "expected restricted_weight to hold numbers"),
        (ALL_BUT_TWO + ',nan,""\n', "expected restricted_weight.*to be finite"),
        (ALL_BUT_THREE + ',7,0.5,""\n', "expected restricted_allowed to hold 0 and 1"),
        (CSV.replace("restricted_weight", "weight_2"), "expected the columns score, allowed, weight"),
        (LINES[0] + LINES[1].split(',"{')[0] + ',""\n' + "".join(LINES[2:]), "expected JSON, got an empty file"),
        (CSV + '"', "expected CSV, got a fault"),
    ],
)  # fmt: skip
def test_a_bad_csv_is_refused(data: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_csv(data)


def test_a_scene_beyond_the_limits_of_the_readers_is_not_written() -> None:
    with pytest.raises(ValueError, match="expected texts of at most 128 tokens, got 129"):
        write_csv(data_of(Scene((("a",) * 129,), Model(d_model=2, num_heads=1))))
