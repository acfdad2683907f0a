"""A Streamlit server of our own for as long as a measurement takes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Server:
    """Where it listens and which process it is."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> float:
        """Resident memory in MB."""
        kilobytes = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, check=True).stdout
        return int(kilobytes) / 1024


@contextmanager
def serve(script: str = "app.py", log: Path | None = None) -> Iterator[Server]:
    """`script` on a free port of the loopback, ready to answer; ended on the way out. What it says goes to `log`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    command = [sys.executable, "-m", "streamlit", "run", script, *options]
    with (log or Path(os.devnull)).open("w") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
        try:
            server = Server(port, process.pid)
            _wait_until_healthy(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:  # once, on a machine that was busy with other things
                process.kill()
                process.wait()


def _wait_until_healthy(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not become ready within 60 s")
