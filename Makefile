# What a new user or a developer runs. Each target sets up what it needs; only a missing python3-venv needs root.
.DEFAULT_GOAL := help
.PHONY: help setup demo image release docs test test-containers test-kubernetes test-unit test-rules check check-code check-types check-rules check-docs format bench pictures soak fuzz extensions mutants down clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export TRITONOBS_TOOLS ?= $(CURDIR)/.tools
PYTEST_ARGS ?=
# Some tests wait: two more than there are cores.
WORKERS ?= $(shell echo $$(($$(nproc) + 2)))
SIDE_BY_SIDE := --numprocesses $(WORKERS) --dist worksteal
IMAGE ?= tritonobs
BASE ?= debian:12.11-slim
FORGE := $(shell sed -n 's/^forge = "\(.*\)"$$/\1/p' pyproject.toml)
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' tritonobs/__init__.py)
DOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## install everything that tests and checks need, into .venv and .tools

$(VENV)/.ready: pyproject.toml tools/setup.sh tritonobs/stage/_record.c
	@PYTHON=$(PYTHON) VENV=$(VENV) tools/setup.sh all
	@touch $@ $(VENV)/.demo $(VENV)/.release

$(VENV)/.demo: pyproject.toml tools/setup.sh tritonobs/stage/_record.c
	@PYTHON=$(PYTHON) VENV=$(VENV) tools/setup.sh demo
	@touch $@

$(VENV)/.release: pyproject.toml tools/setup.sh tritonobs/stage/_record.c
	@PYTHON=$(PYTHON) VENV=$(VENV) tools/setup.sh release
	@touch $@

demo: $(VENV)/.demo ## overflow a QPS limit on a real stack and watch the alert arrive (KEEP=1 leaves it running)
	@$(BIN)/tritonobs demo $(if $(KEEP),--keep)

image: ## the image of tritonobs serve as IMAGE:VERSION (IMAGE=registry.example.org/tritonobs; then docker push)
	docker build -f docker/Dockerfile --target tritonobs -t $(IMAGE):$(VERSION) --build-arg BASE=$(BASE) \
	  --build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD) --build-arg SOURCE=$(FORGE) .

release: $(VENV)/.release ## wheels, chart, mixin, boards, image into build/release (RELEASE_ARGS="--skip image", or --help)
	@$(BIN)/python tools/release.py $(RELEASE_ARGS)

test: setup ## the tests, the end-to-end ones on real servers included
	BIN=$(BIN) tools/test_all.sh

test-containers: setup ## docker-compose.yml, built and run (as root on Debian it installs what it needs)
	tools/setup_tests.sh
	$(BIN)/pytest -m container $(PYTEST_ARGS) tests/e2e

test-kubernetes: setup ## the Kubernetes objects on a real API server and operator (the first time builds them)
	PYTHON=$(BIN)/python tools/setup_kubernetes.sh
	$(BIN)/pytest -m kubernetes $(PYTEST_ARGS)

test-unit: setup ## the tests of the code: four minutes on two cores
	$(BIN)/pytest -m "not e2e and not container" --ignore=tests/rules $(SIDE_BY_SIDE) $(PYTEST_ARGS)

test-rules: setup ## the tests of the rules, by Prometheus, promtool, vmalert and simulated fleets
	$(BIN)/pytest $(SIDE_BY_SIDE) $(PYTEST_ARGS) tests/rules

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
	for chat in feishu wecom slack teams; do for what in burst calls faults; do \
	  $(BIN)/python bench/delivery.py $$what --chat $$chat --write || exit 1; done; done
	$(BIN)/python bench/faults.py --write
	$(BIN)/python bench/triage.py --write
	$(BIN)/python bench/triage_models.py --write
	$(BIN)/python bench/triage_faults.py --write
	$(BIN)/python bench/triage_soon.py --write
	$(BIN)/python bench/panels.py --write
	$(BIN)/python bench/drills.py --write
	$(BIN)/python bench/compared.py --write
	$(BIN)/python bench/lint_errors.py --write
	$(BIN)/python bench/lint_cost.py --write
	$(BIN)/python bench/agents.py --write
	$(BIN)/python bench/agents_cost.py --write

pictures: setup ## the messages of README and of chats, the incident, the recording, the boards of docs/dashboards.md: 26 minutes of busy stacks
	$(BIN)/python tools/message_picture.py
	$(BIN)/python tools/chat_pictures.py
	$(BIN)/python tools/incident_picture.py
	$(BIN)/python tools/on_call_recording.py
	$(BIN)/python bench/panels.py --minutes 12 --pictures docs/pictures

soak: setup ## the models for a quarter of an hour, serve for an hour of bad luck, and hours of each part: seven in all
	$(BIN)/python bench/soak.py --write
	$(BIN)/python bench/serve_soak.py --write
	$(BIN)/python bench/hours.py traces --minutes 60 --write
	$(BIN)/python bench/hours.py stack --write
	$(BIN)/python bench/hours.py serve --write
	$(BIN)/python bench/hours.py fleet --write

fuzz: setup ## the nightly round: 10,000 examples of all that is read, 50 interrupts of each command, 100 kills
	$(BIN)/pytest -m hypothesis --hypothesis-profile nightly --timeout=0 --numprocesses auto
	TRITONOBS_INTERRUPTS=50 TRITONOBS_KILLS=100 $(BIN)/pytest --timeout=0 --numprocesses auto \
	  tests/lab/stack/test_interrupts.py tests/lab/drill/test_interrupts.py tests/e2e/attack/test_kill.py

extensions: setup ## take each extension out of a copy: layers, types and unit tests of the rest, an hour on two cores
	$(BIN)/python tools/without.py --each --all

mutants: setup ## flip comparators, windows, thresholds and labels of the rules, which changes does no test notice: ten minutes
	$(BIN)/python bench/mutants.py --write

check: check-code check-types check-rules check-docs ## format, lint, types, layers, spelling, rules, documentation

check-code: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

check-types: setup
	$(BIN)/mypy

check-rules: setup
	BIN=$(BIN) tools/lint_rules.sh

check-docs: setup
	$(DOCS) --quiet

docs: setup ## the documentation as a site, in build/site; a dead link fails
	$(DOCS)

format: setup ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

down: ## stop a stack that `make demo KEEP=1` or `tritonobs up` left running
	$(BIN)/tritonobs down

clean: ## remove what the targets made, the environment included
	rm -rf $(VENV) .tools .tritonobs build dist
