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

// exampleJob is the job of the exchange in docs/protocol.md.
func exampleJob() childproto.Job {
	return childproto.Job{
		ID: 17, Kind: "charge", Key: "inv-1001", IdempotencyKey: "b3c1…", Fence: 1, Attempt: 1, MaxAttempts: 20,
		DueAt:     time.Date(2026, 11, 30, 4, 0, 0, 0, time.FixedZone("", 3600)),
		TimeoutAt: time.Date(2026, 11, 30, 4, 0, 0, 120_456_789, time.UTC),
		Timeout:   time.Hour,
		Payload:   jsontext.Value(`{"cents":4200}`),
	}
}

func TestAppendJob(t *testing.T) {
	t.Parallel()
	const head = `{"type":"job","id":17,"kind":"charge","key":"inv-1001","idempotency_key":"b3c1…","fence":1,"attempt":1,"max_attempts":20,"due_at":"2026-11-30T03:00:00Z",`
	const timeout = `"timeout_at":"2026-11-30T04:00:00.120Z","timeout_ms":3600000,`
	tests := map[string]struct {
		change func(*childproto.Job)
		want   string
	}{
		"plain":                 {func(*childproto.Job) {}, head + timeout + `"payload":{"cents":4200},"effects":[]}`},
		"no timeout":            {func(j *childproto.Job) { j.Timeout, j.TimeoutAt = 0, time.Time{} }, head + `"payload":{"cents":4200},"effects":[]}`},
		"payload untouched":     {func(j *childproto.Job) { j.Payload = jsontext.Value("{ \"n\" : 1.0,\t\"é\":\"\\u0041\" }") }, head + timeout + "\"payload\":{ \"n\" : 1.0,\t\"é\":\"\\u0041\" },\"effects\":[]}"},
		"payload with newlines": {func(j *childproto.Job) { j.Payload = jsontext.Value("{\n  \"n\": 1.0,\n  \"s\": \" \\n \"\n}") }, head + timeout + `"payload":{"n":1.0,"s":" \n "},"effects":[]}`},
		"meta and effects": {func(j *childproto.Job) {
			j.Meta = jsontext.Value("{\n\"a\":1}")
			j.Effects = []childproto.Effect{{Name: "a\"b", State: "begun"}, {Name: "c", State: "receipted"}}
		}, head + timeout + `"payload":{"cents":4200},"meta":{"a":1},"effects":[{"name":"a\"b","state":"begun"},{"name":"c","state":"receipted"}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := exampleJob()
			test.change(&job)
			got := string(childproto.AppendJob([]byte("before"), &job))
			if want := "before" + test.want + "\n"; got != want {
				t.Errorf("AppendJob\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestJobRoundTrip(t *testing.T) {
	t.Parallel()
	job := exampleJob()
	job.Key = "line\nend, \u202e, \"quotes\" and \\"
	job.DueAt, job.TimeoutAt = job.DueAt.UTC(), job.TimeoutAt.Truncate(time.Millisecond)
	job.Meta = jsontext.Value(`{"a":12345678901234567890}`)
	job.Effects = []childproto.Effect{{Name: "a", State: "begun"}}
	line := strings.TrimSuffix(string(childproto.AppendJob(nil, &job)), "\n")
	if strings.ContainsRune(line, '\n') {
		t.Fatalf("the message takes more than one line: %q", line)
	}
	got, err := childproto.ParseCommand([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if want := (childproto.Command{Type: childproto.TypeJob, ID: 17, Job: &job}); !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %+v\nwant %+v", got.Job, want.Job)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	cancel := childproto.AppendCancel(nil, 17, childproto.CancelShutdown, 2500*time.Microsecond)
	if want := `{"type":"cancel","id":17,"reason":"shutdown","grace_ms":3}` + "\n"; string(cancel) != want {
		t.Errorf("AppendCancel = %s, want %s", cancel, want)
	}
	refused := childproto.AppendRefused(nil, 17, "charge", "no journal")
	if want := `{"type":"refused","id":17,"name":"charge","reason":"no journal"}` + "\n"; string(refused) != want {
		t.Errorf("AppendRefused = %s, want %s", refused, want)
	}
	tests := map[string]struct {
		line string
		want childproto.Command
	}{
		"cancel":      {string(cancel), childproto.Command{Type: childproto.TypeCancel, ID: 17, Reason: "shutdown", Grace: 3 * time.Millisecond}},
		"refused":     {string(refused), childproto.Command{Type: childproto.TypeRefused, ID: 17, Name: "charge", Reason: "no journal"}},
		"go":          {`{"type":"go","id":17,"name":"charge","idempotency_key":"9f3c","again":true}`, childproto.Command{Type: childproto.TypeGo, ID: 17, Name: "charge", IdempotencyKey: "9f3c", Again: true}},
		"known":       {`{"type":"known","id":17,"name":"charge","receipt":{"a":1}}`, childproto.Command{Type: childproto.TypeKnown, ID: 17, Name: "charge", Receipt: jsontext.Value(`{"a":1}`)}},
		"recorded":    {`{"type":"recorded","id":17,"name":"charge"}`, childproto.Command{Type: childproto.TypeRecorded, ID: 17, Name: "charge"}},
		"of later":    {`{"type":"pause","id":"x"}`, childproto.Command{Type: "pause"}},
		"job by hand": {`{"type":"job","id":1,"payload":{}}`, childproto.Command{Type: childproto.TypeJob, ID: 1, Job: &childproto.Job{ID: 1, Payload: jsontext.Value(`{}`)}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := childproto.ParseCommand([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	for _, line := range []string{`{"type":"job","id":1}`, `{"type":"job","payload":{}}`, `{"id":1}`, `{"type":"cancel","id":1}`, `{"type":"job","id":1,"payload":{},"due_at":"today"}`, `x`} {
		var protocol *childproto.ProtocolError
		if got, err := childproto.ParseCommand([]byte(line)); !errors.As(err, &protocol) {
			t.Errorf("ParseCommand(%s) = %+v, %v, want a *ProtocolError", line, got, err)
		}
	}
}
