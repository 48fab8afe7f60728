#!/usr/bin/env bash
# All tests. Those with servers wait for more than half of the time: the others run beside them, at the lowest priority,
# and are printed when they have ended. The few that failed run once more at the end, when nothing else does.
# With CONTAINERS=1 those of containers, too: after the other servers, a Docker engine beside them is too much.
set -euo pipefail
cd "$(dirname "$0")/.."
export BIN="${BIN:-.venv/bin}"

LATER="$(mktemp -d)"
export LATER
printed="$LATER/printed"
# Days of virtual time take half a minute alone; at the lowest priority one took more than five.
tools/aside.sh tools/pytest_twice.sh "$BIN/pytest" -m "not e2e and not container" --numprocesses auto --dist worksteal \
  --timeout 900 >"$printed" 2>&1 &
others=$!
trap 'pkill -TERM -P "$others" || true; rm -rf "$LATER"' EXIT

code=0
tools/test_e2e.sh || code=1
if [ -n "${CONTAINERS:-}" ]; then
  tools/pytest_twice.sh "$BIN/pytest" -m container tests/e2e || code=1
fi
echo "=== the tests without servers ==="
tail -n +1 --pid="$others" -f "$printed"
wait "$others" || code=1
for again in "$LATER"/*.sh; do
  if [ -e "$again" ]; then
    echo "=== once more and alone ==="
    bash "$again" || code=1
  fi
done
exit "$code"
