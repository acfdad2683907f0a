"""The settings file: what a link says comes back as it was, and what is no such file is refused in clear words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha.export import SettingsFile, read_settings, write_settings
from mha.export.settings_file import FORMAT, MAX_BYTES

LINK = {"v": "1", "text": "The cat", "heads": "8", "bias": "false", "grid": "AAAA-_"}


def file(**changes: Any) -> bytes:
    value = {"format": FORMAT, "version": 1, "page": "masks", "settings": LINK, **changes}
    return json.dumps({name: part for name, part in value.items() if part is not ...}).encode()


def test_a_file_is_what_its_description_says() -> None:
    """Each setting on a line of its own, so that a person can read and change it."""
    assert write_settings(SettingsFile({"v": "1", "text": 'say "é"'}, "masks")).decode() == (
        '{\n"format": "headlight settings",\n"version": 1,\n"page": "masks",\n"settings": {\n'
        '  "v": "1",\n  "text": "say \\"é\\""\n}\n}\n'
    )


@given(
    st.dictionaries(
        st.text("abcXYZ_09", min_size=1, max_size=40),
        st.text(st.characters(exclude_categories=["Cs"])),
        min_size=1,
    ),
    st.text("abc-09", max_size=40),
)
def test_any_settings_come_back(settings: dict[str, str], page: str) -> None:
    given_ = SettingsFile(settings, page)
    found = read_settings(write_settings(given_))
    assert found == given_
    assert list(found.settings) == list(settings)  # in the same order


def test_a_file_written_by_hand_is_read() -> None:
    assert read_settings(b"\xef\xbb\xbf" + file()) == SettingsFile(LINK, "masks")
    assert read_settings(file(more="ignored").decode()) == SettingsFile(LINK, "masks")


def test_settings_do_not_change_with_what_they_were_made_from() -> None:
    values = dict(LINK)
    settings = SettingsFile(values)
    values["text"] = "other"
    assert settings.settings["text"] == "The cat"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected JSON, got an empty file"),
        (b"text=The+cat&heads=8", "expected JSON, got a fault in line 1, column 1"),
        (b"\x89PNG\r\n", "expected a text file in UTF-8, got byte 0x89 at position 1"),
        (b"[1]", f"expected a file of the format '{FORMAT}', got \\[1\\]"),
        (file(format="headlight data"), f"expected a file of the format '{FORMAT}', got 'headlight data'"),
        (file(format=...), f"expected a file of the format '{FORMAT}', got None"),
        (file(version=2), f"expected version 1 of the format '{FORMAT}', got 2: it was saved by a newer Headlight"),
        (file(version=0), f"expected version 1 of the format '{FORMAT}', got 0$"),
        (file(version=True), f"expected version 1 of the format '{FORMAT}', got True"),
        (file(version="1"), f"expected version 1 of the format '{FORMAT}', got '1'"),
        (file(settings=...), "expected settings in the file, got only 'format, version, page'"),
        (file(settings=[1]), r"expected settings to be names and their values, got \[1\]"),
        (file(settings={}), "expected settings to be names and their values, got {}"),
        (file(settings={"heads": 8}), "expected heads to be text, as in a link, got 8"),
        (file(settings={"bias": None}), "expected bias to be text, as in a link, got None"),
        (file(settings={"a&b": "1"}), "expected the name of a setting, got 'a&b'"),
        (file(settings={"a" * 41: "1"}), "expected the name of a setting, got 'aaa"),
        (file(settings={"text": "\ud800"}), "expected text to be valid Unicode, got '.ud800'"),
        (file(page="../masks"), "expected page to be the name of a page, got '../masks'"),
        (file(page=None), "expected page to be the name of a page, got None"),
        (file()[:-2] + b', "v": "2"}}', "expected every name once, got 'v' twice"),
        (file(settings={"a": float("inf")}), "expected finite numbers, got Infinity"),
        (b'{"a":' * 100_000, "expected JSON of a few levels, got far more"),
        (file(version=10**500), "expected numbers of at most 400 digits, got one of 501"),
        (b" " * (MAX_BYTES + 1), "expected a settings file of at most 1,000,000 bytes, got 1,000,001"),
    ],
)
def test_what_is_no_settings_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        read_settings(data)
    assert len(str(refused.value)) < 200  # one line for the page, whatever is in the file


def test_nothing_is_written_that_would_not_be_read() -> None:
    with pytest.raises(ValueError, match="expected a settings file of at most 1,000,000 bytes, got"):
        write_settings(SettingsFile({"text": "a" * MAX_BYTES}))
    with pytest.raises(ValueError, match="expected heads to be text, as in a link, got 8"):
        SettingsFile({"heads": 8})  # type: ignore[dict-item]
