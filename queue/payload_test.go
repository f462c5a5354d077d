package queue_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestCheckPayload(t *testing.T) {
	t.Parallel()
	full := `"` + strings.Repeat("a", queue.MaxPayload-2) + `"`
	for _, c := range []struct {
		name, text, want string
	}{
		{"object", `{"b":1, "a":2}`, `{"b":1, "a":2}`},
		{"numbers stay", `[9007199254740993,9223372036854775807,0.1000000000000000055,1.0,-0,1E5]`, `[9007199254740993,9223372036854775807,0.1000000000000000055,1.0,-0,1E5]`},
		{"escapes stay", `"\u0041\u0000\/"`, `"\u0041\u0000\/"`},
		{"byte-order mark", "\xef\xbb\xbf{}", "{}"},
		{"mark and white space", "\xef\xbb\xbf \r\n{}\r\n", "{}"},
		{"white space inside", "{\r\n}", "{\r\n}"},
		{"null", "null", "null"},
		{"50 levels", nested(50), nested(50)},
		{"as long as can be", full, full},
		{"as long as can be, and white space", " " + full + "\n", full},
	} {
		got, err := queue.CheckPayload([]byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %.80q, %v, want %.80q", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, text, says string
	}{
		{"empty", "", "payload: empty, where {} would be an empty object"},
		{"white space", " \r\n", "payload: empty"},
		{"only a mark", "\xef\xbb\xbf", "payload: empty"},
		{"too long", `"a` + full[1:], "payload: 1048577 bytes, at most 1048576 are allowed"},
		{"51 levels", nested(51), "payload: nested deeper than 50 (byte 50)"},
		{"100 000 levels", nested(100_000), "payload: nested deeper than 50"},
		{"100 000 brackets", strings.Repeat("[", 100_000), "payload: nested deeper than 50"},
		{"name twice", `{"a":1,"a":2}`, `payload: the name "a" stands twice in one object`},
		{"name twice, once escaped", `{"a":1,"\u0061":2}`, `the name "a" stands twice`},
		{"NaN", `{"x":NaN}`, "JSON has no NaN and no Infinity (byte 5, in /x)"},
		{"bad UTF-8", "\"\xff\"", "invalid UTF-8 (byte 1)"},
		{"half a pair", `"\ud800"`, `half a surrogate pair: \ud800`},
		{"two values", `{} {}`, "more text after the value (byte 3)"},
		{"shell quoting gone", `{a:x}`, "invalid character 'a'"},
		{"a mark inside", "[\xef\xbb\xbf1]", "invalid character '\\ufeff'"},
	} {
		got, err := queue.CheckPayload([]byte(c.text))
		if !errors.Is(err, queue.ErrInvalid) || got != nil {
			t.Errorf("%s: %.80q, %v, want it refused", c.name, got, err)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: says %q, want %q in it", c.name, err, c.says)
		}
	}
}

func TestCheckMeta(t *testing.T) {
	t.Parallel()
	full := `{"a":"` + strings.Repeat("a", queue.MaxMeta-8) + `"}`
	for _, text := range []string{`{}`, `{"trace":"x"}`, full} {
		if got, err := queue.CheckMeta([]byte(text + "\n")); err != nil || string(got) != text {
			t.Errorf("%.40q: %.40q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " \n"} {
		if got, err := queue.CheckMeta([]byte(text)); err != nil || got != nil {
			t.Errorf("%q: %q, %v, want none", text, got, err)
		}
	}
	for text, says := range map[string]string{
		`[]`:                       "meta: an object is expected",
		`null`:                     "meta: an object is expected",
		`{`:                        "meta: it ends in the middle of a value",
		full[:len(full)-2] + `a"}`: "meta: 4097 bytes, at most 4096 are allowed",
	} {
		if _, err := queue.CheckMeta([]byte(text)); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %q", text, err, says)
		}
	}
}

func TestCheckResult(t *testing.T) {
	t.Parallel()
	if got, err := queue.CheckResult([]byte("42\n")); err != nil || string(got) != "42" {
		t.Errorf("42: %q, %v", got, err)
	}
	if got, err := queue.CheckResult(nil); err != nil || got != nil {
		t.Errorf("none: %q, %v", got, err)
	}
	long := []byte(`"` + strings.Repeat("a", queue.MaxResult) + `"`)
	if _, err := queue.CheckResult(long); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("too long: %v", err)
	}
	if _, err := queue.CheckResult([]byte("no")); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("no JSON: %v", err)
	}
}

// A repeated enqueue is a replay exactly if the digests are equal, and databases
// hold the digests: the form they are taken of must never change.
func TestDigest(t *testing.T) {
	t.Parallel()
	sum, err := queue.Digest([]byte(`{ "b": [1.0, "\u20ac\n"], "a": 12345678901234567890 }`))
	// SHA-256 of {"a":12345678901234567890,"b":[1.0,"€\n"]}
	const want = "e832d97e882679254dfd4d3a54123d6d73c798a5f4a7c8e7f180357c6e2a40ff"
	if got := hex.EncodeToString(sum[:]); err != nil || got != want {
		t.Errorf("digest %s, %v, want %s", got, err, want)
	}
	if _, err := queue.Digest([]byte("{")); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("half an object: %v", err)
	}
	same := func(a, b string) bool {
		da, errA := queue.Digest([]byte(a))
		db, errB := queue.Digest([]byte(b))
		if errA != nil || errB != nil {
			t.Fatalf("%s, %s: %v, %v", a, b, errA, errB)
		}
		return da == db
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":2}`, "{ \"b\" : 2,\r\n\"a\":1}", true},
		{`{"a":{"y":[{"d":1,"c":2}],"x":0}}`, `{"a":{"x":0,"y":[{"c":2,"d":1}]}}`, true},
		{`"A\/\u00e9"`, `"\u0041/é"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`1e5`, `1E5`, false},
		{`0`, `-0`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"é"`, `"e\u0301"`, false},
	} {
		if got := same(c.a, c.b); got != c.same {
			t.Errorf("%s and %s are the same: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1}`, `{ "a" : 1 }`, ""},
		{`{"to":"x","body":"a"}`, `{"body":"b","to":"x"}`, "/body"},
		{`{"a":1,"b":2}`, `{"a":1}`, "/b"},
		{`{"a":1}`, `{"a":1,"b":null}`, "/b"},
		{`{"b":1}`, `{"a":1,"b":1}`, "/a"},
		{`{"a":1,"c":1}`, `{"b":1,"c":1}`, "/a"},
		{`{"c":1}`, `{"b":1,"c":1}`, "/b"},
		{`{}`, `{"a":1}`, "/a"},
		{`{"a":[1,2,3]}`, `{"a":[1,2]}`, "/a/2"},
		{`{"a":[]}`, `{"a":[{"b":1}]}`, "/a/0"},
		{`{"a":[1,{"x":1.0}]}`, `{"a":[1,{"x":1}]}`, "/a/1/x"},
		{`{"a":1}`, `{"a":"1"}`, "/a"},
		{`{"a":{}}`, `{"a":[]}`, "/a"},
		{`{"a":{"b":1}}`, `{"a":7}`, "/a"},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, "/a~1b/~0"},
		{`["b"]`, `["a"]`, "/0"},
		{`{"x":["b","c"]}`, `{"x":["a","c"]}`, "/x/0"},
		{`1`, `2`, "the top"},
		{`{}`, `[]`, "the top"},
		{`{}`, `{`, "the top"},
	} {
		if got := queue.Difference([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s differ at %q, want %q", c.a, c.b, got, c.want)
		}
		if got := queue.Difference([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%s and %s differ at %q, want %q", c.b, c.a, got, c.want)
		}
	}
	long := strings.Repeat("€", 1000)
	got := queue.Difference([]byte(`{"`+long+`":1}`), []byte(`{"`+long+`":2}`))
	if len(got) > 200 || !strings.HasPrefix(got, "/€€") || !strings.HasSuffix(got, "€… (truncated)") {
		t.Errorf("a long name: %q", got)
	}
}
