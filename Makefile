# From a bare clone: `make demo`, `make test`, `make check`. Python 3.11 or newer is all that is needed; everything is
# installed into $(VENV), in the exact versions of constraints.txt, and again when one of the two files below changes.
#
#   make demo PYTHON=python3.12        another Python
#   make test VENV=../environment      another place for the environment
#   make test TESTS=tests/store        some of the tests

PYTHON ?= python3
VENV ?= .venv
TESTS ?= tests
NEIGHBOURS ?= .venv-neighbours
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Each worker begins with a half of the tests, so that what a module makes once is made by one of them, not by both.
WORKERS := -n 2 --dist worksteal
# What the standard library lacks elsewhere is found without the types of other packages, in a tenth of the time.
OTHER_PLATFORM := --follow-imports=skip --allow-subclassing-any --allow-untyped-decorators --no-warn-return-any \
  --no-warn-unused-ignores --disable-error-code var-annotated --platform

CORPUS := examples/polar
INDEX := demo-index
QUESTION := Who founded the school where the boat James Caird is kept today?

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-lab test-gpu test-browser neighbours test-neighbours check release-check site faults mutations rot
.PHONY: readers searches fuzz leaks format docs clean check-types check-others

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed  ## Index the example corpus and answer a question that needs two of its articles
	@rm -rf $(INDEX)
	$(BIN)/clew index $(CORPUS) --index $(INDEX)
	@echo
	$(BIN)/clew search "$(QUESTION)" --index $(INDEX) -k 3
	@echo
	$(BIN)/clew ask "$(QUESTION)" --index $(INDEX)

test: $(VENV)/installed-dev  ## Run the tests of Clew but the slow ones
	$(BIN)/python -m pytest $(WORKERS) -m "not slow" $(TESTS)

test-lab: $(VENV)/installed-dev  ## Run the tests of the laboratory but the slow ones
	$(BIN)/python -m pytest $(WORKERS) -m "not slow" lab/tests

test-gpu: $(VENV)/installed-dev  ## Run the tests of kernels and devices on this machine's GPU
	$(BIN)/python -m pytest -m gpu $(TESTS) lab/tests

test-browser: $(VENV)/installed-dev  ## Try the server's page in Chromium, which has to be installed
	$(BIN)/python -m pytest -m browser $(TESTS)

neighbours: $(NEIGHBOURS)/installed  ## Make the environment of test-neighbours

test-neighbours: $(NEIGHBOURS)/installed  ## Try the adapters in LangChain, LlamaIndex, Haystack and PyTerrier
	HAYSTACK_TELEMETRY_ENABLED=False PT_TEST_TRANSFORMER_REPORTS=0 $(NEIGHBOURS)/bin/python -m pytest \
	  -p no:asyncio -p no:socket -p no:syrupy tests/integrations lab/tests/integrations

check: $(VENV)/installed-dev  ## Check format, lint, types and docs, then run all tests
	$(MAKE) --no-print-directory --jobs=2 check-types check-others
	$(BIN)/python -m pytest $(WORKERS) $(TESTS) lab/tests

check-types: $(VENV)/installed-dev
	$(BIN)/mypy

# One after the other, beside the types, which take as long as all of these.
check-others: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(OTHER_PLATFORM) win32 --cache-dir .mypy_cache/win32 src lab/src
	$(BIN)/mypy $(OTHER_PLATFORM) darwin --cache-dir .mypy_cache/darwin src lab/src
	$(BIN)/python docs/generate_cli.py --check
	$(BIN)/python bench/render_results.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean

faults: $(VENV)/installed-dev  ## Kill commands, or fail their files, at every file operation; takes hours
	$(BIN)/python -m tests.faults.enumerate $(FAULTS)

leaks: $(VENV)/installed-dev  ## Ask everything under a filter, 200 questions each, and look for what it hides
	$(BIN)/python -m tests.faults.leaks $(LEAKS)

mutations: $(VENV)/installed-dev  ## Put faults into a copy of the source, and run the tests that have to find them
	$(BIN)/python -m tests.faults.mutations

rot: $(VENV)/installed-dev  ## Damage every kind of file of an index in 3,000 ways, and search it
	$(BIN)/python -m tests.faults.rot $(ROT)

readers: $(VENV)/installed-dev  ## Open an index 5,000 times while another process writes to it
	$(BIN)/python -m tests.faults.readers $(READERS)

searches: $(VENV)/installed-dev  ## Ask 100,000 questions in one process, and measure the memory and files that it holds
	$(BIN)/python -m tests.faults.searches $(SEARCHES)

fuzz: $(VENV)/installed-dev  ## New generated cases for every test, then 1,000,000 for every reader; FUZZ="--seed 1" for others
	$(BIN)/python -m pytest $(WORKERS) -m hypothesis --hypothesis-profile fuzz tests lab/tests
	$(BIN)/python -m tests.faults.fuzz $(FUZZ)

release-check: $(VENV)/installed  ## Build wheel and source archive, and try the wheel in new environments
	$(BIN)/python tools/release_check.py $(if $(PYTHONS),--python $(PYTHONS))

format: $(VENV)/installed-dev  ## Put every file into the common format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed-dev  ## Write docs/cli.md from the command line itself, and docs/benchmarks.md from bench/results
	$(BIN)/python docs/generate_cli.py
	$(BIN)/python bench/render_results.py

site: $(VENV)/installed-dev  ## Write the documentation as a site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean

clean:  ## Remove what the other targets made
	if test -e $(VENV)/pyvenv.cfg && test -e $(VENV)/installed; then rm -rf $(VENV); fi
	rm -rf $(NEIGHBOURS) $(INDEX) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src lab tests bench examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); Clew needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	@echo "installing into $(VENV); the first time takes some minutes"
	@$(PIP) install -c constraints.txt -e '.[files]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/pyvenv.cfg pyproject.toml lab/pyproject.toml constraints.txt
	@echo "installing into $(VENV); the first time takes some minutes"
	@$(PIP) install -c constraints.txt -e '.[docs,encoders,eval,files,graphs,llm,multilingual,otel,server,train,watch,dev]' -e ./lab
	@touch $@ $(VENV)/installed

# Only the neighbours are installed there: all else is that of $(VENV). pyterrier-rag without what it brings, which is
# another torch; its parts that are tried need the packages after it.
$(NEIGHBOURS)/installed: $(VENV)/installed-dev
	@echo "installing into $(NEIGHBOURS); the first time takes a minute"
	@rm -rf $(NEIGHBOURS)
	@$(BIN)/python -m venv $(NEIGHBOURS)
	@$(BIN)/python -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
	  > "$$($(NEIGHBOURS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/development.pth"
	@$(NEIGHBOURS)/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt \
	  haystack-ai langchain-core langchain-tests llama-index-core python-terrier
	@$(NEIGHBOURS)/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt --no-deps \
	  pyterrier-rag pyterrier-adaptive pyterrier-alpha pyterrier-dr absl-py fschat markdown2 nh3 npids rouge_score shortuuid
	@touch $@
