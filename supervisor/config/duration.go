package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDuration bounds every duration, so that adding a few can never overflow.
const maxDuration = 10 * 365 * 24 * time.Hour

// units are those of time.ParseDuration and the two that operators miss there.
// A day is 24 hours here, whatever a clock change makes of it.
var units = map[string]time.Duration{
	"ns": time.Nanosecond,
	"us": time.Microsecond,
	"µs": time.Microsecond,
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
	"d":  24 * time.Hour,
	"w":  7 * 24 * time.Hour,
}

// longUnits are what people write instead.
var longUnits = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
	"day": "d", "days": "d", "week": "w", "weeks": "w",
	"msec": "ms", "millisecond": "ms", "milliseconds": "ms",
	"S": "s", "H": "h", "D": "d", "W": "w", "MS": "ms",
}

// ParseDuration reads one or more numbers with units, "1h30m" or "0.5s". The
// error tells what to write instead.
func ParseDuration(text string) (time.Duration, error) {
	rest := text
	if strings.HasPrefix(rest, "-") {
		return 0, fmt.Errorf("a duration is not negative")
	}
	if rest == "" {
		return 0, fmt.Errorf(`a duration is a number with a unit, like "30s"`)
	}
	var sum float64
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf(`a duration is a number with a unit, like "30s" or "1h30m"`)
		}
		rest = rest[digits:]
		letters := strings.IndexAny(rest, "0123456789.")
		if letters < 0 {
			letters = len(rest)
		}
		unit := rest[:letters]
		rest = rest[letters:]
		size, known := units[unit]
		switch short := longUnits[strings.TrimSpace(unit)]; {
		case known:
		case unit == "":
			return 0, fmt.Errorf("a unit is missing: write %q for seconds (ms, s, m, h, d, w)", text+"s")
		case units[strings.TrimSpace(unit)] != 0:
			return 0, fmt.Errorf("a number and its unit stand together: write %q", strings.Join(strings.Fields(text), ""))
		case short != "":
			return 0, fmt.Errorf("%q is no unit here: write %q", strings.TrimSpace(unit), strings.Replace(text, unit, short, 1))
		default:
			return 0, fmt.Errorf("%q is no unit: the units are ms, s, m, h, d and w", unit)
		}
		sum += number * float64(size)
	}
	if sum > float64(maxDuration) {
		return 0, fmt.Errorf("longer than ten years")
	}
	return time.Duration(math.Round(sum)), nil
}

// formatDuration writes a duration as it would be written in a file: "90s" is
// "1m30s", a whole number of days is "7d".
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
