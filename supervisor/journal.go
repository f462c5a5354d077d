package supervisor

import (
	"fmt"

	"github.com/b1213022/bailiff/childproto"
)

// This file is where the effect journal meets a run. This version keeps no
// journal: an effect is refused, so that a handler that asks before it acts
// does not act; a receipt or a void then tells of something that was never
// begun here, which is broken protocol: the handler acted without asking, and
// nothing is known of its run.

// noJournal is the reason an effect is refused with.
const noJournal = "this version keeps no effect journal"

// journalAnswer answers a message about an effect of the child's present job:
// the line to send back, or what is wrong with the message.
func journalAnswer(m childproto.Message) (line []byte, err error) {
	if m.Type == childproto.TypeEffect {
		return childproto.AppendRefused(nil, m.ID, m.Name, noJournal), nil
	}
	return nil, fmt.Errorf("%s for the effect %q, which was never begun", m.Type, m.Name)
}
