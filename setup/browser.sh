#!/usr/bin/env bash
# Sees to it that there is a Chromium for the browser tests, and the fonts that PNGs and screenshots are drawn with.
set -euo pipefail
cd "$(dirname "$0")/.."

has_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable ||
        "${VENV:-.venv}/bin/python" -c '
import os, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    sys.exit(not os.path.exists(playwright.chromium.executable_path))'
} >/dev/null 2>&1

missing=()
if command -v apt-get >/dev/null; then
    for package in $(grep -hv '^#' packages.txt setup/packages-test.txt); do
        if [ "$package" = chromium ] && has_browser; then continue; fi
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ]; then
        echo "Installing ${missing[*]} (once) ..."
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 install -y --no-install-recommends \
            "${missing[@]}" >/dev/null
        missing=()
    fi
fi

if ! has_browser; then
    if command -v apt-get >/dev/null; then how="sudo apt-get install ${missing[*]}"; else how="${VENV:-.venv}/bin/playwright install chromium"; fi
    echo "The browser tests need Chromium: $how" >&2
    exit 1
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "PNGs and screenshots show empty boxes for some scripts, and a test will say so: sudo apt-get install ${missing[*]}"
fi
