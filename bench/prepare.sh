# shellcheck shell=bash
# Sourced by the other scripts: checks whether the lab can run here, builds rdapq
# and the lab's programs into $bin and writes the files of its servers to $lab.
# Both are removed at the end.

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# GO is the go command.
GO=${GO:-go}

# skip prints why nothing is measured. That is not a failure.
skip() {
	echo "skipped: $*"
	exit 0
}

# prepare PROGRAM... creates $bin and $lab, and skips if a program is missing.
prepare() {
	[ "$(uname -s)" = Linux ] || skip "the lab needs Linux"
	[ "$(id -u)" = 0 ] || skip "the lab needs root, for network namespaces"
	local program
	for program in ip "$@"; do
		command -v "$program" >/dev/null || skip "$program is not installed (Debian: iproute2, nginx-light, curl, nghttp2-client)"
	done
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	bin=$work/bin lab=$work/lab
	mkdir -p "$bin" "$lab"
	"$GO" -C "$bench/.." build -o "$bin/rdapq" ./cmd/rdapq
	"$GO" -C "$bench/lab" build -o "$bin/" ./... github.com/openrdap/rdap/cmd/rdap
	"$bin/netlab" -rtt 0 -- true 2>"$work/why" || skip "network namespaces are not allowed here: $(cat "$work/why")"
	"$bin/setup" -dir "$lab"
}
