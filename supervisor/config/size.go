package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// byteSize is a number of bytes.
type byteSize int64

// maxSize bounds every size, so that adding a few can never overflow.
const maxSize = byteSize(1) << 50

// sizeUnit is what a size is counted in.
type sizeUnit struct {
	name  string
	bytes byteSize
}

// sizeUnits are all that a size may have, the largest first: powers of 1024 with
// an i in them, powers of 1000 without.
var sizeUnits = []sizeUnit{
	{"TiB", 1 << 40}, {"TB", 1e12},
	{"GiB", 1 << 30}, {"GB", 1e9},
	{"MiB", 1 << 20}, {"MB", 1e6},
	{"KiB", 1 << 10}, {"KB", 1e3},
	{"B", 1},
}

// size is a quoted number with a unit, within bounds.
func size(low, high byteSize) form {
	return func(v cty.Value) (any, error) {
		if v.Type() == cty.Number {
			return nil, fmt.Errorf("a size is quoted and has a unit: write %q, or %q for bytes", number(v)+"MiB", number(v)+"B")
		}
		s, err := text(v)
		if err != nil {
			return nil, err
		}
		n, err := parseSize(s.(string))
		switch {
		case err != nil:
			return nil, err
		case n < low:
			return nil, fmt.Errorf("it is at least %s", formatSize(low))
		case n > high:
			return nil, fmt.Errorf("it is at most %s", formatSize(high))
		}
		return n, nil
	}
}

// parseSize reads a number with a unit, "64MiB" or "1.5GB". The error tells what
// to write instead.
func parseSize(text string) (byteSize, error) {
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("a size is not negative")
	}
	unit := strings.TrimLeft(text, "0123456789.")
	digits := strings.TrimSuffix(text, unit)
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf(`a size is a number with a unit, like "64MiB"`)
	}
	for _, u := range sizeUnits {
		if u.name != unit {
			continue
		}
		if n > float64(maxSize)/float64(u.bytes) {
			return 0, fmt.Errorf("it is at most %s", formatSize(maxSize))
		}
		return byteSize(math.Round(n * float64(u.bytes))), nil
	}
	switch meant := meantUnit(unit); {
	case unit == "":
		return 0, fmt.Errorf("a unit is missing: write %q (B, KiB, MiB, GiB, or KB, MB, GB for powers of 1000)", text+"MiB")
	case meant == "":
		return 0, fmt.Errorf("%q is no unit: the units are B, KiB, MiB, GiB, TiB, and KB, MB, GB, TB for powers of 1000", unit)
	case meant == strings.TrimSpace(unit):
		return 0, fmt.Errorf("a number and its unit stand together: write %q", digits+meant)
	default:
		return 0, fmt.Errorf("%q is no unit here: write %q", strings.TrimSpace(unit), digits+meant)
	}
}

// meantUnit is the unit that another writing of it, "M", "mb" or " MiB", is meant
// to be; empty if it is none.
func meantUnit(unit string) string {
	letters := strings.ToLower(strings.TrimSpace(unit))
	switch {
	case letters == "byte", letters == "bytes":
		return "B"
	case len(letters) == 1 && letters != "b": // as dd(1) and most tools have it
		letters += "ib"
	}
	i := slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return strings.ToLower(u.name) == letters })
	if i < 0 {
		return ""
	}
	return sizeUnits[i].name
}

// formatSize writes a size as it would be written in a file: in the largest unit
// of which it is a whole number.
func formatSize(n byteSize) string {
	for _, u := range sizeUnits {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(int64(n/u.bytes), 10) + u.name
		}
	}
	return "0B"
}
