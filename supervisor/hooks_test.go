package supervisor_test

import (
	"context"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// hooked is a queue in whose calls a test can do something, or fail.
type hooked struct {
	*sqlite.Queue
	agenda  func(*queue.Agenda) error // before it is answered
	claimed func()                    // between the claim and its answer
	renew   func() error              // before a renewal
	metrics func() error              // before the metrics
	settle  func() error              // before a settle
	free    func() (int64, error)
	needs   func() int64    // bytes free
	changes <-chan struct{} // in place of the queue's own
}

func (h *hooked) Settle(ctx context.Context, s queue.Settlement) (queue.Settled, error) {
	if h.settle != nil {
		if err := h.settle(); err != nil {
			return queue.Settled{}, err
		}
	}
	return h.Queue.Settle(ctx, s)
}

func (h *hooked) Free() (int64, error) {
	if h.free != nil {
		return h.free()
	}
	return h.Queue.Free()
}

func (h *hooked) NeedsFree() int64 {
	if h.needs != nil {
		return h.needs()
	}
	return h.Queue.NeedsFree()
}

func (h *hooked) Changes(ctx context.Context) (<-chan struct{}, error) {
	if h.changes != nil {
		return h.changes, nil
	}
	return h.Queue.Changes(ctx)
}

func (h *hooked) Agenda(ctx context.Context, kinds []string) (queue.Agenda, error) {
	a, err := h.Queue.Agenda(ctx, kinds)
	if h.agenda != nil && err == nil {
		err = h.agenda(&a)
	}
	return a, err
}

func (h *hooked) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Claimed, error) {
	list, err := h.Queue.Claim(ctx, r)
	if h.claimed != nil && len(list) > 0 {
		h.claimed()
	}
	return list, err
}

func (h *hooked) Renew(ctx context.Context, list []queue.Renewal) ([]queue.Renewed, error) {
	if h.renew != nil {
		if err := h.renew(); err != nil {
			return nil, err
		}
	}
	return h.Queue.Renew(ctx, list)
}

func (h *hooked) Metrics(ctx context.Context) (queue.Metrics, error) {
	if h.metrics != nil {
		if err := h.metrics(); err != nil {
			return queue.Metrics{}, err
		}
	}
	return h.Queue.Metrics(ctx)
}
