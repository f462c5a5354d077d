package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/b1213022/bailiff/queue"
)

// readers is how many reads run at once; more wait. One more place is kept for
// Agenda: whoever hands out jobs must not wait until long lists are read.
const readers = 4

// pool holds the connections that read. They are made when first needed.
type pool struct {
	connect func(context.Context) (*conn, error)
	part    func(*conn) error // closes one

	room chan struct{} // one element for each connection in use
	kept chan struct{} // the same for the place that is kept

	mu   sync.Mutex
	idle []*conn
	used int
	gate chan struct{} // not nil: no read begins until it is closed
	left func()        // called when the last read ended behind a gate
}

// reader says which places a read may take.
type reader int

const (
	anyReader  reader = iota // those for all
	keptReader               // the one that is kept, too
)

// loan is a connection that take gave.
type loan struct {
	conn *conn
	room chan struct{}
}

func (q *Queue) newPool() *pool {
	return &pool{connect: q.connect, part: q.part, room: make(chan struct{}, readers), kept: make(chan struct{}, 1)}
}

// take gives the caller a connection of its own until give, or
// queue.ErrClosed once closing is closed.
func (p *pool) take(ctx context.Context, closing <-chan struct{}, r reader) (loan, error) {
	if ctx.Err() != nil {
		return loan{}, context.Cause(ctx)
	}
	kept := p.kept
	if r != keptReader {
		kept = nil // blocks for ever
	}
	select {
	case <-closing:
		return loan{}, queue.ErrClosed
	default:
	}
	l := loan{room: p.room}
	select {
	case p.room <- struct{}{}:
	case kept <- struct{}{}:
		l.room = kept
	case <-ctx.Done():
		return loan{}, context.Cause(ctx)
	case <-closing:
		return loan{}, queue.ErrClosed
	}
	if err := p.enter(ctx, closing); err != nil {
		<-l.room
		return loan{}, err
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		l.conn = p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return l, nil
	}
	p.mu.Unlock()
	var err error
	if l.conn, err = p.connect(ctx); err != nil {
		p.leave()
		<-l.room
		return loan{}, err
	}
	return l, nil
}

// enter counts one read in, once there is no gate.
func (p *pool) enter(ctx context.Context, closing <-chan struct{}) error {
	for {
		p.mu.Lock()
		gate := p.gate
		if gate == nil {
			p.used++
		}
		p.mu.Unlock()
		if gate == nil {
			return nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-closing:
			return queue.ErrClosed
		}
	}
}

func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used--; p.used == 0 && p.gate != nil {
		p.left()
	}
}

// shut keeps reads from beginning until open. Those under way go on.
func (p *pool) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// open undoes shut.
func (p *pool) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
	p.gate = nil
}

// unused reports whether no read is under way.
func (p *pool) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used == 0
}

// openReader makes a connection that reads.
func openReader(ctx context.Context, path string) (c *conn, err error) {
	err = patiently(ctx, func() (err error) {
		c, err = openConn(dsn(path, reading))
		return err
	})
	return c, err
}

// give takes back what take gave. A connection whose transaction could not be
// ended is closed.
func (p *pool) give(l loan) {
	if l.conn.inTransaction() {
		_ = p.part(l.conn)
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, l.conn)
		p.mu.Unlock()
	}
	p.leave()
	<-l.room
}

// close waits until every connection is back and closes them all. take must not
// be called any more but with a closed channel.
func (p *pool) close() error {
	for range readers {
		p.room <- struct{}{}
	}
	p.kept <- struct{}{}
	var errs []error
	for _, c := range p.idle {
		errs = append(errs, p.part(c))
	}
	return errors.Join(errs...)
}
