# Programs of Debian packages, for scripts to source. What is not installed on this machine is only unpacked here, so that
# no service of it can ever start.

unpacked=${CARGO_TARGET_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/target}/packages

# program NAME: where it is.
program() {
  local name=$1 place
  for place in "$(command -v "$name" || true)" "/usr/sbin/$name" "$unpacked/usr/sbin/$name"; do
    if [ -n "$place" ] && [ -x "$place" ]; then
      echo "$place"
      return
    fi
  done
  echo "$name is not here: \`make test\` brings it" >&2
  return 1
}

# libraries: the folders of those that came with unpacked programs, for LD_LIBRARY_PATH.
libraries() {
  echo "$unpacked"/usr/lib/*-linux-gnu* | tr ' ' ':'
}

# bring NAME…: programs that are called as their packages are, where they are missing.
bring() {
  local missing=() name root=() packages folder
  for name in "$@"; do
    program "$name" >/dev/null 2>&1 || missing+=("$name")
  done
  if [ ${#missing[@]} = 0 ]; then
    return
  fi
  echo "bringing ${missing[*]}" >&2
  if [ "$(id -u)" != 0 ]; then
    root=(sudo --non-interactive)
  fi
  "${root[@]}" apt-get update --quiet >&2 || true
  # With what they need that is not installed.
  packages=$(apt-get install --simulate --no-install-recommends "${missing[@]}" | awk '$1 == "Inst" { print $2 }')
  mkdir -p "$unpacked"
  folder=$(mktemp -d "$unpacked/download.XXXXXX")
  # shellcheck disable=SC2086
  (cd "$folder" && apt-get download --quiet -o APT::Sandbox::User=root $packages >&2)
  for name in "$folder"/*.deb; do
    dpkg-deb --extract "$name" "$unpacked"
  done
  rm -rf "$folder"
  for name in "${missing[@]}"; do
    program "$name" >/dev/null
  done
}
