# `make run` opens the app, `make test` runs all checks. Both do all their own set-up, in .venv, and only once.
# PYTHON=... names the Python to use, STREAMLIT_SERVER_PORT=... the port.

VENV ?= .venv
python := $(VENV)/bin/python
export VENV PYTHON

# Only this machine, unless told otherwise: STREAMLIT_SERVER_ADDRESS=0.0.0.0 make run opens the app to the network.
run: export STREAMLIT_SERVER_ADDRESS ?= 127.0.0.1

.DEFAULT_GOAL := help
.PHONY: help run test lint format types unit browser retrain bench clean

help: ## say what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1@/p' $(MAKEFILE_LIST) | awk -F@ '{ printf "%-16s%s\n", $$1, $$2 }'

run: $(VENV)/ready-to-run ## open the app in the browser
	@exec $(python) -m streamlit run app.py

# One after the other, the quick ones first.
.NOTPARALLEL:
# All of CI has twelve minutes: `make browser` alone runs the slow ones too.
test: QUICK = $() and not slow
test: lint types unit browser ## lint, types, unit and page tests, the quick browser tests

lint: $(VENV)/ready-to-test ## ruff: rules and format
	$(python) -m ruff check .
	$(python) -m ruff format --check .

format: $(VENV)/ready-to-test ## let ruff repair what it can
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

types: $(VENV)/ready-to-test ## mypy
	$(python) -m mypy

unit: $(VENV)/ready-to-test ## tests of the library, the pages and the set-up
	$(python) -m pytest -n auto -m "not browser and not retrain"

browser: $(VENV)/ready-to-test ## all tests in a real Chromium
	@setup/browser.sh
	$(python) -m pytest -n 2 -m "browser$(QUICK)"

retrain: $(VENV)/ready-to-test ## train the translator again, some minutes: the same bits must come out
	$(python) -m pytest -m retrain

bench: $(VENV)/ready-to-test ## measure speed; needs a quiet machine
	@setup/browser.sh
	$(python) -m bench

clean: ## remove .venv and all caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# install.sh sets these stamps itself: without a torch it leaves the second one out, and looks again the next time.
$(VENV)/ready-to-run: requirements.txt
	@setup/install.sh run

$(VENV)/ready-to-test: requirements-dev.txt $(VENV)/ready-to-run
	@setup/install.sh test
