package childproto

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a supervisor says. The answers to effect, receipt and void (go, known,
// recorded) are for handlers that keep an effect journal.
const (
	TypeJob      Type = "job"
	TypeGo       Type = "go"
	TypeKnown    Type = "known"
	TypeRefused  Type = "refused"
	TypeRecorded Type = "recorded"
	TypeCancel   Type = "cancel"
)

// CancelReason says why a run is to stop.
type CancelReason string

// Why a run is to stop.
const (
	CancelTimeout   CancelReason = "timeout"   // its time is up, or it was silent for too long
	CancelShutdown  CancelReason = "shutdown"  // the service stops
	CancelCancelled CancelReason = "cancelled" // nobody wants the job any more
)

// AppendCancel appends to dst the line that asks a child to stop working on a
// job and to answer within grace.
func AppendCancel(dst []byte, id int64, reason CancelReason, grace time.Duration) []byte {
	dst = appendHead(dst, TypeCancel, id)
	dst = appendString(dst, "reason", string(reason))
	dst = appendInt(dst, "grace_ms", milliseconds(grace))
	return append(dst, "}\n"...)
}

// AppendRefused appends to dst the answer to an effect that must not be done.
func AppendRefused(dst []byte, id int64, name, reason string) []byte {
	dst = appendHead(dst, TypeRefused, id)
	dst = appendString(dst, "name", name)
	dst = appendString(dst, "reason", reason)
	return append(dst, "}\n"...)
}

// Command is one line from a supervisor. Fields that its type does not have are
// zero. It shares no memory with the line it was read from.
type Command struct {
	Type           Type // a type that this version does not know is to be ignored
	ID             int64
	Job            *Job           // job
	Reason         string         // cancel: a CancelReason, or one of a later version; refused: in words
	Grace          time.Duration  // cancel
	Name           string         // go, known, refused, recorded: of the effect
	IdempotencyKey string         // go: of the effect
	Again          bool           // go: it was begun before
	Receipt        jsontext.Value // known
}

// commandFields is every field that a message of a supervisor can have.
var commandFields = []string{
	"type", "id", "kind", "key", "idempotency_key", "fence", "attempt", "max_attempts",
	"due_at", "timeout_at", "timeout_ms", "payload", "meta", "effects",
	"reason", "grace_ms", "name", "again", "receipt",
}

// ParseCommand reads one line of a supervisor, without its line end. The error
// is a *ProtocolError. Unknown types and fields are no error: a later version
// may say more.
func ParseCommand(line []byte) (Command, error) {
	f, err := readFields(line, commandFields)
	if err != nil {
		return Command{}, err
	}
	f.require("type")
	c := Command{Type: Type(f.string("type"))}
	switch c.Type {
	case TypeJob:
		c.Job = f.job()
		c.ID = c.Job.ID
	case TypeCancel:
		c.ID, c.Reason = f.id(), f.string("reason")
		c.Grace = time.Duration(f.integer("grace_ms", 0, maxMilliseconds)) * time.Millisecond
	case TypeGo, TypeKnown, TypeRefused, TypeRecorded:
		c.ID, c.Name = f.id(), f.effectName()
		c.Reason, c.IdempotencyKey, c.Again = f.string("reason"), f.string("idempotency_key"), f.bool("again")
		c.Receipt = f.raw("receipt").Clone()
	}
	if f.err != nil {
		return Command{}, f.err
	}
	return c, nil
}

const (
	maxMilliseconds = int64(1<<63-1) / int64(time.Millisecond)
	maxInt          = 1<<31 - 1
)

// id is the number of a job.
func (f *fields) id() int64 { return f.integer("id", 1, MaxID) }

// optional is an integer from 0 to most; 0 if it is not there.
func (f *fields) optional(name string, most int64) int64 {
	if !f.has(name) {
		return 0
	}
	return f.integer(name, 0, most)
}

// job is the job that a message hands over. Only id and payload are required,
// so that a line typed by hand is enough to try a handler.
func (f *fields) job() *Job {
	j := &Job{
		ID:             f.id(),
		Kind:           f.string("kind"),
		Key:            f.string("key"),
		IdempotencyKey: f.string("idempotency_key"),
		Fence:          f.optional("fence", MaxID),
		Attempt:        int(f.optional("attempt", maxInt)),
		MaxAttempts:    int(f.optional("max_attempts", maxInt)),
		DueAt:          f.time("due_at"),
		Payload:        f.raw("payload").Clone(),
		Meta:           f.object("meta"),
		Effects:        f.effects(),
	}
	if j.Payload == nil {
		f.fail("payload", "missing")
	}
	if f.has("timeout_ms") {
		j.Timeout = time.Duration(f.integer("timeout_ms", 1, maxMilliseconds)) * time.Millisecond
		j.TimeoutAt = f.time("timeout_at")
	}
	return j
}

// time is an instant in RFC 3339; zero if it is not there.
func (f *fields) time(name string) time.Time {
	if !f.has(name) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, f.string(name))
	if err != nil {
		f.fail(name, "a time as in RFC 3339 is expected")
	}
	return t
}

// effects is what earlier runs recorded.
func (f *fields) effects() []Effect {
	if !f.has("effects") {
		return nil
	}
	var list []struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(f.raw("effects"), &list); err != nil {
		f.fail("effects", "a list of names and states is expected")
		return nil
	}
	effects := make([]Effect, len(list))
	for i, e := range list {
		effects[i] = Effect(e)
	}
	return effects
}
