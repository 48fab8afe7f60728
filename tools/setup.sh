#!/usr/bin/env bash
# tools/setup.sh demo: .venv with tritonobs and a Triton server, Prometheus and Alertmanager in .tools.
# tools/setup.sh all:  what tests and checks need as well.
# tools/setup.sh release: .venv with what builds a release, and no server.
set -euo pipefail
: "${PYTHON:=python3}" "${VENV:=.venv}"
what=${1:-all}
log=$(mktemp) built=$(mktemp) linters=
trap 'rm -f "$log" "$built"; [ -z "$linters" ] || kill "$linters"' EXIT

# step TEXT COMMAND...: one line with the seconds it took; on a terminal also what happens now. Output only on failure.
step() {
  local text=$1 began=$SECONDS line room
  room=$(($(tput cols 2>/dev/null || echo 80) - ${#text} - 6))
  room=$((room > 0 ? room : 0))
  shift
  if [ -t 1 ]; then printf '  %s …' "$text"; fi
  if "$@" 2>&1 | tee "$log" | while IFS= read -r line; do
    if [ -t 1 ]; then printf '\r\033[K  %s … %.*s' "$text" "$room" "$line"; fi
  done; then
    if [ -t 1 ]; then printf '\r\033[K'; fi
    printf '  %-66s %3d s\n' "$text" $((SECONDS - began))
  else
    printf '\n%s failed; the end of its output:\n' "$text" >&2
    tail -n 15 "$log" >&2
    return 1
  fi
}
pip() { PYTHONUNBUFFERED=1 "$VENV/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }

"$PYTHON" - <<'PY'
import sys
if sys.version_info < (3, 10):
    sys.exit(f"tritonobs needs Python 3.10 or newer, {sys.executable} is {sys.version.split()[0]}; use make PYTHON=python3.11")
PY

if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
  install="apt-get install -y --no-install-recommends python3-venv"
  # Another apt may be at work, as tools/setup_tests.sh is in .ci/run.
  fetch="apt-get update -q; $install -o DPkg::Lock::Timeout=300"
  if [ "$(id -u)" = 0 ]; then
    step "python3-venv" sh -c "$fetch"
  elif sudo -n true 2>/dev/null; then
    step "python3-venv" sudo sh -c "$fetch"
  else
    echo "Python's venv module is missing; install it with: sudo $install" >&2
    exit 1
  fi
fi

# The linters of the rules, where Go can build them: the compiler works while packages are fetched.
bin=$(realpath -m "${TRITONOBS_TOOLS:-.tools}")/bin
linters_of_rules() {
  local source code=0
  [ -x "$bin/jsonnet-lint" ] || GOBIN="$bin" go install \
    github.com/google/go-jsonnet/cmd/jsonnetfmt@v0.22.0 github.com/google/go-jsonnet/cmd/jsonnet-lint@v0.22.0 || code=1
  if ! [ -x "$bin/pint" ]; then
    # Not by `go install`: that asks for the list of all versions, which not every module proxy hands out.
    source=$(cd / && GOFLAGS=-mod=mod go mod download -json github.com/cloudflare/pint@v0.60.0 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    go build -C "$source" -o "$bin/pint" ./cmd/pint || code=1
  fi
  return "$code"
}
if [ "$what" = all ] && command -v go >/dev/null; then
  linters_of_rules >"$built" 2>&1 &
  linters=$!
fi

shown="${TRITONOBS_TOOLS:-.tools}"
echo "Setting up $VENV and ${shown#"$PWD"/}, once"
[ -x "$VENV/bin/python" ] || step "virtual environment" "$PYTHON" -m venv "$VENV"
# The pip of Debian 12 needs a quarter of an hour to find versions that fit together, a newer one seconds.
step "a current pip" pip install --upgrade 'pip>=24.2'
if [ "$what" = release ]; then
  step "tritonobs and what builds a release (100 MB of packages)" pip install -e '.[release]'
  exit 0
fi
step "tritonobs and a Triton server (450 MB of packages)" pip install --no-compile -e '.[stack]'
step "Prometheus and Alertmanager" "$VENV/bin/tritonobs" tools
[ "$what" = all ] || exit 0

step "linters and test tools" pip install --no-compile -e '.[dev]'

# What only tests and checks use may be unavailable: they say what they had to do without.
second_engine() {
  "$VENV/bin/python" -c '
from tritonobs.extensions.lab.stack.packages import SECOND_ENGINE, install, look

if any(look(program) is None for program in SECOND_ENGINE.files):
    install([SECOND_ENGINE], print)
'
}
step "VictoriaMetrics, a second rule engine" second_engine || echo "the tests run without a second rule engine" >&2

if [ -n "$linters" ]; then
  step "linters of the rules, in Go" tail -n +1 --pid="$linters" -f "$built" || true
  code=0
  wait "$linters" || code=$?
  linters=
  [ "$code" = 0 ] || { tail -n 15 "$built" && echo "make check runs without the linters of the rules that are missing"; } >&2
fi
