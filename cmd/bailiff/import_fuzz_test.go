package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
	"github.com/b1213022/bailiff/queue"
)

// taken is a queue that keeps what it was given.
type taken struct {
	jobs []queue.NewJob
	keys map[string]bool
}

func (k *taken) EnqueueMany(_ context.Context, jobs []queue.NewJob) ([]queue.EnqueueResult, error) {
	if len(jobs) == 0 || len(jobs) > queue.MaxBatch {
		return nil, fmt.Errorf("%d jobs at once: %w", len(jobs), queue.ErrInvalid)
	}
	results := make([]queue.EnqueueResult, len(jobs))
	for i, job := range jobs {
		if results[i].Err = job.Check(); results[i].Err == nil {
			name := job.Kind + "/" + job.Key
			results[i].Created = !k.keys[name]
			k.keys[name] = true
		}
		k.jobs = append(k.jobs, job)
	}
	return results, nil
}

// Whatever a file of jobs holds: each line that is not blank is accepted, there
// already or refused by its number, and what is accepted is what stands in it.
func FuzzJobLines(f *testing.F) {
	for _, text := range []string{
		"{\"kind\":\"a\",\"key\":\"1\",\"payload\":{\"n\": 1.0}}\n\n{\"kind\":\"a\",\"key\":\"1\"}\r\noops\n",
		"\ufeff{\"kind\":\"a\",\"key\":\"\\u0031\",\"meta\":null,\"max_attempts\":3,\"priority\":-5}",
		"{\"kind\":\"a\",\"key\":\"1\",\"available_at\":\"2026-11-30T14:00:00+01:00\"} ",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, said := importText(t, text, &taken{keys: map[string]bool{}})
		q := &taken{keys: map[string]bool{}}
		importText(t, append(append(bytes.Clone(text), '\n'), text...), q)
		var lines int64
		for i, line := range bytes.Split(text, []byte("\n")) {
			if i == 0 {
				line = strictjson.TrimBOM(line)
			}
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if first.Created+first.Existing+first.Refused != lines {
			t.Fatalf("%q has %d lines, and became %+v", text, lines, first)
		}
		if told := strings.Contains(said, "line"); told != (first.Refused > 0) {
			t.Fatalf("%q became %+v, of which only this was said:\n%s", text, first, said)
		}
		// A mark at the beginning of the second half is no JSON.
		if !bytes.HasPrefix(text, []byte("\ufeff")) && int64(len(q.keys)) != first.Created {
			t.Fatalf("%q made %d jobs, twice over %d", text, first.Created, len(q.keys))
		}
		for _, job := range q.jobs {
			if !jsontext.Value(job.Payload).IsValid() || !bytes.Contains(text, job.Payload) && string(job.Payload) != "{}" ||
				job.Meta != nil && !bytes.Contains(text, job.Meta) {
				t.Fatalf("%q made a job of payload %q and meta %q", text, job.Payload, job.Meta)
			}
		}
	})
}

// importText imports a file of that text.
func importText(t *testing.T, text []byte, q enqueuer) (count imported, said string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{out: io.Discard, errOut: &out}
	im := newImporter(a, q, jobLines, a.progress("enqueue", -1, inBytes()), &count)
	if err := im.run(t.Context(), bytes.NewReader(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	im.refused.tell()
	return count, out.String()
}
