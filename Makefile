# Everything a developer or a new user runs. Each target does its own set-up; nothing needs root except, on a Debian
# without python3-venv, that one package.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-containers test-unit check format bench pictures soak mutants down clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export TRITONOBS_TOOLS ?= $(CURDIR)/.tools
PYTEST_ARGS ?=

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## install everything the other targets need, into .venv and .tools

$(VENV)/.ready: pyproject.toml tools/setup.sh
	PYTHON=$(PYTHON) VENV=$(VENV) tools/setup.sh
	@touch $@

demo: setup ## overflow a QPS limit on a real stack and watch the alert arrive (KEEP=1 leaves it running)
	$(BIN)/tritonobs demo $(if $(KEEP),--keep)

test: setup ## the tests, the end-to-end ones on real servers included
	$(BIN)/pytest -m "not e2e and not container" --numprocesses auto
	$(BIN)/pytest -m "e2e and not container"

test-containers: setup ## docker-compose.yml, built and run (as root on Debian it installs what it needs)
	tools/setup_tests.sh
	$(BIN)/pytest -m container $(PYTEST_ARGS)

test-unit: setup ## the tests that start no server
	$(BIN)/pytest -m "not e2e and not container" --numprocesses auto $(PYTEST_ARGS)

bench: setup ## every benchmark, results into bench/RESULTS.md: two hours on two cores
	$(BIN)/python bench/record_cost.py --write
	$(BIN)/python bench/stage_overhead.py --write
	$(BIN)/python bench/stage_overhead.py --histogram --write
	$(BIN)/python bench/pipeline.py --write
	$(BIN)/python bench/served.py --write
	$(BIN)/python bench/build_cost.py --write
	$(BIN)/python bench/rules_cost.py --write
	$(BIN)/python bench/limit_change.py --write
	$(BIN)/python bench/delivery.py burst --write
	$(BIN)/python bench/delivery.py calls --write
	$(BIN)/python bench/delivery.py overflow --write
	$(BIN)/python bench/delivery.py faults --write
	$(BIN)/python bench/triage.py --write
	$(BIN)/python bench/panels.py --write
	$(BIN)/python bench/drills.py --write

pictures: setup ## the boards of docs/dashboards.md, from a quarter of an hour of a busy stack
	$(BIN)/python bench/panels.py --minutes 12 --pictures docs/pictures

soak: setup ## reloads, unloads and kills under full load for a quarter of an hour, results into bench/RESULTS.md
	$(BIN)/python bench/soak.py --write

mutants: setup ## flip comparators, windows, thresholds and labels of the rules: which changes does no test notice?
	$(BIN)/python bench/mutants.py --write

check: setup ## format, lint, types, layers, spelling, jsonnet, promtool, amtool, pint when present
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	BIN=$(BIN) tools/lint_rules.sh

format: setup ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

down: ## stop a stack that `make demo KEEP=1` or `tritonobs up` left running
	$(BIN)/tritonobs down

clean: ## remove what the targets made, the environment included
	rm -rf $(VENV) .tools .tritonobs build dist
