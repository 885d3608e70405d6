# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo check test lint types docs browser bench clean

# Install once, and again when the list of packages changes.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/girl demo

# The fast lane, under two minutes: style, types and the quick tests.
check: lint types
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not browser and not processes and not faults" tests

# Everything, under ten minutes.
test: lint types docs browser
	$(BIN)/python -m pytest -n 2 src tests

# The report is tested in a real browser: Debian's chromium.
browser:
	@command -v chromium >/dev/null || { echo "installing chromium"; \
	  SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Tables and figures are rendered from results/ first, so that the pages show the numbers as they are.
docs: $(READY)
	$(BIN)/python -m girl.lab.render results docs/generated
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

bench: $(READY)
	$(BIN)/python benchmarks/kernel.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/default.py
	$(BIN)/python benchmarks/girl_step.py
	$(BIN)/python benchmarks/regularizer.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/partition.py
	$(BIN)/python benchmarks/probe.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python -m girl.lab.render results docs/generated

clean:
	rm -rf $(VENV) docs/_build docs/generated .mypy_cache .ruff_cache
