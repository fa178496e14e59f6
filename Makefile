# `make` sets up and traces the capstone; `make test` sets up and runs every check; `make bench` runs the benchmarks;
# `make test-large` certifies models of the sizes of GPT-2 small, SmolLM2-135M and Qwen2.5-0.5B, and runs what else takes long
# (minutes, and 10 GB of memory); `make docs` builds the documentation as a site in build/docs, `make dist` the packages in build/dist,
# `make man` the manual page build/exactformer.1.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
SUDO    = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
INSTALL = $(SUDO) apt-get install -qq -y --no-install-recommends
CHROMIUM = { $(SUDO) apt-get update -qq && { $(INSTALL) chromium-headless-shell || $(INSTALL) chromium; }; }

.PHONY: trace test test-large bench lint docs dist man clean
trace: $(VENV)/ready
	@$(BIN)/exactformer trace

# hundreds of tests start the command anew: compiled modules are kept for the next one, whatever the shell says
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/ready-dev lint
	$(BIN)/pytest -n auto

test-large: $(VENV)/ready-dev
	$(BIN)/pytest -m large

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready-dev
	$(BIN)/python -m benchmarks

docs: $(VENV)/ready-dev
	$(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees . build/docs
	@echo build/docs/index.html

dist: $(VENV)/ready-dev
	$(BIN)/python -m build --no-isolation --outdir build/dist

man: $(VENV)/ready-dev
	@mkdir -p build
	$(BIN)/exactformer man -o build/exactformer.1

$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("exactformer needs Python 3.11 or later") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[web]'
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || $(CHROMIUM) || echo "chromium was not installed: the tests of the page will fail"
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
