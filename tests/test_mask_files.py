"""Custom masks from files and links: what is read, what is refused and where, and the way back."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mha import masks
from mha.config import MAX_FILE_BYTES, MAX_HEADS, MAX_TOKENS
from mha.mask_files import pack_mask, read_mask, unpack_mask, write_mask

H, TQ, TK = 5, 2, 3
SHAPE = (H, TQ, TK)
ROWS = [[1, 0, 1], [0, 0, 1]]
HEADS = [[[(h + i * j) % 2 for j in range(TK)] for i in range(TQ)] for h in range(H)]
SIZES = st.integers(1, 7)


def short(value: str | bytes) -> str:
    """A test's name that stays readable with a file of 4 MB."""
    return repr(value[:40])


def result_or_message(call: Callable[[], np.ndarray]) -> np.ndarray | str:
    """What the call returns, or what its ValueError says."""
    try:
        return call()
    except ValueError as problem:
        return str(problem)


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "1,0,1\n0,0,1\n",
        "1,0,1\n0,0,1",
        "1,0,1\r\n0,0,1\r\n",
        "1,0,1\r0,0,1\r",
        "1;0;1\n0;0;1\n",
        "1\t0\t1\n0\t0\t1\n",
        " 1, 0 ,1\n0,0,1\n\n  \n,,\n",
        '"1","0","1"\n"0","0","1"\n',
        "TRUE;FALSE;TRUE\nFALSE;FALSE;TRUE\n",
        "True,False,True\nfalse,0,1\n",
        "\ufeff1,0,1\n0,0,1\n",
    ],
)
def test_csv_as_people_and_spreadsheets_write_it(text: str) -> None:
    for data in (text, text.encode()):
        allowed = read_mask(data, "csv", SHAPE)
        assert allowed.dtype == np.bool_
        assert allowed.astype(int).tolist() == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "[[1,0,1],[0,0,1]]",
        "\ufeff [[1, 0, 1],\n [0, 0, 1]]\n",
        "[[true, false, true], [false, false, true]]",
        "[[true, 0, 1], [0, false, 1]]",
    ],
)
def test_json_for_all_heads(text: str) -> None:
    for data in (text, text.encode()):
        assert read_mask(data, "json", SHAPE).astype(int).tolist() == ROWS
        assert read_mask(data, "json", (TQ, TK)).astype(int).tolist() == ROWS


def test_json_per_head_is_a_rule_per_head() -> None:
    allowed = read_mask(json.dumps(HEADS), "json", SHAPE)
    assert allowed.shape == (1, *SHAPE)
    assert allowed[0].astype(int).tolist() == HEADS
    rule = masks.custom(allowed)
    mask = masks.combine(rule, shape=(7, *SHAPE))
    for b, h, i, j in np.ndindex(7, *SHAPE):
        assert mask.blocked_by(b, h, i, j) == (() if HEADS[h][i][j] else ("custom",))


@pytest.mark.parametrize("written", ["%.18e", "%.1f", "%g", "%d"])
def test_what_numpy_saves_is_read(written: str) -> None:
    file = io.StringIO()
    np.savetxt(file, ROWS, delimiter=",", fmt=written)
    np.testing.assert_array_equal(read_mask(file.getvalue(), "csv", SHAPE), ROWS)
    as_floats = json.dumps(np.asarray(ROWS, dtype=float).tolist())
    np.testing.assert_array_equal(read_mask(as_floats, "json", SHAPE), ROWS)


def test_a_file_for_all_heads_is_a_rule_for_all_heads() -> None:
    mask = masks.combine(masks.custom(read_mask("1,0,1\n0,0,1", "csv", SHAPE)), shape=(7, *SHAPE))
    assert (mask.allowed.astype(int) == ROWS).all()


def test_the_largest_mask_there_can_be_fits_the_limit() -> None:
    largest = np.zeros((MAX_HEADS, MAX_TOKENS, MAX_TOKENS), dtype=bool)
    text = json.dumps(largest.tolist())  # false, with a comma and a space
    assert len(text) < MAX_FILE_BYTES
    assert not read_mask(text, "json", largest.shape).any()


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        # another shape
        ("1,0,1\n", r"shape \(Tq, Tk\) = \(2, 3\) or \(H, Tq, Tk\) = \(5, 2, 3\), got \(1, 3\)"),
        ("1,0\n0,1\n1,1\n", r"got \(3, 2\)"),
        ("1 0 1\n0 0 1\n", r"got '1 0 1' in row 1, column 1"),
        # ragged
        ("1,0,1\n0,1\n", "expected 3 cells in row 2, as in the first row, got 2"),
        ("1,0,1\n\n0,0,1\n", "expected 3 cells in row 2, as in the first row, got 0"),
        ("1,0,1\n0,0,1,\n", "expected 3 cells in row 2, as in the first row, got 4"),
        ("1;0;1\n0,0,1\n", "expected 3 cells in row 2, as in the first row, got 1"),
        # headings
        ("the,cat,sat\n1,0,1\n0,0,1\n", "0 or 1, true or false, got 'the' in row 1, column 1"),
        (",the,cat\nthe,1,0\n", "got '' in row 1, column 1"),
        # other numbers
        ("1,0,1\n0,2,1\n", "got '2' in row 2, column 2"),
        ("1,0,1\n0,0,-1\n", "got '-1' in row 2, column 3"),
        ("1.1,0,1\n0,0,1\n", "got '1.1' in row 1, column 1"),
        ("1e1,0,1\n0,0,1\n", "got '1e1' in row 1, column 1"),
        ("0.01,0,1\n0,0,1\n", "got '0.01' in row 1, column 1"),
        ("1,nan,1\n0,0,1\n", "got 'nan' in row 1, column 2"),
        ("1,0,1\n-inf,0,1\n", "got '-inf' in row 2, column 1"),
        ("1,\uff11,1\n0,0,1\n", "got '\uff11' in row 1, column 2"),
        ("1,0,\u202e\n0,0,1\n", r"got '\\u202e' in row 1, column 3"),
        ("1,0," + "9" * 99 + "\n0,0,1\n", r"got '9{19}\u2026 in row 1, column 3"),
        # no file of masks
        ("", "got an empty file"),
        (" \n\t\n", "got an empty file"),
        (",,\n,\n", "got an empty file"),
        (b"", "got an empty file"),
        (b"\xef\xbb\xbf", "got an empty file"),
        ('"1,0\n', "expected CSV, got a fault"),
        ("1" * 200_000, "expected CSV, got a fault"),
        (b"1,0,1\n0,\xff,1\n", "in UTF-8, got byte 0xff at position 9"),
        ("1,0\n".encode("utf-16"), "in UTF-8, got byte 0xff at position 1"),
        (b"PK\x03\x04", r"got 'PK\\x03\\x04' in row 1, column 1"),
        ("1,\0\n", r"got '\\x00' in row 1, column 2"),
        ("1" * (MAX_FILE_BYTES + 1), "at most 4,000,000 bytes, got 4,000,001"),
        (b"1" * (MAX_FILE_BYTES + 1), "at most 4,000,000 bytes, got 4,000,001"),
    ],
    ids=short,
)
def test_csv_is_refused_with_the_place(data: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_mask(data, "csv", SHAPE)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        # NaN and infinity, which Python's json reads
        ("[[1, NaN, 1], [0, 0, 1]]", "0 or 1, true or false, got NaN in row 1, column 2"),
        ("[[1, 0, 1], [0, 0, Infinity]]", "got Infinity in row 2, column 3"),
        ("[[-Infinity, 0, 1], [0, 0, 1]]", "got -Infinity in row 1, column 1"),
        ("[[1, 1e999, 1], [0, 0, 1]]", "got Infinity in row 1, column 2"),
        # other cells
        ("[[1, 0, 1], [0, 2, 1]]", "got 2 in row 2, column 2"),
        ("[[0.5, 0, 1], [0, 0, 1]]", "got 0.5 in row 1, column 1"),
        ('[["1", 0, 1], [0, 0, 1]]', "got '1' in row 1, column 1"),
        ("[[null, 0, 1], [0, 0, 1]]", "got null in row 1, column 1"),
        ("[[1, 0, [1]], [0, 0, 1]]", "got a list in row 1, column 3"),
        ('[[1, 0, {"a": 1}], [0, 0, 1]]', "got an object in row 1, column 3"),
        (json.dumps([*HEADS[:3], [[0, 1, 1], [1, 7, 0]], HEADS[4]]), "got 7 in head 4, row 2, column 2"),
        ("[[[[1]]]]", "got a list in head 1, row 1, column 1"),
        # another shape
        ("[[1, 0]]", r"\(Tq, Tk\) = \(2, 3\) or \(H, Tq, Tk\) = \(5, 2, 3\), got \(1, 2\)"),
        (json.dumps(HEADS[:4]), r"got \(4, 2, 3\)"),
        ("[[]]", r"got \(1, 0\)"),
        ("[[[]]]", r"got \(1, 1, 0\)"),
        # ragged
        ("[[1, 0, 1], [0, 1]]", "expected 3 cells in row 2, as in the first row, got 2"),
        (json.dumps([*HEADS[:4], HEADS[4][:1]]), "expected 2 rows in head 5, as in head 1, got 1"),
        ("[[[1, 0]], [[1]]]", "expected 2 cells in head 2, row 1, as in the first row, got 1"),
        ("[[1, 0, 1], 5]", "expected row 2 to be a list, got 5"),
        ("[[[1, 0, 1]], [5]]", "expected row 1 of head 2 to be a list, got 5"),
        ("[[[1, 0, 1]], 5]", "expected a list of rows of head 2, got 5"),
        ("[[[1, 0, 1]], []]", "expected a list of rows of head 2, got an empty list"),
        # no list of rows
        ("[]", "expected a list of rows, got an empty list"),
        ("[1, 0, 1]", "expected row 1 to be a list, got 1"),
        ("0", "expected a list of rows, got 0"),
        ("null", "expected a list of rows, got null"),
        ('{"mask": [[1]]}', "expected a list of rows, got an object"),
        # no JSON
        ("", "got an empty file"),
        ("[[1, 0,\n 1], [0, 0, 1]", "expected JSON, got a fault in line 2, column 15: Expecting ',' delimiter"),
        ("1,0,1\n0,0,1", "expected JSON, got a fault in line 1, column 2"),
        ("[" * 200_000, "in 2 or 3 levels, got far more"),
        ("[[1, " + "9" * 5000 + "]]", "number too long to read"),
        (b"[[1, \xe9]]", "in UTF-8, got byte 0xe9 at position 6"),
        ("[" + "1" * MAX_FILE_BYTES, "at most 4,000,000 bytes, got 4,000,001"),
    ],
    ids=short,
)
def test_json_is_refused_with_the_place(data: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_mask(data, "json", SHAPE)


def test_a_mask_per_head_is_refused_where_one_for_all_is_wanted() -> None:
    with pytest.raises(ValueError, match=r"shape \(Tq, Tk\) = \(2, 3\), got \(5, 2, 3\)"):
        read_mask(json.dumps(HEADS), "json", (TQ, TK))


def test_other_kinds_and_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="kind to be one of csv, json, got 'npy'"):
        read_mask("1", "npy", (1, 1))
    with pytest.raises(ValueError, match="kind to be one of csv, json"):
        write_mask(np.ones((1, 1), dtype=bool), "txt")
    with pytest.raises(ValueError, match=r"shape to be \(H, Tq, Tk\) or \(Tq, Tk\), got \(1,\)"):
        read_mask("1", "csv", (1,))
    with pytest.raises(ValueError, match="length of shape to be a whole number"):
        read_mask("1", "csv", (1.5, 1))  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=60), st.text(alphabet='[]{}01,;\n" NaNtrue', max_size=60)))
def test_any_other_file_is_read_or_refused_in_words(data: bytes | str) -> None:
    for kind in ("csv", "json"):
        outcome = result_or_message(partial(read_mask, data, kind, (1, 2, 2)))
        if isinstance(outcome, str):
            assert outcome.startswith("expected ")
        else:
            assert outcome.shape in ((2, 2), (1, 1, 2, 2))


# --- and back ----------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(arrays.arrays(np.bool_, st.tuples(SIZES, SIZES)), st.sampled_from(["csv", "json"]), st.booleans())
def test_what_is_written_is_read_back(array: np.ndarray, kind: str, as_bytes: bool) -> None:
    text = write_mask(array, kind)
    again = read_mask(text.encode() if as_bytes else text, kind, (3, *array.shape))
    assert again.shape == array.shape
    assert (again == array).all()


@settings(deadline=None)
@given(arrays.arrays(np.bool_, st.tuples(st.just(1), SIZES, SIZES, SIZES)))
def test_what_is_written_per_head_is_read_back(array: np.ndarray) -> None:
    again = read_mask(write_mask(array, "json"), "json", array.shape[1:])
    assert again.shape == array.shape
    assert (again == array).all()


def test_files_are_plain() -> None:
    assert write_mask(np.array(ROWS) == 1, "csv") == "1,0,1\n0,0,1\n"
    assert write_mask(np.array(ROWS) == 1, "json") == "[[1, 0, 1],\n [0, 0, 1]]\n"
    per_head = np.array([[[[1, 0]], [[0, 0]]]]) == 1
    assert write_mask(per_head, "json") == "[[[1, 0]],\n\n[[0, 0]]]\n"


@pytest.mark.parametrize(
    ("shape", "kind", "message"),
    [
        ((1, 2, 3, 3), "csv", r"shape \(Tq, Tk\) for csv, got \(1, 2, 3, 3\)"),
        ((2, 3, 3), "json", r"shape \(Tq, Tk\) or \(1, H, Tq, Tk\) for json, got \(2, 3, 3\)"),
        ((2, 1, 3, 3), "json", r"got \(2, 1, 3, 3\)"),
        ((3,), "csv", r"got \(3,\)"),
    ],
)
def test_what_no_file_has_is_not_written(shape: tuple[int, ...], kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_mask(np.ones(shape, dtype=bool), kind)


# --- links -------------------------------------------------------------------------------------------------------

SHAPES = st.one_of(
    st.tuples(st.integers(0, 24), st.integers(0, 24)),
    st.tuples(st.just(1), SIZES, SIZES, SIZES),
)


@settings(deadline=None)
@given(arrays.arrays(np.bool_, SHAPES))
def test_a_packed_mask_comes_back(array: np.ndarray) -> None:
    text = pack_mask(array)
    again = unpack_mask(text, array.shape)
    assert again.dtype == np.bool_
    assert again.shape == array.shape
    assert (again == array).all()
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert len(text) <= 4 * -(-(2 + -(-array.size // 8)) // 3)


def test_a_packed_mask_of_24_tokens_is_short() -> None:
    # 24 * 24 / 8 = 72 bytes and 2 of the checksum in base64: 98.7 letters
    assert len(pack_mask(np.random.default_rng(0).random((24, 24)) < 0.5)) == 99
    assert len(pack_mask(np.tri(24, dtype=bool))) < 99
    assert len(pack_mask(np.ones((1, 16, 128, 128), dtype=bool))) < 99


@settings(deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_one_wrong_letter_is_noticed(seed: int, data: st.DataObject) -> None:
    array = np.random.default_rng(seed).random((7, 13)) < 0.5
    text = pack_mask(array)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("ABCxyz019-_"))
    damaged = text[:place] + letter + text[place + 1 :]
    outcome = result_or_message(lambda: unpack_mask(damaged, (7, 13)))
    if isinstance(outcome, str):
        assert "damaged" in outcome
    else:  # the same letter, or the last, which holds bits that mean nothing
        assert (outcome == array).all()


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_other_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"packed mask of shape \(24, 24\), got a damaged text or a mask of another"):
        unpack_mask(text, (24, 24))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-4],
        lambda text: text[:-1],
        lambda text: text + "AAAA",
        lambda text: text + "=",
        lambda text: f" {text}",
        lambda text: text.replace(text[3], "+", 1),
        lambda text: "",
        lambda text: "A" * 100_000,
    ],
)
@pytest.mark.parametrize("array", [np.random.default_rng(1).random((7, 13)) < 0.5, np.tri(24, dtype=bool)])
def test_damaged_texts_are_refused(array: np.ndarray, change) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack_mask(change(pack_mask(array)), array.shape)


def test_another_shape_of_as_many_cells_is_refused() -> None:
    text = pack_mask(np.random.default_rng(1).random((3, 8)) < 0.5)
    for shape in ((8, 3), (4, 6), (24,), (1, 3, 8), (3, 7), (5, 5)):
        with pytest.raises(ValueError, match="a mask of another shape"):
            unpack_mask(text, shape)


def test_a_short_text_cannot_become_a_large_array() -> None:
    text = pack_mask(np.ones((2048, 16_384), dtype=bool))  # 4 MB of cells in about 4 kB
    tracemalloc.start()
    with pytest.raises(ValueError, match="damaged"):
        unpack_mask(text, (24, 24))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(text) < 10_000
    assert peak < 400_000


def test_only_masks_are_packed() -> None:
    assert pack_mask(np.array([[1, 0]])) == pack_mask(np.array([[True, False]]))
    with pytest.raises(ValueError, match="bias="):
        pack_mask(np.array([[1.0, 0.0]]))
    with pytest.raises(ValueError, match="whole number"):
        unpack_mask("AAAA", (2, -1))
