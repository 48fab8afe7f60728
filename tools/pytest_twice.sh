#!/usr/bin/env bash
# pytest, and the few tests that failed once more, alone: what fails twice fails. docs/decisions.md says why.
# usage: tools/pytest_twice.sh PYTEST ARGUMENTS...
set -uo pipefail
pytest="$1"
shift
most=3
cache="$(mktemp -d)"
trap 'rm -rf "$cache"' EXIT

"$pytest" -o cache_dir="$cache" "$@"
code=$?
failed="$(grep -c true "$cache/v/cache/lastfailed" 2>/dev/null)"
if [ "$code" != 1 ] || [ "$failed" -gt "$most" ]; then
  exit "$code"
fi
echo "=== unsteady or broken: $failed of the tests above, once more and alone ==="
"$pytest" -o cache_dir="$cache" "$@" --last-failed --last-failed-no-failures none --numprocesses 0
