#!/usr/bin/env bash
# Lint the mixin and what it makes of the example fleet: promtool, jsonnetfmt, jsonnet-lint and pint, no check
# switched off.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BIN:=.venv/bin}" "${TRITONOBS_TOOLS:=.tools}"
PATH="$TRITONOBS_TOOLS/bin:$PATH:$TRITONOBS_TOOLS/usr/bin"
if command -v go >/dev/null; then PATH="$PATH:$(go env GOPATH)/bin"; fi

missing() { echo "skipped: no $1; get it with: $2" >&2; }

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$BIN/python" - "$made" <<'PY'
import sys
from pathlib import Path

from tritonobs.plan.build import build_plan
from tritonobs.render.artifact import write_artifacts
from tritonobs.render.rules import render_rules
from tritonobs.spec.load import load_fleet

fleet = Path("examples/fleet.yaml")
write_artifacts(render_rules(build_plan(load_fleet(fleet), fleet.parent)), Path(sys.argv[1]))
PY
rules=("$made"/prometheus/rules/*.rules.yml)
mapfile -t jsonnet < <(find rules -name '*.libsonnet' -o -name '*.jsonnet' | sort)

if command -v promtool >/dev/null; then
  promtool check rules "${rules[@]}"
else
  missing promtool "tritonobs tools"
fi
if command -v jsonnetfmt >/dev/null; then
  jsonnetfmt --test -n 2 --max-blank-lines 2 --string-style s --comment-style s "${jsonnet[@]}"
else
  missing jsonnetfmt "go install github.com/google/go-jsonnet/cmd/jsonnetfmt@latest (or: apt-get install jsonnet)"
fi
if command -v jsonnet-lint >/dev/null; then
  jsonnet-lint "${jsonnet[@]}"
else
  missing jsonnet-lint "go install github.com/google/go-jsonnet/cmd/jsonnet-lint@latest"
fi
if command -v pint >/dev/null; then
  pint --no-color --offline --log-level warn lint --min-severity warning --fail-on warning "${rules[@]}"
else
  missing pint "make setup, with Go"
fi
