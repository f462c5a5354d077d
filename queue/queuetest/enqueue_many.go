package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var enqueueManyRules = rules{
	"each of many is answered at its place":             (*fixture).eachAtItsPlace,
	"the same many again add nothing":                   (*fixture).manyAgain,
	"a job twice among many is stored once":             (*fixture).twiceAmongMany,
	"large jobs are stored together":                    (*fixture).largeMany,
	"many survive a reopening with all that they carry": (*fixture).manyReopened,
}

func (f *fixture) eachAtItsPlace() {
	f.add("a", "there")
	other := newJob("a", "there")
	other.Payload = jsontext.Value(`"other"`)
	results, err := f.EnqueueMany(f.Context(), []queue.NewJob{
		newJob("a", "1"), newJob("A", "2"), newJob("a", "there"), other, newJob("a", "3"),
	})
	if err != nil || len(results) != 5 {
		f.Fatalf("%+v, %v", results, err)
	}
	for i, key := range map[int]string{0: "1", 4: "3"} {
		if r := results[i]; r.Err != nil || !r.Created || r.Job.Key != key || string(r.Job.Payload) != `{"n":1}` {
			f.Errorf("job %s: %+v", key, r)
		}
	}
	f.refused(results[1].Err, queue.ErrInvalid, "kind")
	if r := results[2]; r.Err != nil || r.Created || r.Job.Key != "there" || r.Job.State != queue.StateReady || string(r.Job.Payload) != `{"n":1}` {
		f.Errorf("the one that was there: %+v", r)
	}
	f.refused(results[3].Err, queue.ErrConflict, "payload")
	if got := keysIn(f.everything()); got != "there 1 3" {
		f.Errorf("stored: %s", got)
	}
	f.counted()
}

func (f *fixture) manyAgain() {
	var jobs []queue.NewJob
	for i := range 300 {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	for round, created := range []bool{true, false, false} {
		results, err := f.EnqueueMany(f.Context(), jobs)
		if err != nil {
			f.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil || r.Created != created || r.Job.Key != jobs[i].Key {
				f.Fatalf("round %d, job %d: %+v", round, i, r)
			}
		}
		f.reopen()
	}
	if m := f.metrics(); m.Ready != 300 {
		f.Errorf("%+v", m.Counts)
	}
}

func (f *fixture) twiceAmongMany() {
	results, err := f.EnqueueMany(f.Context(), []queue.NewJob{newJob("a", "1"), newJob("a", "1"), newJob("b", "1")})
	if err != nil {
		f.Fatal(err)
	}
	if r := results; r[0].Err != nil || r[1].Err != nil || !r[0].Created || r[1].Created || r[0].Job.ID != r[1].Job.ID || !r[2].Created {
		f.Errorf("%+v", r)
	}
}

func (f *fixture) largeMany() {
	var jobs []queue.NewJob
	for i := range 12 {
		n := newJob("a", numbered(i))
		n.Payload = text(queue.MaxPayload)
		jobs = append(jobs, n)
	}
	results, err := f.EnqueueMany(f.Context(), jobs)
	if err != nil {
		f.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || !r.Created || len(r.Job.Payload) != queue.MaxPayload {
			f.Errorf("job %d: %d bytes, %v", i, len(r.Job.Payload), r.Err)
		}
	}
	total := 0
	for {
		c := f.claims(want("a", 12, rule))
		if len(c) == 0 {
			break
		}
		total += len(c)
	}
	if total != 12 {
		f.Errorf("claimed %d", total)
	}
}

func (f *fixture) manyReopened() {
	var jobs []queue.NewJob
	for i := range 20 {
		n := newJob("k"+strings.Repeat("x", i%3), numbered(i))
		n.Priority, n.MaxAttempts = i-10, i
		n.AvailableAt = f.clock.Now().Add(time.Duration(i-10) * time.Minute)
		n.Meta = jsontext.Value(fmt.Sprintf(`{"i":%d}`, i))
		jobs = append(jobs, n)
	}
	results, err := f.EnqueueMany(f.Context(), jobs)
	if err != nil {
		f.Fatal(err)
	}
	before := f.picture()
	f.reopen()
	f.unchanged(before, "a reopening")
	for i, r := range results {
		n, job := jobs[i], f.get(r.Job.ID)
		if job.Priority != n.Priority || job.NamedAttempts != n.MaxAttempts || !job.AvailableAt.Equal(n.AvailableAt) || string(job.Meta) != string(n.Meta) {
			f.Errorf("job %d: %+v of %+v", i, job, n)
		}
	}
}
