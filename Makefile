SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock'

lock: ## Resolve the dependencies again into the hash-pinned lock files
	$(LOCK) pyproject.toml -o requirements.txt
	$(LOCK) pyproject.toml --extra dev -c requirements.txt -o requirements-dev.txt
