"""Imports go one way, and heavy libraries only come in where the design lets them.

app.py, pages -> mha.ui -> mha.figures, mha.pictures, mha.export -> the core -> numpy
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.samples import ROOT, run_python

CORE, DRAWN, UI, APP = range(4)  # a layer may import its own and those before it

# Libraries that may be imported only in some modules; a name stands for what is below it too.
ONLY_IN = {
    "streamlit": ("app", "pages", "mha.ui"),
    # the interface imports them once at the start, so that no session has to wait for them
    "plotly": ("mha.figures.ready",),
    "pandas": ("mha.ui",),
    "torch": ("mha.torch_engine", "mha.translator.train"),
    "safetensors": ("mha.translator.weights",),
    "regex": ("mha.tokens", "mha.figures.labels", "mha.pictures", "mha.export.report"),
    "resvg_py": ("mha.pictures.png",),
    "PIL": ("mha.pictures.png",),
    "jinja2": ("mha.export.report",),
    "segno": ("mha.export.qr",),
}
FREE_IN_CORE = {"numpy", "regex", "torch", "safetensors"}


def layer(module: str) -> int:
    if inside(module, "app") or inside(module, "pages"):
        return APP
    if inside(module, "mha.ui"):
        return UI
    return DRAWN if any(inside(module, name) for name in ("mha.figures", "mha.pictures", "mha.export")) else CORE


def inside(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def imported(source: str) -> Iterator[str]:
    """Every module that a source imports anywhere; of `from mha import x` also mha.x, which may be a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults(module: str, source: str, standard: frozenset[str]) -> set[str]:
    """What `module` may not import, in words."""
    found = set()
    for name in imported(source):
        top = name.split(".")[0]
        if top in ("mha", "app", "pages") and layer(name) > layer(module):
            found.add(f"{module} imports {name}, which is above it")
        if top in ONLY_IN and not any(inside(module, allowed) for allowed in ONLY_IN[top]):
            found.add(f"{module} imports {top}")
        if layer(module) == CORE and top != "mha" and top not in FREE_IN_CORE | standard:
            found.add(f"{module} imports {top}")
    return found


def standard_library() -> frozenset[str]:
    import sys

    return frozenset(sys.stdlib_module_names)


def sources() -> dict[str, Path]:
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "mha").rglob("*.py")]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
        if path.exists()
    }


def test_imports_of_all_files_go_one_way() -> None:
    assert "mha.attention" in sources()
    standard = standard_library()
    found = [
        fault
        for module, path in sources().items()
        for fault in sorted(faults(module, path.read_text("utf-8"), standard))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("mha.attention", "import streamlit", True),
        ("mha.attention", "from mha.figures import heatmaps", True),
        ("mha.masks", "from mha import figures", True),
        ("mha.measures", "import mha.ui.controls", True),
        ("mha.measures", "def f():\n    from plotly import graph_objs", True),
        ("mha.attention", "import torch", True),
        ("mha.embedding", "import scipy.linalg", True),
        ("mha.figures.maps", "from mha.ui import compute", True),
        ("mha.figures.maps", "import streamlit as st", True),
        ("mha.ui.controls", "from pages import heads", True),
        ("mha.ui.maps", "import plotly.graph_objs", True),
        ("mha.uix", "import streamlit", True),
        ("pages.heads", "import plotly", True),
        ("mha.masks", "import regex", True),
        ("mha.weights", "from safetensors import safe_open", True),
        ("mha.translator.model", "import torch", True),
        ("mha.translator.model", "import streamlit", True),
        ("mha.pictures.drawing", "import plotly", True),
        ("mha.pictures.drawing", "import resvg_py", True),
        ("mha.attention", "import numpy as np\nfrom math import sqrt\nfrom mha import masks", False),
        ("mha.torch_engine", "def f():\n    import torch", False),
        ("mha.translator.train", "import torch", False),
        ("mha.translator.weights", "from safetensors import safe_open", False),
        ("mha.tokens", "import regex", False),
        ("mha.figures.ready", "import plotly\nfrom mha import Trace", False),
        ("mha.ui.controls", "import streamlit\nfrom mha.figures import maps", False),
        ("pages.heads", "import streamlit\nfrom mha.ui import compute\nfrom mha import masks", False),
    ],
)
def test_the_reading_of_imports_can_fail(module: str, source: str, wrong: bool) -> None:
    assert bool(faults(module, source, standard_library())) == wrong


def test_importing_the_library_brings_nothing_heavy() -> None:
    loaded = json.loads(run_python("import json, sys, mha; print(json.dumps(sorted(sys.modules)))"))
    assert {"mha.attention", "numpy"} <= set(loaded)
    for heavy in ("torch", "plotly", "streamlit", "pandas"):
        assert heavy not in loaded


def test_importing_the_translator_brings_no_torch() -> None:
    modules = "mha.translator.evaluate, mha.translator.findings, mha.export.translation_data"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    assert run_python(code) == "False"


def test_pictures_and_reports_are_made_without_plotly_and_streamlit() -> None:
    loaded = json.loads(
        run_python("import json, sys, mha.pictures, mha.export.report; print(json.dumps(sorted(sys.modules)))")
    )
    assert {"mha.pictures.drawing", "resvg_py", "jinja2"} <= set(loaded)
    for heavy in ("torch", "plotly", "streamlit", "pandas"):
        assert heavy not in loaded


def test_looking_for_torch_does_not_import_it() -> None:
    assert (
        run_python(
            "import sys; from mha.torch_engine import is_installed; is_installed(); print('torch' in sys.modules)"
        )
        == "False"
    )
