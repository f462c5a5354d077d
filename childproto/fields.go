package childproto

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// fields are the members of one message that a reader knows; what it does not
// know is checked as JSON and left out.
//
// The methods that read a field keep the first error and answer zero after it,
// so that a message is read in one go and judged once. A field that is null is
// a field that is not there; only where any JSON is allowed is null a value.
type fields struct {
	text   []byte
	names  []string
	values []jsontext.Value // parts of text, in the order of names; nil: not there
	ends   []int            // of each value, in text
	err    error
}

// readFields checks that text is one strict JSON object, in which each value is
// nested at most MaxDepth deep, and finds the named members.
func readFields(text []byte, names []string) (*fields, error) {
	if err := strictjson.Check(text, MaxDepth+1); err != nil {
		return nil, notJSON(text, err)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text)) // reads in place, copies nothing
	if dec.PeekKind() != '{' {
		return nil, errorAt(text, 0, "not a JSON object")
	}
	f := &fields{text: text, names: names, values: make([]jsontext.Value, len(names)), ends: make([]int, len(names))}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' {
		err = f.readMember(dec)
	}
	if err != nil { // after Check nothing is left to fail on
		return nil, notJSON(text, err)
	}
	return f, nil
}

func (f *fields) readMember(dec *jsontext.Decoder) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	i := slices.Index(f.names, name.String())
	if i < 0 {
		return dec.SkipValue()
	}
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	end := int(dec.InputOffset())
	f.values[i], f.ends[i] = f.text[end-len(value):end:end], end
	return nil
}

// raw is the field's JSON text, a part of the message's; nil if it is not there.
func (f *fields) raw(name string) jsontext.Value {
	i := slices.Index(f.names, name)
	if i < 0 {
		panic("childproto: field " + name + " is not among those read")
	}
	return f.values[i]
}

// fail keeps the first problem.
func (f *fields) fail(name, format string, args ...any) {
	if f.err != nil {
		return
	}
	problem := fmt.Sprintf("%q: %s", name, fmt.Sprintf(format, args...))
	value := f.raw(name)
	if value == nil {
		f.err = &ProtocolError{Problem: problem, Near: excerpt(f.text, 0)}
		return
	}
	f.err = errorAt(f.text, f.ends[slices.Index(f.names, name)]-len(value), "%s", problem)
}

// has reports whether the field is there and not null.
func (f *fields) has(name string) bool {
	v := f.raw(name)
	return v != nil && v.Kind() != 'n'
}

// require fails unless the field is there.
func (f *fields) require(name string) bool {
	if !f.has(name) {
		f.fail(name, "missing")
	}
	return f.has(name)
}

// string is a string; empty if it is not there.
func (f *fields) string(name string) string {
	if !f.has(name) {
		return ""
	}
	v := f.raw(name)
	if v.Kind() != '"' {
		f.fail(name, "a string is expected")
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		f.fail(name, "not a string: %v", err)
	}
	return string(text)
}

// integer is a number from least to most, written in digits alone: the form
// that no reader of JSON takes for a float.
func (f *fields) integer(name string, least, most int64) int64 {
	if !f.require(name) {
		return 0
	}
	n, err := strconv.ParseInt(string(f.raw(name)), 10, 64)
	if err != nil || n < least || n > most {
		f.fail(name, "an integer from %d to %d is expected", least, most)
		return 0
	}
	return n
}

// number is any number; nil if it is not there.
func (f *fields) number(name string) *float64 {
	if !f.has(name) {
		return nil
	}
	v := f.raw(name)
	if v.Kind() != '0' {
		f.fail(name, "a number is expected")
		return nil
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		f.fail(name, "a number beyond what can be counted")
		return nil
	}
	return &n
}

// delay is a number of milliseconds from 0 to MaxAfter; nil if it is not there.
func (f *fields) delay(name string) *time.Duration {
	ms := f.number(name)
	if ms == nil {
		return nil
	}
	if *ms < 0 || *ms > float64(MaxAfter/time.Millisecond) {
		f.fail(name, "milliseconds from 0 to %d are expected", MaxAfter/time.Millisecond)
		return nil
	}
	d := time.Duration(*ms * float64(time.Millisecond))
	return &d
}

// bool is true or false; false if it is not there.
func (f *fields) bool(name string) bool {
	if !f.has(name) {
		return false
	}
	switch k := f.raw(name).Kind(); k {
	case 't', 'f':
		return k == 't'
	}
	f.fail(name, "true or false is expected")
	return false
}

// object is an object's JSON text, a copy; nil if it is not there.
func (f *fields) object(name string) jsontext.Value {
	if !f.has(name) {
		return nil
	}
	v := f.raw(name)
	if v.Kind() != '{' {
		f.fail(name, "an object is expected")
		return nil
	}
	return v.Clone()
}

// effectName is the name of an effect.
func (f *fields) effectName() string {
	if !f.require("name") {
		return ""
	}
	name := f.string("name")
	if len(name) < 1 || len(name) > MaxEffectName {
		f.fail("name", "1 to %d bytes are expected", MaxEffectName)
	}
	return name
}

// list is words for a sentence: a, b or c.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
