# Targets that take too long for every commit. All other commands are plain go.
GO ?= go
FUZZTIME ?= 2m

.PHONY: long fuzz stress quotas bench internet hosts sizes hostile crosstalk docs

long: fuzz stress quotas bench internet hosts sizes hostile crosstalk docs

# Runs the fuzz targets one by one, because go test runs only one.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
		done; \
	done

stress:
	$(GO) test -race -count=20 -timeout 60m ./pool

# Simulates servers with quotas of all kinds, with 200 seeds.
quotas:
	RDAPQ_QUOTAS=200 $(GO) test -count=1 -timeout 60m -run '^Test(Quotas|IsolatedRefusals)$$' ./internal/gate

bench:
	$(GO) test -run '^$$' -bench . ./bootstrap ./client ./pool

# Queries stand-ins for all hosts of IANA's file of domains, in a network namespace.
internet:
	$(GO) run ./bench/internet

# Runs a batch over 20,000 hosts with 256 and 1,024 descriptors.
hosts:
	RDAPQ_TEST_HOSTS=20000 $(GO) test -v -count=1 -timeout 30m -run TestManyHosts ./cmd/rdapq

# Runs tests of the pool and of the memory budget in full size.
sizes:
	RDAPQ_ORIGINS=10000 $(GO) test -v -count=1 -timeout 30m -run 'TestManyOrigins$$' ./pool
	RDAPQ_GIANTS=100000 $(GO) test -v -count=1 -timeout 30m -run 'TestBodiesGiants$$' ./client

# Tries all hostile servers, 16 at a time, and all combinations of hostile text, large
# responses, secrets and flags. Prints the slowest and the largest run.
hostile:
	RDAPQ_HOSTILE=1 $(GO) test -v -count=1 -p 1 -parallel 16 -run '^Test(Hostile|MemoryOfGiants|PastedURLSecrets)' ./pool ./client ./cmd/rdapq

# Runs 38,000 lookups over each protocol, with cancellations and resets, and 1,000 over
# each of several connections whose responses are out of step.
crosstalk:
	RDAPQ_CROSSTALK=1 $(GO) test -v -count=1 -timeout 30m -run 'TestResponses(MatchQueries|OutOfStep)' ./client

# Runs the commands of the documents that take long, with reduced parameters.
docs:
	RDAPQ_DOCS=1 $(GO) test -v -count=1 -timeout 30m -run TestDocsOtherCommands ./cmd/rdapq
