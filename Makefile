# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCHMARK := $(BIN)/python -m benchmarks
RESULTS := benchmarks/results

.PHONY: demo test lint types docs bench clean

demo: $(INSTALLED)
	$(BIN)/sag-vicreg demo --out demo

# Processes of one thread: tests are many and small, and threads waiting for each other cost more
# than they bring. One more than there are cores, as some tests wait for processes and a browser.
# Each takes its share of the list, so that tests that share what they trained stay together, and
# who is done first takes half of what another has left.
test: lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/mkdocs build --strict

# Measures everything again, in some hours, and records it in benchmarks/results.
bench: $(INSTALLED)
	$(BENCHMARK) views --repeats 9 --out $(RESULTS)/views.json
	$(BENCHMARK) latency --out $(RESULTS)/latency.json
	$(BENCHMARK) loss --out $(RESULTS)/loss.json
	$(BENCHMARK) structure --out $(RESULTS)/structure.json
	$(BENCHMARK) structure-large --n 50000 --geometry spherical --out $(RESULTS)/structure-50000-spherical.json
	$(BENCHMARK) structure-large --n 50000 --geometry cosine --out $(RESULTS)/structure-50000-cosine.json
	$(BENCHMARK) structure-large --n 100000 --geometry spherical --out $(RESULTS)/structure-100000-spherical.json
	$(BENCHMARK) forest --out $(RESULTS)/forest.json
	OMP_NUM_THREADS=1 $(BENCHMARK) coverage --out $(RESULTS)/coverage.json
	$(BENCHMARK) training --figure docs/images/walk-share.png --out $(RESULTS)/training.json
	OMP_NUM_THREADS=1 $(BENCHMARK) evaluation --repeats 1 --out $(RESULTS)/evaluation.json
	OMP_NUM_THREADS=1 $(BENCHMARK) gate --repeats 60 --out $(RESULTS)/gate.json
	OMP_NUM_THREADS=1 $(BENCHMARK) switches --out $(RESULTS)/switches.json
	$(BENCHMARK) scale --out $(RESULTS)/scale.json
	OMP_NUM_THREADS=1 $(BENCHMARK) kills --out $(RESULTS)/kills.json
	$(BENCHMARK) scale-accuracy --out $(RESULTS)/scale-accuracy.json
	$(BENCHMARK) clusters --out $(RESULTS)/clusters.json
	$(BENCHMARK) damage --docs docs --out $(RESULTS)/damage.json

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,dev]'
	$(BIN)/python -c 'from sag_vicreg.structure.kernels import compile_all; compile_all()'
	touch $@

clean:
	rm -rf $(VENV) build dist site demo .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
