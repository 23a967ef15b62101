package render

import (
	"strings"
	"testing"
)

func TestReceiptOfRetries(t *testing.T) {
	for _, test := range []struct {
		all, same int64
		want      string
	}{
		{0, 0, ""},
		{3, 0, "3 retried on another connection"},
		{3, 3, "3 retried on the same connection"},
		{3, 1, "3 retried, 1 of them on the same connection"},
	} {
		got := trafficLine(Report{Requests: 9, Retries: test.all, RetriesSameConn: test.same})
		if !strings.HasSuffix(got, test.want) || test.want == "" && strings.Contains(got, "retried") {
			t.Errorf("%d, %d: %q, want %q", test.all, test.same, got, test.want)
		}
	}
}
