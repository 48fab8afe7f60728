#!/usr/bin/env bash
# Make the environment: a virtual environment with the package and its extras, and the stack's programs in .tools.
set -euo pipefail
: "${PYTHON:=python3}" "${VENV:=.venv}"

"$PYTHON" - <<'PY'
import sys
if sys.version_info < (3, 10):
    sys.exit(f"tritonobs needs Python 3.10 or newer, {sys.executable} is {sys.version.split()[0]}; use make PYTHON=python3.11")
PY

if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
  install="apt-get install -y --no-install-recommends python3-venv"
  if [ "$(id -u)" = 0 ]; then
    apt-get update -q && $install
  elif sudo -n true 2>/dev/null; then
    sudo apt-get update -q && sudo $install
  else
    echo "Python's venv module is missing; install it with: sudo $install" >&2
    exit 1
  fi
fi

[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
pip() { "$VENV/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
# The pip of Debian 12 needs a quarter of an hour to find versions that fit together, a newer one seconds.
pip install --upgrade 'pip>=24.2'
echo "installing tritonobs with a Triton server into $VENV (about 400 MB)"
pip install -e '.[dev]'
"$VENV/bin/tritonobs" tools

# What only tests and checks use may fail to come: they say what they had to do without.
"$VENV/bin/python" - <<'PY' || echo "VictoriaMetrics could not be brought; tests go without a second rule engine" >&2
from tritonobs.stack import binaries

if any(binaries.look(program) is None for program in binaries.SECOND_ENGINE.files):
    binaries.install([binaries.SECOND_ENGINE], print)
PY

# The linters of the rules, where Go can build them.
bin=$(realpath -m "${TRITONOBS_TOOLS:-.tools}")/bin
if command -v go >/dev/null && ! [ -x "$bin/jsonnet-lint" ]; then
  GOBIN="$bin" go install \
    github.com/google/go-jsonnet/cmd/jsonnetfmt@v0.22.0 github.com/google/go-jsonnet/cmd/jsonnet-lint@v0.22.0 \
    || echo "jsonnetfmt and jsonnet-lint could not be built; make check goes without them" >&2
fi
# Not by `go install`: that asks for the list of all versions, which not every module proxy hands out.
if command -v go >/dev/null && ! [ -x "$bin/pint" ]; then
  pint=$(cd / && GOFLAGS=-mod=mod go mod download -json github.com/cloudflare/pint@v0.60.0 | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') \
    && go build -C "$pint" -o "$bin/pint" ./cmd/pint \
    || echo "pint could not be built; make check goes without it" >&2
fi
