#!/usr/bin/env bash
# Fills .venv: "setup/install.sh run" with what the app needs, "setup/install.sh test" with what the checks need too.
set -euo pipefail
cd "$(dirname "$0")/.."

export VENV=${VENV:-.venv}
python=$VENV/bin/python

if ! "$python" -c 'import pip' 2>/dev/null; then
    chosen=$(setup/python.sh)
    echo "Making $VENV with $("$chosen" --version)"
    "$chosen" -m venv --clear "$VENV"
fi

# pip reads these copies: the one difference there can be is the line for torch.
cp requirements.txt requirements-dev.txt "$VENV/"
if [ "$(uname -sm)" = "Linux x86_64" ] && ! "$python" -c 'import torch' 2>/dev/null; then
    echo "Installing the CPU build of PyTorch (once, about 200 MB) ..."
    if ! setup/torch.sh 2>"$VENV/torch.log"; then
        grep -v '^torch' requirements.txt >"$VENV/requirements.txt"
        echo "No CPU build of PyTorch to be had here ($VENV/torch.log): \"Check against PyTorch\" will be off."
    fi
fi

case $1 in
    run) list=requirements.txt ;;
    test) list=requirements-dev.txt ;;
esac
echo "Installing $list (once) ..."
"$python" -m pip install --quiet -r "$VENV/$list"

# Without a torch the app runs, but its tests would skip the comparison: fine at a desk, not in CI. The stamp is left
# out, so the next "make test" looks for torch again.
if "$python" -c 'import torch' 2>/dev/null || [ "$1" = run ]; then
    touch "$VENV/ready-to-$1"
elif [ "${CI:-}" = true ]; then
    cat "$VENV/torch.log" >&2
    echo "CI needs PyTorch for the tests that compare with it." >&2
    exit 1
else
    echo "The tests that compare with PyTorch are skipped until a CPU build can be installed."
fi
