# Every command of this repository, for people and for CI. `make help` lists them.

# The one place that names the versions of the tools. They come from the Go module proxy and
# are built into bin/tools, a folder for each version, so raising one here is enough.
GOFUMPT_VERSION := v0.12.0
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
CYCLONEDX_VERSION := v1.10.0

TOOLS := $(CURDIR)/bin/tools
GOFUMPT := $(TOOLS)/gofumpt-$(GOFUMPT_VERSION)/gofumpt
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
GOVULNCHECK := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck
CYCLONEDX := $(TOOLS)/cyclonedx-gomod-$(CYCLONEDX_VERSION)/cyclonedx-gomod

# What the binary calls itself, and what it was built of. Left empty outside a git clone; the binary then falls back on
# what the Go toolchain recorded in it.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
export VERSION COMMIT
STAMP := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# How long `make fuzz` gives each target.
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help build release dev test test-next deploy-test race integration faults soak fuzz bench bench-peer bench-peer-quick fmt fmt-check lint vuln up down clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build bin/rlmm
	go build -trimpath -ldflags "$(STAMP)" -o bin/rlmm ./cmd/rlmm

# For each platform: the binary and its bill of materials.
RELEASES := linux-amd64 linux-arm64
release: $(RELEASES:%=dist/rlmm-%) $(RELEASES:%=dist/rlmm-%.cdx.json) ## build the released binaries, their checksums and SBOMs into dist
	cd dist && sha256sum $(RELEASES:%=rlmm-%) $(RELEASES:%=rlmm-%.cdx.json) >SHA256SUMS

.PHONY: $(RELEASES:%=dist/rlmm-%)
$(RELEASES:%=dist/rlmm-%): dist/rlmm-linux-%:
	CGO_ENABLED=0 GOOS=linux GOARCH=$* go build -trimpath -ldflags "-s -w $(STAMP)" -o $@ ./cmd/rlmm

# Of the sources for that platform: they know the licences, which a binary doesn't.
dist/rlmm-linux-%.cdx.json: dist/rlmm-linux-% $(CYCLONEDX)
	CGO_ENABLED=0 GOOS=linux GOARCH=$* $(CYCLONEDX) app -json -std -licenses -main cmd/rlmm -output $@ .

dev: ## run everything in one process, on an embedded broker
	go run ./cmd/rlmm dev

test: ## run the hermetic tests
	go test ./...

# The build that the tests of upgrades take for a next release: see docs/formats.md.
test-next: ## run the tests of rows and stores in a build that knows a row version more
	go test -tags rlmm_nextrow ./codec ./internal/store ./processor

# In a module of its own, for Helm's library is large. Needs systemd-analyze.
deploy-test: ## run the tests of the Helm chart, the alerts, the dashboard and the systemd units
	cd deploy/test && go test ./...

race: ## run them with the race detector (needs a C compiler)
	go test -race ./...

# On the broker that KAFKA_BOOTSTRAP_SERVERS names; else on the compose cluster when it is up;
# else on a broker that the tests start themselves (needs Java 17 and Maven).
integration: export KAFKA_BOOTSTRAP_SERVERS ?= $(shell docker compose port kafka 9092 2>/dev/null | grep -E ':[1-9][0-9]*$$')
integration: ## run the tests against a real Apache Kafka
	go test -tags integration -count=1 -timeout 30m $$(go list -tags integration ./integration/... | grep -v /integration/faults)

# Each test makes trouble for RLMM_FAULT_SECONDS (30), so all of them take about an hour. FAULTS
# is a pattern of those to run. Those of disks mount a tmpfs: run them as root.
FAULTS ?= .
faults: ## break the fleet and its views on a real Apache Kafka, one way after the other
	go test -tags integration -count=1 -timeout 120m -run '$(FAULTS)' ./integration/faults

# A fleet and its views under every fault at random, on a broker that the test starts; what
# came out goes to soak.json. RLMM_SEED makes the same faults again.
soak: export RLMM_FAULT_SECONDS ?= 600
soak: export RLMM_SOAK_REPORT ?= $(CURDIR)/soak.json
soak: ## break everything at random for ten minutes, on a real Apache Kafka
	go test -tags integration -count=1 -timeout 60m -v -run '^TestSoak$$' ./integration/faults

# Go fuzzes one target of one package at a time, so look them up and take them in turn.
fuzz: ## run each fuzz target for FUZZTIME
	@grep -rEo '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | sed 's,/[^/]*:func , ,' | sort | \
	while read -r package target; do \
		echo "$$package $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

bench: ## run the benchmarks of the parts
	go test -run '^$$' -bench . -benchmem ./...

# Kafka's manager and ours take turns on a broker that the benchmark starts (needs Java 17 and
# Maven). BENCH_FLAGS: -pairs N, -profiles FOLDER. See docs/performance.md.
BENCH_PEER = go test -tags integration -run '^$$' -bench '^BenchmarkPeer$(BENCH_PART)' -benchtime 1x -timeout 3h ./integration/bench -args -json $(CURDIR)/bench.json

bench-peer: ## measure next to Kafka's own manager, into bench.json
	$(BENCH_PEER) $(BENCH_FLAGS)

bench-peer-quick: ## the same in two minutes, with less work: an impression
	$(BENCH_PEER) -quick -pairs 1 $(BENCH_FLAGS)

fmt: $(GOFUMPT) ## format the code
	$(GOFUMPT) -l -w .

fmt-check: $(GOFUMPT) ## fail when `make fmt` would change a file
	@unformatted=$$($(GOFUMPT) -l .) && test -z "$$unformatted" || \
		{ printf 'not formatted, run make fmt:\n%s\n' "$$unformatted"; exit 1; }

lint: $(GOLANGCI_LINT) ## run the linters
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...
	cd deploy/test && $(GOLANGCI_LINT) run --allow-parallel-runners ./...

vuln: $(GOVULNCHECK) ## look for known vulnerabilities in what the code calls
	$(GOVULNCHECK) ./...

up: ## start Kafka, two processors and a server in containers, and wait until they are healthy
	docker compose up --build --detach --wait

down: ## stop them; their volumes stay
	docker compose down

clean: ## remove what was built
	rm -rf bin dist

$(GOFUMPT):
	GOBIN=$(@D) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(GOLANGCI_LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(GOVULNCHECK):
	GOBIN=$(@D) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

$(CYCLONEDX):
	GOBIN=$(@D) go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)
