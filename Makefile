# What takes longer than a commit should wait for. Everything else is plain go.
GO ?= go
FUZZTIME ?= 2m

.PHONY: long fuzz stress quotas bench internet hosts sizes hostile crosstalk docs

long: fuzz stress quotas bench internet hosts sizes hostile crosstalk docs

# Each fuzz target by itself, as go test runs only one.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
		done; \
	done

stress:
	$(GO) test -race -count=20 -timeout 60m ./pool

# Servers with quotas of all kinds, simulated with 200 seeds.
quotas:
	RDAPQ_QUOTAS=200 $(GO) test -count=1 -timeout 60m -run '^Test(Quotas|IsolatedRefusals)$$' ./internal/gate

bench:
	$(GO) test -run '^$$' -bench . ./bootstrap ./client ./pool

# Stand-ins for all hosts of IANA's file of domains, in a network namespace.
internet:
	$(GO) run ./bench/internet

# A batch over 20,000 hosts with 256 and 1,024 descriptors.
hosts:
	RDAPQ_TEST_HOSTS=20000 $(GO) test -v -count=1 -timeout 30m -run TestManyHosts ./cmd/rdapq

# Tests of the pool and of the memory budget whose sizes are reduced otherwise.
sizes:
	RDAPQ_ORIGINS=10000 $(GO) test -v -count=1 -timeout 30m -run 'TestManyOrigins$$' ./pool
	RDAPQ_GIANTS=100000 $(GO) test -v -count=1 -timeout 30m -run 'TestBodiesGiants$$' ./client

# All hostile servers, 16 at a time, with the slowest and the largest run, and all
# combinations of hostile text, large responses, secrets and flags.
hostile:
	RDAPQ_HOSTILE=1 $(GO) test -v -count=1 -p 1 -parallel 16 -run '^Test(Hostile|MemoryOfGiants|PastedURLSecrets)' ./pool ./client ./cmd/rdapq

# 38,000 lookups over each protocol, with cancels and resets, and 1,000 over each of
# several connections whose responses are out of step.
crosstalk:
	RDAPQ_CROSSTALK=1 $(GO) test -v -count=1 -timeout 30m -run 'TestResponses(MatchQueries|OutOfStep)' ./client

# The commands of the documents that take long, shortened.
docs:
	RDAPQ_DOCS=1 $(GO) test -v -count=1 -timeout 30m -run TestDocsOtherCommands ./cmd/rdapq
