package childproto_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
)

func ptr[T any](v T) *T { return &v }

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestParseMessage(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := map[string]struct {
		line string
		want childproto.Message
	}{
		"ready":           {`{"type":"ready","protocol":1}`, childproto.Message{Type: childproto.TypeReady, Protocol: 1}},
		"another version": {`{"type":"ready","protocol":2}`, childproto.Message{Type: childproto.TypeReady, Protocol: 2}},
		"done":            {`{"type":"done","id":17}`, childproto.Message{Type: childproto.TypeDone, ID: 17, HasID: true}},
		"result as written": {`{"type":"done","id":17,"result":{"n": 9007199254740993 ,"x":0.1000000000000000055}}`,
			childproto.Message{Type: childproto.TypeDone, ID: 17, HasID: true, Result: jsontext.Value(`{"n": 9007199254740993 ,"x":0.1000000000000000055}`)}},
		"result null": {`{"type":"done","id":17,"result":null}`,
			childproto.Message{Type: childproto.TypeDone, ID: 17, HasID: true, Result: jsontext.Value(`null`)}},
		"type last": {`{"id":9007199254740991,"type":"done"}`, childproto.Message{Type: childproto.TypeDone, ID: 1<<53 - 1, HasID: true}},
		"retry": {`{"type":"retry","id":1,"reason":"later","after_ms":1500}`,
			childproto.Message{Type: childproto.TypeRetry, ID: 1, HasID: true, Reason: "later", After: ptr(1500 * time.Millisecond)}},
		"retry, null for none":       {`{"type":"retry","id":1,"reason":null,"after_ms":null}`, childproto.Message{Type: childproto.TypeRetry, ID: 1, HasID: true}},
		"delay in parts of a second": {`{"type":"retry","id":1,"after_ms":0.5}`, childproto.Message{Type: childproto.TypeRetry, ID: 1, HasID: true, After: ptr(500 * time.Microsecond)}},
		"dead":                       {`{"type":"dead","id":1,"reason":"no €"}`, childproto.Message{Type: childproto.TypeDead, ID: 1, HasID: true, Reason: "no €"}},
		"uncertain":                  {`{"type":"uncertain","id":1,"reason":"?"}`, childproto.Message{Type: childproto.TypeUncertain, ID: 1, HasID: true, Reason: "?"}},
		"snooze":                     {`{"type":"snooze","id":1,"after_ms":1000}`, childproto.Message{Type: childproto.TypeSnooze, ID: 1, HasID: true, After: ptr(s)}},
		"effect":                     {`{"type":"effect","id":1,"name":"charge","repeatable":true}`, childproto.Message{Type: childproto.TypeEffect, ID: 1, HasID: true, Name: "charge", Repeatable: true}},
		"receipt":                    {`{"type":"receipt","id":1,"name":"charge","receipt":null}`, childproto.Message{Type: childproto.TypeReceipt, ID: 1, HasID: true, Name: "charge", Receipt: jsontext.Value(`null`)}},
		"void":                       {`{"type":"void","id":1,"name":"charge","reason":"declined"}`, childproto.Message{Type: childproto.TypeVoid, ID: 1, HasID: true, Name: "charge", Reason: "declined"}},
		"progress":                   {`{"type":"progress","id":1,"percent":42.5,"message":"pass 2"}`, childproto.Message{Type: childproto.TypeProgress, ID: 1, HasID: true, Percent: ptr(42.5), Text: "pass 2"}},
		"progress beyond the end":    {`{"type":"progress","id":1,"percent":101}`, childproto.Message{Type: childproto.TypeProgress, ID: 1, HasID: true, Percent: ptr(100.0)}},
		"alive":                      {`{"type":"alive","id":1}`, childproto.Message{Type: childproto.TypeAlive, ID: 1, HasID: true}},
		"log of no job":              {`{"type":"log","message":"loaded"}`, childproto.Message{Type: childproto.TypeLog, Level: "info", Text: "loaded"}},
		"log of a job": {`{"type":"log","id":1,"level":"WARNING","message":"slow","fields":{"s":9}}`,
			childproto.Message{Type: childproto.TypeLog, ID: 1, HasID: true, Level: "warn", Text: "slow", Fields: jsontext.Value(`{"s":9}`)}},
		"unknown fields, of any value": {`{"type":"alive","id":1,"reason":5,"protocol":"x","new":[{}]}`, childproto.Message{Type: childproto.TypeAlive, ID: 1, HasID: true}},
		"white space":                  {" {\t\"type\" : \"alive\" , \"id\" : 1 } \r", childproto.Message{Type: childproto.TypeAlive, ID: 1, HasID: true}},
		"names count as written":       {`{"type":"alive","id":1,"Type":"done","ID":2}`, childproto.Message{Type: childproto.TypeAlive, ID: 1, HasID: true}},
		"escaped name":                 {`{"typ\u0065":"alive","id":1}`, childproto.Message{Type: childproto.TypeAlive, ID: 1, HasID: true}},
		"nested 50 deep": {`{"type":"done","id":1,"result":` + nested(50) + `}`,
			childproto.Message{Type: childproto.TypeDone, ID: 1, HasID: true, Result: jsontext.Value(nested(50))}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := childproto.ParseMessage([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("ParseMessage(%s)\n got %+v\nwant %+v", test.line, got, test.want)
			}
		})
	}
}

func TestParseMessageRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, want string }{
		"no type":              {`{"outcome":"done"}`, `"type": missing, near {"outcome":"done"}`},
		"unknown type":         {`{"type":"finished","id":1}`, `"type": ready, done, retry, dead, uncertain, snooze, effect, receipt, void, progress, alive or log is expected, near {"type":"finished","id":1}`},
		"a supervisor's type":  {`{"type":"job","id":1}`, `is expected`},
		"type in capitals":     {`{"type":"Done","id":1}`, `is expected`},
		"no id":                {`{"type":"done"}`, `"id": missing`},
		"id null":              {`{"type":"done","id":null}`, `"id": missing`},
		"id as text":           {`{"type":"done","id":"17"}`, `"id": an integer from 1 to 9007199254740991 is expected`},
		"id as float":          {`{"type":"done","id":17.0}`, `"id": an integer`},
		"id too big":           {`{"type":"done","id":9007199254740992}`, `"id": an integer`},
		"id zero":              {`{"type":"done","id":0}`, `"id": an integer`},
		"no protocol":          {`{"type":"ready"}`, `"protocol": missing`},
		"reason a number":      {`{"type":"dead","id":1,"reason":5}`, `"reason": a string is expected`},
		"delay below zero":     {`{"type":"retry","id":1,"after_ms":-1}`, `"after_ms": milliseconds from 0 to 315360000000 are expected`},
		"delay over ten years": {`{"type":"retry","id":1,"after_ms":315360000001}`, `"after_ms": milliseconds from 0`},
		"delay as text":        {`{"type":"retry","id":1,"after_ms":"5s"}`, `"after_ms": a number is expected`},
		"delay past floats":    {`{"type":"retry","id":1,"after_ms":1e999}`, `"after_ms": a number beyond`},
		"snooze for ever":      {`{"type":"snooze","id":1}`, `"after_ms": missing`},
		"effect without name":  {`{"type":"effect","id":1}`, `"name": missing`},
		"effect, empty name":   {`{"type":"effect","id":1,"name":""}`, `"name": 1 to 128 bytes`},
		"effect, long name":    {`{"type":"effect","id":1,"name":"` + strings.Repeat("é", 65) + `"}`, `"name": 1 to 128 bytes`},
		"repeatable as text":   {`{"type":"effect","id":1,"name":"a","repeatable":"yes"}`, `"repeatable": true or false is expected`},
		"receipt missing":      {`{"type":"receipt","id":1,"name":"a"}`, `"receipt": missing`},
		"receipt over 64 KiB":  {`{"type":"receipt","id":1,"name":"a","receipt":"` + strings.Repeat("x", 64<<10) + `"}`, `"receipt": at most 65536 bytes`},
		"fields no object":     {`{"type":"log","fields":[]}`, `"fields": an object is expected`},
		"twice":                {`{"type":"retry","type":"done","id":1}`, `stands twice`},
		"NaN":                  {`{"type":"done","id":1,"result":{"x":NaN}}`, `near {"type":"done","id":1,"result":{"x":NaN}}`},
		"bad UTF-8":            {"{\"type\":\"done\",\"id\":1,\"result\":\"\xff\"}", `near {"type":"done","id":1,"result":"\xff"}`},
		"half a pair":          {`{"type":"dead","id":1,"reason":"\ud800"}`, `half a surrogate pair`},
		"cut":                  {`{"type":"done","id":1`, `ends in the middle`},
		"two in one line":      {`{"type":"alive","id":1}{"type":"alive","id":1}`, `more text after the value`},
		"no object":            {`["done",1]`, `not a JSON object`},
		"nested 51 deep":       {`{"type":"done","id":1,"result":` + nested(51) + `}`, `a value nested deeper than 50`},
		"nested for ever":      {`{"type":"done","id":1,"result":` + strings.Repeat("[", 100_000), `a value nested deeper than 50`},
		"terminal escapes":     {"{\"type\":\"done\",\"id\":1}\x1b[2J\u202e", `near {"type":"done","id":1}\x1b[2J\u202e`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := childproto.ParseMessage([]byte(test.line))
			var protocol *childproto.ProtocolError
			if !errors.As(err, &protocol) {
				t.Fatalf("error is %v, want a *ProtocolError", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %q, want it to contain %q", err, test.want)
			}
			if len(err.Error()) > 600 {
				t.Errorf("error is %d bytes long: too long to read", len(err.Error()))
			}
			if !reflect.DeepEqual(got, childproto.Message{}) {
				t.Errorf("with the error came %+v", got)
			}
		})
	}
}

func TestMessageSharesNoMemory(t *testing.T) {
	t.Parallel()
	line := []byte(`{"type":"done","id":1,"result":{"a":1}}`)
	m, err := childproto.ParseMessage(line)
	if err != nil {
		t.Fatal(err)
	}
	for i := range line {
		line[i] = 'x'
	}
	if string(m.Result) != `{"a":1}` {
		t.Errorf("result became %s when the line was overwritten", m.Result)
	}
}

func TestMessageOutcome(t *testing.T) {
	t.Parallel()
	big := jsontext.Value(`"` + strings.Repeat("x", childproto.MaxResult-1) + `"`)
	fits := big[1:]
	fits = append(jsontext.Value(`"`), fits[1:]...)
	after := ptr(time.Minute)
	tests := map[string]struct {
		message childproto.Message
		want    childproto.Outcome
		ok      bool
	}{
		"done":           {childproto.Message{Type: childproto.TypeDone, Result: jsontext.Value(`1`)}, childproto.Outcome{Is: childproto.EndDone, Result: jsontext.Value(`1`)}, true},
		"result fits":    {childproto.Message{Type: childproto.TypeDone, Result: fits}, childproto.Outcome{Is: childproto.EndDone, Result: fits}, true},
		"result too big": {childproto.Message{Type: childproto.TypeDone, Result: big}, childproto.Outcome{Is: childproto.EndDone, ResultTooBig: true}, true},
		"retry":          {childproto.Message{Type: childproto.TypeRetry, Reason: "r", After: after}, childproto.Outcome{Is: childproto.EndRetry, Reason: "r", After: after}, true},
		"dead":           {childproto.Message{Type: childproto.TypeDead, Reason: "r"}, childproto.Outcome{Is: childproto.EndDead, Reason: "r"}, true},
		"uncertain":      {childproto.Message{Type: childproto.TypeUncertain, Reason: "r"}, childproto.Outcome{Is: childproto.EndUncertain, Reason: "r"}, true},
		"snooze":         {childproto.Message{Type: childproto.TypeSnooze, After: after}, childproto.Outcome{Is: childproto.EndSnooze, After: after}, true},
		"alive":          {childproto.Message{Type: childproto.TypeAlive}, childproto.Outcome{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := test.message.Outcome()
			if ok != test.ok || !reflect.DeepEqual(got, test.want) {
				t.Errorf("Outcome() = %.200v, %v, want %.200v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestAppendMessageRoundTrip(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"ready","protocol":1}`,
		`{"type":"done","id":17}`,
		`{"type":"done","id":17,"result":{"charge":"ch_1"}}`,
		`{"type":"retry","id":17,"reason":"a\nb","after_ms":1500}`,
		`{"type":"dead","id":17,"reason":"no"}`,
		`{"type":"uncertain","id":17,"reason":"€"}`,
		`{"type":"snooze","id":17,"after_ms":0}`,
		`{"type":"effect","id":17,"name":"charge"}`,
		`{"type":"effect","id":17,"name":"charge","repeatable":true}`,
		`{"type":"receipt","id":17,"name":"charge","receipt":null}`,
		`{"type":"void","id":17,"name":"charge","reason":"declined"}`,
		`{"type":"progress","id":17,"percent":42.5,"message":"pass 2"}`,
		`{"type":"alive","id":17}`,
		`{"type":"log","id":17,"level":"info","message":"m","fields":{"a":1}}`,
		`{"type":"log","level":"error","message":"m"}`,
	} {
		m, err := childproto.ParseMessage([]byte(line))
		if err != nil {
			t.Errorf("ParseMessage(%s): %v", line, err)
			continue
		}
		if got := string(childproto.AppendMessage(nil, &m)); got != line+"\n" {
			t.Errorf("AppendMessage\n got %s\nwant %s", got, line)
		}
	}
}
