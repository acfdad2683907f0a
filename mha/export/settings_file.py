"""The settings of a page as a file, to save and open where a link would be too long.

A JSON object: {"format": "headlight settings", "version": 1, "page": "masks", "settings": {"text": "The cat", ...}}.
`settings` is what a link says behind its "?", name by name, not percent-encoded; whoever opens it treats it as a link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mha.export import strict_json

FORMAT = "headlight settings"
VERSION = 1
FILE_NAME = "headlight-settings.json"
MAX_BYTES = 1_000_000  # 8 texts of 5,000 characters and a mask of 16 heads x 128 x 128 have 205,000

_NAME = re.compile("[A-Za-z0-9_]{1,40}")
_PAGE = re.compile("[a-z0-9-]{0,40}")


@dataclass(frozen=True)
class SettingsFile:
    """What a link says: each setting's value as text of the address, and the page ("" for the first)."""

    settings: Mapping[str, str]
    page: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.page, str) or not _PAGE.fullmatch(self.page):
            raise ValueError(f"expected page to be the name of a page, got {strict_json.quoted(self.page)}")
        if not isinstance(self.settings, Mapping) or not self.settings:
            raise ValueError(f"expected settings to be names and their values, got {strict_json.quoted(self.settings)}")
        for name, value in self.settings.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise ValueError(f"expected the name of a setting, got {strict_json.quoted(name)}")
            if not isinstance(value, str):
                raise ValueError(f"expected {name} to be text, as in a link, got {strict_json.quoted(value)}")
            strict_json.refuse_surrogates(value, name)
        object.__setattr__(self, "settings", dict(self.settings))


def write_settings(settings: SettingsFile) -> bytes:
    """The file, the same bytes for the same settings; `read_settings` gives them back."""
    head = {"format": FORMAT, "version": VERSION, "page": settings.page}
    lines = [f'"{name}": {strict_json.dumps(value)}' for name, value in head.items()]
    inner = [f'  "{name}": {strict_json.dumps(value)}' for name, value in settings.settings.items()]
    text = ",\n".join([*lines, '"settings": {\n' + ",\n".join(inner) + "\n}"])
    data = f"{{\n{text}\n}}\n".encode()
    _refuse_too_large(data)
    return data


def read_settings(data: bytes | str) -> SettingsFile:
    """The settings of a file. Raises ValueError for what is no such file, another format or version, or too large."""
    _refuse_too_large(data)
    value = strict_json.document(strict_json.loads(data), FORMAT, VERSION)
    page, settings = strict_json.fields(value, "page", "settings")
    return SettingsFile(settings, page)


def _refuse_too_large(data: bytes | str) -> None:
    size = len(data.encode("utf-8", "surrogatepass")) if isinstance(data, str) else len(data)
    if size > MAX_BYTES:
        raise ValueError(f"expected a settings file of at most {MAX_BYTES:,} bytes, got {size:,}")
