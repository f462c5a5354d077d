package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Check answers nil if j can be enqueued. It also drops what surrounds the JSON
// of Payload and Meta: a byte-order mark and white space.
func (j *NewJob) Check() error {
	payload, errPayload := CheckPayload(j.Payload)
	meta, errMeta := CheckMeta(j.Meta)
	err := cmp.Or(
		ValidKind(j.Kind),
		ValidKey(j.Key),
		errPayload,
		inRange("max attempts", j.MaxAttempts, 0, MaxAttemptsLimit),
		validDue(j.AvailableAt),
		inRange("priority", j.Priority, MinPriority, MaxPriority),
		errMeta,
	)
	if err == nil {
		j.Payload, j.Meta = payload, meta
	}
	return err
}

// Check answers nil if jobs can be claimed by r.
func (r *ClaimRequest) Check() error {
	if err := cmp.Or(
		validText("worker", r.Worker, 1, MaxWorkerLength),
		validLease(r.Lease),
		inRange("number of wants", len(r.Wants), 1, MaxBatch),
		inRange("number of jobs in all", r.Most, 0, MaxBatch),
		r.Owner.check(),
	); err != nil {
		return err
	}
	all := 0
	for i := range r.Wants {
		if err := r.Wants[i].check(); err != nil {
			return err
		}
		all += r.Wants[i].Max
	}
	if r.Most > 0 {
		return nil
	}
	return inRange("number of jobs wanted in all", all, 1, MaxBatch)
}

func (w *Want) check() error {
	if w.Kind != "" {
		if err := ValidKind(w.Kind); err != nil {
			return err
		}
	}
	return cmp.Or(
		inRange("number of jobs wanted", w.Max, 1, MaxBatch),
		inRange("max attempts", w.Rule.MaxAttempts, 0, MaxAttemptsLimit),
		w.Rule.Uncertain.check(),
		validDigest(w.HandlerDigest),
	)
}

// check accepts no rule too: what is not known to be harmless is asked about.
func (r UncertainRule) check() error {
	switch r {
	case "", UncertainAsk, UncertainRepeatable, UncertainJournal, UncertainRetry:
		return nil
	}
	return fmt.Errorf("rule for an uncertain run %s: ask, repeatable, journal or retry: %w", quote(string(r)), ErrInvalid)
}

func (o Owner) check() error {
	if o.Guardian == "" && o.Start != 0 {
		return fmt.Errorf("owner: a start without a guardian: %w", ErrInvalid)
	}
	return cmp.Or(
		validText("guardian", o.Guardian, 0, 64),
		inRange("guardian's start", o.Start, 0, MaxID),
	)
}

// Check answers nil if r names a lease that could be renewed.
func (r *Renewal) Check() error {
	return cmp.Or(validID(r.ID), validLease(r.Length))
}

// Check answers nil if s can be settled, as far as s alone tells. It also drops
// what surrounds the JSON of the result. A result over MaxResult is no error and
// left as it is: work that was done is recorded as done, with a note in its place.
func (s *Settlement) Check() error {
	return cmp.Or(validID(s.ID), s.Outcome.check())
}

func (o *Outcome) check() error {
	switch o.Is {
	case RunDone, RunRetry, RunDead, RunUncertain, RunQuarantine, RunSnooze:
	default:
		return fmt.Errorf("outcome %s: done, retry, dead, uncertain, quarantine or snooze: %w", quote(string(o.Is)), ErrInvalid)
	}
	switch {
	case o.NotGiven && (o.Is == RunDone || o.Is == RunQuarantine):
		return fmt.Errorf("outcome %s of a job that was never given: %w", o.Is, ErrInvalid)
	case o.After != nil && o.Is != RunRetry && o.Is != RunSnooze:
		return fmt.Errorf("delay: only retry and snooze have one, not %s: %w", o.Is, ErrInvalid)
	case len(o.Result) > 0 && o.Is != RunDone:
		return fmt.Errorf("result: only done has one, not %s: %w", o.Is, ErrInvalid)
	}
	if o.After != nil {
		if err := validDelay(*o.After); err != nil {
			return err
		}
	}
	if err := o.Backoff.Validate(); err != nil {
		return err
	}
	if len(trim(o.Result)) > MaxResult {
		return nil
	}
	result, err := CheckResult(o.Result)
	if err != nil {
		return err
	}
	o.Result = result
	return nil
}

// Check answers nil if a dead or quarantined job can be closed by f. It also
// drops what surrounds the JSON of the result.
func (f *Finding) Check() error {
	if !f.As.Finished() {
		return fmt.Errorf("close as %s: done, dead or cancelled: %w", quote(string(f.As)), ErrInvalid)
	}
	if len(f.Result) > 0 && f.As != StateDone {
		return fmt.Errorf("result: only a job closed as done has one, not as %s: %w", f.As, ErrInvalid)
	}
	result, err := CheckResult(f.Result)
	if err := cmp.Or(err, validText("note", f.Note, 0, MaxReason)); err != nil {
		return err
	}
	f.Result = result
	return nil
}

// Check answers nil if a job can be requeued by r, as far as r alone tells.
func (r *Requeue) Check() error { return validDelay(r.Delay) }

// Check answers nil if f can select jobs.
func (f *Filter) Check() error {
	for _, s := range f.States {
		if err := s.check(); err != nil {
			return err
		}
	}
	if f.Kind != "" {
		if err := ValidKind(f.Kind); err != nil {
			return err
		}
	}
	if f.OlderThan < 0 {
		return fmt.Errorf("older than %v: below 0: %w", f.OlderThan, ErrInvalid)
	}
	return cmp.Or(
		validText("key prefix", f.KeyPrefix, 0, MaxKeyLength),
		inRange("after id", f.After, 0, MaxID),
		inRange("limit", f.Limit, 0, MaxPage),
	)
}

func (s State) check() error {
	if slices.Contains(States(), s) {
		return nil
	}
	return fmt.Errorf("state %s: no such state: %w", quote(string(s)), ErrInvalid)
}

// Check answers nil if r can name a job.
func (r Ref) Check() error {
	if r.ID != 0 {
		return validID(r.ID)
	}
	return cmp.Or(ValidKind(r.Kind), ValidKey(r.Key))
}

// CheckHistory answers nil if limit can bound a history: 0 is DefaultHistory.
func CheckHistory(limit int) error {
	return inRange("limit", limit, 0, MaxHistory)
}

func validLease(length time.Duration) error {
	if length < MinLease || length > MaxLease {
		return fmt.Errorf("lease %v: %v to %v: %w", length, MinLease, MaxLease, ErrInvalid)
	}
	return nil
}

func validDelay(d time.Duration) error {
	if d < 0 || d > MaxDelay {
		return fmt.Errorf("delay %v: 0s to %v: %w", d, time.Duration(MaxDelay), ErrInvalid)
	}
	return nil
}

// validDue accepts the zero time, which is at once, and whatever RFC 3339 can
// write and a database of milliseconds can hold.
func validDue(t time.Time) error {
	if year := t.UTC().Year(); !t.IsZero() && (year < 1970 || year > 9999) {
		return fmt.Errorf("available at, year %d: 1970 to 9999: %w", year, ErrInvalid)
	}
	return nil
}

// validDigest accepts none, or the hex digits of a SHA-256.
func validDigest(digest string) error {
	sum, err := hex.DecodeString(digest)
	if digest != "" && (err != nil || len(sum) != sha256.Size) {
		return fmt.Errorf("handler digest %s: %d hex digits: %w", quote(digest), 2*sha256.Size, ErrInvalid)
	}
	return nil
}
