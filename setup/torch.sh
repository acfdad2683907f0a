#!/usr/bin/env bash
# Installs the CPU build of PyTorch for Linux on x86-64, where plain "torch" brings gigabytes of CUDA.
# "+cpu" is part of the version asked for, so a CUDA build can never match. What is given to this script goes to pip.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.13.0+cpu
pip=("${VENV:-.venv}/bin/python" -m pip install --quiet "$@" "torch==$version")

# First what this machine's own pip settings offer, then PyTorch's public index, without waiting long for it.
"${pip[@]}" 2>/dev/null ||
    "${pip[@]}" --retries 1 --timeout 10 --extra-index-url https://download.pytorch.org/whl/cpu
