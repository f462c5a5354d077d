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

func TestParseOutcomeFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want *childproto.Outcome
	}{
		"empty":                 {"", nil},
		"only byte-order mark":  {"\xef\xbb\xbf", nil},
		"done":                  {`{"type":"done"}`, &childproto.Outcome{Is: childproto.EndDone}},
		"with result":           {`{"type":"done","result":[1]}` + "\n", &childproto.Outcome{Is: childproto.EndDone, Result: jsontext.Value(`[1]`)}},
		"the job's id":          {`{"type":"done","id":17}`, &childproto.Outcome{Is: childproto.EndDone}},
		"on several lines":      {"\xef\xbb\xbf{\r\n  \"type\": \"retry\",\r\n  \"reason\": \"busy\",\r\n  \"after_ms\": 5000\r\n}\r\n", &childproto.Outcome{Is: childproto.EndRetry, Reason: "busy", After: ptr(5 * time.Second)}},
		"snooze":                {`{"type":"snooze","after_ms":60000}`, &childproto.Outcome{Is: childproto.EndSnooze, After: ptr(time.Minute)}},
		"dead without a reason": {`{"type":"dead"}`, &childproto.Outcome{Is: childproto.EndDead}},
		"result over 1 MiB":     {`{"type":"done","result":"` + strings.Repeat("x", 1<<20) + `"}`, &childproto.Outcome{Is: childproto.EndDone, ResultTooBig: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := childproto.ParseOutcomeFile([]byte(test.text), 17)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestParseOutcomeFileRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"white space alone": {"\n", "not strict JSON"},
		"no JSON":           {"failed", "not strict JSON"},
		"half of one":       {`{"type":"done"`, "ends in the middle"},
		"two":               {`{"type":"retry"}` + "\n" + `{"type":"done"}`, "more text after the value"},
		"no outcome":        {`{"type":"progress","percent":1}`, `"type": done, retry, dead, uncertain or snooze is expected`},
		"another job's":     {`{"type":"done","id":18}`, `"id": this job is 17`},
		"over 2 MiB":        {`{"type":"done","result":"` + strings.Repeat("x", 2<<20) + `"}`, "longer than 2 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := childproto.ParseOutcomeFile([]byte(test.text), 17)
			var protocol *childproto.ProtocolError
			if got != nil || !errors.As(err, &protocol) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want a *ProtocolError that contains %q", got, err, test.want)
			}
		})
	}
}
