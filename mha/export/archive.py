"""Several files as one zip file, the same bytes for the same files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file of texts and bytes by name; their dates are fixed, or the same files would make another zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
