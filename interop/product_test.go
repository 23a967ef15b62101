//go:build unix

package interop_test

import (
	"bytes"
	"embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
)

//go:embed testdata
var testdata embed.FS

// A product is a server program with its operations.
type product struct {
	name    string
	program string // name of the executable
	version func(path string) string
	// files lists the files that are created from templates in testdata, and created again
	// before a start with other parameters.
	files   map[string]string // maps the name of a template to the name of the file
	prepare func(s *instance) // does further set-up, once; may be nil
	command func(s *instance) *exec.Cmd
	logs    func(s *instance) []line
	// reload starts new processes that replace old ones without closing the listener. The old
	// processes close their connections.
	reload func(s *instance)
	// limits describes when connections to the second port are closed.
	limits map[string]limit // limits by protocol
	// fastOpen states that the program enables TCP Fast Open itself. Otherwise the kernel can
	// enable it for all listeners.
	fastOpen bool
	quic     bool
	// wakes is the number of connections that the program makes to itself on exit.
	wakes  int64
	remark string            // note for the table
	lacks  map[string]string // reason for each missing feature, by the feature's name
}

// A limit describes when a server closes a connection.
type limit int

const (
	never limit = iota
	sevenRequests
	beingIdle
)

// A line is a line of a server's log.
type line struct {
	port     string // port of the client, which identifies the connection
	protocol string
	status   string
	path     string
}

// An instance is a running product.
type instance struct {
	*server
	product
	path            string
	link            *link
	Port, LimitPort int
	Generation      int // generation of the configuration
	Dir             string
	Extra           map[string]any
	why             string // reason why the last cell was skipped
}

// start starts a product that stops when the test ends.
func (p product) start(t *testing.T, l *link) *instance {
	t.Helper()
	s := &instance{path: need(t, p.program), server: newServer(t), product: p, link: l, Generation: 1, Extra: make(map[string]any)}
	ports := freePorts(t, 2)
	s.Dir, s.Port, s.LimitPort = s.dir, ports[0], ports[1]
	s.base = "https://localhost:" + strconv.Itoa(s.Port) + "/"
	// Some programs drop their privileges, but still need access.
	for _, dir := range []string{filepath.Dir(s.dir), s.dir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if p.prepare != nil {
		p.prepare(s)
	}
	if isolated() {
		v := fastOpenForAll
		if p.fastOpen {
			v = fastOpenOnRequest
		}
		if err := setFastOpen(v); err != nil {
			t.Fatal(err)
		}
	}
	s.configure()
	s.begin()
	t.Cleanup(func() {
		s.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("%s's error log ends with:\n%s\n%s", p.name, s.tail("error.log"), s.said)
		}
	})
	return s
}

// limited returns the base URL of the second port.
func (s *instance) limited() string { return "https://localhost:" + strconv.Itoa(s.LimitPort) + "/" }

// configure writes the files.
func (s *instance) configure() {
	s.t.Helper()
	for file, name := range s.files {
		tmpl, err := template.ParseFS(testdata, "testdata/"+name)
		if err != nil {
			s.t.Fatal(err)
		}
		var text bytes.Buffer
		if err := tmpl.Execute(&text, s); err != nil {
			s.t.Fatal(err)
		}
		s.writeFor(file, text.Bytes())
	}
}

// writeFor writes a world-readable file.
func (s *instance) writeFor(file string, content []byte) {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// begin starts the program and waits until it listens on both ports.
func (s *instance) begin() {
	s.t.Helper()
	s.run(s.command(s), func() bool {
		for _, port := range []int{s.Port, s.LimitPort} {
			if !listens(port) {
				return false
			}
		}
		return true
	})
}

// listens reports whether a port is in use, if possible without a connection.
func listens(port int) bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		nc, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			nc.Close()
		}
		return err == nil
	}
	v6, _ := os.ReadFile("/proc/net/tcp6") // the file may be missing
	suffix := ":" + strings.ToUpper(strconv.FormatInt(int64(port), 16))
	for row := range strings.Lines(string(table) + string(v6)) {
		const listening = "0A"
		if f := strings.Fields(row); len(f) > 3 && strings.HasSuffix(f[1], suffix) && f[3] == listening {
			return true
		}
	}
	return false
}

// freePorts returns unused ports below the ephemeral range, so that a restarted server
// gets its port again.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for port := 20000; len(ports) < n; port++ {
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer ln.Close()
		ports = append(ports, port)
		if port > 30000 {
			t.Fatal("no port is free")
		}
	}
	return ports
}

// readLog reads lines of port, protocol, status and path.
func readLog(file string) func(s *instance) []line {
	return func(s *instance) (all []line) {
		text, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		for row := range strings.Lines(string(text)) {
			if f := strings.Fields(row); len(f) == 4 && strings.HasSuffix(row, "\n") {
				all = append(all, line{f[0], f[1], f[2], f[3]})
			}
		}
		return all
	}
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// says returns the first version number in the output of a program.
func says(arguments ...string) func(path string) string {
	return func(path string) string {
		out, err := exec.Command(path, arguments...).CombinedOutput()
		if err != nil {
			return ""
		}
		return versionNumber.FindString(string(out))
	}
}
