//go:build unix

package interop_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A browser is headless Chromium, controlled over a pipe by the Chrome DevTools
// Protocol: JSON messages terminated by NUL.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	last    int
	session string          // session of the page
	loaded  map[string]bool // completely loaded documents
}

// startBrowser starts a browser with an empty page. The browser closes when the test ends.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := need(t, "chromium")
	toRead, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--no-first-run", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // descriptors 3 and 4, by convention of the browser
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from), loaded: make(map[string]bool)}
	t.Cleanup(func() {
		late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		b.session = ""
		b.send("Browser.close", nil)
		cmd.Wait() // the exit status is irrelevant
		late.Stop()
		to.Close()
		from.Close()
	})
	// kills a browser that hangs; pending calls then fail
	watch := time.AfterFunc(4*patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() { watch.Stop() })
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	b.call("Page.enable", nil)
	b.call("Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	return b
}

func (b *browser) send(method string, params map[string]any) error {
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	return err
}

// A message is a response to a call, or an event.
type message struct {
	ID     int
	Method string
	Params struct{ Name, LoaderID string }
	Result map[string]any
	Error  *struct{ Message string }
}

func (b *browser) receive() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	var m message
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("the browser has exited: %v", err)
	}
	if m.Method == "Page.lifecycleEvent" && m.Params.Name == "load" {
		b.loaded[m.Params.LoaderID] = true
	}
	return m
}

// call calls a method and returns the result.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	if err := b.send(method, params); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.receive()
		switch {
		case m.ID != b.last:
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		default:
			return m.Result
		}
	}
}

// A look is a viewport and a media setting.
type look struct {
	width int
	dark  bool
	print bool
}

func (l look) String() string {
	s := fmt.Sprint(l.width, "-light")
	if l.dark {
		s = fmt.Sprint(l.width, "-dark")
	}
	if l.print {
		s = "print"
	}
	return s
}

// open shows a page.
func (b *browser) open(url string, l look) {
	b.t.Helper()
	media, scheme := "screen", "light"
	if l.print {
		media = "print"
	}
	if l.dark {
		scheme = "dark"
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.width, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	})
	// Evaluate only after the document has loaded, and not in the previous document.
	document, _ := b.call("Page.navigate", map[string]any{"url": url})["loaderId"].(string)
	if document == "" {
		b.t.Fatalf("%s is not a document", url)
	}
	for !b.loaded[document] {
		b.receive()
	}
}

// value evaluates an expression in the page.
func (b *browser) value(expression string) any {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if failed, ok := r["exceptionDetails"]; ok {
		b.t.Fatalf("%s: %v", expression, failed)
	}
	return r["result"].(map[string]any)["value"]
}

// picture returns the whole page as a PNG image.
func (b *browser) picture() []byte {
	b.t.Helper()
	r := b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "format": "png"})
	png, err := base64.StdEncoding.DecodeString(r["data"].(string))
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}
