#!/usr/bin/env bash
# What some tests need beyond `make setup`: a Docker engine, docker-compose and debootstrap for docker-compose.yml,
# Chromium for the boards, zsh and fish for completion, from the distribution's packages; the inspector and the
# conformance tests of the Model Context Protocol by npm. Never fails: without root, without apt, without npm or without
# the packages it says what is missing; tests that need it are skipped with the same words.
set -uo pipefail

protocol="${TRITONOBS_TOOLS:-$(cd "$(dirname "$0")/.." && pwd)/.tools}/mcp"
if ! [ -d "$protocol/node_modules/node" ]; then
  if command -v npm >/dev/null; then
    echo "installing the inspector of the Model Context Protocol for the tests"
    # Its conformance tests need a newer Node than distributions have.
    mkdir -p "$protocol" && timeout 300 npm install --silent --no-save --prefix "$protocol" node@22 \
      @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16 >/dev/null \
      || echo "the inspector could not be installed; its tests are skipped" >&2
  else
    echo "missing for the tests of agents: npm" >&2
  fi
fi

missing() {
  for pair in dockerd:docker.io docker:docker.io docker-compose:docker-compose debootstrap:debootstrap \
      chromium:chromium zsh:zsh fish:fish; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
  done | sort -u
}

packages=$(missing)
[ -n "$packages" ] || exit 0
hand="apt-get install -y --no-install-recommends ${packages//$'\n'/ }"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing for the tests of containers, browsers and shells; install as root: $hand" >&2
  exit 0
fi

# Debian starts a service when it is installed. The tests start their own engine and stop it; none else shall run here.
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
made=
trap 'rm -f "$log" $made' EXIT
if ! [ -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy" && made=$policy
fi
export DEBIAN_FRONTEND=noninteractive
timeout 300 apt-get update -q >/dev/null || true
# One by one: what can be had is had.
for package in $packages; do
  echo "installing $package for the tests"
  timeout 300 apt-get -o DPkg::Lock::Timeout=120 install -yq --no-install-recommends "$package" >"$log" 2>&1 \
    || { echo "$package could not be installed; its tests are skipped. The end of what apt said:"; tail -n 3 "$log"; } >&2
done
exit 0
