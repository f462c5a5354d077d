package queuetest

import (
	"context"

	"github.com/b1213022/bailiff/queue"
)

// modelWatch is one Changes.
type modelWatch struct{ signal chan struct{} }

// signal tells those who watch; a signal that nobody took stands for this one too.
func (m *moment) signal() {
	for w := range m.watchers {
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// Changes answers a channel with a signal after every commit.
func (q *modelQueue) Changes(ctx context.Context) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed {
		return nil, queue.ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	w := &modelWatch{signal: make(chan struct{}, 1)}
	q.watchers[w] = true
	go func() {
		select {
		case <-ctx.Done():
		case <-q.closing:
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.watchers, w)
		close(w.signal)
	}()
	return w.signal, nil
}
