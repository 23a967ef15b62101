package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func inUTF16(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// A farConn is a connection that looks to the Pool like a connection to another host.
type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }

func dialFar(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

// A body that cannot be decoded yields one clear error that names the encoding. The error is
// the same with any transport, and shows none of the bytes.
func TestEncodings(t *testing.T) {
	t.Parallel() // the test mostly waits
	const object = `{"objectClassName":"domain","ldhName":"alpha.example","handle":"H-1"}`
	zip := zipped(t, strings.Repeat(" ", 2000)+object)
	noise := "\x8b\x02\x80\x01\x02\xfe\x03\x9c\x88\x04\xff\x05 garbage \x07\x90\x91"
	latin := `{"objectClassName":"domain","ldhName":"alpha.example","handle":"B` + "\xfc" + `cher"}`
	tests := []struct {
		name, coding, contentType, body string
		want                            string // part of the message; empty if the body can be decoded
		warning                         string
	}{
		{"gzip", "gzip", "", zip, "", ""},
		{"x-gzip", "x-gzip", "", zip, "", ""},
		{"capitals", "GZIP", "", zip, "", ""},
		{"identity", "identity", "", object, "", ""},
		{"gzip over plain text", "gzip", "", object, "its Content-Encoding is gzip, but the body is not valid gzip", ""},
		{"x-gzip over plain text", "x-gzip", "", object, "its Content-Encoding is gzip, but the body is not valid gzip", ""},
		{"corrupt gzip", "gzip", "", zip[:12] + "\x00\xff\x00\xff" + zip[16:], "its Content-Encoding is gzip, but the body is not valid gzip", ""},
		{"wrong checksum", "gzip", "", zip[:len(zip)-8] + "12345678", "its Content-Encoding is gzip, but the body is not valid gzip", ""},
		{"truncated gzip", "gzip", "", zip[:len(zip)-12], "the gzip data is truncated", ""},
		{"truncated header", "gzip", "", zip[:5], "the gzip data is truncated", ""},
		{"gzip without a label", "", "", zip, "it is gzip data without a Content-Encoding", ""},
		{"gzip twice", "gzip", "", zipped(t, zip), "it is gzip data without a Content-Encoding", ""},
		{"br", "br", "", noise, "its Content-Encoding is br, which was not requested", ""},
		{"zstd", "zstd", "", noise, "its Content-Encoding is zstd, which was not requested", ""},
		{"deflate", "deflate", "", noise, "its Content-Encoding is deflate, which was not requested", ""},
		{"two", "br, gzip", "", noise, "its Content-Encoding is br, gzip, which was not requested", ""},
		{"br without a label", "", "", noise, "binary data", ""},
		{"zstd without a label", "", "", "\x28\xb5\x2f\xfd" + noise, "it is zstd data", ""},
		{"UTF-16", "", "application/rdap+json; charset=utf-16", inUTF16(object, binary.LittleEndian), "it is in UTF-16, but JSON must be UTF-8", ""},
		{"UTF-16 with a mark", "", "", "\xfe\xff" + inUTF16(object, binary.BigEndian), "it is in UTF-16, but JSON must be UTF-8", ""},
		{"Latin-1", "", "application/rdap+json; charset=ISO-8859-1", latin, "", `the response uses charset "ISO-8859-1"`},
		{"wrong label", "", "application/rdap+json; charset=ISO-8859-1", object, "", ""},
	}
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		var now int
		s := rdaptest.Start(t, rdaptest.Config{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tt := tests[now]
			contentType := tt.contentType
			if contentType == "" {
				contentType = "application/rdap+json"
			}
			w.Header().Set("Content-Type", contentType)
			if tt.coding != "" {
				w.Header().Set("Content-Encoding", tt.coding)
			}
			if strings.HasPrefix(r.URL.Path, "/domain/refused") {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(tt.body)) // the client may have stopped reading
		})})
		ca := s.CA()
		standard := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: protocols == rdaptest.H2Only}
		t.Cleanup(standard.CloseIdleConnections)
		far, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, Dial: dialFar, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { far.Close() })
		for how, a := range map[string]asker{
			"pool":     newAsker(t, ca, client.Config{}),
			"pool far": newAsker(t, ca, client.Config{Transport: far}), // this Pool requests gzip
			"net/http": newAsker(t, ca, client.Config{Transport: standard}),
		} {
			for i, tt := range tests {
				if now = i; how == "net/http" && strings.HasPrefix(tt.name, "truncated") {
					continue // the transport does not report whether the data or the connection ended
				}
				for _, name := range []string{"alpha.example", "refused.example"} {
					q := mustParse(t, "", name)
					q.Server = s.URL()
					r := a.lookup(t, q)
					where := how + ", " + tt.name + ", " + name
					var message string
					for _, w := range r.Warnings {
						message += w.Message + "; "
					}
					if client.ErrorOf(r) != nil {
						message += client.ErrorOf(r).Message
					}
					if strings.ContainsAny(message, "\ufffd\x00") || strings.Contains(message, "garbage") {
						t.Errorf("%s: %q shows bytes of the body", where, message)
					}
					switch {
					case name == "refused.example":
						if r.Verdict != client.VerdictNotFound || tt.want != "" && tt.want != "binary data" && !strings.Contains(message, tt.want) {
							t.Errorf("%s: %s, %q, want %q", where, r.Verdict, message, tt.want)
						}
					case tt.want == "":
						if r.Verdict != client.VerdictRegistered || !strings.Contains(message, tt.warning) || tt.warning == "" && message != "" {
							t.Errorf("%s: %s, %q", where, r.Verdict, message)
						}
					case r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeNotRDAP || !strings.Contains(client.ErrorOf(r).Message, tt.want) || strings.Contains(client.ErrorOf(r).Message, "flate:"):
						t.Errorf("%s: %s, %v, want %q", where, r.Verdict, client.ErrorOf(r), tt.want)
					}
				}
			}
		}
	}
}

// The error of a lookup wraps a *pool.EncodingError.
func TestEncodingErrorIsWrapped(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("\x0b\x00"))
	})})
	q := mustParse(t, "", "alpha.example")
	q.Server = s.URL()
	r := newAsker(t, s.CA(), client.Config{}).lookup(t, q)
	if e, ok := errors.AsType[*pool.EncodingError](client.ErrorOf(r)); !ok || e.Encoding != "br" {
		t.Errorf("%v", client.ErrorOf(r))
	}
}
