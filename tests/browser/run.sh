#!/usr/bin/env bash
# Drives the dashboard in Debian's Chromium against the debug binary. What it needs is fetched into target/browser.
#   run.sh            the checks of drive.mjs
#   run.sh figures    the figures of docs/dashboard.md
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"

skip() { echo "SKIPPED: browser tests: $1"; exit 0; }

chromium="${CHROMIUM:-/usr/bin/chromium}"
if [ ! -x "$chromium" ]; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 || true
  fi
  [ -x "$chromium" ] || skip "no Chromium, and it cannot be installed here"
fi
command -v node >/dev/null && command -v npm >/dev/null || skip "no Node.js with npm"
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20')" = true ] || skip "Node.js is older than 20"

modules="${CARGO_TARGET_DIR:-$root/target}/browser"
mkdir -p "$modules"
cp "$here/package.json" "$here/package-lock.json" "$modules/"
if ! cmp -s "$here/package-lock.json" "$modules/node_modules/.of" 2>/dev/null; then
  (cd "$modules" && npm ci --silent --no-audit --no-fund --ignore-scripts) || skip "npm cannot fetch playwright-core and axe-core"
  cp "$here/package-lock.json" "$modules/node_modules/.of"
fi

program="${CARGO_TARGET_DIR:-$root/target}/debug/ccfleet"
[ -x "$program" ] || (cd "$root" && cargo build --quiet)
export CHROMIUM="$chromium" CCFLEET_BROWSER_MODULES="$modules" CCFLEET_PROGRAM="${CCFLEET_PROGRAM:-$program}"
case "${1:-drive}" in
  drive) exec timeout 600 node "$here/drive.mjs" ;;
  figures) exec timeout 1800 node "$here/figures.mjs" ;;
  *) echo "run.sh [drive|figures]"; exit 2 ;;
esac
