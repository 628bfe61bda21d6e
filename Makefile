# One name for each thing one does with this repository. `make` alone lists them.

# Where this file is, which `make -f` does not change into. Paths with spaces are fine.
ROOT := $(shell cd "$$(dirname "$(strip $(MAKEFILE_LIST))")" && pwd)
# The project that `make run` brings up. Not taken from the environment, where the name is common.
PROJECT := $(CURDIR)

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(if $(filter /%,$(firstword $(TARGET_DIR))),,$(ROOT)/)$(TARGET_DIR)/release/cmux
# PREFIX=/usr/local installs to /usr/local/bin.
CARGO_BIN := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin
BIN_DIR := $(if $(PREFIX),$(PREFIX)/bin,$(CARGO_BIN))

.DEFAULT_GOAL := help
.PHONY: help run test e2e fuzz soak bench install uninstall build

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-11s%s\n", $$1, $$2 }' "$(ROOT)/Makefile"

# On a terminal it stays until Ctrl-C, and all that it started goes on.
run: build ## build cmux, bring up the project in this directory (or PROJECT=…) and watch it
	@cd "$(PROJECT)" && "$(BINARY)" up
	@command -v cmux >/dev/null || \
	echo "cmux is $(BINARY) as long as \`make install\` has not put it on your PATH"
	@[ ! -t 1 ] || exec "$(BINARY)" status -f

test: ## run the whole gate, as CI does
	@cd "$(ROOT)" && scripts/prepare test && scripts/agents claude >/dev/null && cargo --locked xtask check

# Claude Code's part of it is in `make test`, too.
e2e: ## run the real agent CLIs against a scripted model: fetches those that are missing
	@cd "$(ROOT)" && scripts/prepare test && scripts/agents all >/dev/null && cargo --locked xtask e2e

# How many cases schemathesis makes of each route, and from which number it draws them.
CASES ?= 1000
SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))

fuzz: ## try the API with many more requests than the tests do (CASES=…, SEED=… to repeat a run)
	@cd "$(ROOT)" && scripts/prepare test && CMUX_FUZZ_CASES="$(CASES)" CMUX_FUZZ_SEED="$(SEED)" \
	cargo test --locked -p cmux --test schema -- --nocapture --test-threads=1 _finds_

# In how many schedules the delivery of mail is tried, and in how many with the real store.
SCHEDULES ?= 1000000
STORE_SCHEDULES ?= 20000

# How many messages are sent for real, and how often the daemon is killed meanwhile.
MESSAGES ?= 10000
KILLS ?= 1000

soak: ## try the delivery of mail in many more schedules and under many more kills (SCHEDULES=…, STORE_SCHEDULES=…, MESSAGES=…, KILLS=…)
	@cd "$(ROOT)" && CMUX_SCHEDULES="$(SCHEDULES)" cargo test --locked --release -p cmux-core --test mail
	@cd "$(ROOT)" && CMUX_DOORS="$(SCHEDULES)" cargo test --locked --release -p cmux-core --lib delivery::post
	@cd "$(ROOT)" && CMUX_STORE_SCHEDULES="$(STORE_SCHEDULES)" \
	cargo test --locked --release -p cmux-daemon --test mail schedules::
	@cd "$(ROOT)" && scripts/prepare test && CMUX_STORM_MESSAGES="$(MESSAGES)" CMUX_STORM_KILLS="$(KILLS)" \
	cargo test --locked -p cmux --test mail -- --nocapture --test-threads=1 storm::
	@cd "$(ROOT)" && CMUX_BODIES=10000 CMUX_TRIALS=1000 CMUX_MESSAGES=500 \
	cargo test --locked -p cmux --test typing -- --test-threads=1

bench: build ## measure what cmux costs, beside a baseline in the same run
	@cd "$(ROOT)" && cargo bench --locked -p cmux-daemon --bench append
	@cd "$(ROOT)" && CMUX_PROGRAM="$(BINARY)" cargo bench --locked -p cmux-daemon --bench fanout
	@cd "$(ROOT)" && CMUX_PROGRAM="$(BINARY)" cargo bench --locked -p cmux-daemon --bench life
	@cd "$(ROOT)" && CMUX_PROGRAM="$(BINARY)" cargo bench --locked -p cmux-daemon --bench hook
	@cd "$(ROOT)" && CMUX_PROGRAM="$(BINARY)" cargo bench --locked -p cmux-daemon --bench keep
	@cd "$(ROOT)" && CMUX_PROGRAM="$(BINARY)" cargo bench --locked -p cmux-daemon --bench mail

# Renamed into place: agents' hooks run the installed file at any moment.
install: build ## build cmux and install it to ~/.cargo/bin (or PREFIX=…, to its bin)
	@mkdir -p "$(BIN_DIR)"
	@install -m 755 "$(BINARY)" "$(BIN_DIR)/.cmux.new"
	@mv -f "$(BIN_DIR)/.cmux.new" "$(BIN_DIR)/cmux"
	@echo "installed $(BIN_DIR)/cmux"
	@case ":$$PATH:" in *":$(BIN_DIR):"*) ;; \
	*) echo "warning: $(BIN_DIR) is not on your PATH; add it to run cmux by its name" >&2 ;; esac

uninstall: ## remove what install put there
	@if [ -e "$(BIN_DIR)/cmux" ]; then rm -f "$(BIN_DIR)/cmux" && echo "removed $(BIN_DIR)/cmux"; \
	else echo "nothing to remove: there is no $(BIN_DIR)/cmux"; fi

build:
	@cd "$(ROOT)" && scripts/prepare run && cargo build --release --locked -p cmux
