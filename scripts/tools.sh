#!/usr/bin/env bash
# Installs the tools named as arguments where they are missing: nextest, deny, strace.
set -euo pipefail

install() {
  local tool=$1
  if [ "$tool" = strace ]; then
    install_strace
    return
  fi
  if cargo "$tool" --version >/dev/null 2>&1; then
    return
  fi
  echo "installing cargo-$tool"
  cargo install --locked "cargo-$tool"
}

# The tests that need it name themselves as left out where it cannot be had, and fail under CI.
install_strace() {
  if command -v strace >/dev/null; then
    return
  fi
  local root=()
  if [ "$(id -u)" != 0 ]; then
    root=(sudo --non-interactive)
  fi
  echo "installing strace"
  "${root[@]}" apt-get update --quiet || true
  if ! "${root[@]}" apt-get install --yes strace; then
    echo "strace is not to be had here" >&2
  fi
}

for tool in "$@"; do
  install "$tool"
done
