#!/usr/bin/env bash
# What each way of connecting saves, over a link with a real round-trip time:
# the time that lookups take, and the connections and handshakes that the link
# counted, beside what rdapq says of itself. Fails where the two differ.
#
#   bench/handshakes.sh [--lookups 3/1,100/100,1000/100] [--runs 5] [--modes tls13,h2]
#                       [--rtt 90ms] [--loss PERCENT] [--markdown]
#
# --lookups has how many, and how many at once. README.md says what is needed
# and what the columns mean; --help lists the modes.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

prepare nginx curl
"$bin/handshakes" --bin "$bin" --dir "$lab" "$@"
