# Two commands do everything: make demo, make test.

GO ?= go
BIN := bin/bailiff bin/wordcount

.PHONY: build demo test lint bench clean tools

build: tools
	@$(GO) build -o bin/ ./cmd/bailiff ./handlers/wordcount

demo: build
	@$(GO) run ./examples/demo

test: build lint
	@for tool in bash jq python3 node; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || { echo "the tests run real handlers and need:$$missing (apt-get install bash jq python3 nodejs)" >&2; exit 1; }
	$(GO) test -race -shuffle=on ./...
	@# All of the random programs; the race detector watches a fifth of them.
	$(GO) test -run TestEngineAnswersAsTheReference ./queue/sqlite

lint: tools
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo "gofmt -w . would change the files above" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff

bench: build
	$(GO) test -run '^$$' -bench . -benchtime 2s ./queue/... ./childproto/... ./supervisor/...
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 20m ./cmd/bailiff

# A state folder whose lock a service holds is left alone: without it a second
# service could start beside the first.
clean:
	rm -rf bin
	@for dir in state examples/demo/state; do \
	if [ ! -e $$dir/lock ] || flock -n $$dir/lock true; then rm -rf $$dir; \
	else echo "$$dir is left alone: a service that runs holds its lock" >&2; kept=1; fi; done; \
	[ -n "$$kept" ] || rm -f examples/demo/demo.db*

# What the two commands cannot install themselves, named in one line.
tools:
	@command -v $(GO) >/dev/null || { echo "bailiff needs Go 1.26 or newer: https://go.dev/dl" >&2; exit 1; }
	@command -v "$$($(GO) env CC)" >/dev/null || { echo "bailiff needs a C compiler for SQLite: apt-get install gcc libc6-dev" >&2; exit 1; }
