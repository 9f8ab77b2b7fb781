#!/usr/bin/env bash
# MCP with an independent client: the official Python SDK against the debug binary and simulated computers.
# Every check is in client.py, once for each of the two lifecycles of the protocol.
set -euo pipefail
cd "$(dirname "$0")/../.."

# The version is pinned: what is tested is this server, not the newest client.
package="mcp==2.3.0"
binary="${CCFLEET_BINARY:-target/debug/ccfleet}"
# As the tests build it: with the same features of every dependency.
[ -x "$binary" ] || cargo test --quiet --no-run --test tidy
environment="target/python/mcp-client"
if [ "$(cat "$environment/complete" 2>/dev/null)" != "$package" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "$package"
  printf '%s' "$package" > "$environment/complete"
fi

work="$(mktemp -d)"
started=()
# Only what was started here, by its id.
cleanup() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT

export CCFLEET__MODELS__PLANNER__PROVIDER=scripted
export CCFLEET__MODELS__PLANNER__SCRIPT="$PWD/tests/mcp/scenario.toml"
# The rule is 20 seconds; nobody wants to wait for it in a test.
export CCFLEET__MCP__HANDLE_AFTER_MS=2000
"$binary" serve --bind 127.0.0.1:0 --data "$work/data" --log warn > "$work/server.log" 2>&1 &
started+=($!)
address=""
for _ in $(seq 200); do
  address="$(sed -n 's/.*listens on http:\/\///p' "$work/server.log")"
  [ -n "$address" ] && break
  kill -0 "${started[0]}" 2>/dev/null || break
  sleep 0.1
done
if [ -z "$address" ]; then cat "$work/server.log"; echo "the server did not start"; exit 1; fi

"$binary" sim --server "ws://$address/ws" --dir "$work/sim" --count 1 > "$work/sim.log" 2>&1 &
started+=($!)

timeout 120 "$environment/bin/python" tests/mcp/client.py "$address" "$binary" "$work" || {
  echo "-- server:"; tail -40 "$work/server.log"
  echo "-- computers:"; tail -20 "$work/sim.log"
  exit 1
}
