package strictjson

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical is text in the one form that all texts of the same value share: the
// members of each object sorted by the UTF-8 bytes of their names, no white
// space, strings with as few escapes as RFC 8785 allows, numbers exactly as they
// were written. Two texts have the same canonical form if and only if they differ
// in nothing but white space, the order of members and the escapes of strings.
//
// Digests of it are stored: the form must never change. It is not the form of
// RFC 8785, which formats numbers anew and makes 1 of 1.0.
//
// A text that is not strict JSON answers a *SyntaxError; so does one nested
// deeper than 10 000, the decoder's own bound.
func Canonical(text []byte) ([]byte, error) {
	c := canonical{dec: decoder(text)}
	out, err := c.value(make([]byte, 0, len(text)))
	if err != nil {
		return nil, syntaxError(text, err)
	}
	if err := end(text, c.dec); err != nil {
		return nil, err
	}
	return out, nil
}

// canonical appends the values that dec is about to read.
type canonical struct {
	dec     *jsontext.Decoder
	plain   []byte // the string just read, unescaped
	scratch []byte // an object's members while they are put in order
}

// member is where one member of an object was written.
type member struct {
	name     string
	from, to int // of its name, colon and value, in the output
}

func (c *canonical) value(dst []byte) ([]byte, error) {
	switch c.dec.PeekKind() {
	case '{':
		return c.object(dst)
	case '[':
		return c.array(dst)
	}
	raw, err := c.dec.ReadValue()
	switch {
	case err != nil:
		return dst, err
	case raw[0] == '"':
		return c.text(dst, raw)
	default: // a number or a literal
		return append(dst, raw...), nil
	}
}

// name appends the name of a member, and answers it without quotes and escapes.
func (c *canonical) name(dst []byte) ([]byte, string, error) {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return dst, "", err
	}
	if c.plain, err = jsontext.AppendUnquote(c.plain[:0], raw); err != nil {
		return dst, "", err
	}
	dst, err = jsontext.AppendQuote(dst, c.plain)
	return dst, string(c.plain), err
}

// text appends a string. One without escapes is as short as it can be already:
// what needs an escape cannot stand in it.
func (c *canonical) text(dst, raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return append(dst, raw...), nil
	}
	var err error
	if c.plain, err = jsontext.AppendUnquote(c.plain[:0], raw); err != nil {
		return dst, err
	}
	return jsontext.AppendQuote(dst, c.plain)
}

func (c *canonical) array(dst []byte) ([]byte, error) {
	if _, err := c.dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for first := true; c.dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = c.value(dst); err != nil {
			return dst, err
		}
	}
	_, err := c.dec.ReadToken()
	return append(dst, ']'), err
}

func (c *canonical) object(dst []byte) ([]byte, error) {
	if _, err := c.dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	start := len(dst)
	var members []member
	for c.dec.PeekKind() != '}' {
		if len(members) > 0 {
			dst = append(dst, ',')
		}
		m := member{from: len(dst)}
		var err error
		if dst, m.name, err = c.name(dst); err != nil {
			return dst, err
		}
		if dst, err = c.value(append(dst, ':')); err != nil {
			return dst, err
		}
		m.to = len(dst)
		members = append(members, m)
	}
	c.sort(dst, start, members)
	_, err := c.dec.ReadToken()
	return append(dst, '}'), err
}

// sort puts the members that stand in dst from start on in order. Each member
// was written once and is moved at most once for each object around it.
func (c *canonical) sort(dst []byte, start int, members []member) {
	byName := func(a, b member) int { return strings.Compare(a.name, b.name) }
	if slices.IsSortedFunc(members, byName) {
		return
	}
	slices.SortFunc(members, byName)
	parts := c.scratch[:0]
	for i, m := range members {
		if i > 0 {
			parts = append(parts, ',')
		}
		parts = append(parts, dst[m.from:m.to]...)
	}
	copy(dst[start:], parts)
	c.scratch = parts
}
