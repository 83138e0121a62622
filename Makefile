# Everything a fresh machine needs is Python 3.11 or newer, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := .[test,check,docs,app,bench,cluster,db,dp,excel,geo,studies,corpus]

.PHONY: demo test fuzz corpus freeze check wheel pins bench docs clean

# Installed once; again when the build file or the pinned versions change.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Caveat needs Python 3.11 or newer; set PYTHON=python3.x" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '$(EXTRAS)'
	@touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The cases of tests/fuzz, so many times as often as `make test` tries them, and the replay of a
# release by guessed seeds.
FUZZ ?= 20
fuzz: $(STAMP)
	CAVEAT_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n 2 tests/fuzz tests/test_seeds.py

# Real tables of R packages from the file to the report, one line each in $(CORPUS).
CORPUS ?= corpus.jsonl
corpus: $(STAMP)
	$(BIN)/python -m tests.corpus $(CORPUS)

# Writes anew what no change may move (tests/frozen) and names what moved; when to do so is in
# CONTRIBUTING.md.
freeze: $(STAMP)
	$(BIN)/python -m tests.frozen.freeze

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python .ci/audit.py

# Builds what users install, and uses it from another folder.
wheel: $(STAMP)
	PYTHON=$(BIN)/python .ci/wheel

# Writes the newest versions that fit into constraints.txt; what to do before they are kept is in
# CONTRIBUTING.md.
pins:
	$(PYTHON) -m venv --clear $(VENV)-pins
	$(VENV)-pins/bin/python -m pip install --quiet --disable-pip-version-check --editable '$(EXTRAS)'
	$(VENV)-pins/bin/python -m pip freeze --exclude-editable > $(VENV)-pins/pins
	mv $(VENV)-pins/pins constraints.txt
	rm -rf $(VENV)-pins

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

docs: $(STAMP)
	$(BIN)/zensical build --clean --strict

clean:
	rm -rf $(VENV) demo site .cache
