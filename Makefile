# Two commands: `make demo` shows what it does, `make test` shows that it works. Both install first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install demo test lint types tests sanitize bench report clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt setup.py $(wildcard native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: install
	$(BIN)/entnet demo

test: lint types tests sanitize

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: install
	$(BIN)/mypy

tests: install
	scripts/ensure-chromium
	$(BIN)/pytest -n 2

sanitize: install
	native/sanitize.sh

bench: install
	$(BIN)/python -m benchmarks

report: install
	$(BIN)/entnet report

clean:
	rm -rf $(VENV) build src/*.egg-info
