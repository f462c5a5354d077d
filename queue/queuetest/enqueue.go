package queuetest

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var enqueueRules = rules{
	"a new job is ready at once":                                   (*fixture).newJobIsReady,
	"the same key again answers the job as it stands":              (*fixture).sameKeyIsReplay,
	"the same payload is the same in every way it can be written":  (*fixture).samePayload,
	"another payload under the same key is a conflict":             (*fixture).otherPayload,
	"another named attempt limit under the same key is a conflict": (*fixture).otherLimit,
	"a handler gets the payload as it was written":                 (*fixture).payloadAsWritten,
	"what surrounds a payload is dropped":                          (*fixture).surroundings,
	"keys are compared byte by byte, within their kind":            (*fixture).keysAreExact,
	"ids grow and are never used twice":                            (*fixture).idsGrow,
	"the idempotency key of a job is its own and stays":            (*fixture).idempotencyKeys,
	"a caller may use its memory again":                            (*fixture).memoryIsTheCallers,
}

func (f *fixture) newJobIsReady() {
	n := newJob("mail", "welcome-42")
	n.MaxAttempts, n.Priority, n.Meta = 7, -3, jsontext.Value(`{"who":"ann"}`)
	e, err := f.Enqueue(f.Context(), n)
	if err != nil || !e.Created || e.Pruned {
		f.Fatalf("enqueued %+v, %v", e, err)
	}
	now := f.clock.Now()
	want := queue.Job{
		ID: e.Job.ID, Kind: "mail", Key: "welcome-42", State: queue.StateReady, Payload: n.Payload, Meta: n.Meta,
		Priority: -3, MaxAttempts: 7, NamedAttempts: 7, Fence: e.Job.Fence,
		AvailableAt: now, CreatedAt: now, UpdatedAt: now, IdempotencyKey: e.Job.IdempotencyKey,
	}
	if got := fmt.Sprintf("%+v", e.Job); got != fmt.Sprintf("%+v", want) || want.ID < 1 || want.Fence < 0 || len(want.IdempotencyKey) != 32 {
		f.Errorf("answered\n%s, want\n%+v", got, want)
	}
	if got := fmt.Sprintf("%+v", f.get(e.Job.ID)); got != fmt.Sprintf("%+v", want) {
		f.Errorf("stored\n%s, want\n%+v", got, want)
	}
	byKey, err := f.Get(f.Context(), queue.Ref{Kind: "mail", Key: "welcome-42"})
	if err != nil || byKey.ID != want.ID {
		f.Errorf("by its key: %+v, %v", byKey, err)
	}
	if story := f.story(want.ID); len(story) != 1 || story[0].Event != queue.EventEnqueue || story[0].From != queue.StateNone || story[0].To != queue.StateReady {
		f.Errorf("history %+v", story)
	}
	if got := f.add("mail", "plain"); got.MaxAttempts != 0 || got.NamedAttempts != 0 {
		f.Errorf("a job without a named limit: %+v", got)
	}
}

// replays enqueues a job that must be there, as it stands.
func (f *fixture) replays(n queue.NewJob) {
	f.Helper()
	before := f.picture()
	e, err := f.Enqueue(f.Context(), n)
	if err != nil || e.Created || e.Pruned {
		f.Errorf("again: created %v, pruned %v, %v", e.Created, e.Pruned, err)
		return
	}
	if got := fmt.Sprintf("%+v", e.Job); got != fmt.Sprintf("%+v", f.get(e.Job.ID)) {
		f.Errorf("answered %s, not the job as it stands", got)
	}
	f.unchanged(before, "a replay")
}

func (f *fixture) sameKeyIsReplay() {
	n := newJob("a", "1")
	id := f.adds(n).ID
	again := n
	again.Priority, again.AvailableAt, again.Meta = 50, f.clock.Now().Add(time.Hour), jsontext.Value(`{"other":true}`)
	f.clock.Advance(time.Second)
	f.replays(again)
	c := f.claim("a", rule)
	f.replays(again)
	f.settles(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`[1,2]`)})
	f.replays(again)
	f.reopen()
	f.replays(n)
	if got := f.get(id); got.State != queue.StateDone || got.Priority != 0 || got.Meta != nil {
		f.Errorf("it stands as %+v", got)
	}
}

func (f *fixture) samePayload() {
	n := newJob("a", "1")
	n.Payload = jsontext.Value(`{"b":[1.0,"é/\u0001"],"a":{"y":null,"x":12345678901234567890}}`)
	f.adds(n)
	for _, text := range []string{
		`{"a":{"x":12345678901234567890,"y":null},"b":[1.0,"\u00e9\/\u0001"]}`,
		" {\n\t\"b\" : [ 1.0 , \"\\u00E9/\\u0001\" ] , \"\\u0061\" : {\"y\":null,\"x\":12345678901234567890} }\r\n",
		"\ufeff" + string(n.Payload),
	} {
		again := n
		again.Payload = jsontext.Value(text)
		f.replays(again)
	}
}

// conflicts enqueues a job that must be refused, and change nothing.
func (f *fixture) conflicts(n queue.NewJob, words ...string) {
	f.Helper()
	before := f.picture()
	_, err := f.Enqueue(f.Context(), n)
	f.refused(err, queue.ErrConflict, words...)
	results, err := f.EnqueueMany(f.Context(), []queue.NewJob{n})
	if err != nil || len(results) != 1 {
		f.Fatalf("among many: %+v, %v", results, err)
	}
	f.refused(results[0].Err, queue.ErrConflict, words...)
	f.unchanged(before, "a conflict")
}

func (f *fixture) otherPayload() {
	n := newJob("a", "1")
	n.Payload = jsontext.Value(`{"to":"ann","n":[1.0,12345678901234567890]}`)
	f.adds(n)
	for _, text := range []string{
		`{"to":"bob","n":[1.0,12345678901234567890]}`, // another string
		`{"to":"ann","n":[1,12345678901234567890]}`,   // numbers are as they were written
		`{"to":"ann","n":[1.0,12345678901234567891]}`, // and exact
		`{"to":"ann","n":[12345678901234567890,1.0]}`, // elements are in order
		`{"to":"ann"}`, // a member that is not there
		`{"to":"ann","n":[1.0,12345678901234567890],"cc":null}`,
		`"{\"to\":\"ann\",\"n\":[1.0,12345678901234567890]}"`,
	} {
		other := n
		other.Payload = jsontext.Value(text)
		f.conflicts(other, "payload")
	}
}

func (f *fixture) otherLimit() {
	named, unnamed := newJob("a", "named"), newJob("a", "unnamed")
	named.MaxAttempts = 3
	f.adds(named)
	f.adds(unnamed)
	f.replays(named)
	f.replays(unnamed)
	// What the handler names at a claim is not the enqueuer's.
	f.claims(want("a", 2, queue.Rule{MaxAttempts: 9, Uncertain: queue.UncertainRetry}))
	f.replays(named)
	f.replays(unnamed)
	for _, limit := range []int{0, 2, 9} {
		named.MaxAttempts = limit
		f.conflicts(named, "limit", "3")
	}
	for _, limit := range []int{1, queue.DefaultMaxAttempts, 9} {
		unnamed.MaxAttempts = limit
		f.conflicts(unnamed, "limit", fmt.Sprint(limit))
	}
}

func (f *fixture) payloadAsWritten() {
	text := "{ \"b\":1.50,\"a\":12345678901234567890,\n \"\\u00e9\":\"\\/\" }"
	n := newJob("a", "1")
	n.Payload, n.Meta = jsontext.Value(text), jsontext.Value(`{ "m": 1.0 }`)
	id := f.adds(n).ID
	f.reopen()
	for what, job := range map[string]queue.Job{"get": f.get(id), "claim": f.claim("a", rule).Job} {
		if string(job.Payload) != text || string(job.Meta) != `{ "m": 1.0 }` {
			f.Errorf("%s answers %s and %s", what, job.Payload, job.Meta)
		}
	}
}

func (f *fixture) surroundings() {
	n := newJob("a", "1")
	n.Payload, n.Meta = jsontext.Value("\ufeff \r\n{ } \t"), jsontext.Value(" {} ")
	job := f.get(f.adds(n).ID)
	if string(job.Payload) != "{ }" || string(job.Meta) != "{}" {
		f.Errorf("stored %q and %q", job.Payload, job.Meta)
	}
	n = newJob("a", "2")
	n.Meta = jsontext.Value(" \n")
	if job := f.get(f.adds(n).ID); job.Meta != nil {
		f.Errorf("empty meta is stored as %q", job.Meta)
	}
}

func (f *fixture) keysAreExact() {
	for _, key := range []string{"key", "Key", "key ", " key", "ké", "ke\u0301", "k%", "k_", "0", "00", "a/b", "'", "key\n", "\U0001F600"} {
		f.add("a", key)
		f.add("b", key)
	}
	for _, job := range f.everything() {
		byKey, err := f.Get(f.Context(), queue.Ref{Kind: job.Kind, Key: job.Key})
		if err != nil || byKey.ID != job.ID {
			f.Errorf("%s/%q is %d, not %d: %v", job.Kind, job.Key, byKey.ID, job.ID, err)
		}
	}
}

func (f *fixture) idsGrow() {
	last := int64(0)
	for i := range 20 {
		job := f.add("a", fmt.Sprint(i))
		if job.ID <= last || job.ID > queue.MaxID {
			f.Errorf("id %d after %d", job.ID, last)
		}
		last = job.ID
		if i%5 == 0 {
			f.reopen()
		}
	}
}

func (f *fixture) idempotencyKeys() {
	keys := map[string]string{}
	for _, job := range []queue.Job{f.add("a", "1"), f.add("a", "2"), f.add("b", "1"), f.add("b", "11"), f.add("b1", "1")} {
		if other, taken := keys[job.IdempotencyKey]; taken {
			f.Errorf("%s/%s has the key of %s", job.Kind, job.Key, other)
		}
		keys[job.IdempotencyKey] = job.Kind + "/" + job.Key
	}
	elsewhere := newFixture(f.T, f.engine)
	if job := elsewhere.add("a", "1"); keys[job.IdempotencyKey] != "" {
		f.Error("a job of another queue has the same key")
	}
	c := f.claim("b1", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDead})
	f.reopen()
	if _, err := f.Requeue(f.Context(), queue.Ref{ID: c.Job.ID}, queue.Requeue{}); err != nil {
		f.Fatal(err)
	}
	if job := f.claim("b1", rule).Job; keys[job.IdempotencyKey] != "b1/1" {
		f.Errorf("in its second run its key is %s", job.IdempotencyKey)
	}
}

func (f *fixture) memoryIsTheCallers() {
	n := newJob("a", "1")
	n.Payload, n.Meta = jsontext.Value(`{"n":1}`), jsontext.Value(`{"m":1}`)
	e, err := f.Enqueue(f.Context(), n)
	if err != nil {
		f.Fatal(err)
	}
	copy(n.Payload, `"xxxxx"`)
	copy(n.Meta, `"xxxxx"`)
	job := f.get(e.Job.ID)
	copy(job.Payload, `"yyyyy"`)
	if job := f.get(e.Job.ID); string(job.Payload) != `{"n":1}` || string(job.Meta) != `{"m":1}` {
		f.Errorf("stored %s and %s", job.Payload, job.Meta)
	}
}
