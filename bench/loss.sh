#!/usr/bin/env bash
# Compares one HTTP/2 connection on a link that loses packets with the few
# connections that rdapq opens by default for a deep queue.
#
#   bench/loss.sh [options of handshakes.sh]
set -euo pipefail
exec "$(dirname "$0")/handshakes.sh" --loss 0.5 --lookups 1000/100 --modes h2-one,h2,h3-one,h3 "$@"
