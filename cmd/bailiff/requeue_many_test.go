package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "1/s": time.Second, "10/s": 100 * time.Millisecond, "30/m": 2 * time.Second, "5/h": 12 * time.Minute,
		"999999/s": 1000 * time.Nanosecond,
	} {
		if got, err := parseRate(text); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0/s", "-1/s", "1/d", "1", "/s", "1.5/s", "1000000/s", "1/s ", "1/sec"} {
		if got, err := parseRate(text); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%q is %v, %v; want a refusal", text, got, err)
		}
	}
}

// Reasons are told without the job that they name, so that they can be grouped; many
// different ones do not fill the screen, nor the memory.
func TestRefusalsAreGrouped(t *testing.T) {
	t.Parallel()
	d := requeued{Kinds: map[string]int64{}}
	refuse := func(id int64, reason string) {
		d.take(&queue.RequeuedJob{
			Job: queue.Job{ID: id, Kind: "k", Key: "x"},
			Err: fmt.Errorf("job %d: %s: %w", id, reason, queue.ErrConflict),
		}, &queue.RequeueMany{})
	}
	for id := int64(1); id <= 10; id++ {
		refuse(id, "the same")
	}
	for id := int64(11); id <= 40; id++ {
		refuse(id, fmt.Sprintf("reason %d", id))
	}
	if d.Refused != 40 || len(d.Refusals) != refusalReasons {
		t.Fatalf("%d refused for %d reasons", d.Refused, len(d.Refusals))
	}
	if first := d.Refusals[0]; first.Reason != "the same" || first.Jobs != 10 || !slices.Equal(first.First, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("first reason: %+v", first)
	}
	if last := d.Refusals[refusalReasons-1]; last.Reason != "other reasons" || last.Jobs != 40-10-(refusalReasons-2) {
		t.Errorf("last reason: %+v", last)
	}
}
