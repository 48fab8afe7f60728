#!/usr/bin/env bash
# End-to-end tests, in two processes that take about as long; what the second printed comes last. Most tests of the
# second wait, those of the first work. (pytest-xdist 3.8 does not keep groups together under pytest 9.2, so its
# --dist loadgroup is no way.)
set -euo pipefail
cd "$(dirname "$0")/.."
pytest=(tools/pytest_twice.sh "${BIN:-.venv/bin}/pytest")
second=(tests/e2e/fleet tests/e2e/history tests/e2e/delivery tests/e2e/shards tests/e2e/attack)
printed="$(mktemp)"
"${pytest[@]}" -m "e2e and not container" "${second[@]}" >"$printed" 2>&1 &
beside=$!
trap 'pkill -P "$beside" || true; rm -f "$printed"' EXIT

failed=0
"${pytest[@]}" -m "e2e and not container" "${second[@]/#/--ignore=}" || failed=$?
wait "$beside" || failed=$?
cat "$printed"
exit "$failed"
