# Every command of Siftline. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# Environments are independent of one another: two at a time.
MAKEFLAGS += --no-print-directory --jobs=2

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Logs and progress are for people: PYTHONUNBUFFERED shows them as they come.
export PYTHONUNBUFFERED := 1

-include infra/build.mk

.PHONY: help
help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments: each a folder of its own, made anew when its lock changes -------------------------------------

$(VENV)/.local: infra/locks/local.txt
	@infra/local/venv.sh $(PYTHON) $(VENV) infra/locks/local.txt
	@touch $@

$(VENV)/.dev: infra/locks/dev.txt infra/locks/local.txt
	@infra/local/venv.sh $(PYTHON) $(VENV) infra/locks/dev.txt
	@touch $@ $(VENV)/.local

.local/ministack/.ready: infra/locks/ministack.txt
	@infra/local/venv.sh $(PYTHON) .local/ministack infra/locks/ministack.txt
	@touch $@

.local/chromium.ready: infra/local/chromium.sh
	@infra/local/chromium.sh
	@mkdir -p .local && touch $@

.local/tools/.ready: infra/locks/tools.txt
	@infra/local/venv.sh $(PYTHON) .local/tools infra/locks/tools.txt
	@touch $@

.local/contract/.ready: infra/locks/contract.txt
	@infra/local/venv.sh $(PYTHON) .local/contract infra/locks/contract.txt
	@touch $@

.local/export/.ready: infra/locks/export.txt
	@infra/local/venv.sh $(PYTHON) .local/export infra/locks/export.txt || { echo 'siftline: on PyPI torch is built for CUDA: name the index or folder of its CPU builds (docs/models.md, "Exporting a model")' >&2; exit 1; }
	@touch $@

.local/model/manifest.json: $(VENV)/.local infra/locks/model.txt layers/model/*.py
	@PYTHONPATH=shared:. $(BIN)/python -m layers.model.assemble --out .local/model
	@touch $@

# --- one machine, no cloud ----------------------------------------------------------------------------------------

.PHONY: run
run: $(VENV)/.local .local/ministack/.ready ## the whole system on this machine: PORT=8787, SAMPLES=1 adds sample feeds
	@PYTHONPATH=shared:. exec $(BIN)/python -m infra.local.run --port $(or $(PORT),8787) $(if $(filter 1,$(SAMPLES)),--samples)

# Operations act on DATABASE_URL; where none is given, on what `make run` runs here.
LOCAL_ENV := if [ -z "$${DATABASE_URL:-}" ] && [ -f .local/environment ]; then set -a; . .local/environment; set +a; fi

.PHONY: migrate
migrate: $(VENV)/.local ## bring the database of DATABASE_URL to the newest schema
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.migrate

.PHONY: user
user: $(VENV)/.local ## make a user and print a token: NAME=…, OPS=1 for an operator; LIST=1; TOKEN=… REVOKE=1 another token; DELETE=… YES=1
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.user $(if $(NAME),--name "$(NAME)") $(if $(filter 1,$(OPS)),--ops) \
	  $(if $(filter 1,$(LIST)),--list) $(if $(TOKEN),--token "$(TOKEN)") $(if $(filter 1,$(REVOKE)),--revoke) \
	  $(if $(DELETE),--delete "$(DELETE)") $(if $(filter 1,$(YES)),--yes)

.PHONY: redrive
redrive: $(VENV)/.local ## give dead letters back to work: QUEUE=analysis, ERROR_CODE=…, LIMIT=…, DRY_RUN=1
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.redrive --queue="$(QUEUE)" \
	  $(if $(ERROR_CODE),--error-code "$(ERROR_CODE)") $(if $(LIMIT),--limit "$(LIMIT)") $(if $(filter 1,$(DRY_RUN)),--dry-run)

.PHONY: resolve
resolve: $(VENV)/.local ## ask who organisations are that have temporary ids: DRY_RUN=1 only counts, LIMIT=100
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.resolve $(if $(LIMIT),--limit "$(LIMIT)") $(if $(filter 1,$(DRY_RUN)),--dry-run)

.PHONY: reindex
reindex: $(VENV)/.local ## make all vectors anew while search goes on: DRY_RUN=1 only counts, TO=<model folder, s3://… or api:<model>>
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.reindex $(if $(TO),--to "$(TO)") $(if $(filter 1,$(DRY_RUN)),--dry-run)

.PHONY: reprocess
reprocess: $(VENV)/.local ## read again what other versions read: DRY_RUN=1 only counts and prices; KIND=topics VERSION=… OLDER_THAN=2026-11-01 LIMIT=…; SHOW=1, CANCEL=1
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.reprocess $(if $(KIND),--kind "$(KIND)") $(if $(VERSION),--version "$(VERSION)") \
	  $(if $(OLDER_THAN),--older-than "$(OLDER_THAN)") $(if $(LIMIT),--limit "$(LIMIT)") $(if $(filter 1,$(DRY_RUN)),--dry-run) $(if $(filter 1,$(SHOW)),--show) $(if $(filter 1,$(CANCEL)),--cancel)

# USER is also the shell's own name for who is logged in: only one that was typed counts.
.PHONY: credits
credits: $(VENV)/.local ## credits for a user: USER=name-or-id AMOUNT=100, or AMOUNT=unmetered
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.credits --user="$(if $(filter command,$(word 1,$(origin USER))),$(USER))" --amount="$(AMOUNT)"

.PHONY: export
export: $(VENV)/.local ## all that a user has, as JSON: USER=name-or-id OUT=file.json
	@$(LOCAL_ENV); PYTHONPATH=shared:. $(BIN)/python -m infra.local.export --user="$(if $(filter command,$(word 1,$(origin USER))),$(USER))" --out="$(OUT)"

# Both act on DATABASE_URL where it is set, else on .local, whether make run is at work there or not.
.PHONY: backup
backup: $(VENV)/.local ## the database whole, while everything runs: OUT=file.tar
	@PYTHONPATH=shared:. $(BIN)/python -m infra.local.backup --out="$(OUT)" $(if $(FOLDER),--folder "$(FOLDER)")

.PHONY: restore
restore: $(VENV)/.local ## a backup in the place of what is there: FROM=file.tar, YES=1 asks nobody; FOLDER=.local
	@PYTHONPATH=shared:. $(BIN)/python -m infra.local.backup --from="$(FROM)" $(if $(FOLDER),--folder "$(FOLDER)") $(if $(filter 1,$(YES)),--yes)

.PHONY: export-model
export-model: $(VENV)/.local .local/export/.ready ## a model folder of any model: MODEL=<hub id or folder> OUT=… TASK=nli|embedding|token REDUCE_RANGE=1 UNPROVEN=1
	@PYTHONPATH=shared:. $(BIN)/python -m layers.model.export --model "$(MODEL)" $(if $(OUT),--out "$(OUT)") $(if $(TASK),--task $(TASK)) \
	  $(if $(filter 1,$(REDUCE_RANGE)),--reduce-range) $(if $(filter 1,$(UNPROVEN)),--unproven)

.PHONY: invoke
invoke: $(VENV)/.local ## one handler, one event: FUNCTION=ingest EVENT=events/ingest.ok.json
	@PYTHONPATH=shared:. $(BIN)/python -m infra.local.invoke "$(FUNCTION)" "$(EVENT)"

# --- gates --------------------------------------------------------------------------------------------------------

PYTEST := PYTHONPATH=shared:. $(BIN)/python -m pytest
# Three for two cores: many tests wait for something that another process does. In the order of tests/conftest.py.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: format
format: $(VENV)/.dev ## write the code as the house writes it
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: lint
lint: $(VENV)/.dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

.PHONY: check
check: lint .local/tools/.ready ## the fast gate: format, lint, types, unit and house tests
	@$(PYTEST) -n auto tests/unit tests/house -m "not slow"

.PHONY: test
test: lint .local/ministack/.ready .local/tools/.ready .local/contract/.ready .local/chromium.ready .local/model/manifest.json ## set everything up and run all tests
	@$(PYTEST) $(PARALLEL) --ignore=tests/export

# Apart from test: following every line takes as long again as most tests do.
.PHONY: coverage
coverage: lint .local/ministack/.ready .local/tools/.ready .local/contract/.ready .local/chromium.ready .local/model/manifest.json ## all tests, and which lines they reach: at least 90 in 100
	@$(PYTEST) $(PARALLEL) --ignore=tests/export --cov --cov-report=term

.PHONY: test-export
test-export: $(VENV)/.dev .local/export/.ready ## export a tiny model with torch and read it as the product does; not part of make test
	@$(PYTEST) tests/export

.PHONY: bench
bench: $(VENV)/.dev .local/ministack/.ready .local/model/manifest.json ## measure beside a floor of the same run: BENCH="poll walk"; QUICK=1 only shows that it runs; BENCH=kills RUNS=10, BENCH=mixed MINUTES=20
	@PYTHONPATH=shared:. $(BIN)/python -m benchmarks $(BENCH) $(if $(RUNS),--runs $(RUNS)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(filter 1,$(QUICK)),--quick)

SOAK ?= --fault-rounds $(or $(RUNS),10) --fault-items 20

.PHONY: soak
soak: $(VENV)/.dev .local/ministack/.ready ## kill workers in mid-work beside peers, then all faults, many times: RUNS=10
	@PYTHONPATH=shared:. $(BIN)/python -m benchmarks kills --runs $(or $(RUNS),10)
	@$(PYTEST) tests/faults $(SOAK)

# --- the end ------------------------------------------------------------------------------------------------------

.PHONY: clean
clean: ## delete environments and builds; your data in .local stays
	@rm -rf $(VENV) .local/ministack .local/tools .local/contract .local/peers-* .aws-sam build
