# How each layer and function of template.yaml is packed, and the build, deploy and lock commands. Included by the root
# Makefile; `sam build` calls build-<logical id> with ARTIFACTS_DIR set, in the source tree (samconfig.toml says so).

# What is built is what the stage's deployment says in samconfig.toml, unless RUNTIME or ARCHITECTURE say otherwise.
STAGE ?= staging
BUILD_PYTHON ?= .venv/bin/python

PACK = $(call quoted,BUILD_PYTHON) infra/package.py --stage=$(call quoted,STAGE) $(call option,RUNTIME,runtime) \
  $(call option,ARCHITECTURE,architecture) --to=$(call quoted,ARTIFACTS_DIR)

SAM := SAM_CLI_TELEMETRY=0 .local/tools/bin/sam

.PHONY: build
build: $(VENV)/.local .local/tools/.ready ## SAM build without a container engine: STAGE=staging RUNTIME= ARCHITECTURE=
	@$(SAM) build --config-env=$(call quoted,STAGE) $(if $(value RUNTIME)$(value ARCHITECTURE),--parameter-overrides \
	  $(if $(value RUNTIME),Runtime=$(call quoted,RUNTIME)) $(if $(value ARCHITECTURE),Architecture=$(call quoted,ARCHITECTURE)))

.PHONY: deploy
deploy: build ## migrate, deploy and try a stage: STAGE=staging, PAGE=… to save, PAGE= for no trial
	@$(COMMAND) infra.deploy --stage=$(call quoted,STAGE) $(TRIED)

.PHONY: smoke
smoke: $(VENV)/.local ## save a page at a deployed stage, wait for it, find it, delete it: STAGE=staging PAGE=…
	@$(COMMAND) infra.smoke --stage=$(call quoted,STAGE) $(TRIED)
TRIED = $(if $(filter-out undefined,$(origin PAGE)),--page=$(call quoted,PAGE))

.PHONY: rollback
rollback: $(VENV)/.local ## make the release before live again at a deployed stage: STAGE=staging, YES=1 skips the question
	@$(COMMAND) infra.rollback --stage=$(call quoted,STAGE) $(call flag,YES,yes)

.PHONY: destroy
destroy: $(VENV)/.local .local/tools/.ready ## delete a deployed stage, with a question: STAGE=staging, YES=1; says what is kept
	@$(COMMAND) infra.destroy --stage=$(call quoted,STAGE) $(call flag,YES,yes)

.PHONY: drill
drill: $(VENV)/.local ## make an alarm ring and tidy up: ALARM=fetch-age STAGE=staging YES=1; without ALARM a list
	@PYTHONPATH=shared:. $(BIN)/python -m infra.drill --stage=$(call quoted,STAGE) $(call option,ALARM,alarm) $(call flag,YES,yes)

.PHONY: upload-model
upload-model: $(VENV)/.local .local/model/manifest.json ## upload the embedding model to S3 for a deployment: MODEL_BUCKET=…
	@PYTHONPATH=shared:. $(VENV)/bin/python -m infra.upload_model --bucket=$(call quoted,MODEL_BUCKET)

.PHONY: localstack
localstack: $(VENV)/.local .local/tools/.ready .local/model/manifest.json ## run and deploy all in containers with LocalStack; prints address and token (needs Docker and a token)
	@PYTHONPATH=shared:. $(BIN)/python -m infra.local.localstack

.PHONY: lock
lock: .local/uv/.ready ## regenerate all hash-pinned requirements files from pyproject.toml: UPGRADE=1 for newest versions
	@$(VENV)/bin/python infra/lock.py --uv .local/uv/bin/uv $(call flag,UPGRADE,upgrade)

.PHONY: settings
settings: $(VENV)/.local ## regenerate docs/settings.md from the descriptions of the settings
	@PYTHONPATH=shared:. $(BIN)/python -m infra.settings_page

.PHONY: alarms
alarms: $(VENV)/.local ## regenerate infra/observability.yaml from infra/alarms.py
	@PYTHONPATH=shared:. $(BIN)/python -m infra.alarms

# Environments of single tools: what they pin must not bind the product.
.local/uv/.ready .local/checkov/.ready .local/lambda/.ready .local/ministack-sam/.ready .local/workflows/.ready: .local/%/.ready: infra/locks/%.txt
	@infra/local/venv.sh $(call quoted,PYTHON) .local/$* $<
	@touch $@

# Besides what the root Makefile names: checkov, the runtime interface client, MiniStack with its SAM transform, and
# the schema of GitHub's workflows.
test: .local/checkov/.ready .local/lambda/.ready .local/ministack-sam/.ready .local/workflows/.ready

# --- packing: called by sam build ---------------------------------------------------------------------------------

.PHONY: build-RuntimeLayer build-InferenceLayer
build-RuntimeLayer:
	$(PACK) --lock layers/runtime/requirements.txt
build-InferenceLayer:
	$(PACK) --lock layers/inference/requirements.txt

# A function is its handler, the package siftline, and what it alone needs.
.PHONY: build-AuthorizeFunction build-ApiFunction build-SearchFunction build-ScheduleFunction
build-AuthorizeFunction:
	$(PACK) --function authorize
build-ApiFunction:
	$(PACK) --function api
build-SearchFunction:
	$(PACK) --function search --lock infra/locks/analyze.txt
build-ScheduleFunction:
	$(PACK) --function schedule --lock infra/locks/vectors.txt

.PHONY: build-FetchFunction build-IngestFunction build-AnalyzeFunction build-ResolveFunction build-ClusterFunction build-BriefFunction build-OperateFunction
build-FetchFunction:
	$(PACK) --function fetch --lock infra/locks/fetch.txt
build-IngestFunction:
	$(PACK) --function ingest --lock infra/locks/ingest.txt
build-AnalyzeFunction:
	$(PACK) --function analyze --lock infra/locks/analyze.txt
build-ResolveFunction:
	$(PACK) --function resolve --lock infra/locks/fetch.txt
build-ClusterFunction:
	$(PACK) --function cluster --lock infra/locks/cluster.txt
build-BriefFunction:
	$(PACK) --function brief --lock infra/locks/brief.txt
build-OperateFunction:
	$(PACK) --function operate --lock infra/locks/operate.txt --folder infra/migrations
