package rdaptest

import "testing"

func BenchmarkDomainAnswer(b *testing.B) {
	q := Question{Base: "https://127.0.0.1:12345/", Class: "domain", Key: "dom123456.com"}
	b.ReportAllocs()
	for b.Loop() {
		if a := (Invented{}).Answer(q); a.Status != 200 {
			b.Fatal(a.Status)
		}
	}
}
