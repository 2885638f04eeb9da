# Every target makes its own environment with nothing but python3; repeat runs find it ready.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test lint types bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    install, then import a chat log, ask it questions, restart, remember"
	@echo "make test    install, then run all tests"
	@echo "make lint    style, spelling, types and import rules"
	@echo "make bench   write path, speed, embedding; CONVERSATIONS=file.json adds recall, truncation"

$(READY): pyproject.toml constraints.txt
	@echo "installing into $(VENV), which takes a minute or two ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[model,fast,demo]' --group dev
	@touch $(READY)

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	mkdir -p out
	$(BIN)/python -m benchmarks writes --json out/writes.json
	$(BIN)/python -m benchmarks speed --json out/speed.json
	$(BIN)/python -m benchmarks embedding --json out/embedding.json
	$(if $(CONVERSATIONS),$(BIN)/python -m benchmarks recall $(CONVERSATIONS) --json out/recall.json)
	$(if $(CONVERSATIONS),$(BIN)/python -m benchmarks truncation $(CONVERSATIONS) --json out/truncation.json)

clean:
	rm -rf $(VENV) out build dist
