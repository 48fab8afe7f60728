#!/usr/bin/env bash
# pytest, and the few tests that failed once more, alone: what fails twice fails. docs/decisions.md says why.
# With LATER, a folder, the second run is left there as a script, for a time when nothing else runs; with ONCE there
# is none, as bench/end_to_end.py asks.
# usage: tools/pytest_twice.sh PYTEST ARGUMENTS...
set -uo pipefail
pytest="$1"
shift
most=3
cache="$(mktemp -d ${LATER:+-p "$LATER"})"
trap 'rm -rf "$cache"' EXIT

"$pytest" -o cache_dir="$cache" "$@"
code=$?
failed="$(grep -c true "$cache/v/cache/lastfailed" 2>/dev/null)"
if [ "$code" != 1 ] || [ "$failed" -gt "$most" ] || [ -n "${ONCE:-}" ]; then
  exit "$code"
fi
again=("$pytest" -o cache_dir="$cache" "$@" --last-failed --last-failed-no-failures none --numprocesses 0)
if [ -n "${LATER:-}" ]; then
  trap - EXIT
  echo "=== unsteady or broken: $failed of the tests above get a second run when nothing else runs ==="
  printf '%q ' "${again[@]}" >"$cache.sh"
  exit 0
fi
echo "=== unsteady or broken: $failed of the tests above, once more and alone ==="
"${again[@]}"
