#!/usr/bin/env bash
# Installs the tools named as arguments where they are missing: nextest, deny.
set -euo pipefail

install() {
  local tool=$1
  if cargo "$tool" --version >/dev/null 2>&1; then
    return
  fi
  echo "installing cargo-$tool"
  cargo install --locked "cargo-$tool"
}

for tool in "$@"; do
  install "$tool"
done
