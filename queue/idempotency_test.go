package queue_test

import (
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// Outside systems remember these keys: they must never change.
func TestKeysAreForEver(t *testing.T) {
	t.Parallel()
	id := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	job := queue.IdempotencyKey(id, "charge", "inv-1001")
	if want := "713bf8fef3d0c4431d199f3b52123837"; job != want {
		t.Errorf("key of a job: %s, want %s", job, want)
	}
	if got, want := queue.EffectKey(job, "charge", 0), "528c7b9a694727821aa099441e7e98ee"; got != want {
		t.Errorf("key of an effect: %s, want %s", got, want)
	}
	if got, want := queue.EffectKey(job, "charge", 1), "6cb65994c385b7eed74bbb9c89f81429"; got != want {
		t.Errorf("key of a voided effect: %s, want %s", got, want)
	}
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	add := func(key, what string) {
		if len(key) != 32 {
			t.Errorf("%s has %d digits: %s", what, len(key), key)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s share %s", what, other, key)
		}
		seen[key] = what
	}
	one, two := [16]byte{1}, [16]byte{2}
	add(queue.IdempotencyKey(one, "mail", "a"), "mail/a of one queue")
	add(queue.IdempotencyKey(two, "mail", "a"), "mail/a of another queue")
	add(queue.IdempotencyKey(one, "mail", "b"), "mail/b")
	add(queue.IdempotencyKey(one, "maila", ""), "where kind and key meet, earlier")
	add(queue.IdempotencyKey(one, "mai", "la"), "where kind and key meet, later")
	job := queue.IdempotencyKey(one, "mail", "a")
	add(queue.EffectKey(job, "a", 0), "effect a")
	add(queue.EffectKey(job, "b", 0), "effect b")
	add(queue.EffectKey(job, "a", 1), "effect a, voided once")
	add(queue.EffectKey(job, "a", 2), "effect a, voided twice")
	add(queue.EffectKey(queue.IdempotencyKey(two, "mail", "a"), "a", 0), "effect a of another job")
}
