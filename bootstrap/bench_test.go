package bootstrap

import (
	"context"
	"testing"
)

func BenchmarkResolve(b *testing.B) {
	for name, q := range map[string]Question{
		"domain":      domain("example.com"),
		"deep domain": domain("a.b.c.d.e.f.example.co.uk"),
		"upper case":  domain("EXAMPLE.COM."),
		"ipv4":        address("13.64.0.1"),
		"ipv6":        address("2a00:2381::/32"),
		"reverse":     domain("1.64.13.in-addr.arpa"),
		"autnum":      autnum(13335),
		"entity":      entity("WA2477-RIPE"),
		"unlisted":    domain("denic.de"),
	} {
		b.Run(name, func(b *testing.B) {
			r := newResolver(b, Config{Offline: true})
			benchmark(b, r, q)
		})
	}
}

// BenchmarkResolveDomain measures every domain lookup with a cache, which includes reading the
// clock.
func BenchmarkResolveDomain(b *testing.B) {
	p := newPublisher(b, map[string]string{"dns.json": dns("", "zz", "yy")})
	benchmark(b, newResolver(b, Config{BaseURL: p.URL}), domain("example.zz"))
}

func BenchmarkResolveParallel(b *testing.B) {
	r := newResolver(b, Config{Offline: true})
	q := domain("example.com")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := r.Resolve(context.Background(), q); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benchmark(b *testing.B, r *Resolver, q Question) {
	ctx := b.Context()
	if _, err := r.Resolve(ctx, q); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Resolve(ctx, q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart measures the first domain lookup of a process.
func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := New(Config{Offline: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Resolve(b.Context(), domain("example.com")); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// A usual lookup does not allocate. This is a test, because a benchmark would only report
// allocations.
func TestResolveAllocates(t *testing.T) {
	r := newResolver(t, Config{Offline: true})
	ctx := t.Context()
	for name, q := range map[string]Question{
		"domain": domain("example.com"), "ipv4": address("13.64.0.1"), "ipv6": address("2a00:2381::/32"),
		"autnum": autnum(13335), "entity": entity("WA2477-RIPE"),
	} {
		if n := testing.AllocsPerRun(100, func() { _, _ = r.Resolve(ctx, q) }); n > 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
