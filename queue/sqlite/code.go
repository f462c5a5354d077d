package sqlite

import (
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// code is a word of package queue as a small integer in the file. The codes are
// kept for ever; the word tables of the schema list the same ones.
type code int64

const (
	scheduled   code = 1
	ready       code = 2
	leased      code = 3
	done        code = 4
	dead        code = 5
	quarantined code = 6
	cancelled   code = 7
)

var states = words[queue.State]{
	queue.StateScheduled:   scheduled,
	queue.StateReady:       ready,
	queue.StateLeased:      leased,
	queue.StateDone:        done,
	queue.StateDead:        dead,
	queue.StateQuarantined: quarantined,
	queue.StateCancelled:   cancelled,
}

var events = words[queue.Event]{
	queue.EventEnqueue:    1,
	queue.EventPromote:    2,
	queue.EventClaim:      3,
	queue.EventDone:       4,
	queue.EventRetry:      5,
	queue.EventDead:       6,
	queue.EventUncertain:  7,
	queue.EventQuarantine: 8,
	queue.EventSnooze:     9,
	queue.EventExpire:     10,
	queue.EventCancel:     11,
	queue.EventClose:      12,
	queue.EventRequeue:    13,
	queue.EventRestore:    14,
	queue.EventNote:       15,
}

var uncertainRules = words[queue.UncertainRule]{
	queue.UncertainAsk:        1,
	queue.UncertainRepeatable: 2,
	queue.UncertainJournal:    3,
	queue.UncertainRetry:      4,
}

var effectStates = words[queue.EffectState]{
	queue.EffectBegun:  1,
	queue.EffectDone:   2,
	queue.EffectVoided: 3,
}

// digest is what the file keeps of a SHA-256: enough to tell two texts apart, and
// too much to find a second one for.
func digest(sum [32]byte) []byte { return sum[:16] }

// words is a list of words with their codes.
type words[W ~string] map[W]code

// code of a word that the rules have checked; another one is a mistake in this
// package.
func (w words[W]) code(word W) code {
	c, ok := w[word]
	if !ok {
		panic(fmt.Sprintf("sqlite: no code for %q", string(word)))
	}
	return c
}

// word of a code in the file; empty for NULL.
func (w words[W]) word(c code) W {
	for word, k := range w {
		if k == c {
			return word
		}
	}
	return ""
}
