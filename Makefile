# Every verb sets up what it needs; nothing but Python 3.11 with venv, and make, is expected.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Most of what is installed is never imported: what is, is compiled then.
INSTALL := $(PIP) install --quiet --no-compile --no-build-isolation
install_ours = $(INSTALL) --require-hashes -r requirements/$(1).lock && $(INSTALL) --no-deps --editable .
# Two installations into one environment would be in each other's way.
.NOTPARALLEL:
COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

# Tests and networks start hundreds of processes: what they import is compiled by the first.
unexport PYTHONDONTWRITEBYTECODE

# pip says nothing for a minute and more; dots show that it goes on, and end with it.
DOT_EVERY_S := 5
with_dots = { while sleep $(DOT_EVERY_S) >&2 && kill -0 $$$$; do printf .; done & } 2>/dev/null; \
	( $(1) ); code=$$?; kill $$!; echo; exit $$code

# Chromium is no wheel: the system has it, or somebody is told where to get it.
CHROMIUM ?= chromium
CHROMEDRIVER ?= chromedriver
export CHROMIUM CHROMEDRIVER
needs_chromium = for one in $(CHROMIUM) $(CHROMEDRIVER); do command -v $$one >/dev/null || { \
	echo "There is no $$one here; install it with apt-get install chromium chromium-driver, or" \
	"name both programs in CHROMIUM and CHROMEDRIVER."; exit 2; }; done

.DEFAULT_GOAL := help
# What is asked after every change: all that needs no Spark, socket or minute. make test asks it all.
QUICK := tests/architecture tests/files tests/filters tests/history tests/planning tests/protocol \
	tests/sim
TOO_LONG := tests/architecture/test_dependencies.py tests/architecture/test_docs.py \
	tests/architecture/test_kernel_cache.py tests/planning/adaptation/test_tree_adaptation.py \
	tests/planning/arrangement/test_arrangement_methods.py \
	tests/protocol/adaptation/test_adapting_trees.py \
	tests/protocol/foundation/test_slices.py tests/protocol/mobility/test_doubles_in_any_order.py \
	tests/protocol/mqtt/test_codec_laws.py tests/protocol/reconfiguration/test_carry_over.py \
	tests/protocol/reconfiguration/test_reconfigure_crashes.py tests/protocol/test_cost_of_size.py \
	tests/protocol/test_retained_and_shared_simulated.py tests/sim/test_conformance.py \
	tests/sim/test_doubles.py tests/sim/test_mobility_swarm.py tests/sim/test_mutations.py \
	tests/sim/test_runs.py tests/sim/test_simulation.py tests/sim/test_wills.py tests/sim/test_wire.py
SEEDS ?= 1..100
BASE ?= HEAD
.PHONY: help setup demo test test-browser picture quick check format bench swarm cluster same torture fuzz figures reference docs wheel release-check lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.development $(VENV)/.archive ## set up .venv with everything for running and developing

demo: $(VENV)/.archive ## run a poor network under load, plan a better one, change it while messages flow
	@$(BIN)/meshwright demo --out demo

test: $(VENV)/.development ## run all tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope

test-browser: $(VENV)/.development ## open the dashboard in Chromium and use it; pictures in build/browser
	@$(call needs_chromium)
	$(BIN)/python -m pytest tests/browser

picture: $(VENV)/.development ## draw the dashboard of a network under load, as README shows it
	@$(call needs_chromium)
	$(BIN)/python -m tests.browser.picture docs/pictures/dashboard.png

quick: check ## what to ask after every change, in a minute: check, and the tests that take moments
	$(BIN)/python -m pytest --numprocesses logical --dist loadscope $(QUICK) $(TOO_LONG:%=--ignore=%)

check: $(VENV)/.development ## formatting, lint, types, and which room may import which
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.development ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.development $(VENV)/.archive ## measure speed, as ratios to peers and baselines where there are any
	$(BIN)/python -m benchmarks

swarm: $(VENV)/.runtime ## simulate many seeds of every design on all cores (SEEDS=1..100)
	@$(BIN)/meshwright swarm --seeds $(SEEDS)

cluster: $(VENV)/.development ## run the jobs on a Spark cluster of processes that loses a worker, and over Connect
	$(BIN)/python -m pytest tests/cluster

same: $(VENV)/.runtime ## see that simulated runs leave the records that they leave at another commit (BASE=HEAD)
	@$(BIN)/python tests/sim/golden.py $(BASE)

torture: $(VENV)/.runtime ## kill live brokers of every design under load, and judge what clients saw
	@$(BIN)/meshwright torture --designs all --kills 20 --duration 30

fuzz: $(VENV)/.development ## send a million broken packets to the codec, and as many to live brokers
	@$(BIN)/python -m tests.live.fuzz 1000000

figures: $(VENV)/.archive ## run every experiment of the papers at small scale, and draw what the docs show
	$(BIN)/meshwright overlay tour --out docs/pictures --pictures-only
	$(BIN)/meshwright lab run all --scale small --out figures --renew
	$(BIN)/meshwright lab report figures docs/papers/results --docs docs/papers

reference: $(VENV)/.runtime ## write the pages of docs that are made of the code anew
	$(BIN)/python -m book

docs: $(VENV)/.development ## make pages for a browser of docs, in build/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c book -d build/doctrees . build/docs
	@echo "Open build/docs/index.html."

wheel: $(VENV)/.development ## build a wheel in dist, install it into an environment of its own, and ask it
	$(BIN)/python -m release.wheel

release-check: $(VENV)/.development ## walk through the checklist of a release, up to the first step that fails
	@$(BIN)/python -m release

lock: $(VENV)/.development ## resolve the dependencies anew
	$(COMPILE) --upgrade --output-file requirements/build.lock requirements/build.in
	$(COMPILE) --upgrade --extra development --output-file requirements/development.lock pyproject.toml
	$(COMPILE) --constraint requirements/development.lock --output-file requirements/runtime.lock pyproject.toml

clean: ## remove the environment and everything made by it
	rm -rf $(VENV) demo figures torture build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# pyspark comes as a source archive: its build tools are pinned too, so nothing is fetched unchecked.
$(VENV)/.build: requirements/build.lock | $(BIN)/python
	@echo "Installing what the installation needs into $(VENV)."
	@$(call with_dots,$(INSTALL) --require-hashes -r requirements/build.lock)
	@touch $@

$(VENV)/.runtime: requirements/runtime.lock pyproject.toml $(VENV)/.build
	@echo "Installing Meshwright and its libraries into $(VENV); the first time takes a minute or two."
	@$(call with_dots,$(call install_ours,runtime))
	@touch $@

$(VENV)/.archive: requirements/runtime.lock | $(VENV)/.runtime
	@echo "Archiving Spark's classes, so that it starts in half the time; this takes a minute."
	@$(call with_dots,$(BIN)/python -m meshwright.pipeline.archiving)
	@touch $@

# Who develops gets all of the above at once.
$(VENV)/.development: requirements/development.lock pyproject.toml $(VENV)/.build
	@echo "Installing Meshwright and what developers need into $(VENV); this takes a minute or two."
	@$(call with_dots,$(call install_ours,development))
	@touch $(VENV)/.runtime $@
