# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types docs clean

demo: $(INSTALLED)
	$(BIN)/sag-vicreg demo --out demo

# A process a core, each of one thread: tests are many and small, and threads waiting for each other
# cost more than they bring. A file's tests stay together, as they share what they trained.
test: lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $$(getconf _NPROCESSORS_ONLN) --dist loadfile

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/mkdocs build --strict

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist site demo .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
