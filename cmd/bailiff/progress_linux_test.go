package main

import (
	"strings"
	"testing"
)

// On a terminal what takes long shows how far it is, and takes that away again
// before it says what it did.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("lines", strings.Repeat("x\n", 3), 0o644)
	s.write("jobs", `{"kind":"a","key":"1"}`+"\n"+`{"kind":"a","key":"2"}`+"\n", 0o644)
	for _, one := range []struct {
		args []string
		bar  string // empty: of a copy this small no bar is seen
		last string
	}{
		{[]string{"enqueue", "--from", "jobs"}, "\renqueue ", "2 jobs accepted, 0 already there, 0 refused"},
		{[]string{"enqueue", "a", "--each", "x", "--from", "lines"}, "\renqueue ", "1 job accepted, 2 already there, 0 refused"},
		{[]string{"backup", "snap.db"}, "", "to make a queue of it"},
		{[]string{"restore", "snap.db", "new.db"}, "", "bailiff check && bailiff run"},
		{[]string{"--db", "new.db", "requeue", "--all", "--reviewed"}, " requeue (3", "3 jobs requeued"},
		{[]string{"prune"}, " prune (0", "0 jobs pruned"},
	} {
		term := s.terminal(one.args...)
		err := term.Wait()
		s.await("the answer", func() bool { return strings.Contains(term.shown(), one.last) }, term.shown)
		if err != nil {
			t.Errorf("%v: %v", one.args, err)
		}
		before, _, _ := strings.Cut(term.shown(), one.last)
		if !strings.Contains(before, one.bar) {
			t.Errorf("%v shows no bar %q: %q", one.args, one.bar, before)
		}
		if drawn, cleared := strings.LastIndex(before, one.bar), strings.LastIndex(before, "   \r"); one.bar != "" && cleared < drawn {
			t.Errorf("%v leaves its bar: %q", one.args, before)
		}
	}
}
