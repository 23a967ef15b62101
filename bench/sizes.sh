#!/usr/bin/env bash
# Measures responses of 4 KiB to 1 MiB over HTTP/1.1 and HTTP/2, 240 at a time,
# without delay: lookups per second and the CPU time of both sides. nginx has one
# core, rdapq the other.
#
#   bench/sizes.sh [--at-once 240] [--runs 3] [--bytes 536870912]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

prepare nginx taskset
[ "$(nproc)" -ge 2 ] || skip "it takes two cores"
# In a separate namespace, loopback uses cubic; see setCubic in the lab.
mkdir "$work/out"
"$bin/netlab" -rtt 0 -timeout 60m -- "$bin/sizes" --bin "$bin" --dir "$lab" --out "$work/out" "$@"
