package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var boundRules = rules{
	"a job out of its bounds is refused by name":                    (*fixture).badJobs,
	"a job at its bounds is taken":                                  (*fixture).jobsAtTheBounds,
	"a claim out of its bounds is refused by name":                  (*fixture).badClaims,
	"a renewal out of its bounds is refused by name":                (*fixture).badRenewals,
	"a settlement out of its bounds is refused by name":             (*fixture).badSettlements,
	"a person's word out of its bounds is refused by name":          (*fixture).badWords,
	"a question out of its bounds is refused by name":               (*fixture).badQuestions,
	"a job that is not there is not found by anybody":               (*fixture).unknownJobs,
	"as many as are allowed at once are taken, and not one more":    (*fixture).batchBounds,
	"what is refused beside others in one call stops none of these": (*fixture).refusedAmongOthers,
}

// bad is an argument out of its bounds, and the word that names it.
type bad struct {
	names string
	call  func() error
}

// refusesAll expects each to be refused by name, and nothing to change.
func (f *fixture) refusesAll(all map[string]bad) {
	f.Helper()
	before := f.picture()
	for what, b := range all {
		err := b.call()
		if err == nil {
			f.Errorf("%s: taken", what)
			continue
		}
		f.refused(err, queue.ErrInvalid, b.names)
	}
	f.unchanged(before, "what was out of bounds")
}

func (f *fixture) badJobs() {
	f.add("a", "1")
	deep := strings.Repeat("[", queue.MaxPayloadDepth+1) + strings.Repeat("]", queue.MaxPayloadDepth+1)
	all := map[string]bad{}
	for what, c := range map[string]struct {
		names  string
		change func(*queue.NewJob)
	}{
		"no kind":                   {"kind", func(n *queue.NewJob) { n.Kind = "" }},
		"a kind in capitals":        {"kind", func(n *queue.NewJob) { n.Kind = "Mail" }},
		"a kind with a dot first":   {"kind", func(n *queue.NewJob) { n.Kind = ".mail" }},
		"a kind with a slash":       {"kind", func(n *queue.NewJob) { n.Kind = "a/b" }},
		"a long kind":               {"kind", func(n *queue.NewJob) { n.Kind = strings.Repeat("k", queue.MaxKindLength+1) }},
		"no key":                    {"key", func(n *queue.NewJob) { n.Key = "" }},
		"a long key":                {"key", func(n *queue.NewJob) { n.Key = strings.Repeat("k", queue.MaxKeyLength+1) }},
		"a key with NUL":            {"key", func(n *queue.NewJob) { n.Key = "a\x00b" }},
		"a key that is no UTF-8":    {"key", func(n *queue.NewJob) { n.Key = "\xff" }},
		"no payload":                {"payload", func(n *queue.NewJob) { n.Payload = nil }},
		"a payload of blanks":       {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(" \n") }},
		"a payload that is no JSON": {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`{a:1}`) }},
		"trailing data":             {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`{} {}`) }},
		"a doubled name":            {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`{"a":1,"a":1}`) }},
		"a name doubled by escapes": {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`{"a":1,"\u0061":1}`) }},
		"half a surrogate pair":     {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`"\ud800"`) }},
		"invalid UTF-8":             {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value("\"\xff\"") }},
		"NaN":                       {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(`NaN`) }},
		"a deep payload":            {"payload", func(n *queue.NewJob) { n.Payload = jsontext.Value(deep) }},
		"a long payload":            {"payload", func(n *queue.NewJob) { n.Payload = text(queue.MaxPayload + 1) }},
		"meta that is no object":    {"meta", func(n *queue.NewJob) { n.Meta = jsontext.Value(`[1]`) }},
		"long meta":                 {"meta", func(n *queue.NewJob) { n.Meta = object(queue.MaxMeta + 1) }},
		"a negative limit":          {"max attempts", func(n *queue.NewJob) { n.MaxAttempts = -1 }},
		"a high limit":              {"max attempts", func(n *queue.NewJob) { n.MaxAttempts = queue.MaxAttemptsLimit + 1 }},
		"a low priority":            {"priority", func(n *queue.NewJob) { n.Priority = queue.MinPriority - 1 }},
		"a high priority":           {"priority", func(n *queue.NewJob) { n.Priority = queue.MaxPriority + 1 }},
		"a due time before 1970":    {"available at", func(n *queue.NewJob) { n.AvailableAt = time.Unix(-1, 0) }},
		"a due time after 9999":     {"available at", func(n *queue.NewJob) { n.AvailableAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
	} {
		n := newJob("a", "new")
		c.change(&n)
		all[what] = bad{c.names, func() error { _, err := f.Enqueue(f.Context(), n); return err }}
		all[what+", among many"] = bad{c.names, func() error {
			results, err := f.EnqueueMany(f.Context(), []queue.NewJob{n})
			if err != nil {
				return fmt.Errorf("all of them were refused: %v", err)
			}
			return results[0].Err
		}}
	}
	f.refusesAll(all)
}

// text is a JSON string of so many bytes, object an object.
func text(size int) jsontext.Value {
	return jsontext.Value(`"` + strings.Repeat("x", size-2) + `"`)
}

func object(size int) jsontext.Value {
	return jsontext.Value(`{"m":` + string(text(size-6)) + `}`)
}

func (f *fixture) jobsAtTheBounds() {
	deep := strings.Repeat("[", queue.MaxPayloadDepth) + strings.Repeat("]", queue.MaxPayloadDepth)
	for i, n := range []queue.NewJob{
		{Kind: strings.Repeat("k", queue.MaxKindLength), Key: strings.Repeat("é", queue.MaxKeyLength/2), Payload: text(queue.MaxPayload)},
		{Kind: "0", Key: "\n", Payload: jsontext.Value(deep), MaxAttempts: queue.MaxAttemptsLimit},
		{Kind: "a._-", Key: strings.Repeat("k", queue.MaxKeyLength), Payload: jsontext.Value(`"\u0000"`), Meta: object(queue.MaxMeta)},
		{Kind: "a", Key: "1", Payload: jsontext.Value(`0`), Priority: queue.MinPriority, AvailableAt: time.Unix(0, 0)},
		{Kind: "a", Key: "2", Payload: jsontext.Value(`null`), Priority: queue.MaxPriority, AvailableAt: time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)},
	} {
		job := f.get(f.adds(n).ID)
		if string(job.Payload) != string(n.Payload) || string(job.Meta) != string(n.Meta) || job.Kind != n.Kind || job.Key != n.Key ||
			job.NamedAttempts != n.MaxAttempts || job.Priority != n.Priority || !n.AvailableAt.IsZero() && !job.AvailableAt.Equal(n.AvailableAt) {
			f.Errorf("job %d is not as it was enqueued: kind %q, key %q, %d bytes, %+v", i, job.Kind, job.Key, len(job.Payload), job.AvailableAt)
		}
	}
}

func (f *fixture) badClaims() {
	f.add("a", "1")
	all := map[string]bad{}
	for what, c := range map[string]struct {
		names  string
		change func(*queue.ClaimRequest)
	}{
		"no worker":                   {"worker", func(r *queue.ClaimRequest) { r.Worker = "" }},
		"a long worker":               {"worker", func(r *queue.ClaimRequest) { r.Worker = strings.Repeat("w", queue.MaxWorkerLength+1) }},
		"a short lease":               {"lease", func(r *queue.ClaimRequest) { r.Lease = queue.MinLease - 1 }},
		"a long lease":                {"lease", func(r *queue.ClaimRequest) { r.Lease = queue.MaxLease + 1 }},
		"no wants":                    {"wants", func(r *queue.ClaimRequest) { r.Wants = nil }},
		"many wants":                  {"wants", func(r *queue.ClaimRequest) { r.Wants = make([]queue.Want, queue.MaxBatch+1) }},
		"none wanted":                 {"jobs wanted", func(r *queue.ClaimRequest) { r.Wants[0].Max = 0 }},
		"many wanted":                 {"jobs wanted", func(r *queue.ClaimRequest) { r.Wants[0].Max = queue.MaxBatch + 1 }},
		"many wanted in all":          {"in all", func(r *queue.ClaimRequest) { r.Wants = append(r.Wants, queue.Want{Max: queue.MaxBatch}) }},
		"a negative number in all":    {"in all", func(r *queue.ClaimRequest) { r.Most = -1 }},
		"a high number in all":        {"in all", func(r *queue.ClaimRequest) { r.Most = queue.MaxBatch + 1 }},
		"an odd kind":                 {"kind", func(r *queue.ClaimRequest) { r.Wants[0].Kind = "A b" }},
		"a negative limit":            {"max attempts", func(r *queue.ClaimRequest) { r.Wants[0].Rule.MaxAttempts = -1 }},
		"a high limit":                {"max attempts", func(r *queue.ClaimRequest) { r.Wants[0].Rule.MaxAttempts = queue.MaxAttemptsLimit + 1 }},
		"an unknown rule":             {"rule", func(r *queue.ClaimRequest) { r.Wants[0].Rule.Uncertain = "perhaps" }},
		"a digest that is none":       {"digest", func(r *queue.ClaimRequest) { r.Wants[0].HandlerDigest = "abc" }},
		"a start without a guardian":  {"owner", func(r *queue.ClaimRequest) { r.Owner.Start = 1 }},
		"a guardian with a long name": {"guardian", func(r *queue.ClaimRequest) { r.Owner.Guardian = strings.Repeat("g", 65) }},
	} {
		r := want("a", 1, queue.Rule{})
		c.change(&r)
		all[what] = bad{c.names, func() error { _, err := f.Claim(f.Context(), r); return err }}
	}
	f.refusesAll(all)
}

func (f *fixture) badRenewals() {
	f.add("a", "1")
	c := f.claim("a", rule)
	renewal := func(id int64, length time.Duration) func() error {
		return func() error {
			r, err := f.Renew(f.Context(), []queue.Renewal{{ID: id, Token: c.Lease.Token, Length: length}})
			if err != nil {
				return fmt.Errorf("all of them were refused: %v", err)
			}
			return r[0].Err
		}
	}
	f.refusesAll(map[string]bad{
		"no id":          {"id", renewal(0, time.Second)},
		"a negative id":  {"id", renewal(-1, time.Second)},
		"a high id":      {"id", renewal(queue.MaxID+1, time.Second)},
		"a short length": {"lease", renewal(c.Job.ID, queue.MinLease-1)},
		"a long length":  {"lease", renewal(c.Job.ID, queue.MaxLease+1)},
		"too many": {"leases", func() error {
			_, err := f.Renew(f.Context(), make([]queue.Renewal, queue.MaxRenewals+1))
			return err
		}},
	})
}

func (f *fixture) badSettlements() {
	f.add("a", "1")
	c := f.claim("a", rule)
	all := map[string]bad{}
	for what, b := range map[string]struct {
		names   string
		outcome queue.Outcome
	}{
		"no outcome":                       {"outcome", queue.Outcome{}},
		"an unknown outcome":               {"outcome", queue.Outcome{Is: "lost"}},
		"done, never given":                {"never given", queue.Outcome{Is: queue.RunDone, NotGiven: true}},
		"quarantine, never given":          {"never given", queue.Outcome{Is: queue.RunQuarantine, NotGiven: true}},
		"a delay of done":                  {"delay", queue.Outcome{Is: queue.RunDone, After: after(0)}},
		"a negative delay":                 {"delay", queue.Outcome{Is: queue.RunRetry, After: after(-1)}},
		"a long delay":                     {"delay", queue.Outcome{Is: queue.RunSnooze, After: after(queue.MaxDelay + 1)}},
		"a result of dead":                 {"result", queue.Outcome{Is: queue.RunDead, Result: jsontext.Value(`1`)}},
		"a result that is no JSON":         {"result", queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`{`)}},
		"a negative base delay":            {"base delay", queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Base: -1}}},
		"a negative longest delay":         {"longest delay", queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Max: -1}}},
		"a base delay above the longest":   {"base delay", queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Base: 2, Max: 1}}},
		"a longest delay above all bounds": {"longest delay", queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Max: queue.MaxDelay + 1}}},
		"jitter above one":                 {"jitter", queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Jitter: 1.5}}},
	} {
		all[what] = bad{b.names, func() error { _, err := f.settle(c, b.outcome); return err }}
	}
	all["no id"] = bad{"id", func() error {
		_, err := f.Settle(f.Context(), queue.Settlement{Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}})
		return err
	}}
	f.refusesAll(all)
}

func (f *fixture) batchBounds() {
	jobs := make([]queue.NewJob, queue.MaxBatch+1)
	for i := range jobs {
		jobs[i] = newJob("a", numbered(i))
	}
	_, err := f.EnqueueMany(f.Context(), jobs)
	f.refused(err, queue.ErrInvalid, "jobs")
	results, err := f.EnqueueMany(f.Context(), jobs[:queue.MaxBatch])
	if err != nil || len(results) != queue.MaxBatch {
		f.Fatalf("%d results, %v", len(results), err)
	}
	if c := f.claims(want("a", queue.MaxBatch, rule)); len(c) != queue.MaxBatch || c[len(c)-1].Job.Key != numbered(queue.MaxBatch-1) {
		f.Errorf("claimed %d", len(c))
	}
}

func (f *fixture) refusedAmongOthers() {
	f.add("a", "1")
	c := f.claim("a", rule)
	renewed, err := f.Renew(f.Context(), []queue.Renewal{
		{ID: 0, Length: time.Second}, {ID: 7, Length: time.Second},
		{ID: c.Job.ID, Token: c.Lease.Token, Length: 20 * time.Second},
		{ID: c.Job.ID, Token: queue.NewToken(), Length: time.Second}, {ID: c.Job.ID, Token: c.Lease.Token},
	})
	if err != nil || len(renewed) != 5 {
		f.Fatalf("%+v, %v", renewed, err)
	}
	f.refused(renewed[0].Err, queue.ErrInvalid)
	f.refused(renewed[1].Err, queue.ErrLeaseLost)
	f.refused(renewed[3].Err, queue.ErrLeaseLost)
	f.refused(renewed[4].Err, queue.ErrInvalid)
	if renewed[2].Err != nil || renewed[2].Deadline != f.clock.Mono()+20*time.Second {
		f.Errorf("the one in order: %+v", renewed[2])
	}
	if none, err := f.Renew(f.Context(), nil); err != nil || len(none) != 0 {
		f.Errorf("renewed none: %+v, %v", none, err)
	}
	if none, err := f.EnqueueMany(f.Context(), nil); err != nil || len(none) != 0 {
		f.Errorf("enqueued none: %+v, %v", none, err)
	}
}
