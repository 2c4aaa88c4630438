# Two commands matter: `make serve` (read and write the site) and `make test` (prove it).
# Set-up is incremental: every step leaves a stamp and runs again only when what it was made from changed.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

ADDRESS ?= 127.0.0.1:8000
VENV := .venv
PY := $(VENV)/bin/python
MKDOCS := NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs
WEB := plugins/explorable/live/web
WEB_SOURCES := $(shell find $(WEB)/src $(WEB)/styles -type f 2>/dev/null) $(WEB)/build.mjs $(WEB)/tsconfig.json
BUNDLE := $(WEB)/dist/manifest.json
LIBRARY := plugins/explorable/live/library/dist/python_start.zip.packed

# The matrices are small: with several threads, which wait for each other, NumPy takes many times as long as with one.
export OPENBLAS_NUM_THREADS ?= 1
# Programs that tests start by the hundred are compiled once, also where a machine's image says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup serve build test test-full lint lint-python lint-web lock test-web test-python test-instructions test-pyodide verify test-browser browsers bench-site bench-play bench-engine screenshots accuracy clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/bin/python:
	@tools/make_venv.sh $(VENV)

$(VENV)/.site: requirements/site.txt engine/pyproject.toml plugins/pyproject.toml | $(VENV)/bin/python
	@echo "==> Installing what the site needs"
	@tools/install.sh $(PY) site
	@touch $@

$(VENV)/.test: requirements/test.txt requirements/torch.txt requirements/torch-cpu.txt requirements/cuda.txt engine/pyproject.toml plugins/pyproject.toml | $(VENV)/bin/python
	@echo "==> Installing what the tests need (PyTorch is the large part)"
	@tools/install.sh $(PY) test
	@touch $(VENV)/.site $@

node_modules/.stamp: package.json package-lock.json
	@tools/check_node.sh
	@echo "==> Installing what the browser runtime needs"
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(BUNDLE): $(WEB_SOURCES) node_modules/.stamp
	@echo "==> Bundling the browser runtime"
	@npm run --silent build
	@touch $@

$(LIBRARY): plugins/explorable/live/library/split.mjs plugins/explorable/live/library/bytecode.py node_modules/.stamp
	@echo "==> Compiling what a start needs of Python's standard library"
	@npm run --silent build:library
	@touch $@

setup: $(VENV)/.site $(BUNDLE) $(LIBRARY) ## Install and bundle what the site needs

serve: setup ## Build the site, serve it on 127.0.0.1:8000, reload on every edit
	@echo "==> Building, then serving on http://$(ADDRESS)/ (Ctrl+C stops)"
	@$(MKDOCS) serve --dirty --dev-addr $(ADDRESS)

build: setup ## Build the site into site/, strictly
	@$(MKDOCS) build --strict

browsers: ## Find or install the three browsers the tests drive
	@tools/setup_browsers.sh

lint: lint-python lint-web ## Style, types, workflow files

lint-python: $(VENV)/.test
	@echo "==> Style and types of Python"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

lint-web: $(VENV)/.test node_modules/.stamp
	@echo "==> Style and types of TypeScript, workflow files"
	@npm run --silent typecheck
	@npm run --silent lint
	@node tools/lint_workflows.mjs

lock: $(VENV)/.test ## Write requirements/*.txt: the versions and hashes of all that is installed
	@$(PY) -m tools.lock $(if $(UPGRADE),--upgrade)

test-web: $(BUNDLE) ## TypeScript unit tests
	@echo "==> TypeScript units"
	@npm run --silent test:unit

test-python: $(VENV)/.test $(BUNDLE) $(LIBRARY) ## Engine, measurements, explorable, book
	@echo "==> Python tests"
	@$(if $(PYTHON_TESTS),$(PY) -m pytest $(PYTHON_TESTS),$(PY) -m tools.python_tests)

test-pyodide: $(VENV)/.test node_modules/.stamp ## The engine's tests inside Pyodide; not part of `make test`
	@echo "==> The engine's tests in Pyodide, under Node.js"
	@node tools/pyodide_tests.mjs

# What fewer instructions change is what kernels allocate, so the tests that count memory run again. A machine runs no set that it does not have.
test-instructions: $(VENV)/.test ## Memory and accounting as on older processors; not part of `make test`
	@for set in default:SSE41 avx2:AVX2; do \
		echo "==> Kernels of PyTorch: $${set%:*}, of oneDNN: $${set#*:}"; \
		ATEN_CPU_CAPABILITY=$${set%:*} ONEDNN_MAX_CPU_ISA=$${set#*:} $(PY) -m pytest --quiet --numprocesses 2 --dist loadfile \
			tests/engine/memory tests/engine/graph tests/gpu_bench/measure/test_memory.py tests/gpu_bench/measure/test_accounting.py; \
	done

verify: $(VENV)/.site node_modules/.stamp ## Run every snippet of site/ in Pyodide and compare with what the build printed; part of `make test-full`
	@echo "==> The site's snippets in Pyodide, under Node.js"
	@$(PY) -m explorable verify site

test-browser: $(VENV)/.test $(BUNDLE) $(LIBRARY) browsers ## The site in Chromium, Firefox and WebKit
	@echo "==> Browser tests"
	@npm run --silent test:browser

# Two jobs at once, since each keeps one core busy: first the installations, then checks beside the build of the site.
test: ## Set everything up and test
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(VENV)/.test node_modules/.stamp
	@$(PY) -m tools.yardstick
	@REPOSITORY_URL=$${REPOSITORY_URL:-https://example.org/book} $(MAKE) --no-print-directory -j2 --output-sync=target lint-python build lint-web test-web browsers
	@SITE_DIR=site $(MAKE) --no-print-directory test-python $(if $(FULL),verify)
	@SITE_DIR=site $(MAKE) --no-print-directory test-browser

test-full: ## The same with what other tests prove in part: every size, every engine, every mission
	@FULL=1 $(MAKE) --no-print-directory test

bench-site: setup browsers ## Print the site's budgets and what was measured
	@node tools/bench_site/report.mjs $(if $(RECORD),--record)

bench-play: setup browsers ## Play every act: seconds, clicks, words before the first thing to do, dragging
	@node tools/bench_site/play.mjs

bench-engine: $(VENV)/.test node_modules/.stamp ## Print the engine's speed, in CPython and in Pyodide
	@$(PY) -m tools.bench_engine
	@node tools/bench_pyodide.mjs

accuracy: $(VENV)/.test ## Print how far the engine is from published measurements
	@$(PY) -m tools.accuracy --json build/accuracy.json

screenshots: setup browsers ## Pictures of every page, to look at
	@node tests/browser/screenshots.mjs

clean: ## Remove what was built; installed packages stay
	rm -rf site .cache $(WEB)/dist $(dir $(LIBRARY)) test-results
