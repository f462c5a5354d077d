package config

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// A form says how a setting is written: it turns what HCL evaluated into a Go
// value, or tells what is wrong with it and what to write instead. The value
// is whole, known and not null.
type form func(cty.Value) (any, error)

// text is a quoted string without NUL, which no path, argument or variable can
// hold.
func text(v cty.Value) (any, error) {
	if v.Type() != cty.String {
		return nil, fmt.Errorf("a text in quotes is expected%s", insteadOf(v))
	}
	s := v.AsString()
	if strings.ContainsRune(s, 0) {
		return nil, fmt.Errorf("it holds a NUL character")
	}
	return s, nil
}

// filled is a text that is not empty.
func filled(v cty.Value) (any, error) {
	s, err := text(v)
	if err == nil && s == "" {
		return nil, fmt.Errorf("it is empty")
	}
	return s, err
}

// oneOf is a text out of a few.
func oneOf(words ...string) form {
	return func(v cty.Value) (any, error) {
		s, err := text(v)
		if err != nil {
			return nil, err
		}
		if slices.Contains(words, s.(string)) {
			return s, nil
		}
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = strconv.Quote(w)
		}
		return nil, fmt.Errorf("it is one of %s", strings.Join(list, ", "))
	}
}

// duration is a quoted number with a unit, within bounds.
func duration(low, high time.Duration) form {
	return func(v cty.Value) (any, error) {
		if v.Type() == cty.Number {
			return nil, fmt.Errorf("a duration is quoted and has a unit: write %q for seconds", number(v)+"s")
		}
		s, err := text(v)
		if err != nil {
			return nil, err
		}
		d, err := ParseDuration(s.(string))
		switch {
		case err != nil:
			return nil, err
		case d < low:
			return nil, fmt.Errorf("it is at least %s", formatDuration(low))
		case d > high:
			return nil, fmt.Errorf("it is at most %s", formatDuration(high))
		}
		return d, nil
	}
}

// retention is how long something is kept; 0 is for ever.
type retention time.Duration

// keptForever is how a retention without an end is written.
const keptForever = "forever"

// retained is a duration of at least a minute, or for ever.
func retained(v cty.Value) (any, error) {
	if v.Type() == cty.String && v.AsString() == keptForever {
		return retention(0), nil
	}
	d, err := duration(time.Minute, forever)(v)
	if err != nil {
		return nil, fmt.Errorf("%w, or %q", err, keptForever)
	}
	return retention(d.(time.Duration)), nil
}

// integer is a whole number within bounds, not quoted.
func integer(low, high int) form {
	return func(v cty.Value) (any, error) {
		if v.Type() != cty.Number {
			return nil, fmt.Errorf("a number without quotes is expected%s", insteadOf(v))
		}
		f := v.AsBigFloat()
		n, exact := f.Int64()
		if exact != big.Exact || n < int64(low) || n > int64(high) {
			return nil, fmt.Errorf("it is a whole number from %d to %d", low, high)
		}
		return int(n), nil
	}
}

// share is a number from 0 to 1.
func share(v cty.Value) (any, error) {
	if v.Type() != cty.Number {
		return nil, fmt.Errorf("a number without quotes is expected%s", insteadOf(v))
	}
	f, _ := v.AsBigFloat().Float64()
	if f < 0 || f > 1 {
		return nil, fmt.Errorf("it is a number from 0 to 1")
	}
	return f, nil
}

// flag is true or false, not quoted.
func flag(v cty.Value) (any, error) {
	if v.Type() != cty.Bool {
		return nil, fmt.Errorf("true or false without quotes is expected%s", insteadOf(v))
	}
	return v.True(), nil
}

// texts is a list of texts.
func texts(v cty.Value) (any, error) {
	items, err := list(v, text)
	if err != nil {
		return nil, err
	}
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = item.(string)
	}
	return words, nil
}

// argv is a list of texts, the first of which names a program.
func argv(v cty.Value) (any, error) {
	if v.Type() == cty.String {
		words := strings.Fields(v.AsString())
		for i, w := range words {
			words[i] = strconv.Quote(w)
		}
		return nil, fmt.Errorf("a list of arguments is expected, no shell is in between: write [%s]", strings.Join(words, ", "))
	}
	words, err := texts(v)
	if err != nil {
		return nil, err
	}
	if argv := words.([]string); len(argv) == 0 || argv[0] == "" {
		return nil, fmt.Errorf(`its first word names the program: write ["./script.sh"]`)
	}
	return words, nil
}

// names is a list of names of environment variables.
func names(v cty.Value) (any, error) {
	words, err := texts(v)
	if err != nil {
		return nil, err
	}
	for _, name := range words.([]string) {
		if err := checkVariable(name); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// variables is a map from names of environment variables to texts.
func variables(v cty.Value) (any, error) {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil, fmt.Errorf(`names and texts are expected: write { NAME = "text" }`)
	}
	set := map[string]string{}
	for name, item := range v.AsValueMap() {
		if err := checkVariable(name); err != nil {
			return nil, &nameError{err}
		}
		if item.IsNull() {
			return nil, &nameError{fmt.Errorf("%s is null: leave it out", name)}
		}
		s, err := text(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		set[name] = s.(string)
	}
	return set, nil
}

// nameError is about a name in a map, which is written out in the file: no
// secret shows in it, whatever the values are.
type nameError struct{ err error }

func (e *nameError) Error() string { return e.err.Error() }

// statuses is a list of exit statuses that have no meaning of their own.
func statuses(v cty.Value) (any, error) {
	items, err := list(v, integer(0, 255))
	if err != nil {
		return nil, err
	}
	codes := make([]int, 0, len(items))
	for _, item := range items {
		code := item.(int)
		if meaning, fixed := map[int]string{0: "done", 65: "dead", 75: "retry", 76: "uncertain"}[code]; fixed {
			return nil, fmt.Errorf("%d always means %s: take it out", code, meaning)
		}
		if slices.Contains(codes, code) {
			return nil, fmt.Errorf("%d is named twice", code)
		}
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes, nil
}

func list(v cty.Value, each form) ([]any, error) {
	if !v.Type().IsTupleType() && !v.Type().IsListType() && !v.Type().IsSetType() {
		return nil, fmt.Errorf("a list in brackets is expected%s", insteadOf(v))
	}
	var items []any
	for _, element := range v.AsValueSlice() {
		if element.IsNull() {
			return nil, fmt.Errorf("an element is null: leave it out")
		}
		item, err := each(element)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(items)+1, err)
		}
		items = append(items, item)
	}
	return items, nil
}

// checkVariable refuses what cannot be, or must not be, set in a handler's
// environment.
func checkVariable(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%q is no name of an environment variable", name)
	case strings.HasPrefix(name, "BAILIFF_"):
		return fmt.Errorf("%s: names that begin with BAILIFF_ are set by bailiff alone", name)
	}
	return nil
}

// insteadOf shows how a scalar of another type would be written rightly.
func insteadOf(v cty.Value) string {
	switch v.Type() {
	case cty.String:
		return fmt.Sprintf(", not the text %q", v.AsString())
	case cty.Number:
		return ", not the number " + number(v)
	case cty.Bool:
		return fmt.Sprintf(", not %t", v.True())
	}
	return ""
}

// number writes a number as people would, and shortly even if it has a million
// digits.
func number(v cty.Value) string {
	f := v.AsBigFloat()
	if n, exact := f.Int64(); exact == big.Exact {
		return strconv.FormatInt(n, 10)
	}
	return f.Text('g', 10)
}
