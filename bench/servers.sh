#!/usr/bin/env bash
# Measures a thousand lookups at forty servers, over a link with a real round-trip
# time: rdapq compared with openrdap's command and curl, with the connections and
# handshakes counted on the link.
#
#   bench/servers.sh [--lookups 1000] [--servers 40] [--rtt 90ms] [--markdown]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

prepare nginx curl xargs
"$bin/servers" --bin "$bin" --dir "$lab" "$@"
