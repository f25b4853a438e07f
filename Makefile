# Needs Python 3.11 or newer, git and make. `make demo` shows everything; `make help` lists the rest.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
CLIENT := .test-environments/densemem
# Processes for the tests, one more than cores since many wait; WORKERS= runs them in one.
# They start hundreds of programs, so what Python has compiled is kept, whatever the environment says.
WORKERS ?= 3
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

.PHONY: help demo up test lint lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   a real conversation, from an empty folder to an answered question"
	@echo "make up     run the service until Ctrl-C"
	@echo "make test   the whole test suite"
	@echo "make lint   style, types and the rules of the rooms"
	@echo "make lock   resolve the dependencies anew (needs uv)"
	@echo "make clean  remove what make made; the data of the service stay"

demo: $(VENV)/.base
	@$(BIN)/commonlore demo

up: $(VENV)/.base
	@$(BIN)/commonlore up

test: $(VENV)/.dev $(CLIENT)/.installed
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest $(if $(WORKERS),-n $(WORKERS)) $(PYTEST_ARGUMENTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lock:
	$(COMPILE) pyproject.toml -o requirements/base.txt
	$(COMPILE) pyproject.toml --group dev -o requirements/dev.txt
	$(COMPILE) requirements/build.in -o requirements/build.txt
	echo "densemem==2.7.0" | $(COMPILE) - -o requirements/densemem-client.txt

clean:
	rm -rf $(VENV) .editable .test-environments .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build

# A marker is newer than what it was made from, so a second run does nothing.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.python requirements/base.txt requirements/build.txt pyproject.toml hatch_build.py
	@echo "Installing packages, every one checked against its hash"
	@$(PIP) install --require-hashes --no-deps -r requirements/base.txt -r requirements/build.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.base requirements/dev.txt
	@echo "Installing what the tests need"
	@$(PIP) install --require-hashes --no-deps -r requirements/dev.txt
	@touch $@

# The published client stands apart: its dependencies are its own.
$(CLIENT)/.installed: $(VENV)/.python requirements/densemem-client.txt
	@echo "Making the environment of the published client"
	@$(BIN)/python -m venv $(CLIENT)
	@$(CLIENT)/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r requirements/densemem-client.txt
	@touch $@
