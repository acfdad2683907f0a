#!/usr/bin/env bash
# Prints a Python that fits. Each candidate is really run: a version manager leaves commands such as python3.13 on
# the path that exist and fail, and Debian's python3 has no ensurepip until python3-venv is installed.
set -euo pipefail

fits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    if fits "$PYTHON"; then echo "$PYTHON"; exit; fi
    echo "PYTHON=$PYTHON does not run as Python 3.11, 3.12 or 3.13 with venv." >&2
    exit 1
fi
for candidate in python3 python3.13 python3.12 python3.11 python; do
    if fits "$candidate"; then echo "$candidate"; exit; fi
done
echo "Headlight needs Python 3.11, 3.12 or 3.13 with venv (on Debian: python3-venv); name one with PYTHON=..." >&2
exit 1
