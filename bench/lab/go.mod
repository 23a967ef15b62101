module github.com/rdapq/rdapq/bench/lab

go 1.26.0

require (
	github.com/quic-go/quic-go v0.65.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/alecthomas/kingpin/v2 v2.4.0 // indirect
	github.com/alecthomas/units v0.0.0-20240927000941-0f3dac36c52b // indirect
	github.com/mitchellh/go-homedir v1.1.0 // indirect
	github.com/openrdap/rdap v0.10.2 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/xhit/go-str2duration/v2 v2.1.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

tool github.com/openrdap/rdap/cmd/rdap
