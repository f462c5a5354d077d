package main

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestEscapeShowsWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"plain text, ünïcödé, 日本, 👩‍👧", "plain text, ünïcödé, 日本, 👩‍👧"},
		{"\x1b[2J", `\x1b[2J`},
		{"\x1b]0;title\a", `\x1b]0;title\x07`},
		{"a\nb\tc\r", `a\nb\tc\r`},
		{"\u009b2J", `\x9b2J`},
		{"safe\u202egnp.exe", `safe\u202egnp.exe`},
		{"\u2066x\u2069", `\u2066x\u2069`},
		{"\xff\xfe", `\xff\xfe`},
		{"a\ufffdb", "a\ufffdb"},
		{"\U000e0041", `\U000e0041`},
		{"\x7f", `\x7f`},
	} {
		if got := escape(c.in); got != c.want {
			t.Errorf("escape(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestEscapedJSONMeansTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"a":"ü 日本 👍"}`, `{"a":"ü 日本 👍"}`},
		{"\"\u202e\u0085\"", `"\u202e\u0085"`},
		{"\"\x7f\"", `"\u007f"`},
		{"\"\U000e0041\"", `"\udb40\udc41"`},
	} {
		got := escapeJSON([]byte(c.in))
		if got != c.want {
			t.Errorf("escapeJSON(%q) = %s, want %s", c.in, got, c.want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(c.in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil {
			t.Fatalf("escapeJSON(%q) is no JSON: %v", c.in, err)
		}
		if s, ok := before.(string); ok && s != after {
			t.Errorf("escapeJSON(%q) means %q", c.in, after)
		}
	}
}

func TestBriefCutsAtACharacter(t *testing.T) {
	t.Parallel()
	if got := brief("€€€€", 3); got != "€€…" {
		t.Errorf("brief = %s", got)
	}
	if got := brief("€€€", 3); got != "€€€" {
		t.Errorf("brief = %s", got)
	}
}
