package main

import (
	"errors"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestInstantsNeedAnOffset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want string // UTC; empty: refused
	}{
		{"2026-11-30T14:00:00+01:00", "2026-11-30T13:00:00Z"},
		{"2026-11-30T14:00+01:00", "2026-11-30T13:00:00Z"},
		{"2026-11-30 14:00:00 +01:00", "2026-11-30T13:00:00Z"},
		{"2026-11-30T14:00:00.25Z", "2026-11-30T14:00:00.25Z"},
		{"2027-03-28T02:30", ""},
		{"2026-10-25T02:30:00", ""},
		{"2026-10-25", ""},
		{"tomorrow", ""},
		{"", ""},
	} {
		got, err := parseInstant("--at", c.in)
		switch {
		case c.want == "" && !errors.Is(err, queue.ErrInvalid):
			t.Errorf("%q: %v, want it refused", c.in, err)
		case c.want != "" && (err != nil || got.UTC().Format(time.RFC3339Nano) != c.want):
			t.Errorf("%q is %v (%v), want %s", c.in, got.UTC(), err, c.want)
		}
	}
}

func TestSpansAreRead(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		in   string
		want time.Duration
		bad  bool
	}{
		{in: "500ms", want: 500 * time.Millisecond},
		{in: "1h30m", want: 90 * time.Minute},
		{in: "1d", want: day},
		{in: "2w", want: 14 * day},
		{in: "1w2d12h", want: 9*day + 12*time.Hour},
		{in: "0s"},
		{in: "", bad: true},
		{in: "30", bad: true},
		{in: "-1s", bad: true},
		{in: "1d-2d", bad: true},
		{in: "2d1w", want: 9 * day},
		{in: "90 seconds", bad: true},
		{in: "99999w", bad: true},
		{in: "ten seconds", bad: true},
	} {
		got, err := parseSpan("--in", c.in)
		if c.bad != errors.Is(err, queue.ErrInvalid) || !c.bad && got != c.want {
			t.Errorf("%q is %v, %v", c.in, got, err)
		}
	}
}

func TestSpansAreSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 ms"},
		{300 * time.Microsecond, "under 1 ms"},
		{41 * time.Millisecond, "41 ms"},
		{400 * time.Millisecond, "0.4 s"},
		{3 * time.Second, "3 s"},
		{9900 * time.Millisecond, "9.9 s"},
		{59 * time.Second, "59 s"},
		{3 * time.Minute, "3 min"},
		{3*time.Minute + 5*time.Second, "3 min 5 s"},
		{59*time.Minute + 59*time.Second, "59 min"},
		{3*time.Hour + 12*time.Minute, "3 h 12 min"},
		{25 * time.Hour, "1 day 1 h"},
		{72 * time.Hour, "3 days"},
	} {
		if got := span(c.d); got != c.want {
			t.Errorf("span(%v) = %s, want %s", c.d, got, c.want)
		}
	}
}

func TestRelativeLooksBothWays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-3 * time.Minute, "3 min ago"},
		{-500 * time.Millisecond, "just now"},
		{500 * time.Millisecond, "now"},
		{2 * time.Hour, "in 2 h"},
	} {
		if got := relative(at, at.Add(c.d)); got != c.want {
			t.Errorf("%v from now: %s, want %s", c.d, got, c.want)
		}
	}
}
