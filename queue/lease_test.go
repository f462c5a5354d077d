package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestTokenReadsBack(t *testing.T) {
	t.Parallel()
	token := queue.NewToken()
	if token == queue.NewToken() {
		t.Fatal("two tokens are the same")
	}
	text := token.Text()
	if got, err := queue.ParseToken(text); err != nil || got != token || len(text) != 32 {
		t.Errorf("%d digits, read back %v, %v", len(text), got == token, err)
	}
	for _, bad := range []string{"", text[1:], text + "00", "x" + text[1:], text + " "} {
		if _, err := queue.ParseToken(bad); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%d characters: %v, want them refused", len(bad), err)
		}
	}
}

// A token is a capability: no careless print shows it, nor does the error that
// refuses half of one.
func TestTokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	token := queue.NewToken()
	lease := queue.Lease{Token: token, Fence: 1}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, shown := range []string{fmt.Sprintf(verb, token), fmt.Sprintf(verb, lease), fmt.Sprintf(verb, &lease)} {
			if strings.Contains(shown, token.Text()) || !strings.Contains(shown, "[token]") {
				t.Errorf("%s prints %s", verb, shown)
			}
		}
	}
	half := token.Text()[:20]
	if _, err := queue.ParseToken(half); strings.Contains(err.Error(), half) {
		t.Errorf("the error shows it: %v", err)
	}
}

func TestMargin(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]time.Duration{
		time.Second:             250 * time.Millisecond,
		2500 * time.Millisecond: 250 * time.Millisecond,
		30 * time.Second:        3 * time.Second,
		24 * time.Hour:          144 * time.Minute,
	} {
		if got := queue.Margin(length); got != want {
			t.Errorf("margin of %v: %v, want %v", length, got, want)
		}
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{now.Add(-time.Hour), true},
		{now, true},
		{now.In(time.FixedZone("", 3600)), true},
		{now.Add(time.Millisecond), false},
	} {
		j := queue.Job{AvailableAt: c.at}
		if got := j.Due(now); got != c.want {
			t.Errorf("available at %v, due at %v: %v, want %v", c.at, now, got, c.want)
		}
	}
}
