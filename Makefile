# The two commands of a fresh machine are `make demo` and `make test`; both need only Python 3.11 or newer and make.
# The environment is .venv; PYTHON=… chooses the interpreter it is made with.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install

# what a process has compiled of Python is kept, whatever the environment says: tests start hundreds of processes, each in half the time then
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test nightly torch tidy golden proofs replay site coverage clean

help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/base  ## check, build and run the matrix product on this machine's CPU
	$(BIN)/tinygpu check specs/matmul.tgpu
	$(BIN)/tinygpu run specs/matmul.tgpu M=1024 N=1024 K=1024

test: .venv/dev  ## the tests; of those that run the whole library a sample
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal

nightly: .venv/dev  ## every test, every certificate with both solvers and the second checker, every seeded defect
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal --all
	$(BIN)/tinygpu replay proofs
	$(BIN)/python -m tests.seeded

torch: .venv-torch/ready  ## what torch is told of launchers, with the torch of the index, in an environment of its own
	.venv-torch/bin/python -m pytest -q tests/torch

tidy: .venv/dev  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: .venv/dev  ## write the golden files again; read the difference before committing it
	$(BIN)/python -m pytest -q --update-golden

proofs: .venv/dev  ## prove every shipped machine again and write its certificate; read the difference before committing it
	find proofs -name '*.json' -delete
	$(BIN)/tinygpu check "specs/*.tgpu" "specs/tuned/*.tgpu" --certify proofs

replay: .venv/dev  ## prove every certificate of proofs/ again from its program, with z3 and cvc5, and with the independent checker
	$(BIN)/tinygpu replay proofs $(ONLY)

site: .venv/docs  ## the pages as a site, in build/site: it works offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

COVERED := tests/category tests/laws tests/obligations tests/proof tests/mutants tests/wrong

coverage: .venv/dev  ## branch coverage of what is stated and proved; below 95 % it fails
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --cov --cov-report=term-missing:skip-covered \
	  $(COVERED) tinygpu/category tinygpu/obligations tinygpu/proof

clean:  ## remove the environment and everything made
	rm -rf .venv .venv-torch build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

.venv/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found; say PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/base: .venv/python pyproject.toml
	$(PIP) -e .
	@touch $@

.venv/docs: .venv/base
	$(PIP) -e '.[docs]'
	@touch $@

.venv/dev: .venv/base
	$(PIP) -e '.[dev,cuda]'
	@touch $@

.venv-torch/ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found; say PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip --disable-pip-version-check --quiet install -e '.[torch]' pytest hypothesis
	@touch $@
