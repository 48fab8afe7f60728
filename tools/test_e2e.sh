#!/usr/bin/env bash
# End-to-end tests. Those that mostly wait run in a process of their own beside those that work; what it printed comes
# last. (pytest-xdist 3.8 does not keep groups together under pytest 9.2, so its --dist loadgroup is no way.)
set -euo pipefail
cd "$(dirname "$0")/.."
pytest=(tools/pytest_twice.sh "${BIN:-.venv/bin}/pytest")
waiting=(tests/e2e/fleet tests/e2e/history tests/e2e/delivery tests/e2e/shards)
printed="$(mktemp)"
"${pytest[@]}" -m "e2e and not container" "${waiting[@]}" >"$printed" 2>&1 &
beside=$!
trap 'pkill -P "$beside" || true; rm -f "$printed"' EXIT

failed=0
"${pytest[@]}" -m "e2e and not container" "${waiting[@]/#/--ignore=}" || failed=$?
wait "$beside" || failed=$?
cat "$printed"
exit "$failed"
