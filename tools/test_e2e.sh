#!/usr/bin/env bash
# End-to-end tests. Each folder and file of tests/e2e is a piece of work with servers of its own, as are the two files of
# shards. Most of them wait, so six run side by side on two cores. The longest begin first.
# (pytest-xdist 3.8 does not keep groups together under pytest 9.2, so its --dist loadgroup is no way.)
set -euo pipefail
cd "$(dirname "$0")/.."
export BIN="${BIN:-.venv/bin}"
longest=(fleet attack boards kubernetes shards/test_victoria.py test_invalid_input.py test_models.py test_exercise.py
  test_traces.py stage test_on_call.py lint shards/test_tiers.py delivery test_overflow.py test_drill.py)

pieces() {
  printf 'tests/e2e/%s\n' "${longest[@]}"
  find tests/e2e tests/e2e/shards -mindepth 1 -maxdepth 1 \( -type d -not -name '__*' -o -name 'test_*.py' \) | sort |
    grep -vxF -f <(printf 'tests/e2e/%s\n' shards "${longest[@]}")
}

# What a piece printed appears when it ends, whole. Code 5: none of its tests is an end-to-end test.
piece() {
  local printed code=0 began=$SECONDS cpu
  printed="$(mktemp)"
  "$BIN/pytest" -m "e2e and not container" "$1" >"$printed" 2>&1 || code=$?
  # What the shell's children used, user and system.
  times >"$printed.cpu"
  cpu="$(tail -n 1 "$printed.cpu")"
  (
    flock 9
    echo "=== $1: $((SECONDS - began)) s, CPU $cpu ==="
    cat "$printed"
  ) 9<"$0"
  rm -f "$printed" "$printed.cpu"
  [ "$code" = 0 ] || [ "$code" = 5 ]
}
export -f piece

pieces | xargs -n 1 -P 6 bash -c 'piece "$1"' "$PWD/tools/test_e2e.sh"
