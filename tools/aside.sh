#!/usr/bin/env bash
# A command beside others, at the lowest priority. `nice` alone is not enough: Linux first gives every session the same
# share of the cores (sched_autogroup), and a server that a test starts has a session of its own. Two busy servers got
# half of two cores beside four loops at nice 19, and all of them beside four loops like this.
# usage: tools/aside.sh COMMAND...
set -euo pipefail
exec setsid --wait bash -c 'echo 19 2>/dev/null >/proc/self/autogroup || true; exec nice -n 19 "$@"' aside "$@"
