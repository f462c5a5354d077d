package supervisor

// This file keeps a process from being started for a job that must not be
// handed over any more. Between the look at the lease and the start lie a
// folder to make, files to read and a program that may be busy: each can take
// longer than the lease lasts.

// obstacle is closed once the job must not be handed over. It is watched for
// until begun is called.
func (c *control) obstacle() (obstacle <-chan struct{}, begun func()) {
	arisen, started := make(chan struct{}), make(chan struct{})
	if fired(c.lost) || fired(c.cancelled) || fired(c.stop) {
		close(arisen)
		return arisen, func() {}
	}
	go func() {
		select {
		case <-c.lost:
		case <-c.cancelled:
		case <-c.stop: // an abort closes it too
		case <-started:
			return
		}
		close(arisen)
	}()
	return arisen, func() { close(started) }
}

// notBegun notes of a run that an obstacle ended before its process was started
// that it never had the job.
func (c *control) notBegun(e *Evidence) {
	e.Lost = fired(c.lost)
	if fired(c.cancelled) {
		e.GivenBack = "somebody cancelled the job before it was handed over"
		return
	}
	e.GivenBack = "the service stops"
}
