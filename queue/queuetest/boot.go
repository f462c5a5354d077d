package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var bootRules = rules{
	"a lease of another boot has its length and two margins from when it was seen": (*fixture).watched,
	"whoever looks at a lease of another boot changes nothing":                     (*fixture).looksChangeNothing,
	"the holder of another boot keeps its lease by renewing it":                    (*fixture).renewedAcrossBoots,
	"a run of another boot can be settled until somebody has expired it":           (*fixture).settledAcrossBoots,
	"of leases of several boots those over longest are expired first":              (*fixture).boots,
	"who renews a lease keeps it, whatever boots others have":                      (*fixture).amongBoots,
	"a second reboot begins the watch anew":                                        (*fixture).secondReboot,
	"a new lease is of the new boot":                                               (*fixture).leaseOfNewBoot,
}

// leftOver is a run whose machine was started again.
func (f *fixture) leftOver() queue.Claimed {
	f.Helper()
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Reboot(time.Hour)
	f.reopen()
	return c
}

// watch is how long a lease of another boot is watched before it is expired.
const watch = leaseLength + 2*margin

func (f *fixture) watched() {
	c := f.leftOver()
	f.clock.Advance(time.Hour)
	if got := f.expires(); len(got) != 0 {
		f.Fatalf("expired when first seen: %+v", got)
	}
	f.clock.Advance(watch - 1)
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired early: %+v", got)
	}
	if got := f.claims(want("a", 1, rule)); len(got) != 0 {
		f.Errorf("given away early: %+v", got)
	}
	f.clock.Advance(1)
	if got := f.expires(); len(got) != 1 || got[0].ID != c.Job.ID || got[0].To != queue.StateReady {
		f.Errorf("expired %+v", got)
	}
	f.counted()
}

func (f *fixture) looksChangeNothing() {
	c := f.leftOver()
	before := f.picture()
	for range 3 {
		f.expires()
		if _, err := f.Agenda(f.Context(), nil); err != nil {
			f.Fatal(err)
		}
		if got := f.claims(want("a", 1, rule)); len(got) != 0 {
			f.Errorf("claimed %+v", got)
		}
		f.unchanged(before, "a look")
	}
	if job := f.get(c.Job.ID); job.State != queue.StateLeased || job.Worker != "w1" || !job.LeaseExpiresAt.After(f.clock.Now()) {
		f.Errorf("shown as %+v", job)
	}
}

func (f *fixture) renewedAcrossBoots() {
	c := f.leftOver()
	f.expires()
	f.clock.Advance(watch - 1)
	for range 3 {
		if r := f.renew(c, leaseLength); r.Err != nil || r.Deadline != f.clock.Mono()+leaseLength {
			f.Fatalf("renewed: %+v", r)
		}
		f.clock.Advance(leaseLength - 1)
		if got := f.expires(); len(got) != 0 {
			f.Errorf("expired: %+v", got)
		}
	}
}

func (f *fixture) settledAcrossBoots() {
	c := f.leftOver()
	f.expires()
	f.clock.Advance(watch - 1)
	f.expires()
	if s := f.settles(c, queue.Outcome{Is: queue.RunDone}); s.State != queue.StateDone {
		f.Errorf("settled %+v", s)
	}
}

func (f *fixture) boots() {
	f.leftOver() // of a boot before, seen from here on
	f.expires()
	f.clock.Advance(watch / 2)
	f.add("b", "1")
	f.claim("b", rule)
	f.clock.Advance(time.Hour)
	if got := f.expires(); len(got) != 2 || got[0].Kind != "a" || got[1].Kind != "b" {
		f.Errorf("expired %+v", got)
	}
}

func (f *fixture) amongBoots() {
	f.add("a", "1")
	f.clock.Reboot(0) // f does not hear of it: two machines, as containers may be
	observer := f.beside()
	c := f.claim("a", rule)
	for i := range 6 {
		if got := observer.expires(); len(got) != 0 {
			f.Fatalf("expired while its holder renews it: %+v", got)
		}
		f.clock.Advance(leaseLength / 2)
		if r := f.renew(c, leaseLength); r.Err != nil {
			f.Fatalf("renewal %d: %v", i, r.Err)
		}
	}
	observer.expires()
	f.clock.Advance(watch - 1)
	if got := observer.expires(); len(got) != 0 {
		f.Errorf("expired early: %+v", got)
	}
	f.clock.Advance(1)
	if got := observer.expires(); len(got) != 1 {
		f.Errorf("not expired: %+v", got)
	}
}

func (f *fixture) secondReboot() {
	f.leftOver()
	f.expires()
	f.clock.Advance(watch - 1)
	f.clock.Reboot(time.Minute)
	f.reopen()
	f.clock.Advance(time.Minute)
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired when first seen: %+v", got)
	}
	f.clock.Advance(watch)
	if got := f.expires(); len(got) != 1 {
		f.Errorf("expired %+v", got)
	}
}

func (f *fixture) leaseOfNewBoot() {
	f.leftOver()
	f.expires()
	f.clock.Advance(watch)
	f.expires()
	c := f.claim("a", rule)
	if c.Lease.Deadline != f.clock.Mono()+leaseLength || c.Job.Attempt != 2 {
		f.Errorf("claimed %+v", c)
	}
	f.clock.Advance(leaseLength + margin)
	if got := f.expires(); len(got) != 1 {
		f.Errorf("expired %+v", got)
	}
}
