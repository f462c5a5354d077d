// Package queue holds the rules of bailiff's job queue and does no I/O: what a
// job is, which states it can be in, what may move it from one to another, what
// becomes of a run that ended, which payloads are accepted, how long a retry
// waits, and which errors an engine answers with. An engine (queue/sqlite)
// stores jobs by these rules; a supervisor works on them.
//
// Words, used the same way everywhere:
//
//	job         one unit of work: kind, key, payload
//	kind        which handler the job is for
//	key         the enqueuer's idempotency key, unique within its kind for ever
//	run         one claim of a job, named by its fence
//	attempt     how many runs the job has had since it was last requeued, from 1
//	lease       the right to work on a job until its deadline
//	token       128 random bits that name one lease; who has it can settle the job
//	fence       a number per job that only grows, one up per claim
//	settle      end a run: done, retry, dead, uncertain, quarantine, snooze
//	effect      something outside that a handler is about to do, recorded before it happens
//	mark        a cancel request on a leased job
//	dead        failed for good; the outcome is known
//	quarantined the outcome is not known; never tried again without a person's word
package queue
