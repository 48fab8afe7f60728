#!/usr/bin/env bash
# End-to-end tests. Each folder and file of tests/e2e is a piece of work with servers of its own; most of them wait, so
# six run side by side on two cores. The longest begin first.
# Those that compare times within seconds, what two watchers see or what causes a slowdown, come last, three at a time.
# (pytest-xdist 3.8 does not keep groups together under pytest 9.2, so its --dist loadgroup is no way.)
set -euo pipefail
cd "$(dirname "$0")/.."
export BIN="${BIN:-.venv/bin}"
longest=(fleet attack boards kubernetes test_models.py delivery test_on_call.py stage test_traces.py
  lint test_drill.py test_overflow.py test_traced_queue.py)

by_time=(tests/e2e/shards/test_*.py tests/e2e/test_exercise.py tests/e2e/test_invalid_input.py)

pieces() {
  printf 'tests/e2e/%s\n' "${longest[@]}"
  find tests/e2e -mindepth 1 -maxdepth 1 \( -type d -not -name '__*' -o -name 'test_*.py' \) | sort |
    grep -vxF -f <(printf 'tests/e2e/%s\n' "${longest[@]}"; printf '%s\n' "${by_time[@]}" | cut -d / -f 1-3)
}

# What a piece printed appears when it ends, whole. Code 5: none of its tests is an end-to-end test.
piece() {
  local printed code=0 began=$SECONDS cpu
  printed="$(mktemp)"
  tools/pytest_twice.sh "$BIN/pytest" -m "e2e and not container" "$1" >"$printed" 2>&1 || code=$?
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

side_by_side() {
  xargs -n 1 -P "$1" bash -c 'piece "$1"' "$PWD/tools/test_e2e.sh"
}

code=0
pieces | side_by_side 6 || code=1
printf '%s\n' "${by_time[@]}" | side_by_side 3 || code=1
exit "$code"
