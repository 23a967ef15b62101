package rdap

import (
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	for in, want := range map[string]struct {
		time string // date in RFC 3339 format, UTC; without a time for a day; empty means none
		form dateForm
	}{
		"":                              {"", dateRFC3339},
		"2024-02-29T23:59:59Z":          {"2024-02-29T23:59:59Z", dateRFC3339},
		"2024-02-29T23:59:59.123456Z":   {"2024-02-29T23:59:59.123456Z", dateRFC3339},
		"2012-03-02T08:03:18-05:00":     {"2012-03-02T13:03:18Z", dateRFC3339},
		"1997-09-15T07:00:00.000+0000":  {"1997-09-15T07:00:00Z", dateNonstandard},
		"2019-11-24T13:58:35":           {"2019-11-24T13:58:35Z", dateNonstandard},
		"2019-11-24 13:58:35":           {"2019-11-24T13:58:35Z", dateNonstandard},
		"2019-11-24 13:58:35+01":        {"", dateInvalid},
		" 2019-11-24t13:58:35z ":        {"2019-11-24T13:58:35Z", dateRFC3339},
		"2019-11-24":                    {"2019-11-24", dateNonstandard},
		"2019-11-24T13:58Z":             {"2019-11-24T13:58:00Z", dateNonstandard},
		"0001-01-01T00:00:00Z":          {"", dateInvalid},
		"0000-00-00T00:00:00Z":          {"", dateInvalid},
		"2023-02-29T00:00:00Z":          {"", dateInvalid},
		"20230705":                      {"2023-07-05", dateNonstandard},
		"2023/07/05":                    {"2023-07-05", dateNonstandard},
		"2023.07.05":                    {"2023-07-05", dateNonstandard},
		"05-jul-2023":                   {"2023-07-05", dateNonstandard},
		"2023-07-05Z":                   {"2023-07-05", dateNonstandard},
		"2023-07-05+13:00":              {"2023-07-05", dateNonstandard},
		"20230705T101112Z":              {"2023-07-05T10:11:12Z", dateNonstandard},
		"20230705T101112+0200":          {"2023-07-05T08:11:12Z", dateNonstandard},
		"20230705101112":                {"2023-07-05T10:11:12Z", dateNonstandard},
		"20230735":                      {"", dateInvalid},
		"2023070":                       {"", dateInvalid},
		"00010101":                      {"", dateInvalid},
		"createTime":                    {"", dateInvalid},
		"9999-12-31T23:59:59Z":          {"9999-12-31T23:59:59Z", dateRFC3339},
		"2019-11-24T13:58:35\x1b[31mZ":  {"", dateInvalid},
		"2019-11-24T13:58:35+99:99":     {"", dateInvalid},
		"2016-12-31T23:59:60Z":          {"2017-01-01T00:00:00Z", dateRFC3339},
		"1990-12-31T15:59:60-08:00":     {"1991-01-01T00:00:00Z", dateRFC3339},
		"2016-12-31T23:59:60.5Z":        {"2017-01-01T00:00:00.5Z", dateRFC3339},
		"2016-12-31 23:59:60":           {"2017-01-01T00:00:00Z", dateNonstandard},
		"20161231T235960Z":              {"2017-01-01T00:00:00Z", dateNonstandard},
		"20161231235960":                {"2017-01-01T00:00:00Z", dateNonstandard},
		"2016-12-31T23:59:61Z":          {"", dateInvalid},
		"2016-12-31T23:60:00Z":          {"", dateInvalid},
		"9999-12-31T23:59:60Z":          {"", dateInvalid},
		"2019-11-24T13:58:35.000+01:00": {"2019-11-24T12:58:35Z", dateRFC3339},
	} {
		got, dateOnly, form := parseDate(in)
		text := ""
		switch {
		case dateOnly && got.Equal(got.UTC().Truncate(24*time.Hour)):
			text = got.UTC().Format(time.DateOnly)
		case !got.IsZero():
			text = got.UTC().Format(time.RFC3339Nano)
		}
		if text != want.time || form != want.form {
			t.Errorf("%q: %s, form %d, want %s, form %d", in, text, form, want.time, want.form)
		}
	}
}

func FuzzDate(f *testing.F) {
	for _, s := range []string{
		"2024-02-29T23:59:59Z", "1997-09-15T07:00:00.000+0000", "2019-11-24 13:58:35", "0001-01-01T00:00:00Z",
		"2019-11-24t13:58z", "2019-11-24", "createTime", "2012-03-02T08:03:18-05:00", "20161231T235960Z", "2016-12-31 23:59:60.25", "31-dec-2016", "\u0662\u0660\u0661\u0669-11-24",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, dateOnly, form := parseDate(s)
		switch {
		case s == "" || form == dateInvalid:
			if !got.IsZero() || dateOnly {
				t.Fatalf("%q: %v without an input", s, got)
			}
			return
		case got.Year() <= 1:
			t.Fatalf("%q: %v", s, got)
		}
		// A parsed date that is formatted and parsed again yields the same time.
		again, _, form := parseDate(got.Format(time.RFC3339Nano))
		if !again.Equal(got) || form != dateRFC3339 {
			t.Fatalf("%q: %v, again %v, form %d", s, got, again, form)
		}
	})
}
