# One command checks everything: make test.

GO ?= go

.PHONY: test lint

test: lint
	$(GO) test -race -shuffle=on ./...

lint:
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo "gofmt -w . would change the files above" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
