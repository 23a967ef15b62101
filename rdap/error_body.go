package rdap

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/internal/safetext"
)

// An ErrorBody is the content of an error response: RDAP (RFC 9083 section 6), problem details
// (RFC 9457), or the visible text of a web page. The zero value describes an empty body.
type ErrorBody struct {
	Code        int      // member errorCode; 0 without one
	Title       string   // title as sent
	Description []string // description as sent, line by line, at most 50 lines
	Notices     []string // notices in the form "title: description"; some servers give the reason there
	Broken      bool     // the body is truncated or invalid JSON
	Foreign     bool     // the body is not JSON
}

// maxDetail limits the number of description lines.
const maxDetail = 50

// ReadErrorBody reads an error body. It never fails: it returns the content before the first
// syntax error.
func ReadErrorBody(raw []byte) ErrorBody {
	var b ErrorBody
	body := bytes.TrimSpace(trimBOM(raw))
	switch {
	case len(body) == 0:
	case safetext.IsBinary(body):
		b.Foreign = true
	case body[0] == '{':
		b.Broken = b.readObject(body) != nil
	default:
		b.Foreign = true
		b.readText(body)
	}
	return b
}

func (b *ErrorBody) readObject(body []byte) error {
	return eachMember(body, func(name string, value jsontext.Value) bool {
		switch memberName(name) {
		case "errorCode":
			b.Code = intOf(value)
		case "title":
			b.Title = firstString(value)
		case "description", "detail":
			b.Description = append(b.Description, stringsOf(value)...)
			b.Description = b.Description[:min(len(b.Description), maxDetail)]
		case "notices":
			b.readNotices(value)
		}
		return true
	})
}

func (b *ErrorBody) readNotices(list jsontext.Value) {
	dec := newDecoder(list)
	if _, err := dec.ReadToken(); err != nil || list.Kind() != jsontext.KindBeginArray {
		return
	}
	for len(b.Notices) < maxDetail && dec.PeekKind() == jsontext.KindBeginObject {
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
		b.Notices = append(b.Notices, texts...)
	}
}

// readText reads the title of a web page, or the beginning of its visible text.
func (b *ErrorBody) readText(body []byte) {
	text := string(body[:min(len(body), 16<<10)])
	lower := strings.ToLower(text)
	if len(lower) == len(text) { // otherwise the offsets in lower and text differ
		if _, rest, ok := strings.Cut(lower, "<title"); ok {
			from := len(text) - len(rest)
			if end := strings.Index(rest, "</title"); end >= 0 {
				if inner := strings.IndexByte(rest[:end], '>'); inner >= 0 {
					b.Title = strings.TrimSpace(text[from+inner+1 : from+end])
				}
			}
		}
	}
	visibleText := strings.Join(strings.Fields(withoutTags(text)), " ")
	if b.Title == "" {
		b.Title = visibleText[:min(len(visibleText), safetext.MaxQuoted)]
		b.Title = strings.ToValidUTF8(b.Title, "")
	} else if visibleText != b.Title {
		b.Notices = append(b.Notices, visibleText)
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

// Text returns title and description on one line, for a message.
func (b *ErrorBody) Text() string {
	parts := make([]string, 0, 1+len(b.Description))
	for _, s := range append([]string{b.Title}, b.Description...) {
		if s = safetext.Visible(s); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) > 1 {
		return safetext.Visible(parts[0] + ": " + strings.Join(parts[1:], "; "))
	}
	return strings.Join(parts, "")
}

// MentionsRateLimit reports whether the body mentions too many requests. Notices count
// only if there is no other text: terms of use always mention limits.
func (b *ErrorBody) MentionsRateLimit() bool {
	text := b.Title + " " + strings.Join(b.Description, " ")
	if b.Foreign || strings.TrimSpace(text) == "" {
		text += " " + strings.Join(b.Notices, " ")
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

// eachMember calls f for each member of the object raw until f returns false. The value is
// valid only during the call.
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

// stringsOf returns the strings in value, which may be a string or an array of strings.
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

// intOf reads a number, which may be sent as a string.
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
