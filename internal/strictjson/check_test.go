package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/internal/strictjson"
)

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `0`, `-0`, `1.0`, `1E+5`, `1e-999999`, `12345678901234567890123456789`, `""`,
		`"\u0000"`, `"\ud83d\ude00"`, `"\/"`, "\"\u007f\u2028\"", `[]`, `{}`, `{"":1}`, `{"a":1,"A":2}`,
		"\t\r\n {\r\n\"a\" : [ 1 , 2 ] }\r\n", nested(50), strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50),
	} {
		if err := strictjson.Check([]byte(text), 50); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		``:                                    `empty: a JSON value is expected (byte 0)`,
		" \r\n":                               `empty: a JSON value is expected (byte 3)`,
		`{"a":1,"a":2}`:                       `the name "a" stands twice in one object (byte 7)`,
		`{"b":[0,{"a":1,"\u0061":2}]}`:        `the name "a" stands twice in one object (byte 15, in /b/1)`,
		`{"\u001b[2J":1,"\u001b[2J":2}`:       `the name "\x1b[2J" stands twice in one object (byte 15)`,
		`{"a/b":{"\u202e":NaN}}`:              `JSON has no NaN and no Infinity (byte 17, in /a~1b/\u202e)`,
		`[Infinity]`:                          `JSON has no NaN and no Infinity (byte 1, in /0)`,
		`-Infinity`:                           `JSON has no NaN and no Infinity (byte 1)`,
		"[\"a\xff\"]":                         `invalid UTF-8 (byte 3, in /0)`,
		"\"\xed\xa0\x80\"":                    `invalid UTF-8 (byte 1)`,
		`"\ud800"`:                            `half a surrogate pair: \ud800 (byte 1)`,
		`"ab\udc00"`:                          `half a surrogate pair: \udc00 (byte 3)`,
		`"\ud800\u0041"`:                      `half a surrogate pair: \ud800 (byte 1)`,
		`"\ud800` + "\x00\"":                  `half a surrogate pair: \ud800 (byte 1)`,
		`{} {}`:                               `more text after the value (byte 3)`,
		"1\n2":                                `more text after the value (byte 2)`,
		`01`:                                  `more text after the value (byte 1)`,
		`{}}`:                                 `more text after the value (byte 2)`,
		"null\x00":                            `more text after the value (byte 4)`,
		`{"a":"x`:                             `it ends in the middle of a value (byte 7, in /a)`,
		`[1,`:                                 `it ends in the middle of a value (byte 3)`,
		`tru`:                                 `it ends in the middle of a value (byte 3)`,
		`[1,]`:                                `invalid character`,
		`{"a":1,}`:                            `invalid character`,
		`{a:1}`:                               `invalid character 'a'`,
		`'a'`:                                 `invalid character '\''`,
		`{1:2}`:                               `string`,
		"\"a\nb\"":                            `invalid character '\n' in string`,
		"[1 // one\n]":                        `invalid character '/'`,
		"\xef\xbb\xbf{}":                      `invalid character '\ufeff'`,
		`{"` + strings.Repeat("€", 50) + ``:   `it ends in the middle`,
		`{"` + strings.Repeat("€", 50) + `":`: `in /` + strings.Repeat("€", 33) + `…)`,
	} {
		err := strictjson.Check([]byte(text), 50)
		var syntax *strictjson.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v, want a SyntaxError", text, err)
			continue
		}
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%s says %q, want %q in it", text, err, says)
		}
		if syntax.Offset < 0 || syntax.Offset > int64(len(text)) {
			t.Errorf("%s: byte %d of %d", text, syntax.Offset, len(text))
		}
	}
}

func TestCheckDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		limit  int
		offset int64 // -1: it is not too deep
	}{
		{nested(50), 50, -1},
		{nested(51), 50, 50},
		{strings.Repeat("[", 100_000), 50, 50},
		{strings.Repeat(`{"a":`, 51), 50, 250},
		{"[" + nested(49) + "," + nested(50) + "]", 50, 1 + 98 + 1 + 49},
		{`"` + nested(60) + `"`, 50, -1},
		{`7`, 0, -1},
		{` []`, 0, 1},
	} {
		err := strictjson.Check([]byte(c.text), c.limit)
		var depth *strictjson.DepthError
		switch {
		case c.offset < 0:
			if err != nil {
				t.Errorf("%.60s within %d: %v", c.text, c.limit, err)
			}
		case !errors.As(err, &depth) || depth.Limit != c.limit || depth.Offset != c.offset:
			t.Errorf("%.60s within %d: %v, want too deep at byte %d", c.text, c.limit, err, c.offset)
		case !strings.HasPrefix(err.Error(), fmt.Sprintf("nested deeper than %d (byte %d)", c.limit, c.offset)):
			t.Errorf("%.60s says %q", c.text, err)
		}
	}
	// Whichever comes first is told.
	var syntax *strictjson.SyntaxError
	if err := strictjson.Check([]byte("[x"+nested(60)), 50); !errors.As(err, &syntax) {
		t.Errorf("broken before it is too deep: %v", err)
	}
}

func TestTrimBOM(t *testing.T) {
	t.Parallel()
	const bom = "\xef\xbb\xbf"
	for text, want := range map[string]string{
		"": "", "{}": "{}", bom: "", bom + "{}": "{}", " " + bom: " " + bom, bom + bom: bom, "\xef\xbb": "\xef\xbb",
	} {
		if got := string(strictjson.TrimBOM([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
