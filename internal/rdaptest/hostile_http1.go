package rdaptest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// hostileHTTP1 returns servers that negotiate HTTP/1.1.
func hostileHTTP1() []Hostile {
	const (
		head    = "HTTP/1.1 200 OK\r\nContent-Type: application/rdap+json\r\n"
		chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
		pause   = 200 * time.Millisecond
	)
	h1 := func(name string, respond func(*HostileConn)) Hostile {
		return Hostile{Name: "HTTP/1.1: " + name, ALPN: []string{"http/1.1"}, Serve: func(c *HostileConn) {
			for {
				if _, err := http.ReadRequest(c.In); err != nil {
					return
				}
				respond(c)
				if !c.wait(0) {
					return
				}
			}
		}}
	}
	// says returns a server that sends text for each request and waits for the next
	// request.
	says := func(name, text string) Hostile { return h1(name, func(c *HostileConn) { c.text(text) }) }
	// breaksOff returns a server that sends text and closes the connection.
	breaksOff := func(name, text string) Hostile {
		return h1(name, func(c *HostileConn) { c.text(text); _ = c.Close() })
	}
	endless := func(name, text, more string) Hostile {
		return h1(name, func(c *HostileConn) {
			if c.text(text) {
				c.flood([]byte(more))
			}
		})
	}
	drips := func(name, text, more string) Hostile {
		return h1(name, func(c *HostileConn) {
			if c.text(text) {
				c.dripForever([]byte(more), pause)
			}
		})
	}
	bomb := gzipBomb(64 << 20)
	list := []Hostile{
		h1("silent", (*HostileConn).hold),
		h1("never reads again", func(c *HostileConn) { <-c.done }),
		breaksOff("closes", ""),
		h1("resets", (*HostileConn).reset),
		breaksOff("breaks off in the status line", "HTTP/1.1 20"),
		breaksOff("breaks off in a header", head+"X-Half: "),
		breaksOff("breaks off after the headers", head+"Content-Length: 100\r\n\r\n"),
		breaksOff("breaks off in the body", head+"Content-Length: 100\r\n\r\n{\"objectClassName\":"),
		breaksOff("breaks off in a chunk", chunked+"40\r\n{\"object"),
		breaksOff("breaks off between chunks", chunked+"4\r\n{\"a\"\r\n"),
		h1("resets in the body", func(c *HostileConn) {
			c.text(head + "Content-Length: 100\r\n\r\n{")
			c.reset()
		}),
		h1("drips the status line", func(c *HostileConn) { c.drip([]byte(head+"Content-Length: 0\r\n\r\n"), pause) }),
		drips("drips headers", head, "X: y\r\n"),
		drips("drips a body with a length", head+"Content-Length: 100000\r\n\r\n", " "),
		drips("drips chunks", chunked, "1\r\n \r\n"),
		drips("drips a body that ends with the connection", head+"\r\n", " "),
		drips("drips 100 Continue", "", "HTTP/1.1 100 Continue\r\n\r\n"),
		endless("an endless status line", "HTTP/1.1 200 ", "OK OK OK "),
		endless("an endless header", head+"X: ", "abcdefgh"),
		endless("endless headers", head, "X-Name: abcdefgh\r\n"),
		endless("an endless folded header", head+"X: a\r\n", " abcdefgh\r\n"),
		endless("endless 100 Continue", "", "HTTP/1.1 100 Continue\r\n\r\n"),
		endless("endless 103 Early Hints", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
		endless("endless chunks", chunked, "10\r\n{\"aaaaaaaaaaaaa\"\r\n"),
		endless("an endless chunk extension", chunked+"1;", "abcdefgh"),
		endless("endless zeros before a chunk size", chunked, "00000000"),
		endless("endless trailers", chunked+"0\r\n", "X-Name: abcdefgh\r\n"),
		endless("an endless body with a huge length", head+"Content-Length: 9223372036854775807\r\n\r\n", "{\"a\":1} "),
		endless("an endless body that ends with the connection", head+"\r\n", "{\"a\":1} "),
		endless("an endless body of an error", "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\n<p>gone \r\n"),
		endless("endless blank lines", "", "\r\n"),
		endless("endless responses", "", head+"Content-Length: 2\r\n\r\n{}"),
		says("not HTTP", "hello\r\n\r\n"),
		says("HTTP/0.9", "<html></html>\r\n"),
		says("HTTP/2.0 in the status line", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
		says("HTTP/9.9", "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
		says("a status of letters", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
		says("status 000", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n"),
		says("status 99", "HTTP/1.1 99 OK\r\nContent-Length: 0\r\n\r\n"),
		says("status 1000", "HTTP/1.1 1000 OK\r\nContent-Length: 0\r\n\r\n"),
		says("status 999", "HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n"),
		says("a negative status", "HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n"),
		h1("unrequested 101", func(c *HostileConn) {
			c.text("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			c.hold()
		}),
		says("unrequested 304", "HTTP/1.1 304 Not Modified\r\n\r\n"),
		says("204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}"),
		says("a negative length", head+"Content-Length: -1\r\n\r\n"),
		says("a non-numeric length", head+"Content-Length: many\r\n\r\n"),
		says("a length beyond 64 bits", head+"Content-Length: 99999999999999999999\r\n\r\n"),
		says("two lengths", head+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
		says("a length and chunks", head+"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n"),
		says("an unknown transfer coding", head+"Transfer-Encoding: cabbage\r\n\r\n{}"),
		says("a non-numeric chunk size", chunked+"zz\r\n{}\r\n0\r\n\r\n"),
		says("a negative chunk size", chunked+"-1\r\n{}\r\n0\r\n\r\n"),
		says("a chunk size beyond 64 bits", chunked+"fffffffffffffffff\r\n{}"),
		endless("a chunk of 2^63 bytes", chunked+"7fffffffffffffff\r\n", "{\"a\":1} "),
		says("a chunk longer than its size", chunked+"1\r\n{\"a\":1}\r\n0\r\n\r\n"),
		says("a header without a colon", head+"no colon\r\nContent-Length: 0\r\n\r\n"),
		says("a header with NUL", head+"X: \x00\r\nContent-Length: 0\r\n\r\n"),
		says("a header without a name", head+": x\r\nContent-Length: 0\r\n\r\n"),
		says("only line feeds", "HTTP/1.1 500 No\nContent-Length: 0\n\n"),
		says("408 before the request is read", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
		says("421 always", "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n"),
		says("425 always", "HTTP/1.1 425 Too Early\r\nContent-Length: 0\r\n\r\n"),
		says("500 always", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
		says("503 always", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
		says("429 with a date in 9999", "HTTP/1.1 429 No\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n"),
		says("429 with a huge Retry-After", "HTTP/1.1 429 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n"),
		says("407 without a proxy", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"),
		says("401 with a broken challenge", "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"\r\nContent-Length: 0\r\n\r\n"),
		says("an unknown content coding", head+"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd"),
		says("invalid gzip", head+"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"),
		says("truncated gzip", head+"Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n"+string(bomb[:10])),
		says("a gzip bomb", fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", head, len(bomb), bomb)),
		says("deeply nested brackets", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, 1<<20, strings.Repeat("[", 1<<20))),
		says("a redirect to itself", "HTTP/1.1 302 Found\r\nLocation: ?\r\nContent-Length: 0\r\n\r\n"),
		says("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	}
	list = append(list, h1("endless redirects", func(c *HostileConn) {
		c.text(fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: /%p/%d\r\nContent-Length: 0\r\n\r\n", c, time.Now().UnixNano()))
	}), Hostile{
		Name: "HTTP/1.1: a response before the request", ALPN: []string{"http/1.1"},
		Serve: func(c *HostileConn) { c.text("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"); c.hold() },
	}, Hostile{
		Name: "HTTP/1.1: HTTP/2 frames after negotiating HTTP/1.1", ALPN: []string{"http/1.1"},
		Serve: func(c *HostileConn) { c.flood([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) },
	}, Hostile{
		Name: "HTTP/1.1: used after negotiating HTTP/2", ALPN: []string{"h2"},
		Serve: func(c *HostileConn) { c.text(head + "Content-Length: 2\r\n\r\n{}"); c.hold() },
	})
	return list
}

// gzipBomb returns size zeros, compressed.
func gzipBomb(size int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	block := make([]byte, 1<<20)
	for range size / len(block) {
		_, _ = z.Write(block) // a memory buffer does not fail
	}
	_ = z.Close()
	return b.Bytes()
}
