# Two commands: `make demo` shows what it does, `make test` shows that it works. Both install first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install demo test package lint types tests quick sanitize docs bench report clean

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

package: install
	scripts/check-package $(BIN)/python

tests: install
	scripts/ensure-chromium
	$(BIN)/pytest -n 2 --dist worksteal --cov

# Data, equations, kernel, models and training, in under a minute on two cores. Left out: command line, service,
# pages, experiments, symmetries, inspection, documents, and every test marked slow.
quick: install
	$(BIN)/pytest -n 2 -m "not slow" tests/data tests/ops tests/models tests/training

sanitize: install
	native/sanitize.sh

# The site of docs/ in site/; a warning is an error.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: install
	$(BIN)/python -m benchmarks

report: install
	$(BIN)/entnet report

clean:
	rm -rf $(VENV) build src/*.egg-info
