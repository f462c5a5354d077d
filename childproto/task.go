package childproto

import (
	"math"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Task is a job at work. Its methods may be used by several goroutines; what
// they say after the run has ended is dropped.
type Task struct {
	Job

	mu  sync.Mutex
	say func(*Message) // nil once the run has ended
}

// Decode reads the payload into v, which is a pointer. A payload that does not
// fit will fit no better next time: the error is one of Dead.
func (t *Task) Decode(v any) error {
	if err := json.Unmarshal(t.Payload, v); err != nil {
		return Dead("payload: " + err.Error())
	}
	return nil
}

// Progress tells how far the job is, 0 to 100 percent, and what it does; the
// message may be empty. Say it as often as you like, the last one is shown.
func (t *Task) Progress(percent float64, message string) {
	m := &Message{Type: TypeProgress, Text: message}
	if !math.IsNaN(percent) {
		percent = min(max(percent, 0), 100)
		m.Percent = &percent
	}
	t.tell(m)
}

// Alive tells that the handler is at work, where its configuration sets a
// longest silence (liveness). Progress and Log tell it as well.
func (t *Task) Alive() { t.tell(&Message{Type: TypeAlive}) }

// Log writes to the job's log. The level is trace, debug, info, warn or error;
// fields may be nil, and are left out if they cannot be written as JSON.
func (t *Task) Log(level, message string, fields map[string]any) {
	m := &Message{Type: TypeLog, Level: level, Text: message}
	if len(fields) > 0 {
		if v, err := encode(fields); err == nil {
			m.Fields = v
		}
	}
	t.tell(m)
}

func (t *Task) tell(m *Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.say != nil {
		m.ID, m.HasID = t.ID, true
		t.say(m)
	}
}

// end drops what is said from here on.
func (t *Task) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say = nil
}

// encode is v as JSON, the same for equal values.
func encode(v any) (jsontext.Value, error) {
	text, err := json.Marshal(v, json.Deterministic(true))
	return text, err
}
