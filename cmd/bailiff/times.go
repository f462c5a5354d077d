package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/b1213022/bailiff/supervisor/config"
)

// parseInstant reads a point in time. One without an offset from UTC is
// refused: it may not exist, or exist twice, and means something else to a
// service that runs under another TZ.
func parseInstant(name, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if t, err := time.Parse(layout, strings.ReplaceAll(text, " +", "+")); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if _, err := time.Parse(layout, text); err == nil {
			return time.Time{}, usage("%s %s has no offset from UTC: write 2026-11-30T14:00:00+01:00, or …Z for UTC", name, escape(text))
		}
	}
	return time.Time{}, usage("%s %s is no time: write 2026-11-30T14:00:00+01:00, or …Z for UTC", name, escape(text))
}

// parseSpan reads a duration as the configuration has it ("1h30m", "2d").
func parseSpan(name, text string) (time.Duration, error) {
	d, err := config.ParseDuration(text)
	if err != nil {
		return 0, usage("%s %s: %v", name, escape(text), err)
	}
	return d, nil
}

// span says a duration in at most two units, as a person would.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + span(-d)
	case d < time.Millisecond && d > 0:
		return "under 1 ms"
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Truncate(100*time.Millisecond).Seconds()), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	case d < 2*day:
		return twoUnits(d, day, "day", time.Hour, "h")
	default:
		return fmt.Sprintf("%d days", d/day)
	}
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	first, second := d/large, d%large/small
	if second == 0 {
		return fmt.Sprintf("%d %s", first, largeName)
	}
	return fmt.Sprintf("%d %s %d %s", first, largeName, second, smallName)
}

// relative says when t is, seen from now.
func relative(now, t time.Time) string {
	switch d := now.Sub(t); {
	case d >= time.Second:
		return span(d) + " ago"
	case d >= 0:
		return "just now"
	case d > -time.Second:
		return "now"
	default:
		return "in " + span(-d)
	}
}

// due says when something that is to come is due: behind two days with its date.
func due(now, t time.Time) string {
	if t.Sub(now) < 48*time.Hour {
		return "due " + relative(now, t)
	}
	return "due " + when(now, t)
}

// local is t for people: local time with its offset.
func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// when is both, local and relative.
func when(now, t time.Time) string { return local(t) + " (" + relative(now, t) + ")" }
