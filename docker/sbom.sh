#!/usr/bin/env bash
# The bill of materials of the program that is shipped, as CycloneDX 1.5 in JSON: every crate that is in it or builds it, and the
# libraries of the page. Fails if one is missing.
#
#   docker/sbom.sh FILE [TARGET]      TARGET: the processor and system it is built for, by default this machine's
set -euo pipefail
out="$(realpath -m "${1:?the file to write}")"
cd "$(dirname "$0")/.."
target="${2:-$(rustc -vV | sed -n 's/^host: //p')}"

version=0.5.9
tools="$PWD/target/tools/cyclonedx-$version"
# Unoptimised: it is built faster than it could ever make up for.
[ -x "$tools/bin/cargo-cyclonedx" ] ||
  cargo install --quiet --locked --debug --root "$tools" --target-dir target/tools/build "cargo-cyclonedx@$version"

# It writes beside Cargo.toml, under a name of its own choosing.
"$tools/bin/cargo-cyclonedx" cyclonedx --quiet --format json --describe binaries --spec-version 1.5 --target "$target"
mv ccfleet_bin.cdx.json "$out"
cargo tree --locked --edges normal,build --target "$target" --prefix none --format '{p}' |
  python3 docker/sbom.py "$out" src/dashboard/page/vendor/README.md
