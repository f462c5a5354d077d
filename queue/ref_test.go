package queue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]queue.Ref{
		"17":                 {ID: 17},
		"9007199254740991":   {ID: queue.MaxID},
		"mail/welcome-42":    {Kind: "mail", Key: "welcome-42"},
		"copy//var/log/x.gz": {Kind: "copy", Key: "/var/log/x.gz"},
		"17/18":              {Kind: "17", Key: "18"},
		"mail/17 €":          {Kind: "mail", Key: "17 €"},
	} {
		got, err := queue.ParseRef(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
		if got.String() != s {
			t.Errorf("%q is written back as %q", s, got.String())
		}
	}
	for _, s := range []string{"", "0", "-1", "9007199254740992", "99999999999999999999", "mail", "mail/", "/x", "Mail/x", "mail/a\x00b", "mail/\xff", "1.5"} {
		if got, err := queue.ParseRef(s); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%q: %+v, %v, want it refused", s, got, err)
		}
	}
	if _, err := queue.ParseRef("mail"); !strings.Contains(err.Error(), `"mail": a number or KIND/KEY is expected`) {
		t.Errorf("a kind alone: %v", err)
	}
}
