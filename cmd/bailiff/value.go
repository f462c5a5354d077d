package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// maxValueText bounds what is read of a file or stdin for one JSON value:
// room for white space around the largest payload.
const maxValueText = 2 * queue.MaxPayload

// readJSON is a JSON argument: its text, @FILE or - for stdin. Whether it is
// JSON, and small enough, is for the queue's rules to say.
func (a *app) readJSON(name, arg string) (jsontext.Value, error) {
	from := a.in
	switch {
	case arg == "-":
	case strings.HasPrefix(arg, "@"):
		file, err := a.in.open(arg[1:])
		switch {
		case errors.As(err, new(stopped)):
			return nil, fmt.Errorf("read %s: %w", name, err)
		case err != nil:
			return nil, advise(usage("%s: %v", name, err), "@FILE reads the value from a file")
		}
		defer file.Close()
		from.from = file
	default:
		return jsontext.Value(arg), nil
	}
	value, err := io.ReadAll(io.LimitReader(from, maxValueText+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(value) > maxValueText {
		return nil, usage("%s: more than %d bytes", name, maxValueText)
	}
	return value, nil
}

// pair is one member of a payload given in words: name=text or name:=json.
var pair = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)(:?=)`)

// payloadForms says how a payload can be given.
const payloadForms = "a payload is one JSON text, @FILE, - (stdin), or any number of name=text and name:=json; quote JSON for your shell"

// payload reads the PAYLOAD arguments of enqueue and try, and checks them.
func (a *app) payload(args []string) (value jsontext.Value, err error) {
	switch {
	case len(args) == 0:
		return jsontext.Value(`{}`), nil
	case len(args) == 1 && !pair.MatchString(args[0]):
		value, err = a.readJSON("PAYLOAD", args[0])
	default:
		value, err = object(args)
	}
	if err != nil {
		return nil, err
	}
	clean, err := queue.CheckPayload(value)
	return clean, advise(err, payloadForms)
}

// object builds an object from pairs, in their order.
func object(args []string) (jsontext.Value, error) {
	members := make([]string, 0, len(args))
	seen := make(map[string]bool, len(args))
	for _, arg := range args {
		m := pair.FindStringSubmatch(arg)
		if m == nil {
			return nil, advise(usage("PAYLOAD '%s' is neither name=text nor name:=json", escape(arg)), payloadForms)
		}
		name, text := m[1], arg[len(m[0]):]
		if seen[name] {
			return nil, usage("PAYLOAD names %s twice", name)
		}
		seen[name] = true
		value := jsontext.Value(text)
		if m[2] == "=" {
			if !utf8.ValidString(text) {
				return nil, usage("PAYLOAD %s is not valid UTF-8", name)
			}
			value, _ = jsontext.AppendQuote(nil, text)
		} else if !value.IsValid() {
			return nil, usage("PAYLOAD %s:= is not JSON: %s", name, escape(text))
		}
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	return jsontext.Value("{" + strings.Join(members, ",") + "}"), nil
}
