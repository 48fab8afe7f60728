#!/usr/bin/env bash
# All tests, each once. Those with servers wait for more than half of the time: the others run beside them, at the lowest
# priority, and are printed when they have ended. Those of the rules come first, because they compute and do not look at a
# clock: when the turn of the rest comes, the servers are nearly done.
# With CONTAINERS=1 those of containers, too: after the other servers, a Docker engine beside them is too much.
set -euo pipefail
cd "$(dirname "$0")/.."
export BIN="${BIN:-.venv/bin}"

without_servers() {
  # Days of virtual time take half a minute alone; at the lowest priority one took more than five.
  local code=0 pytest=("$BIN/pytest" -m "not e2e and not container" --dist worksteal --timeout 900)
  "${pytest[@]}" --numprocesses auto tests/rules || code=1
  # The rest waits now and then.
  "${pytest[@]}" --numprocesses "$(($(nproc) + 2))" --ignore=tests/rules || code=1
  return "$code"
}
export -f without_servers

printed="$(mktemp)"
tools/aside.sh bash -c without_servers >"$printed" 2>&1 &
others=$!
# They are a session of their own, called like its first process.
trap 'pkill -TERM -s "$others" || true; rm -f "$printed"' EXIT

code=0
tools/test_e2e.sh || code=1
if [ -n "${CONTAINERS:-}" ]; then
  "$BIN/pytest" -m container tests/e2e || code=1
fi
echo "=== the tests without servers ==="
tail -n +1 --pid="$others" -f "$printed"
wait "$others" || code=1
exit "$code"
