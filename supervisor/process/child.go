package process

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// Child is one running process and all that it started, made by Start. Its
// methods may be called from any goroutine.
type Child struct {
	// Path is the file that runs, as LookPath found it.
	Path string

	// Stdin, Stdout and Stderr are the caller's ends of the pipes. They take
	// deadlines. Nobody reads them unless the caller does: a child that fills
	// stdout or stderr stops until it is read.
	Stdin, Stdout, Stderr *os.File

	tree   tree
	exited chan struct{} // closed by watch, after exit is set
	exit   Exit
	gone   chan struct{} // closed by sweep

	killing sync.Once
	mu      sync.Mutex // held while the leader is signalled or reaped
	reaped  bool
}

// PID returns the leader's process id, which is also the number of its process
// group and session.
func (c *Child) PID() int { return c.tree.leader }

// Unread returns how many bytes written to Stdin the child has not read yet.
// It stays true after the child ended, until Stdin is closed (os.ErrClosed).
// Where the system cannot tell: errors.ErrUnsupported.
func (c *Child) Unread() (int, error) { return standing(c.Stdin) }

// Exited is closed when the leader has ended. What it started may live on.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit tells how the leader ended. It waits for Exited.
func (c *Child) Exit() Exit {
	<-c.exited
	return c.exit
}

// Terminate asks the leader's process group to end: SIGTERM, then SIGCONT so
// that one that was stopped hears of it. It answers false, and sends nothing,
// if the leader had already ended.
func (c *Child) Terminate() (told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped || c.tree.leaderEnded() {
		return false
	}
	if syscall.Kill(-c.tree.leader, syscall.SIGTERM) != nil {
		return false
	}
	_ = syscall.Kill(-c.tree.leader, syscall.SIGCONT)
	return true
}

// Kill sends SIGKILL to the whole tree and goes on doing so in the background
// until nothing of it lives; then Gone is closed. It does not wait. It answers
// whether the leader was still alive: false if that had already ended.
//
// A leader that nothing but Kill has told to end, and that was alive then, may
// all the same be found to have exited with a status: it was on its way out, and
// the signal came too late to change it. Calling Kill again does nothing and
// answers false.
func (c *Child) Kill() (told bool) {
	c.killing.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		told = !c.tree.leaderEnded()
		if told {
			c.tree.killLeader() // first, or it could act on the end of the others
		}
		_ = syscall.Kill(-c.tree.leader, syscall.SIGKILL)
		go c.sweep()
	})
	return told
}

// Gone is closed when, after Kill, nothing of the tree lives any more and the
// leader is reaped. A process that the kernel cannot end (waiting for a device,
// frozen) keeps it open; Left names it.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// Left returns the pids of the tree that are alive now, zombies not counted. Where
// the system does not tell of one, it is in the answer.
func (c *Child) Left() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	return c.tree.living()
}

// CloseStdin ends the child's input. Closing it twice is no error.
func (c *Child) CloseStdin() error { return closeOnce(c.Stdin) }

// Close closes the three pipes. It does not end the child and wakes whoever
// reads or writes them. Closing twice is no error.
func (c *Child) Close() error {
	return errors.Join(closeOnce(c.Stdin), closeOnce(c.Stdout), closeOnce(c.Stderr))
}

func closeOnce(f *os.File) error {
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// watch waits for the leader's end, leaves it unreaped and tells.
func (c *Child) watch(pidfd int) {
	c.exit = c.tree.awaitLeader(pidfd)
	close(c.exited)
}

// How often a tree that does not empty is looked at and killed again.
const (
	sweepFirst = time.Millisecond
	sweepMax   = 100 * time.Millisecond
)

// sweep kills what is left of the tree until two looks in a row find nothing:
// one look can miss a process that was born behind it to a parent that died
// ahead of it.
func (c *Child) sweep() {
	wait := sweepFirst
	timer := time.NewTimer(0)
	defer timer.Stop()
	exited := c.exited
	empty := 0
	for {
		select {
		case <-exited:
			exited = nil
			wait = sweepFirst
		case <-timer.C:
		}
		left := c.killTree()
		switch {
		case exited != nil || left > 0:
			empty = 0
			timer.Reset(wait)
			wait = min(2*wait, sweepMax)
		case empty == 0:
			empty++
			timer.Reset(0)
		default:
			c.reap()
			return
		}
	}
}

// killTree kills what lives of the tree and returns how many processes that were.
func (c *Child) killTree() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	living := c.tree.living()
	c.tree.kill(living)
	return len(living)
}

// reap gives the leader's number back. No signal may be sent after it.
func (c *Child) reap() {
	c.mu.Lock()
	c.tree.reapLeader()
	c.reaped = true
	c.mu.Unlock()
	close(c.gone)
}
