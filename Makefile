# Everything runs in a virtual environment of the project's own; each target installs what it needs, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test oracles agreement ray envpool jaxenvs pettingzoo browser lint docs format bench wheel clean help

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo.stamp ## The whole evaluation on small budgets: table, curves and report in demo-output
	@$(BIN)/rewardspec reproduce --quick -o demo-output
	@echo
	@echo "The same for an environment and specs of your own, see docs/guides/comparing.md:"
	@echo "  $(BIN)/rewardspec compare MountainCarContinuous-v0 --spec examples/mountain_car.toml --base --steps 20000 --seeds 3 -o own"

test: $(VENV)/test.stamp ## All tests, doctests included
	$(BIN)/python -m pytest -n 2 --dist worksteal

oracles: $(VENV)/test.stamp $(VENV)/oracles.stamp ## Compare with RTAMT, reelay and Spot
	$(BIN)/python -m pytest -m oracle tests/oracles

agreement: $(VENV)/test.stamp ## Compare every way to run a spec with the definition, on 1,000 random specs
	$(BIN)/python -m tests.agreement 1000 > benchmarks/results/agreement.md.new
	mv benchmarks/results/agreement.md.new benchmarks/results/agreement.md
	$(BIN)/python -m tests.agreement.quantified 180 130 > benchmarks/results/quantified_agreement.md.new
	mv benchmarks/results/quantified_agreement.md.new benchmarks/results/quantified_agreement.md

ray: $(VENV)/test.stamp $(VENV)/ray.stamp ## Jobs on a Ray cluster of three nodes
	$(BIN)/python -m pytest -m ray tests/lab/experiments

envpool: $(VENV)/test.stamp $(VENV)/envpool.stamp ## Environments from EnvPool
	$(BIN)/python -m pytest -m envpool tests/lab/learning

# In a virtual environment of its own: these packages pin others that the rest does not need.
jaxenvs: $(VENV)-jaxenvs/jaxenvs.stamp ## JAX environments of nine libraries, and the trainers of gymnax and Brax
	JAX_PLATFORMS=cpu $(VENV)-jaxenvs/bin/python -m pytest -m jaxenvs tests/jax tests/benchmarks

# In a virtual environment of its own, because of pygame-ce.
pettingzoo: $(VENV)-pettingzoo/pettingzoo.stamp ## Environments of mpe2 and PettingZoo, and PettingZoo's own tests on them
	SDL_VIDEODRIVER=dummy $(VENV)-pettingzoo/bin/python -m pytest -m "mpe2 or not mpe2" tests/pettingzoo

browser: $(VENV)/test.stamp $(VENV)/browser.stamp ## Pages and playground in the system's Chromium
	$(BIN)/python -m pytest -m browser -rs -s tests/pages

lint: $(VENV)/lint.stamp ## Format, lint and type checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/docs.stamp ## The documentation's site in build/docs, every warning an error
	$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/docs
	$(BIN)/python docs/scripts/check_site.py build/docs

format: $(VENV)/lint.stamp ## Rewrite the files in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/test.stamp $(VENV)/bench.stamp ## Print the figures of benchmarks/
	$(BIN)/python benchmarks/monitor_step.py
	$(BIN)/python benchmarks/time.py
	$(BIN)/python benchmarks/wrapper_overhead.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/explain.py
	$(BIN)/python benchmarks/import_time.py

wheel: $(BIN)/python ## Build the package, and try it in an empty environment
	$(PIP_INSTALL) build
	$(BIN)/python -m build --quiet --wheel --outdir dist
	rm -rf build/empty && $(PYTHON) -m venv build/empty
	build/empty/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/rewardspec check "F G p"

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(VENV)-jaxenvs $(VENV)-pettingzoo build dist demo-output first-look

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing the package and what the demo needs into $(VENV), once. This takes a minute or two."
	@$(BIN)/pip install --disable-pip-version-check -e '.[reproduce]'
	@touch $@

# torch first and alone: another package's looser requirement would fetch a much larger build.
$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) torch==2.13.0
	$(PIP_INSTALL) -e '.[test]'
	@touch $@

$(VENV)-jaxenvs/jaxenvs.stamp: pyproject.toml
	test -d $(VENV)-jaxenvs || $(PYTHON) -m venv $(VENV)-jaxenvs
	$(VENV)-jaxenvs/bin/pip install --quiet --disable-pip-version-check -e '.[jax-envs]' 'pytest>=8' 'hypothesis>=6.100'
	@touch $@

$(VENV)-pettingzoo/pettingzoo.stamp: pyproject.toml
	test -d $(VENV)-pettingzoo || $(PYTHON) -m venv $(VENV)-pettingzoo
	$(VENV)-pettingzoo/bin/pip install --quiet --disable-pip-version-check -e '.[pettingzoo]' 'pytest>=8' 'hypothesis>=6.100'
	@touch $@

$(VENV)/lint.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e '.[lint]'
	@touch $@

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e '.[$*]'
	@touch $@
