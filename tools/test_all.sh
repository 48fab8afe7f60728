#!/usr/bin/env bash
# All tests. Those with servers wait for more than half of the time: the others run beside them, at the lowest priority,
# and are printed when they have ended.
set -euo pipefail
cd "$(dirname "$0")/.."
export BIN="${BIN:-.venv/bin}"

printed="$(mktemp)"
nice -n 19 tools/pytest_twice.sh "$BIN/pytest" -m "not e2e and not container" --numprocesses auto >"$printed" 2>&1 &
others=$!
trap 'pkill -TERM -P "$others" || true; rm -f "$printed"' EXIT

code=0
tools/test_e2e.sh || code=1
echo "=== the tests without servers ==="
tail -n +1 --pid="$others" -f "$printed"
wait "$others" || code=1
exit "$code"
