# The workshop. Every target installs what it needs and skips what is already there; `make help` lists them.

PYTHON ?= $(or $(shell sh scripts/pythons.sh first python3 /usr/bin/python3),python3)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
UV := $(BIN)/uv
# Compiled once here, so that a start is quick even where Python may not write its cache.
INSTALL := $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python
LOCKED := $(INSTALL) --require-hashes
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate $(LOCK_FLAGS)
WEB_SOURCES := $(shell find web -name node_modules -prune -o -type f -print) \
	$(shell find src/reedbed/web -name '*.po' -print)
# Each worker starts its own servers; tests wait a good part of their time, so a few more than cores pay.
PYTEST_WORKERS ?= 3

# Never a Python from elsewhere, and no warning where the cache lies on another disk.
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run install test test-unit test-e2e test-newest test-unit-store test-deps test-long check format texts audit bench lock clean

help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1: \2/p' Makefile

run: install ## install everything and serve on http://127.0.0.1:8080
	@$(BIN)/python -m compileall -q src/reedbed
	$(BIN)/reedbed serve

# Where Python may not write its cache, an uncompiled source tree costs a second at every start.
install: $(STAMPS)/package ## install, so that .venv/bin/reedbed exists
	@$(BIN)/python -m compileall -q src/reedbed

test: test-deps $(STAMPS)/test ## all tests, with the servers and the browser they need
	$(BIN)/python -m pytest tests --ignore=tests/e2e -n $(PYTEST_WORKERS) --dist loadfile
	$(BIN)/python -m pytest tests/e2e -n $(PYTEST_WORKERS) --dist loadfile

test-unit: $(STAMPS)/test ## the tests that need no server
	$(BIN)/python -m pytest tests/unit

test-e2e: test-deps $(STAMPS)/test ## the walks in Chromium
	$(BIN)/python -m pytest tests/e2e -n $(PYTEST_WORKERS) --dist loadfile

# The second virtual environment stays apart, so that the first keeps the Python it was made with.
test-newest: test-deps ## the unit and store tests on the newest Python of this machine, where it is another one
	@newest=$$(sh scripts/pythons.sh newest); version='import sys; print(sys.version_info[:3])'; \
	if [ -z "$$newest" ] || { [ -x $(BIN)/python ] && \
		[ "$$($$newest -c "$$version")" = "$$($(BIN)/python -c "$$version")" ]; }; then \
		echo "There is no newer Python here than the one that the tests run on."; \
	else \
		echo "The unit and store tests on $$newest"; \
		$(MAKE) --no-print-directory VENV=.venv-newest PYTHON="$$newest" test-unit-store; \
	fi

test-unit-store: $(STAMPS)/test
	$(BIN)/python -m pytest tests/unit tests/store -n $(PYTEST_WORKERS) --dist loadfile

test-deps: ## PostgreSQL, Redis, Chromium, nginx, Dovecot and newsboat, where they are missing
	@sh scripts/test-deps.sh

test-long: export TEST_EFFORT := 20
test-long: export PYTEST_TIMEOUT := 12000
test-long: test ## the tests with faults, fuzzing, load and soak repeated for longer

check: $(STAMPS)/test ## format, lint, types and import contracts
	@$(BIN)/python scripts/check.py

format: $(STAMPS)/test ## put the code into its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

texts: $(STAMPS)/test ## bring the catalogues of other languages up to date and list what is missing
	@$(BIN)/python scripts/texts.py

audit: $(STAMPS)/package ## ask the registries about known holes in dependencies
	@$(BIN)/python scripts/audit.py

bench: test-deps $(STAMPS)/bench ## the benchmarks; `make bench ONLY="parse fetch"` for some of them
	@$(BIN)/python -m compileall -q src/reedbed
	$(BIN)/python -m bench $(ONLY)

lock: $(STAMPS)/uv ## compile the requirement files; LOCK_FLAGS=--upgrade moves to the newest versions
	$(LOCK) pyproject.toml -o requirements/run.txt
	$(LOCK) pyproject.toml --extra otel --extra sentry -c requirements/run.txt -o requirements/extras.txt
	$(LOCK) pyproject.toml --group dev -c requirements/run.txt -o requirements/test.txt
	$(LOCK) pyproject.toml --group bench -c requirements/test.txt -o requirements/bench.txt
	$(LOCK) --group audit -o requirements/audit.txt
	$(LOCK) --group build -o requirements/build.txt
	$(LOCK) --group uv -o requirements/uv.txt
	@sh scripts/npm.sh $(UV) install --ignore-scripts --package-lock-only

clean: ## remove what was installed and built
	rm -rf $(VENV) .venv-newest web/node_modules src/reedbed/web/assets/dist

$(STAMPS)/uv: requirements/uv.txt
	@sh scripts/venv.sh "$(PYTHON)" $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/run: requirements/run.txt $(STAMPS)/uv
	$(LOCKED) -r requirements/run.txt
	@touch $@

# An editable install builds the front end once; it is done again when one of its sources changes.
$(STAMPS)/package: pyproject.toml requirements/build.txt tools/hatch_build.py $(WEB_SOURCES) $(STAMPS)/run
	$(INSTALL) --no-deps --build-constraints requirements/build.txt --reinstall-package reedbed --editable .
	@touch $@

$(STAMPS)/test: requirements/test.txt $(STAMPS)/package
	$(LOCKED) -r requirements/test.txt
	@touch $@

# The benchmarks use the servers and clients of the tests.
$(STAMPS)/bench: requirements/bench.txt $(STAMPS)/test
	$(LOCKED) -r requirements/bench.txt
	@touch $@
