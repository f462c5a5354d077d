package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/internal/strictjson"
)

func TestCompact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                              `{}`,
		" [ 1.0 ,\r\n\t2E5 , -0 ] ":       `[1.0,2E5,-0]`,
		`{ "a b" : " \" \\" , "c" : "" }`: `{"a b":" \" \\","c":""}`,
		`"\\"  `:                          `"\\"`,
		`["\\\"" , 1]`:                    `["\\\"",1]`,
		`"\u0041 é"`:                      `"\u0041 é"`,
		"\n12345678901234567890\n":        `12345678901234567890`,
		`[true , false , null]`:           `[true,false,null]`,
		`{"b":1, "a":2}`:                  `{"b":1,"a":2}`,
	} {
		if got := string(strictjson.Compact([]byte("before "), []byte(text))); got != "before "+want {
			t.Errorf("%q: %q, want %q", text, got, "before "+want)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` { } `:         `{}`,
		` [ ] `:         `[]`,
		`{"b":1,"a":2}`: `{"a":2,"b":1}`,
		`{"a":1,"b":2}`: `{"a":1,"b":2}`,
		`{"c":3,"a":{"z":[{"y":1,"x":2}],"b":0},"b":2}`: `{"a":{"b":0,"z":[{"x":2,"y":1}]},"b":2,"c":3}`,
		`{"b":[],"ab":{},"":0,"a":"x"}`:                 `{"":0,"a":"x","ab":{},"b":[]}`,
		`{"\u0062":1,"\u0061":2}`:                       `{"a":2,"b":1}`,
		`{"\ud83d\ude00":1,"\uffee":2}`:                 `{"` + "\uffee" + `":2,"😀":1}`, // by UTF-8 bytes, not by UTF-16 units
		`"\u0041\/\u00e9\u20AC"`:                        `"A/é€"`,
		`"\u0000\u001F\b\f\n\r\t\"\\"`:                  `"\u0000\u001f\b\f\n\r\t\"\\"`,
		`"\u0008\u000a\u2028\u007f"`:                    "\"\\b\\n\u2028\u007f\"",
		"[1.0,1,1e5,1E5,-0,0.10]":                       `[1.0,1,1e5,1E5,-0,0.10]`,
		"12345678901234567890":                          `12345678901234567890`,
		"\r\n\"a\"\t":                                   `"a"`,
		`[3, 1 ,2]`:                                     `[3,1,2]`,
	} {
		got, err := strictjson.Canonical([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "{", "[", "[1,]", "[1 2]", `{"a"}`, `{"a":1,}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", "NaN",
		"1 2", "{}x", strings.Repeat("[", 100_000), nested(10_001),
	} {
		got, err := strictjson.Canonical([]byte(text))
		var syntax *strictjson.SyntaxError
		if !errors.As(err, &syntax) || got != nil {
			t.Errorf("%.40s: %s, %v, want a SyntaxError", text, got, err)
		}
	}
}

// The text may be a caller's payload that others read at the same time.
func TestNothingWritesToTheText(t *testing.T) {
	t.Parallel()
	const text = ` {"b":"\u0041","a":[1, {"d":1,"c":2}]} `
	b := []byte(text)
	if err := strictjson.Check(b, 50); err != nil {
		t.Fatal(err)
	}
	form, err := strictjson.Canonical(b)
	if err != nil {
		t.Fatal(err)
	}
	form[0] = 'x'
	strictjson.Compact(nil, b)[0] = 'x'
	if string(b) != text {
		t.Errorf("the text became %q", b)
	}
}

func BenchmarkCheck(b *testing.B) { benchmark(b, func(text []byte) { _ = strictjson.Check(text, 50) }) }
func BenchmarkCanonical(b *testing.B) {
	benchmark(b, func(text []byte) { _, _ = strictjson.Canonical(text) })
}
func BenchmarkCompact(b *testing.B) {
	benchmark(b, func(text []byte) { _ = strictjson.Compact(nil, text) })
}

// benchmark works on a small payload, and on the largest with its names in the
// worst order.
func benchmark(b *testing.B, work func([]byte)) {
	var large strings.Builder
	for i := 40_000; i > 0; i-- {
		fmt.Fprintf(&large, `, "name%06d":"%d"`, i, i)
	}
	for name, text := range map[string]string{
		"small": `{"to": "ann@example.org", "subject": "hello", "cents": 4200}`,
		"large": "{" + large.String()[1:] + "}",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				work([]byte(text))
			}
		})
	}
}
