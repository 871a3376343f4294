# Everything runs in .venv, made by `make setup` with the versions in constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.setup-done

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench docs clean

help: ## show the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install dslog with everything needed to run and develop it

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dslog needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
	    "Run: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	@echo "Installing into .venv (a few minutes the first time, PySpark is large)..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
	  --constraint constraints.txt --editable '.[dev]'
	@echo "Compiling (half a minute, once)..."
	@$(BIN)/python scripts/compile_kernels.py
	@touch $@
	@echo "Done. Try: make demo"

demo: setup ## trace a wrong pixel, an odd average and a lost row to their causes (a minute)
	$(BIN)/dslog demo

test: setup ## run the tests and doctests, on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup ## measure DSLog beside its baselines, into bench-results/report.html (ARGS=--quick)
	$(BIN)/python -m benchmarks $(ARGS)

docs: setup ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

clean: ## remove .venv and everything generated
	rm -rf .venv build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
