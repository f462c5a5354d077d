package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestValidKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"a", "7", "mail", "a.b_c-d", "9-", strings.Repeat("k", 64)} {
		if err := queue.ValidKind(kind); err != nil {
			t.Errorf("%q: %v", kind, err)
		}
	}
	for _, kind := range []string{"", "Mail", "-a", ".a", "_a", "a b", "a/b", "é", "a\n", "a\x00", strings.Repeat("k", 65)} {
		if err := queue.ValidKind(kind); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%q: %v, want it refused", kind, err)
		}
	}
	want := `kind "Mail": 1 to 64 of a-z, 0-9, ".", "_" and "-", beginning with a letter or digit: invalid`
	if err := queue.ValidKind("Mail"); err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestValidKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", " ", "a/b", `"; rm -rf`, "\x1b[2J", "\u202e", strings.Repeat("k", 255), strings.Repeat("€", 85)} {
		if err := queue.ValidKey(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for key, says := range map[string]string{
		"":                       `key "": 0 bytes, 1 to 255 are allowed`,
		strings.Repeat("k", 256): `: 256 bytes, 1 to 255 are allowed`,
		strings.Repeat("€", 86):  `… (truncated)": 258 bytes`,
		"a\x00b":                 `key "a\x00b": holds a NUL byte`,
		"a\xff":                  `not valid UTF-8`,
	} {
		err := queue.ValidKey(key)
		if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", key, err, says)
		}
	}
}

func TestLooksLikePayload(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		`{"to":"x"}`: true, `{}`: true, ` {`: true, `[1]`: true, `"text"`: true, `'{"to":1}'`: true,
		"\ufeff{}": true, `to":1`: true, `to" : 1`: true,
		`welcome-42`: false, `a:b`: false, `a{b}`: false, `name=x`: false, `17`: false, `http://x/?a[]=1`: false,
	} {
		if got := queue.LooksLikePayload(key); got != want {
			t.Errorf("%q looks like a payload: %v, want %v", key, got, want)
		}
	}
}

// refusal is a request that is valid but for one thing, and what its error says.
type refusal[R any] struct {
	says  string
	spoil func(*R)
}

// checkAll checks a valid request, and that each refusal names its argument.
func checkAll[R any](t *testing.T, valid func() R, check func(*R) error, refusals []refusal[R]) {
	t.Helper()
	r := valid()
	if err := check(&r); err != nil {
		t.Errorf("a valid request is refused: %v", err)
	}
	for _, c := range refusals {
		r := valid()
		c.spoil(&r)
		err := check(&r)
		if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

func TestNewJobCheck(t *testing.T) {
	t.Parallel()
	valid := func() queue.NewJob {
		return queue.NewJob{
			Kind: "mail", Key: "a", Payload: []byte("\xef\xbb\xbf{}\n"), Meta: []byte(" {} "),
			MaxAttempts: queue.MaxAttemptsLimit, Priority: queue.MinPriority, AvailableAt: time.Unix(0, 0),
		}
	}
	checkAll(t, valid, (*queue.NewJob).Check, []refusal[queue.NewJob]{
		{`kind "Mail"`, func(j *queue.NewJob) { j.Kind = "Mail" }},
		{`key ""`, func(j *queue.NewJob) { j.Key = "" }},
		{"payload: empty", func(j *queue.NewJob) { j.Payload = nil }},
		{"meta: an object", func(j *queue.NewJob) { j.Meta = []byte("1") }},
		{"max attempts -1: 0 to 1048576", func(j *queue.NewJob) { j.MaxAttempts = -1 }},
		{"max attempts 1048577: 0 to 1048576", func(j *queue.NewJob) { j.MaxAttempts = queue.MaxAttemptsLimit + 1 }},
		{"priority -101: -100 to 100", func(j *queue.NewJob) { j.Priority = -101 }},
		{"priority 101: -100 to 100", func(j *queue.NewJob) { j.Priority = 101 }},
		{"available at, year 1969: 1970 to 9999", func(j *queue.NewJob) { j.AvailableAt = time.Unix(-1, 0) }},
		{"available at, year 10000: 1970 to 9999", func(j *queue.NewJob) { j.AvailableAt = time.Unix(253402300800, 0) }},
	})
	j := valid()
	if err := j.Check(); err != nil || string(j.Payload) != "{}" || string(j.Meta) != "{}" {
		t.Errorf("after the check: %q, %q, %v", j.Payload, j.Meta, err)
	}
	plain := queue.NewJob{Kind: "mail", Key: "a", Payload: []byte("{}")}
	if err := plain.Check(); err != nil {
		t.Errorf("kind, key and payload alone: %v", err)
	}
}

func TestClaimRequestCheck(t *testing.T) {
	t.Parallel()
	valid := func() queue.ClaimRequest {
		return queue.ClaimRequest{
			Worker: "w", Lease: queue.MinLease, Owner: queue.Owner{Guardian: "0123456789abcdef", Start: 3},
			Wants: []queue.Want{
				{Max: 1},
				{Kind: "mail", Max: queue.MaxBatch - 1, HandlerDigest: strings.Repeat("0f", 32), Rule: queue.Rule{MaxAttempts: 20, Uncertain: queue.UncertainJournal}},
			},
		}
	}
	checkAll(t, valid, (*queue.ClaimRequest).Check, []refusal[queue.ClaimRequest]{
		{`worker ""`, func(r *queue.ClaimRequest) { r.Worker = "" }},
		{"256 bytes, 1 to 255", func(r *queue.ClaimRequest) { r.Worker = strings.Repeat("w", 256) }},
		{"lease 999ms: 1s to 24h0m0s", func(r *queue.ClaimRequest) { r.Lease = 999 * time.Millisecond }},
		{"lease 24h0m0.000000001s: 1s to", func(r *queue.ClaimRequest) { r.Lease = queue.MaxLease + 1 }},
		{"number of wants 0: 1 to 1000", func(r *queue.ClaimRequest) { r.Wants = nil }},
		{"number of jobs in all -1: 0 to 1000", func(r *queue.ClaimRequest) { r.Most = -1 }},
		{"owner: a start without a guardian", func(r *queue.ClaimRequest) { r.Owner.Guardian = "" }},
		{"number of jobs wanted 0: 1 to 1000", func(r *queue.ClaimRequest) { r.Wants[1].Max = 0 }},
		{"number of jobs wanted 1001: 1 to 1000", func(r *queue.ClaimRequest) { r.Wants[0].Max = 1001 }},
		{"number of jobs wanted in all 1001: 1 to 1000", func(r *queue.ClaimRequest) { r.Wants[0].Max = 2 }},
		{`kind "M"`, func(r *queue.ClaimRequest) { r.Wants[1].Kind = "M" }},
		{"max attempts -1", func(r *queue.ClaimRequest) { r.Wants[0].Rule.MaxAttempts = -1 }},
		{`rule for an uncertain run "hope": ask, repeatable, journal or retry`, func(r *queue.ClaimRequest) { r.Wants[0].Rule.Uncertain = "hope" }},
		{`handler digest "0f": 64 hex digits`, func(r *queue.ClaimRequest) { r.Wants[1].HandlerDigest = "0f" }},
		{"handler digest", func(r *queue.ClaimRequest) { r.Wants[1].HandlerDigest = strings.Repeat("x", 64) }},
	})
}

func TestSettlementCheck(t *testing.T) {
	t.Parallel()
	valid := func() queue.Settlement {
		return queue.Settlement{ID: 1, Outcome: queue.Outcome{Is: queue.RunRetry, Reason: "no", After: after(queue.MaxDelay)}}
	}
	checkAll(t, valid, (*queue.Settlement).Check, []refusal[queue.Settlement]{
		{"id 0: 1 to 9007199254740991", func(s *queue.Settlement) { s.ID = 0 }},
		{"id 9007199254740992", func(s *queue.Settlement) { s.ID = queue.MaxID + 1 }},
		{`outcome "": done, retry, dead, uncertain, quarantine or snooze`, func(s *queue.Settlement) { s.Outcome.Is = "" }},
		{"delay -1ns: 0s to 87600h0m0s", func(s *queue.Settlement) { s.Outcome.After = after(-1) }},
		{"delay 87600h0m0.000000001s", func(s *queue.Settlement) { s.Outcome.After = after(queue.MaxDelay + 1) }},
		{"delay: only retry and snooze have one, not dead", func(s *queue.Settlement) { s.Outcome.Is = queue.RunDead }},
		{"result: only done has one, not retry", func(s *queue.Settlement) { s.Outcome.Result = []byte("1") }},
		{"result: it ends in the middle", func(s *queue.Settlement) { s.Outcome = queue.Outcome{Is: queue.RunDone, Result: []byte("[")} }},
		{"outcome done of a job that was never given", func(s *queue.Settlement) { s.Outcome = queue.Outcome{Is: queue.RunDone, NotGiven: true} }},
		{"jitter 2", func(s *queue.Settlement) { s.Outcome.Backoff.Jitter = 2 }},
	})
	for _, is := range []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze} {
		s := queue.Settlement{ID: queue.MaxID, Outcome: queue.Outcome{Is: is, CutShort: true}}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", is, err)
		}
	}
	done := queue.Settlement{ID: 1, Outcome: queue.Outcome{Is: queue.RunDone, Result: []byte("1.0\n")}}
	if err := done.Check(); err != nil || string(done.Outcome.Result) != "1.0" {
		t.Errorf("result after the check: %q, %v", done.Outcome.Result, err)
	}
	// What was done stays done, however much it said.
	long := queue.Settlement{ID: 1, Outcome: queue.Outcome{Is: queue.RunDone, Result: []byte(`"` + strings.Repeat("a", queue.MaxResult) + `"`)}}
	if err := long.Check(); err != nil {
		t.Errorf("a result over the bound: %v", err)
	}
}

func TestOtherRequestsCheck(t *testing.T) {
	t.Parallel()
	checkAll(t, func() queue.Renewal { return queue.Renewal{ID: 1, Length: queue.MaxLease} }, (*queue.Renewal).Check,
		[]refusal[queue.Renewal]{
			{"id -1", func(r *queue.Renewal) { r.ID = -1 }},
			{"lease 0s", func(r *queue.Renewal) { r.Length = 0 }},
		})
	checkAll(t, func() queue.Finding {
		return queue.Finding{As: queue.StateDone, Note: strings.Repeat("n", queue.MaxReason), Result: []byte("1")}
	}, (*queue.Finding).Check,
		[]refusal[queue.Finding]{
			{`close as "ready": done, dead or cancelled`, func(f *queue.Finding) { f.As = queue.StateReady }},
			{`close as ""`, func(f *queue.Finding) { f.As = queue.StateNone }},
			{"result: only a job closed as done has one, not as dead", func(f *queue.Finding) { f.As = queue.StateDead }},
			{"result: invalid character", func(f *queue.Finding) { f.Result = []byte("x") }},
			{"1025 bytes, 0 to 1024", func(f *queue.Finding) { f.Note += "n" }},
		})
	checkAll(t, func() queue.Requeue { return queue.Requeue{Delay: queue.MaxDelay} }, (*queue.Requeue).Check,
		[]refusal[queue.Requeue]{
			{"delay -1s", func(r *queue.Requeue) { r.Delay = -time.Second }},
			{"delay 87600h0m1s", func(r *queue.Requeue) { r.Delay += time.Second }},
		})
	checkAll(t, func() queue.Filter {
		return queue.Filter{States: queue.States(), Kind: "mail", KeyPrefix: "a", OlderThan: time.Hour, After: 7, Limit: queue.MaxPage}
	}, (*queue.Filter).Check,
		[]refusal[queue.Filter]{
			{`state "asleep": no such state`, func(f *queue.Filter) { f.States = []queue.State{"asleep"} }},
			{`kind "M"`, func(f *queue.Filter) { f.Kind = "M" }},
			{"256 bytes", func(f *queue.Filter) { f.KeyPrefix = strings.Repeat("k", 256) }},
			{"older than -1s: below 0", func(f *queue.Filter) { f.OlderThan = -time.Second }},
			{"after id -1", func(f *queue.Filter) { f.After = -1 }},
			{"limit -1: 0 to 10000", func(f *queue.Filter) { f.Limit = -1 }},
			{"limit 10001", func(f *queue.Filter) { f.Limit = queue.MaxPage + 1 }},
		})
	checkAll(t, func() queue.Ref { return queue.Ref{Kind: "mail", Key: "a"} }, func(r *queue.Ref) error { return r.Check() },
		[]refusal[queue.Ref]{
			{"id -1", func(r *queue.Ref) { r.ID = -1 }},
			{`kind ""`, func(r *queue.Ref) { *r = queue.Ref{} }},
			{`key ""`, func(r *queue.Ref) { r.Key = "" }},
		})
	for limit, valid := range map[int]bool{-1: false, 0: true, queue.MaxHistory: true, queue.MaxHistory + 1: false} {
		if err := queue.CheckHistory(limit); (err == nil) != valid || !valid && !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("limit of a history %d: %v", limit, err)
		}
	}
}
