package queue_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// What the reader of payloads lets through is JSON as it was written, and is let
// through again; what it refuses it refuses by name.
func FuzzCheckPayload(f *testing.F) {
	for _, text := range []string{`{"a":1}`, "\ufeff [1.0] \r\n", `{"a":1,"a":2}`, `"\ud800"`, ``, `nul`, `0 1`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		clean, err := queue.CheckPayload(text)
		result, resultErr := queue.CheckResult(text)
		meta, metaErr := queue.CheckMeta(text)
		if err != nil {
			if !errors.Is(err, queue.ErrInvalid) || !strings.HasPrefix(err.Error(), "payload: ") {
				t.Fatalf("%q is refused with %v", text, err)
			}
			// Nothing is a payload's error alone: a result and a meta may be left out.
			if empty := resultErr == nil && result == nil; (resultErr == nil) != empty || (metaErr == nil) != empty {
				t.Fatalf("%q is no payload (%v), as result %q, %v, as meta %q, %v", text, err, result, resultErr, meta, metaErr)
			}
			return
		}
		if !jsontext.Value(clean).IsValid() || !bytes.Contains(text, clean) || len(clean) > queue.MaxPayload {
			t.Fatalf("%q becomes %q", text, clean)
		}
		if again, err := queue.CheckPayload(clean); err != nil || !bytes.Equal(again, clean) {
			t.Fatalf("%q becomes %q and then %q, %v", text, clean, again, err)
		}
		if resultErr != nil || !bytes.Equal(result, clean) {
			t.Fatalf("%q is a payload and, as a result, %q, %v", text, result, resultErr)
		}
		if isMeta := clean[0] == '{' && len(clean) <= queue.MaxMeta; (metaErr == nil) != isMeta || isMeta && !bytes.Equal(meta, clean) {
			t.Fatalf("%q is a payload and, as meta, %q, %v", text, meta, metaErr)
		}
		if _, err := queue.Digest(clean); err != nil {
			t.Fatalf("%q has no digest: %v", clean, err)
		}
	})
}

// A digest is that of the value: however it is written it stays, and whatever is
// changed in it changes it.
func FuzzDigest(f *testing.F) {
	for _, text := range []string{`{"b":[1.0,"\u20ac\n"],"a":12345678901234567890}`, `[[],{},"",-0,1e5,true,null]`, `{"":{"":0}}`} {
		f.Add([]byte(text), uint64(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		clean, err := queue.CheckPayload(text)
		if err != nil {
			return
		}
		before, err := queue.Digest(clean)
		if err != nil {
			t.Fatal(err)
		}
		v := readValue(t, jsontext.NewDecoder(bytes.NewReader(clean)))
		w := writer{chance: rand.New(rand.NewPCG(seed, 0))}
		other := []byte(w.text(v))
		if after, err := queue.Digest(other); err != nil || after != before {
			t.Fatalf("%q and %q are the same, and have the digests %x and %x, %v", clean, other, before, after, err)
		}
		if place := queue.Difference(clean, other); place != "" {
			t.Fatalf("%q and %q are the same, and differ at %s", clean, other, place)
		}
		if !v.change(w.chance) {
			return
		}
		other = []byte(w.text(v))
		if after, err := queue.Digest(other); err != nil || after == before {
			t.Fatalf("%q and %q differ, and have the same digest, %v", clean, other, err)
		}
		if place := queue.Difference(clean, other); place == "" {
			t.Fatalf("%q and %q differ, and nobody says where", clean, other)
		}
	})
}

// value is a JSON value as a tree.
type value struct {
	kind     jsontext.Kind
	text     string // of a string without its escapes; of a number as it was written
	names    []string
	elements []*value // of an object too
}

func readValue(t *testing.T, dec *jsontext.Decoder) *value {
	token, err := dec.ReadToken()
	if err != nil {
		t.Fatal(err)
	}
	v := &value{kind: token.Kind(), text: token.String()}
	for closing := map[jsontext.Kind]jsontext.Kind{'{': '}', '[': ']'}[v.kind]; closing != 0 && dec.PeekKind() != closing; {
		if v.kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			v.names = append(v.names, name.String())
		}
		v.elements = append(v.elements, readValue(t, dec))
	}
	if v.kind == '{' || v.kind == '[' {
		if _, err := dec.ReadToken(); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// change makes another value of v, somewhere in it; false if it holds nothing that
// could be another.
func (v *value) change(chance *rand.Rand) bool {
	switch v.kind {
	case '{', '[':
		for _, i := range chance.Perm(len(v.elements)) {
			if v.elements[i].change(chance) {
				return true
			}
		}
		return false
	case '"':
		v.text += "x"
	case '0': // the same number, written otherwise
		if strings.ContainsAny(v.text, "eE") {
			v.text += "0"
		} else {
			v.text += "e0"
		}
	case 't':
		v.kind, v.text = 'f', "false"
	default:
		v.kind, v.text = 't', "true"
	}
	return true
}

// writer writes a value in one of the ways it can be written.
type writer struct{ chance *rand.Rand }

func (w writer) text(v *value) string {
	switch v.kind {
	case '"':
		return w.quoted(v.text)
	case '{', '[':
		parts := make([]string, len(v.elements))
		for i, element := range v.elements {
			parts[i] = w.blank() + w.text(element) + w.blank()
			if v.kind == '{' {
				parts[i] = w.blank() + w.quoted(v.names[i]) + w.blank() + ":" + parts[i]
			}
		}
		if v.kind == '{' {
			w.chance.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return "{" + strings.Join(parts, ",") + w.blank() + "}"
		}
		return "[" + strings.Join(parts, ",") + w.blank() + "]"
	}
	return v.text
}

func (w writer) blank() string { return []string{"", "", " ", "\n\t", "\r\n"}[w.chance.IntN(5)] }

func (w writer) quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > 0xffff && w.chance.IntN(2) == 0:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r < ' ' || r == '"' || r == '\\' || r <= 0xffff && w.chance.IntN(3) == 0:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
