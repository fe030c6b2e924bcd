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

# What is typed reaches a command as it was typed: make expands nothing in it, and the shell takes it for one word.
$(foreach one,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(one)))),$(eval override export $(one) := $$(value $(one)))))
typed = $(filter override,$(origin $(1)))
define newline


endef
quoted = '$(subst ','\'',$(subst $(newline), ,$(value $(1))))'
option = $(if $(value $(1)),--$(2)=$(call quoted,$(1)))
each = $(foreach one,$(value $(1)),$(call quoted,one))
flag = $(if $(strip $(value $(1))),$(if $(filter-out 1,$(value $(1))),$(error $(1) must be 1 or left out))--$(2))

-include infra/build.mk

.PHONY: help
help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments: each a folder of its own, made anew when its lock changes -------------------------------------

$(VENV)/.local: infra/locks/local.txt
	@infra/local/venv.sh $(call quoted,PYTHON) $(VENV) infra/locks/local.txt
	@touch $@

$(VENV)/.dev: infra/locks/dev.txt infra/locks/local.txt
	@infra/local/venv.sh $(call quoted,PYTHON) $(VENV) infra/locks/dev.txt
	@touch $@ $(VENV)/.local

.local/ministack/.ready: infra/locks/ministack.txt
	@infra/local/venv.sh $(call quoted,PYTHON) .local/ministack infra/locks/ministack.txt
	@touch $@

.local/debian.ready: infra/local/debian.sh
	@infra/local/debian.sh
	@mkdir -p .local && touch $@

.local/tools/.ready: infra/locks/tools.txt
	@infra/local/venv.sh $(call quoted,PYTHON) .local/tools infra/locks/tools.txt
	@touch $@

.local/contract/.ready: infra/locks/contract.txt
	@infra/local/venv.sh $(call quoted,PYTHON) .local/contract infra/locks/contract.txt
	@touch $@

.local/export/.ready: infra/locks/export.txt
	@infra/local/venv.sh $(call quoted,PYTHON) .local/export infra/locks/export.txt || { echo 'siftline: torch on PyPI is built for CUDA: use an index or folder with its CPU builds (docs/models.md, "Exporting a model")' >&2; exit 1; }
	@touch $@

.local/model/manifest.json: $(VENV)/.local infra/locks/model.txt layers/model/*.py
	@PYTHONPATH=shared:. $(BIN)/python -m layers.model.assemble --out .local/model
	@touch $@

# --- one machine, no cloud ----------------------------------------------------------------------------------------

# Operations act on DATABASE_URL; where none is given, on what `make run` runs here, or in FOLDER.
COMMAND = PYTHONPATH=shared:. $(BIN)/python -m
FOLDER_OPTION = $(call option,FOLDER,folder)
# Five of them run inside a deployed stage's network with STAGE=prod: `operate` does what is typed there.
OPERATE = $(COMMAND) infra.operate
PLACE = $(if $(call typed,STAGE),--stage=$(call quoted,STAGE),$(FOLDER_OPTION))

.PHONY: run
run: $(VENV)/.local .local/ministack/.ready ## run the whole system on this machine: PORT=8787, SAMPLES=1 adds sample feeds, FOLDER=.local for its data
	@PYTHONPATH=shared:. exec $(BIN)/python -m infra.local.run $(call option,PORT,port) $(call flag,SAMPLES,samples) $(FOLDER_OPTION)

.PHONY: migrate
migrate: $(VENV)/.local ## migrate the database of DATABASE_URL to the newest schema
	@$(OPERATE) migrate $(PLACE)

.PHONY: user
user: $(VENV)/.local ## create a user and print a token: NAME=…, OPS=1 for an operator; LIST=1; new token: TOKEN=… REVOKE=1; DELETE=… YES=1
	@$(OPERATE) user $(PLACE) $(call option,NAME,name) $(call flag,OPS,ops) $(call flag,LIST,list) \
	  $(call option,TOKEN,token) $(call flag,REVOKE,revoke) $(call option,DELETE,delete) $(call flag,YES,yes)

.PHONY: redrive
redrive: $(VENV)/.local ## redrive dead letters: QUEUE=analysis, ERROR_CODE=…, LIMIT=…, DRY_RUN=1
	@$(OPERATE) redrive $(PLACE) --queue=$(call quoted,QUEUE) \
	  $(call option,ERROR_CODE,error-code) $(call option,LIMIT,limit) $(call flag,DRY_RUN,dry-run)

.PHONY: resolve
resolve: $(VENV)/.local ## look up organisations that have temporary ids: DRY_RUN=1 only counts, LIMIT=100
	@$(COMMAND) infra.local.resolve $(FOLDER_OPTION) $(call option,LIMIT,limit) $(call flag,DRY_RUN,dry-run)

.PHONY: reindex
reindex: $(VENV)/.local ## recompute all vectors while search keeps working: DRY_RUN=1 only estimates, TO=<model folder, s3://… or api:<model>>
	@$(COMMAND) infra.local.reindex $(FOLDER_OPTION) $(call option,TO,to) $(call flag,DRY_RUN,dry-run)

.PHONY: reprocess
reprocess: $(VENV)/.local ## reprocess the results of other versions: DRY_RUN=1 only estimates; KIND=topics VERSION=… OLDER_THAN=2026-11-01 LIMIT=…; SHOW=1, CANCEL=1
	@$(OPERATE) reprocess $(PLACE) $(call option,KIND,kind) $(call option,VERSION,version) \
	  $(call option,OLDER_THAN,older-than) $(call option,LIMIT,limit) $(call flag,DRY_RUN,dry-run) $(call flag,SHOW,show) $(call flag,CANCEL,cancel)

# USER is also the shell's own name for who is logged in: only one that was typed counts.
TYPED_USER = --user=$(if $(call typed,USER),$(call quoted,USER))

.PHONY: credits
credits: $(VENV)/.local ## give a user credits: USER=name-or-id AMOUNT=100, or AMOUNT=unmetered
	@$(OPERATE) credits $(PLACE) $(TYPED_USER) --amount=$(call quoted,AMOUNT)

.PHONY: export
export: $(VENV)/.local ## export all data of a user as JSON: USER=name-or-id OUT=file.json
	@$(COMMAND) infra.local.export $(FOLDER_OPTION) $(TYPED_USER) --out=$(call quoted,OUT)

# Both act on DATABASE_URL where it is set, else on FOLDER: backup beside make run or without it, restore without.
.PHONY: backup
backup: $(VENV)/.local ## back up the whole database, also while Siftline runs: OUT=file.tar
	@$(COMMAND) infra.local.backup --out=$(call quoted,OUT) $(FOLDER_OPTION)

.PHONY: restore
restore: $(VENV)/.local ## replace the database with a backup: FROM=file.tar, YES=1 skips the question; FOLDER=.local
	@$(COMMAND) infra.local.backup --from=$(call quoted,FROM) $(FOLDER_OPTION) $(call flag,YES,yes)

# What is wrong with a typed word is said here, before anything is installed for the target.
ifneq ($(filter export-model,$(MAKECMDGOALS)),)
$(if $(value MODEL),,$(error Name a model: make export-model MODEL=<hub id or folder>))
$(if $(filter /%,$(firstword $(value MODEL))),$(if $(shell test -d $(call quoted,MODEL) && echo 1),,$(error There is no model folder $(value MODEL))))
endif

.PHONY: export-model
export-model: $(VENV)/.local .local/export/.ready ## create a model folder from any model: MODEL=<hub id or folder> OUT=… TASK=nli|embedding|token REDUCE_RANGE=1 UNPROVEN=1
	@$(COMMAND) layers.model.export --model=$(call quoted,MODEL) $(call option,OUT,out) $(call option,TASK,task) \
	  $(call flag,REDUCE_RANGE,reduce-range) $(call flag,UNPROVEN,unproven)

.PHONY: invoke
invoke: $(VENV)/.local ## invoke one handler with one event: FUNCTION=schedule EVENT=events/schedule.ok.json
	@$(COMMAND) infra.local.invoke $(FOLDER_OPTION) -- $(call quoted,FUNCTION) $(call quoted,EVENT)

.PHONY: sam-env
sam-env: $(VENV)/.local ## write .local/sam-env.json, by which sam local reaches what make run runs
	@$(COMMAND) infra.local.sam_environment $(FOLDER_OPTION)

# --- gates --------------------------------------------------------------------------------------------------------

# What was compiled is kept, whatever the machine's own setting: each of many processes would compile all of it again.
PYTEST := PYTHONDONTWRITEBYTECODE= PYTHONPATH=shared:. $(BIN)/python -m pytest
# Three for two cores: many tests wait for something that another process does. In the order of tests/conftest.py.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: format
format: $(VENV)/.dev ## format the code and apply automatic lint fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: lint
lint: $(VENV)/.dev ## check format, lint rules and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

.PHONY: check
check: lint .local/tools/.ready ## fast checks: format, lint, types, unit and house tests
	@$(PYTEST) -n auto tests/unit tests/house -m "not slow"

.PHONY: test
test: lint .local/ministack/.ready .local/tools/.ready .local/contract/.ready .local/debian.ready .local/model/manifest.json ## install everything and run all tests
	@$(PYTEST) $(PARALLEL) --ignore=tests/export

# Apart from test: following every line takes as long again as most tests do.
.PHONY: coverage
coverage: lint .local/ministack/.ready .local/tools/.ready .local/contract/.ready .local/debian.ready .local/model/manifest.json ## run all tests with line coverage: at least 90 %
	@$(PYTEST) $(PARALLEL) --ignore=tests/export --cov --cov-report=term

.PHONY: test-pooler
test-pooler: $(VENV)/.dev .local/ministack/.ready .local/contract/.ready .local/debian.ready .local/model/manifest.json ## run the integration tests through PgBouncer in transaction mode
	@$(PYTEST) $(PARALLEL) tests/integration --pooler -m "not slow"

.PHONY: test-export
test-export: $(VENV)/.dev .local/export/.ready ## export a tiny model with torch and load it; not part of make test
	@$(PYTEST) tests/export

ifneq ($(filter bench,$(MAKECMDGOALS)),)
BENCHMARKS := $(sort $(filter-out __main__ spacy_peer,$(basename $(notdir $(shell grep -l '^def main() ->' benchmarks/*.py)))))
$(foreach name,$(filter-out $(BENCHMARKS),$(value BENCH)),$(error There is no benchmark $(name), only $(BENCHMARKS)))
endif

.PHONY: bench
bench: $(VENV)/.dev .local/ministack/.ready .local/model/manifest.json ## run benchmarks against a baseline: BENCH="poll walk"; QUICK=1 only checks that they run; BENCH=mixed MINUTES=20
	@PYTHONPATH=shared:. $(BIN)/python -m benchmarks $(call each,BENCH) $(call option,MINUTES,minutes) $(call flag,QUICK,quick)

.PHONY: soak
soak: $(VENV)/.dev .local/ministack/.ready ## kill workers while they work and repeat every other fault, with a table of healing times: RUNS=10
	@$(PYTEST) tests/faults --fault-rounds=$(if $(value RUNS),$(call quoted,RUNS),10) --fault-items=20

# --- the end ------------------------------------------------------------------------------------------------------

.PHONY: clean
clean: ## delete environments and builds; keeps your data in .local
	@rm -rf $(VENV) .local/ministack .local/tools .local/contract .local/peers-* .aws-sam build
