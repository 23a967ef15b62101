#!/usr/bin/env bash
# Measures lookups per second and CPU time per lookup without delay: rdapq from a
# file to NDJSON, compared with curl and h2load on the same names. nginx has one
# core, the client another.
#
#   bench/throughput.sh [--lookups 50000] [--runs 3] [--markdown]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

prepare nginx curl h2load taskset
[ "$(nproc)" -ge 2 ] || skip "it takes two cores"
# In memory, so that the disk is not measured.
out=$work/out
mkdir "$out"
mount -t tmpfs -o size=2g tmpfs "$out" || skip "no tmpfs can be mounted"
trap 'umount "$out"; rm -rf "$work"' EXIT
# In a separate namespace, loopback uses cubic; see setCubic in the lab.
"$bin/netlab" -rtt 0 -timeout 30m -- "$bin/throughput" --bin "$bin" --dir "$lab" --out "$out" "$@"
