#!/usr/bin/env bash
# Measures the savings of each mode of connecting, over a link with a real
# round-trip time: the duration of lookups, and the connections and handshakes
# counted on the link. Fails if rdapq's own counts differ from these.
#
#   bench/handshakes.sh [--lookups 3/1,100/100,1000/100] [--runs 5] [--modes tls13,h2]
#                       [--rtt 90ms] [--loss PERCENT] [--markdown]
#
# --lookups sets the number of lookups, and how many run at a time. README.md
# lists the requirements and explains the columns; --help lists the modes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

prepare nginx curl
"$bin/handshakes" --bin "$bin" --dir "$lab" "$@"
