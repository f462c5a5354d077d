package childproto

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Type names a message.
type Type string

// What a child says.
const (
	TypeReady     Type = "ready"
	TypeDone      Type = "done"
	TypeRetry     Type = "retry"
	TypeDead      Type = "dead"
	TypeUncertain Type = "uncertain"
	TypeSnooze    Type = "snooze"
	TypeEffect    Type = "effect"
	TypeReceipt   Type = "receipt"
	TypeVoid      Type = "void"
	TypeProgress  Type = "progress"
	TypeAlive     Type = "alive"
	TypeLog       Type = "log"
)

// childTypes is what a child may say, in the order of the protocol's table.
var childTypes = []string{
	string(TypeReady),
	string(TypeDone), string(TypeRetry), string(TypeDead), string(TypeUncertain), string(TypeSnooze),
	string(TypeEffect), string(TypeReceipt), string(TypeVoid),
	string(TypeProgress), string(TypeAlive), string(TypeLog),
}

// childFields is every field that a message of a child can have.
var childFields = []string{
	"type", "id", "protocol", "result", "reason", "after_ms", "name", "repeatable",
	"receipt", "percent", "message", "level", "fields",
}

// Message is one line from a child. Fields that its type does not have are
// zero. It shares no memory with the line it was read from.
type Message struct {
	Type       Type
	ID         int64          // 1 to MaxID; whether it is the child's job is the reader's to check
	HasID      bool           // always, but for ready and for a log of no job
	Protocol   int            // ready: the version the child speaks; another than Version is no error here
	Result     jsontext.Value // done: nil is none; may be longer than MaxResult
	Reason     string         // retry, dead, uncertain, void: as it was said, however long; may be empty
	After      *time.Duration // retry: nil is none asked for; snooze: never nil
	Name       string         // effect, receipt, void: of the effect
	Repeatable bool           // effect
	Receipt    jsontext.Value // receipt: at most MaxReceipt
	Percent    *float64       // progress: 0 to 100; nil is none said
	Text       string         // progress, log: its message
	Level      string         // log: trace, debug, info, warn or error
	Fields     jsontext.Value // log: an object; nil is none
}

// ParseMessage reads one line of a child's stdout, without its line end. The
// error is a *ProtocolError, and then the message is zero: nothing of it counts.
//
// Refused are what is not one strict JSON object, a value in it nested deeper
// than MaxDepth, an unknown type, a missing field, and a field of another kind
// than its own. Names count exactly as written; fields that the type does not
// have are ignored, whatever they hold.
func ParseMessage(line []byte) (Message, error) {
	f, err := readFields(line, childFields)
	if err != nil {
		return Message{}, err
	}
	m := Message{Type: f.messageType(childTypes)}
	switch m.Type {
	case TypeReady, "":
	case TypeLog:
		m.HasID = f.has("id")
	default:
		m.HasID = true
	}
	if m.HasID {
		m.ID = f.integer("id", 1, MaxID)
	}
	m.readBody(f)
	if f.err != nil {
		return Message{}, f.err
	}
	return m, nil
}

// messageType is the message's type, one of known.
func (f *fields) messageType(known []string) Type {
	if !f.require("type") {
		return ""
	}
	t := f.string("type")
	for _, k := range known {
		if t == k {
			return Type(t)
		}
	}
	f.fail("type", "%s is expected", list(known))
	return ""
}

// readBody reads what the message's type has beside type and id.
func (m *Message) readBody(f *fields) {
	switch m.Type {
	case TypeReady:
		m.Protocol = int(f.integer("protocol", 0, 1<<31-1))
	case TypeDone:
		m.Result = f.raw("result").Clone()
	case TypeRetry:
		m.Reason, m.After = f.string("reason"), f.delay("after_ms")
	case TypeDead, TypeUncertain:
		m.Reason = f.string("reason")
	case TypeSnooze:
		f.require("after_ms")
		m.After = f.delay("after_ms")
	case TypeEffect:
		m.Name, m.Repeatable = f.effectName(), f.bool("repeatable")
	case TypeReceipt:
		m.Name = f.effectName()
		m.Receipt = f.receipt()
	case TypeVoid:
		m.Name, m.Reason = f.effectName(), f.string("reason")
	case TypeProgress:
		m.Percent, m.Text = f.percent(), f.string("message")
	case TypeLog:
		m.Level, m.Text, m.Fields = level(f.string("level")), f.string("message"), f.object("fields")
	}
}

// receipt is an effect's proof, a copy.
func (f *fields) receipt() jsontext.Value {
	v := f.raw("receipt")
	switch {
	case v == nil:
		f.fail("receipt", "missing")
	case len(v) > MaxReceipt:
		f.fail("receipt", "at most %d bytes are expected, not %d", MaxReceipt, len(v))
	}
	return v.Clone()
}

// percent is a share of the work. One beyond its ends is brought to the nearer:
// a handler that counts 101 parts of 100 does its job all the same.
func (f *fields) percent() *float64 {
	p := f.number("percent")
	if p == nil {
		return nil
	}
	*p = min(max(*p, 0), 100)
	return p
}

// level is one of ours for the word that the handler's own logger uses; info
// for one that nobody knows.
func level(word string) string {
	switch w := strings.ToLower(word); w {
	case "trace", "debug", "info", "warn", "error":
		return w
	case "warning":
		return "warn"
	case "critical", "fatal", "err":
		return "error"
	}
	return "info"
}

// Outcome is the outcome that m tells; false if m is none.
func (m Message) Outcome() (Outcome, bool) {
	switch m.Type {
	case TypeDone:
		return done(m.Result), true
	case TypeRetry, TypeDead, TypeUncertain, TypeSnooze:
		return Outcome{Is: End(m.Type), Reason: m.Reason, After: m.After}, true
	}
	return Outcome{}, false
}
