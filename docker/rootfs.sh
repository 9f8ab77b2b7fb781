#!/bin/sh
# Lays out the image's root file system: the program, and the few files beside it that a process looks for. The Dockerfile runs it,
# and so does tests/image/run.sh, so that what is tested is what is shipped.
#
#   docker/rootfs.sh BINARY FOLDER      writes FOLDER/root (the root) and FOLDER/data (what /data begins as)
set -eu
binary="$1"
out="$2"

# Nothing beside the binary is there to be loaded.
if readelf --program-headers "$binary" | grep -q INTERP; then
  echo "$binary is not static: build it with RUSTFLAGS='-C target-feature=+crt-static' and --target" >&2
  exit 1
fi

mkdir -p "$out/root/usr/bin" "$out/root/etc/ssl/certs" "$out/data"
install -m 0755 "$binary" "$out/root/usr/bin/ccfleet"
# Model servers with https:// are checked against these.
install -m 0644 /etc/ssl/certs/ca-certificates.crt "$out/root/etc/ssl/certs/ca-certificates.crt"
# A static C library has these two ways to look up a name, and must not be told of others.
echo 'hosts: files dns' > "$out/root/etc/nsswitch.conf"
echo 'ccfleet:x:10001:10001:ccfleet:/data:/usr/bin/ccfleet' > "$out/root/etc/passwd"
echo 'ccfleet:x:10001:' > "$out/root/etc/group"
