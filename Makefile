# Every target makes .venv when it is missing or older than the lock: with uv where it is installed, with venv + pip where not.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: compare test live-test lint format bench scoreboard lock readme clean

compare: .venv/ready ## the main job: the whole catalogue through our three lanes, plain and streamed
	$(BIN)/diptych run --both --lanes raw,lc,lc.sturdy

test: .venv/ready ## the tests, offline, one process for each core
	$(BIN)/python -m pytest -n auto --dist loadfile

live-test: .venv/ready ## both lanes against a real model on this machine, where there is one; takes minutes
	$(BIN)/python -m pytest tests/live -rs

lint: .venv/ready ## types, lint, format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/ready ## ratios and call counts; takes minutes
	$(BIN)/python -m bench

scoreboard: .venv/ready ## the judge on trial: faults caught, missed, false alarms
	$(BIN)/python -m tests.scoreboard

readme: .venv/ready ## write the generated parts of README.md and docs/ anew
	$(BIN)/python -m tests.readme_parts
	$(BIN)/python -m tests.docs_parts

.venv/ready: requirements.lock pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) .venv && \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(PYTHON) -m venv .venv && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

lock: ## pin every dependency anew, with hashes and without addresses (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --upgrade \
	  --extra prebuilt --extra postgres --extra openai-agents --extra pydantic-ai --group dev pyproject.toml --output-file requirements.lock

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
