package queue_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b1213022/bailiff/queue"
)

func TestCutText(t *testing.T) {
	t.Parallel()
	const mark = "… (truncated)" // 15 bytes
	for _, c := range []struct {
		s    string
		most int
		want string
	}{
		{"", 0, ""},
		{"short", 5, "short"},
		{"€😀", 7, "€😀"},
		{strings.Repeat("a", 21), 20, "aaaaa" + mark},
		{strings.Repeat("€", 7), 20, "€" + mark},
		{strings.Repeat("😀", 6), 18, mark},
		{strings.Repeat("😀", 6), 19, "😀" + mark},
		{"longer than it may be", 14, "longer than it"},
		{"€€€", 8, "€€"},
		{"€", 2, ""},
		{"\xff\xfe\x00", 20, `\xff\xfe` + "\x00"},
		{"a\xe2\x82", 20, `a\xe2\x82`},
		{strings.Repeat("\xff", 6), 23, `\xff\xff` + mark},
		{strings.Repeat("\xff", 6), 24, strings.Repeat(`\xff`, 6)},
		{"\ufffd is a character", 40, "\ufffd is a character"},
	} {
		if got := queue.CutText(c.s, c.most); got != c.want {
			t.Errorf("%.40q in %d bytes: %q, want %q", c.s, c.most, got, c.want)
		}
	}
}

func FuzzCutText(f *testing.F) {
	f.Add("handler failed: €😀", 20)
	f.Add("\xff\xfe\x00", 3)
	f.Add("ends in half a character \xe2\x82", 27)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(0, most%2048)
		got := queue.CutText(s, most)
		if len(got) > most || !utf8.ValidString(got) {
			t.Errorf("%q in %d bytes: %q, %d bytes", s, most, got, len(got))
		}
		if utf8.ValidString(s) && len(s) <= most && got != s {
			t.Errorf("%q would fit %d bytes and is %q", s, most, got)
		}
	})
}
