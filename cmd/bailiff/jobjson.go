package main

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// listedJSON is a job as lists show it with --json: what is read for a list.
// Every field is there always, null where there is nothing.
type listedJSON struct {
	ID          int64       `json:"id"`
	Kind        string      `json:"kind"`
	Key         string      `json:"key"`
	State       queue.State `json:"state"`
	Priority    int         `json:"priority"`
	Attempt     int         `json:"attempt"`
	MaxAttempts *int        `json:"max_attempts"` // null until it is known
	Fence       int64       `json:"fence"`
	AvailableAt *time.Time  `json:"available_at"`
	CreatedAt   *time.Time  `json:"created_at"`
	UpdatedAt   *time.Time  `json:"updated_at"`
	FinishedAt  *time.Time  `json:"finished_at"`
	LastError   *string     `json:"last_error"`
	Worker      *string     `json:"worker"`

	CancelRequested         bool `json:"cancel_requested"`
	ExternalEffectsPossible bool `json:"external_effects_possible"`
}

// jobJSON is a whole job as --json shows it. It never holds the token.
type jobJSON struct {
	Listed         listedJSON     `json:",embed"`
	Payload        jsontext.Value `json:"payload"`
	Meta           jsontext.Value `json:"meta"`
	Result         jsontext.Value `json:"result"`
	Effects        []effectJSON   `json:"effects"`
	IdempotencyKey string         `json:"idempotency_key"`
	LeaseExpiresAt *time.Time     `json:"lease_expires_at"`
}

type effectJSON struct {
	Name      string            `json:"name"`
	State     queue.EffectState `json:"state"`
	Fence     int64             `json:"fence"`
	BegunAt   *time.Time        `json:"begun_at"`
	SettledAt *time.Time        `json:"settled_at"`
	Receipt   jsontext.Value    `json:"receipt"`
	Note      *string           `json:"note"`
}

func newJobJSON(j *queue.Job) jobJSON {
	effects := make([]effectJSON, len(j.Effects))
	for i, e := range j.Effects {
		effects[i] = effectJSON{
			Name: e.Name, State: e.State, Fence: e.Fence,
			BegunAt: moment(e.BegunAt), SettledAt: moment(e.SettledAt),
			Receipt: e.Receipt, Note: text(e.Note),
		}
	}
	return jobJSON{
		Listed:  newListedJSON(j),
		Payload: j.Payload, Meta: j.Meta, Result: j.Result, Effects: effects,
		IdempotencyKey: j.IdempotencyKey, LeaseExpiresAt: moment(j.LeaseExpiresAt),
	}
}

func newListedJSON(j *queue.Job) listedJSON {
	return listedJSON{
		ID: j.ID, Kind: j.Kind, Key: j.Key, State: j.State,
		Priority: j.Priority, Attempt: j.Attempt, MaxAttempts: attemptLimit(j), Fence: j.Fence,
		AvailableAt: moment(j.AvailableAt), CreatedAt: moment(j.CreatedAt), UpdatedAt: moment(j.UpdatedAt), FinishedAt: moment(j.FinishedAt),
		LastError: text(j.LastError), Worker: text(j.Worker),
		CancelRequested: j.CancelRequested, ExternalEffectsPossible: j.ExternalEffectsPossible,
	}
}

// attemptLimit is the attempt limit of a job, as far as it is known: where the
// enqueuer named none, the first claim brings the handler's. Nil: not set yet.
func attemptLimit(j *queue.Job) *int {
	if j.MaxAttempts == 0 {
		return nil
	}
	return &j.MaxAttempts
}

// moment is t for --json; nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// text is s for --json; nil for none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
