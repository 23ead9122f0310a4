# Everything runs in a virtual environment of the project's own; each target installs what it needs, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test oracles lint format bench clean help

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo.stamp ## Formula in, monitor, table and pictures out
	@$(BIN)/python examples/demo.py

test: $(VENV)/test.stamp ## All tests, doctests included
	$(BIN)/python -m pytest -n 2

oracles: $(VENV)/test.stamp $(VENV)/oracles.stamp ## Compare with RTAMT and Spot
	$(BIN)/python -m pytest -m oracle tests/oracles

lint: $(VENV)/lint.stamp ## Format, lint and type checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/lint.stamp ## Rewrite the files in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/bench.stamp ## Print the figures of benchmarks/
	$(BIN)/python benchmarks/monitor_step.py
	$(BIN)/python benchmarks/wrapper_overhead.py

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist demo-output

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e '.[plot]'
	@touch $@

# torch first and alone: another package's looser requirement would fetch a much larger build.
$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) torch==2.13.0
	$(PIP_INSTALL) -e '.[test]'
	@touch $@

$(VENV)/lint.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e '.[lint]'
	@touch $@

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e '.[$*]'
	@touch $@
