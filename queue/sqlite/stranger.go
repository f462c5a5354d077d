package sqlite

import (
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// A lease of another boot counts on a clock that is not to be read here: of a
// machine that has been started again since, or of a living process that knows no
// boot id or another one. What can be seen of it is that nobody renews it. So an
// observer keeps in its own memory since when it has seen the lease as it is, on
// its own clock, and may expire it a full length and two margins later: whoever
// wrote it did so before it was first seen here, hence its deadline and the margin
// after it are over by then. Nothing is written before that, so any number of
// observers do not disturb one another, and a holder that lives does not notice.

// stranger is a lease of another boot, as it stands.
type stranger struct {
	job     int64
	is      sight
	length  time.Duration
	expires time.Duration // of the observer's clock: when it may be expired
}

// sight is what changes of a lease when it is renewed, or is another's.
type sight struct {
	fence, boot int64
	deadline    time.Duration // of a clock that cannot be read
}

// sightings are what an observer remembers of the leases of other boots.
type sightings struct {
	mu   sync.Mutex
	seen map[int64]sighting // by job
}

type sighting struct {
	sight
	since time.Duration // of the observer's clock
}

// see completes one lease that was read before now.
func (o *sightings) see(s *stranger, now time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, ok := o.seen[s.job]
	if !ok || before.sight != s.is {
		before = sighting{sight: s.is, since: now}
		if o.seen == nil {
			o.seen = map[int64]sighting{}
		}
		o.seen[s.job] = before
	}
	s.expires = before.since + s.length + 2*queue.Margin(s.length)
}

// forget drops what is remembered of leases that are no longer there.
func (o *sightings) forget(there map[int64]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for job := range o.seen {
		if !there[job] {
			delete(o.seen, job)
		}
	}
}

const (
	nextBoot        = `SELECT boot_id FROM leases WHERE boot_id > ? ORDER BY boot_id LIMIT 1`
	selectStrangers = `SELECT job_id, fence, deadline_mono, length FROM leases WHERE boot_id = ?`
)

// strangers are the leases of all boots but this one.
func (v *view) strangers() (list []stranger, err error) {
	own, err := v.bootID()
	if err != nil {
		return nil, err
	}
	for boot := int64(0); ; {
		// One look at the index for each boot that has a lease, not for each lease.
		if boot, err = v.number(nextBoot, boot); err != nil {
			return nil, err
		}
		if boot == 0 {
			break
		}
		if boot == own {
			continue
		}
		if err := v.each(selectStrangers, []any{boot}, func(r row) error {
			list = append(list, stranger{
				job: r.int(0), is: sight{fence: r.int(1), boot: boot, deadline: time.Duration(r.int(2))},
				length: time.Duration(r.int(3)),
			})
			return nil
		}); err != nil {
			return nil, err
		}
	}
	now := v.q.clock.Mono() // read after the leases: they were written before
	there := make(map[int64]bool, len(list))
	for i := range list {
		v.q.sightings.see(&list[i], now)
		there[list[i].job] = true
	}
	v.q.sightings.forget(there)
	return list, nil
}
