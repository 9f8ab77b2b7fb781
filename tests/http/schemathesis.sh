#!/usr/bin/env bash
# Asks the real server what its own OpenAPI document allows and what it forbids: no 5xx, no answer that the document does not have.
# Builds nothing: it takes the debug binary that the tests left (CCFLEET_BIN names another one).
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSION=4.32.5
SEED=20261122
# Seconds for the whole run; what is not asked by then is asked by nobody.
WITHIN=${SCHEMATHESIS_WITHIN:-240}
BIN=$(realpath -m "${CCFLEET_BIN:-target/debug/ccfleet}")
TOOLS=${CCFLEET_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ccfleet}/schemathesis-$VERSION

[ -x "$BIN" ] || { echo "no $BIN: build it first (cargo build), or name one with CCFLEET_BIN" >&2; exit 2; }
if [ ! -x "$TOOLS/bin/schemathesis" ]; then
  python3 -m venv "$TOOLS"
  "$TOOLS/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION"
fi

place=$(mktemp -d)
running=()
finish() {
  for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${running[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$place"
}
trap finish EXIT
# What the tool leaves beside it goes with the rest.
cd "$place"

# Every task that is asked for ends soon, and there is room for all of them: 503 would be an honest answer, but is none to look for.
export CCFLEET__MODELS__PLANNER__PROVIDER=scripted CCFLEET__MODELS__PLANNER__SCRIPT=todo
export CCFLEET__TASKS__MAX_LIVE=20000 CCFLEET__TASKS__MAX_SLEEPING=20000
export RUST_LOG=${RUST_LOG:-error}
"$BIN" serve --bind 127.0.0.1:0 --data "$place/data" >"$place/serve.log" 2>&1 &
running+=($!)
address=""
for _ in $(seq 300); do
  address=$(sed -n 's/.*listens on http:\/\/\([0-9.:]*\).*/\1/p' "$place/serve.log" | head -1)
  [ -n "$address" ] && break
  kill -0 "${running[0]}" 2>/dev/null || { cat "$place/serve.log" >&2; exit 1; }
  sleep 0.1
done
[ -n "$address" ] || { echo "the server does not listen:" >&2; cat "$place/serve.log" >&2; exit 1; }
"$BIN" sim --server "ws://$address/ws" --count 1 --dir "$place/computers" >"$place/sim.log" 2>&1 &
running+=($!)
for _ in $(seq 300); do
  grep -q "is connected" "$place/sim.log" && break
  sleep 0.1
done

# Left out, each for its reason:
# - /api/v1/events never ends; tests/suite reads it.
# - positive_data_acceptance: what a cron line, a tool's arguments or a kind's keys may say together is no JSON Schema; such requests
#   get 400 or 422 with the field, as documented.
# - use_after_free, ensure_resource_availability: tasks are not deleted, and a kind that comes with the program comes back.
# - ignored_auth, missing_required_header: on loopback nobody needs a token.
status=0
timeout --signal=INT "$WITHIN" "$TOOLS/bin/schemathesis" run "http://$address/openapi.json" \
  --header "Authorization: Bearer $(cat "$place/data/operator.key")" \
  --exclude-path /api/v1/events \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance \
  --phases examples,coverage,fuzzing --max-examples "${SCHEMATHESIS_EXAMPLES:-20}" --generation-database none \
  --seed "$SEED" --request-timeout 20 --continue-on-failure --suppress-health-check all --warnings off --no-color || status=$?
kill -0 "${running[0]}" 2>/dev/null || { echo "the server is gone:" >&2; tail -50 "$place/serve.log" >&2; exit 1; }
if [ "$status" -ne 0 ]; then
  echo "what the server said:" >&2
  tail -20 "$place/serve.log" >&2
fi
exit "$status"
