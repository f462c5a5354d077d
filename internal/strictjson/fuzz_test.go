package strictjson_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"a":[1.0,"\u0041",null]}`), 50)
	f.Add([]byte(`{"a":1,"a":2}`), 50)
	f.Add([]byte(`[[[]]]`), 2)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		err := strictjson.Check(text, limit)
		if valid := err == nil; valid && !jsontext.Value(text).IsValid() {
			t.Fatalf("%q passes and is no JSON", text)
		}
		if err != nil && err.Error() == "" {
			t.Fatalf("%q is refused without a word", text)
		}
		if err == nil {
			if small := strictjson.Compact(nil, text); strictjson.Check(small, limit) != nil || bytes.ContainsAny(small, "\r\n") {
				t.Fatalf("%q is compacted to %q", text, small)
			}
		}
		// What Check lets through, Canonical takes; the digest of a payload
		// that was accepted cannot fail.
		if _, formErr := strictjson.Canonical(text); err == nil && formErr != nil {
			t.Fatalf("%q passes and has no canonical form: %v", text, formErr)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":1,"a":2}`), []byte(`{ "a":2, "\u0062":1 }`))
	f.Add([]byte(`1.0`), []byte(`1`))
	f.Add([]byte(`["\ud83d\ude00"]`), []byte(`["😀"]`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		formA, err := strictjson.Canonical(a)
		if err != nil {
			return
		}
		if again, err := strictjson.Canonical(formA); err != nil || !bytes.Equal(again, formA) {
			t.Fatalf("%q, canonical %q, becomes %q, %v", a, formA, again, err)
		}
		if compact := strictjson.Compact(nil, formA); !bytes.Equal(compact, formA) {
			t.Fatalf("%q has white space", formA)
		}
		valueA := read(t, a)
		if !reflect.DeepEqual(read(t, formA), valueA) {
			t.Fatalf("%q and its canonical form %q differ", a, formA)
		}
		if formB, err := strictjson.Canonical(b); err == nil {
			if same := reflect.DeepEqual(valueA, read(t, b)); same != bytes.Equal(formA, formB) {
				t.Fatalf("%q and %q are the same value: %v; canonical %q and %q", a, b, same, formA, formB)
			}
		}
	})
}

// number is a number as it was written.
type number string

// read is the value of a strict text by other means: maps forget the order of
// members, strings are unescaped, numbers stay as written.
func read(t *testing.T, text []byte) any {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	token := func() jsontext.Token {
		tok, err := dec.ReadToken()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return tok
	}
	var value func() any
	value = func() any {
		switch tok := token(); tok.Kind() {
		case '{':
			members := map[string]any{}
			for dec.PeekKind() != '}' {
				name := token().String()
				members[name] = value()
			}
			token()
			return members
		case '[':
			elements := []any{}
			for dec.PeekKind() != ']' {
				elements = append(elements, value())
			}
			token()
			return elements
		case '"':
			return tok.String()
		case '0':
			return number(tok.String())
		default: // true, false, null
			return tok.Kind()
		}
	}
	return value()
}
