#!/usr/bin/env bash
# Installs the peers' pinned packages outside of the tree, once: benches/peers/install.sh [FOLDER]
# Prints the Python that has them; benches take it as `--peer PYTHON`, or as CCFLEET_PEERS.
set -euo pipefail
cd "$(dirname "$0")"
folder="${1:-${TMPDIR:-/tmp}/ccfleet-peers}"
wanted="$(cat fastapi/requirements.txt langgraph/requirements.txt)"
if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
  python3 -m venv "$folder" >&2
  "$folder/bin/pip" install --quiet --disable-pip-version-check \
    -r fastapi/requirements.txt -r langgraph/requirements.txt >&2
  printf '%s\n' "$wanted" > "$folder/wanted"
fi
echo "$folder/bin/python"
