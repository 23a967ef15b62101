module github.com/rdapq/rdapq/examples/transfer

go 1.26.0

require github.com/rdapq/rdapq v0.0.0

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/icholy/digest v1.2.0 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/quic-go/quic-go v0.65.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	software.sslmate.com/src/go-pkcs12 v0.7.4 // indirect
)

replace github.com/rdapq/rdapq => ../..
