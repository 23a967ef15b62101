#!/usr/bin/env bash
# What one HTTP/2 connection suffers from a link that loses packets, against
# the few that rdapq opens by itself for a deep queue.
#
#   bench/loss.sh [options of handshakes.sh]
set -euo pipefail
exec "$(dirname "$0")/handshakes.sh" --loss 0.5 --lookups 1000/100 --modes h2-one,h2,h3-one,h3 "$@"
