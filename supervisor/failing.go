package supervisor

import (
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/hashicorp/go-hclog"
)

// restart spaces the starts of a handler that does not start.
var restart = queue.Backoff{Base: time.Second, Max: time.Minute}

// failing counts the failed starts of one handler in a row. No job pays for
// them: while a handler waits for its next try nothing is claimed for it. Not
// safe for use by several goroutines.
type failing struct {
	reason string    // of the last failure, in words; empty: it starts
	tries  int       // in a row; kept until a job was served
	next   time.Time // of the next try
}

// news is a line for the log, to be written by tell once no lock is held: a log
// that blocks must hold up nobody else. Nil says nothing.
type news func(hclog.Logger)

func (n news) tell(log hclog.Logger) {
	if n != nil {
		n(log)
	}
}

// failed counts one more. One cause is a warning once, not with every try.
func (f *failing) failed(reason string, now time.Time) news {
	if f.waits(now) {
		return nil // of several that were started together
	}
	f.tries++
	tries, delay := f.tries, restart.Delay(f.tries, nil)
	f.next = now.Add(delay)
	known := f.reason == reason
	f.reason = reason
	return func(log hclog.Logger) {
		if known {
			log.Debug("handler still does not start", "reason", reason, "tries", tries, "next_try", delay)
			return
		}
		log.Warn("handler does not start: no job uses up an attempt", "reason", reason, "tries", tries, "next_try", delay)
	}
}

// starts notes that a start succeeded. The count stays until a job was served,
// so that a handler that starts and then fails at once is still spaced.
func (f *failing) starts() news {
	if f.reason == "" {
		return nil
	}
	f.reason = ""
	tries := f.tries
	return func(log hclog.Logger) { log.Info("handler starts again", "tries", tries) }
}

// served notes that a job was answered.
func (f *failing) served() { f.tries = 0 }

// waits reports whether the next try is still ahead.
func (f *failing) waits(now time.Time) bool { return f.reason != "" && now.Before(f.next) }

// kick makes the next try due: something about the handler may have changed.
func (f *failing) kick() { f.next = time.Time{} }
