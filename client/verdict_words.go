package client

import (
	"bytes"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// words are what an error body says: RDAP (RFC 9083 section 6), problem details
// (RFC 9457), or the visible text of a web page.
type words struct {
	errorCode int
	title     string
	detail    []string
	notices   []string // "title: description", for servers that say it there
	broken    bool     // JSON that ends too early or is malformed
	foreign   bool     // something else than JSON
}

// maxDetail bounds the lines that are kept of a description.
const maxDetail = 50

// readWords reads an error body as far as it goes. It never fails: whatever was
// understood before the body broke off is kept.
func readWords(raw []byte, contentType string) words {
	var w words
	body := bytes.TrimSpace(trimBOM(raw))
	switch {
	case len(body) == 0:
	case isBinary(body):
		w.foreign = true
	case body[0] == '{':
		w.broken = w.readObject(body) != nil
	default:
		w.foreign = true
		w.readText(body)
	}
	return w
}

func (w *words) readObject(body []byte) error {
	return eachMember(body, func(name string, value jsontext.Value) bool {
		switch memberName(name) {
		case "errorCode":
			w.errorCode = intOf(value)
		case "title":
			w.title = firstString(value)
		case "description", "detail":
			w.detail = append(w.detail, stringsOf(value)...)
			w.detail = w.detail[:min(len(w.detail), maxDetail)]
		case "notices":
			w.readNotices(value)
		}
		return true
	})
}

func (w *words) readNotices(list jsontext.Value) {
	dec := newDecoder(list)
	if _, err := dec.ReadToken(); err != nil || list.Kind() != jsontext.KindBeginArray {
		return
	}
	for len(w.notices) < maxDetail && dec.PeekKind() == jsontext.KindBeginObject {
		notice, err := dec.ReadValue()
		if err != nil {
			return
		}
		title, texts := "", []string(nil)
		_ = eachMember(notice, func(name string, value jsontext.Value) bool {
			switch memberName(name) {
			case "title":
				title = strings.TrimSpace(strings.Join(stringsOf(value), " "))
			case "description":
				texts = stringsOf(value)
			}
			return true
		})
		if len(texts) == 0 {
			texts = []string{title}
		} else if title != "" {
			texts = slices.Clone(texts)
			for i, text := range texts {
				texts[i] = strings.TrimRight(title, ":") + ": " + text
			}
		}
		w.notices = append(w.notices, texts...)
	}
}

// readText takes the title of a web page, or the beginning of its visible text.
func (w *words) readText(body []byte) {
	text := string(body[:min(len(body), 16<<10)])
	lower := strings.ToLower(text)
	if len(lower) == len(text) { // else the offsets would not fit
		if _, rest, ok := strings.Cut(lower, "<title"); ok {
			from := len(text) - len(rest)
			if end := strings.Index(rest, "</title"); end >= 0 {
				if inner := strings.IndexByte(rest[:end], '>'); inner >= 0 {
					w.title = strings.TrimSpace(text[from+inner+1 : from+end])
				}
			}
		}
	}
	visibleText := strings.Join(strings.Fields(withoutTags(text)), " ")
	if w.title == "" {
		w.title = visibleText[:min(len(visibleText), maxQuoted)]
		w.title = strings.ToValidUTF8(w.title, "")
	} else if visibleText != w.title {
		w.notices = append(w.notices, visibleText)
	}
}

func withoutTags(text string) string {
	var b strings.Builder
	inside := false
	for _, r := range text {
		switch {
		case r == '<':
			inside = true
			b.WriteByte(' ')
		case r == '>' && inside:
			inside = false
		case !inside:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// said returns title and description on one line, fit for a message.
func (w words) said() string {
	parts := make([]string, 0, 1+len(w.detail))
	for _, s := range append([]string{w.title}, w.detail...) {
		if s = visible(s); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) > 1 {
		return visible(parts[0] + ": " + strings.Join(parts[1:], "; "))
	}
	return strings.Join(parts, "")
}

// speakOfRate says whether a refusal means "too many requests". Notices count
// only where there is nothing else: terms of use speak of limits always.
func (w words) speakOfRate() bool {
	text := w.title + " " + strings.Join(w.detail, " ")
	if w.foreign || strings.TrimSpace(text) == "" {
		text += " " + strings.Join(w.notices, " ")
	}
	text = " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r < 'a' || r > 'z'
	}), " ") + " "
	for _, phrase := range []string{
		" quota ", " quotas ", " limit exceeded ", " limits exceeded ", " exceeded ", " too many ", " too fast ",
		" too frequent", " rate ", " rates ", " ratelimit", " throttl", " slow down ", " query limit ", " request limit ",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// readNames returns the names that an object bears at its top. It reads no
// further than the one that was asked for.
func readNames(raw []byte, asked string) (ldh, unicode string) {
	_ = eachMember(trimBOM(raw), func(name string, value jsontext.Value) bool {
		switch memberName(name) {
		case "ldhName":
			ldh = firstString(value)
			return !sameName(asked, ldh, "") || ldh == ""
		case "unicodeName":
			unicode = firstString(value)
		}
		return true
	})
	return ldh, unicode
}

func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// eachMember calls f for the members of the object raw until f has enough. The
// value is valid during the call only.
func eachMember(raw []byte, f func(name string, value jsontext.Value) bool) error {
	dec := newDecoder(raw)
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		id := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if !f(id, value) {
			return nil
		}
	}
	return nil
}

// stringsOf reads a string or a list of them, in place of which servers send
// one another.
func stringsOf(value jsontext.Value) []string {
	switch value.Kind() {
	case jsontext.KindString:
		s, _ := jsontext.AppendUnquote(nil, value)
		return []string{string(s)}
	case jsontext.KindBeginArray:
		var list []string
		dec := newDecoder(value)
		_, _ = dec.ReadToken()
		for len(list) < maxDetail && dec.PeekKind() != jsontext.KindEndArray {
			item, err := dec.ReadValue()
			if err != nil {
				break
			}
			if item.Kind() == jsontext.KindString {
				list = append(list, stringsOf(item)...)
			}
		}
		return list
	}
	return nil
}

func firstString(value jsontext.Value) string {
	if list := stringsOf(value); len(list) > 0 {
		return list[0]
	}
	return ""
}

// intOf reads a number that may have come as a string.
func intOf(value jsontext.Value) int {
	text := string(value)
	if value.Kind() == jsontext.KindString {
		text = strings.TrimSpace(firstString(value))
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func mediaType(contentType string) string {
	if contentType == "application/rdap+json" {
		return contentType // as most servers write it, which needs no parsing
	}
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && t == "" {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// labelled says what a body is labelled as, for the end of a clause.
func labelled(contentType string) string {
	if contentType == "" {
		return " without a content type"
	}
	return " labelled " + visible(contentType)
}
