package childproto

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// End names what a run was, by the handler's word.
type End string

// The ends a handler can name. Each is the type of the message that names it.
const (
	EndDone      End = "done"
	EndRetry     End = "retry"     // it failed; a later run may succeed
	EndDead      End = "dead"      // it failed, and every other run would
	EndUncertain End = "uncertain" // the handler does not know
	EndSnooze    End = "snooze"    // nothing was done
)

// outcomeTypes is what an outcome file may hold.
var outcomeTypes = []string{string(TypeDone), string(TypeRetry), string(TypeDead), string(TypeUncertain), string(TypeSnooze)}

// Outcome is a handler's word on its run.
type Outcome struct {
	Is           End
	Result       jsontext.Value // done only; nil: none, or too big
	ResultTooBig bool           // there was a result over MaxResult
	Reason       string         // all but done and snooze; as it was said, however long; may be empty
	After        *time.Duration // retry, snooze: the delay asked for, 0 to MaxAfter; nil: none
}

// done is the outcome done with this result, nil for none.
func done(result jsontext.Value) Outcome {
	if len(result) > MaxResult {
		return Outcome{Is: EndDone, ResultTooBig: true}
	}
	return Outcome{Is: EndDone, Result: result}
}

// ParseOutcomeFile reads what a plain handler left in BAILIFF_OUTCOME for the
// job with this id: nil and no error if text is empty, for then the exit status
// decides. A byte-order mark at its start is dropped, and it may take several
// lines. It needs no id; one that it has must be the job's own.
//
// Anything but one outcome is a *ProtocolError, and so is a text over
// MaxOutcomeFile: whoever reads the file reads one byte more than that to tell.
func ParseOutcomeFile(text []byte, id int64) (*Outcome, error) {
	if len(text) > MaxOutcomeFile {
		return nil, &ProtocolError{Problem: "longer than 2 MiB"}
	}
	text = strictjson.TrimBOM(text)
	if len(text) == 0 {
		return nil, nil
	}
	f, err := readFields(text, childFields)
	if err != nil {
		return nil, err
	}
	m := Message{Type: f.messageType(outcomeTypes)}
	if f.has("id") {
		if said := f.integer("id", 1, MaxID); said != id {
			f.fail("id", "this job is %d", id)
		}
	}
	m.readBody(f)
	if f.err != nil {
		return nil, f.err
	}
	o, _ := m.Outcome()
	return &o, nil
}
