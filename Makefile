# What a newcomer needs: `make demo` and `make test`. `make help` lists the rest.

CARGO ?= cargo

.PHONY: help build demo test lint fmt doc bench ci clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the program (debug)
	$(CARGO) build --locked --bins

demo: build ## See the whole story: practice portal, no key, no network; STORE=postgres for a throw-away server
ifeq ($(STORE),postgres)
	./scripts/postgres.sh install
	./scripts/postgres.sh with sh -c './target/debug/gapless demo --store "$$GAPLESS_TEST_POSTGRES"'
else
	./target/debug/gapless demo
endif

test: ## Install what the tests need, then run every test
	./scripts/tools.sh nextest strace
	./scripts/postgres.sh install tests
	./scripts/limiters.sh install
	$(CARGO) nextest run --locked
	$(CARGO) test --locked --doc

lint: ## Clippy, warnings are errors
	$(CARGO) clippy --locked --all-targets -- -D warnings

fmt: ## Check the formatting
	$(CARGO) fmt --all --check

doc: ## Build the documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items

bench: ## Compare speed and memory side by side; takes some minutes
	$(CARGO) bench --locked

ci: ## What CI runs
	bash .ci/run

clean: ## Remove everything built
	$(CARGO) clean
	rm -f gapless-demo.db gapless-demo.db-wal gapless-demo.db-shm gapless-demo.db.lock
