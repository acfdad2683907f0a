"""JSON as its standard has it, for files that others read: UTF-8, no NaN or infinity, no name twice in an object.

A document of ours says what it is: {"format": "headlight ...", "version": 1, ...}.
"""

from __future__ import annotations

import json
import operator
from typing import Any, NoReturn

_LONGEST_NUMBER = 400  # digits of a whole number; the largest float has 309
_LONGEST_QUOTE = 40


def dumps(value: object) -> str:
    """`value` on one line; floats come back to the bit. ValueError for NaN and infinity."""
    # NumPy's whole numbers are none of Python's; operator.index takes them and nothing else.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=operator.index)


def loads(data: bytes | str) -> Any:
    """The value of a JSON text; ValueError says what is wrong with it, and where."""
    text = text_of(data)
    if not text.strip():
        raise ValueError("expected JSON, got an empty file")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, object_pairs_hook=_object)
    except json.JSONDecodeError as problem:
        raise ValueError(
            f"expected JSON, got a fault in line {problem.lineno}, column {problem.colno}: {problem.msg}"
        ) from None
    except RecursionError:
        raise ValueError("expected JSON of a few levels, got far more") from None


def text_of(data: bytes | str) -> str:
    """The text of a file in UTF-8, without a byte order mark; ValueError for what is no UTF-8."""
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"expected a text file in UTF-8, got byte 0x{data[problem.start]:02x} at position {problem.start + 1}"
        ) from None


def document(value: object, form: str, version: int) -> dict[str, Any]:
    """`value` if it says that it is of this format and version, or a ValueError that names both."""
    if not isinstance(value, dict) or value.get("format") != form:
        got = value.get("format") if isinstance(value, dict) else value
        raise ValueError(f"expected a file of the format {form!r}, got {quoted(got)}")
    said = value.get("version")
    if isinstance(said, bool) or not isinstance(said, int) or said != version:
        newer = ": it was saved by a newer Headlight" if isinstance(said, int) and said > version else ""
        raise ValueError(f"expected version {version} of the format {form!r}, got {quoted(said)}{newer}")
    return value


def fields(value: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The values of these names, or a ValueError for the first that is missing."""
    for name in names:
        if name not in value:
            raise ValueError(f"expected {name} in the file, got only {quoted(', '.join(map(str, value)))}")
    return tuple(value[name] for name in names)


def quoted(value: object) -> str:
    """What was found, cut short."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def refuse_surrogates(value: object, name: str) -> None:
    """ValueError for a text with half a character, which JSON can write and UTF-8 cannot."""
    try:
        dumps(value).encode()
    except UnicodeEncodeError as problem:
        raise ValueError(f"expected {name} to be valid Unicode, got {problem.object[problem.start]!r}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {name}")


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"expected numbers of at most {_LONGEST_NUMBER} digits, got one of {len(digits):,}")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"expected every name once, got {quoted(twice)} twice")
    return made
