#!/usr/bin/env bash
# Runs rdapq bench over a link with a real round-trip time, which supports TCP
# Fast Open, and prints the counts of the link.
#
#   bench/modes.sh [--modes reuse,no-reuse,fast-open] [-n 6] [-j 1] [--runs 3] [--report FILE]
#
# It takes the flags of rdapq bench. README.md lists the requirements.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=prepare.sh
. "$(dirname "$0")/prepare.sh"

[[ " $* " == *" --modes"* ]] ||
	set -- --modes reuse,no-reuse,resume,fast-open,no-reuse+fast-open,no-reuse+tls1.2,resume+tls1.2 "$@"
prepare nginx
# Do not use the user's directories. The names are dom0.example and so on.
"$bin/netlab" -rtt 90ms -stats "$work/link" -server "nginx -e $lab/error.log -c $lab/nginx.conf" -ready tcp:443 -- \
	env HOME="$work" XDG_STATE_HOME="$work" XDG_CACHE_HOME="$work" XDG_CONFIG_HOME="$work" \
	"$bin/rdapq" bench -q -s https://rdap.example/ --ca "$lab/ca.pem" -j 1 -n 6 --runs 3 "$@" dom{0..5}.example
printf '\nThe link counted: '
cat "$work/link"
