package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var listRules = rules{
	"jobs are listed by id, without what may be long":         (*fixture).listsInOrder,
	"a filter selects by each of its fields and by all":       (*fixture).listsFiltered,
	"a prefix is taken as it is written":                      (*fixture).listsPrefix,
	"the page after begins where the one before ended":        (*fixture).listsPages,
	"paging is stable while jobs come, move and go":           (*fixture).listsWhileMoving,
	"every state of a filter selects exactly its jobs":        (*fixture).listsStates,
	"a job is listed as old since its last transition":        (*fixture).listsByAge,
	"the limit is kept, and is a hundred when nobody says so": (*fixture).listsLimited,
}

func (f *fixture) listsInOrder() {
	n := newJob("b", "2")
	n.Meta, n.Priority = jsontext.Value(`{"m":1}`), 9
	f.add("a", "1")
	f.adds(n)
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`1`)})
	f.claim("b", rule)
	jobs := f.list(queue.Filter{})
	if keysIn(jobs) != "1 2" || jobs[0].ID >= jobs[1].ID {
		f.Fatalf("listed %+v", jobs)
	}
	for _, job := range jobs {
		whole := f.get(job.ID)
		whole.Payload, whole.Meta, whole.Result, whole.Effects = nil, nil, nil, nil
		if fmt.Sprintf("%+v", job) != fmt.Sprintf("%+v", whole) {
			f.Errorf("listed as\n%+v, stands as\n%+v", job, whole)
		}
	}
}

func (f *fixture) listsFiltered() {
	f.everyState()
	for _, c := range []struct {
		filter queue.Filter
		want   string
	}{
		{queue.Filter{Kind: "a"}, "scheduled leased done dead quarantined cancelled ready"},
		{queue.Filter{Kind: "nobody"}, ""},
		{queue.Filter{KeyPrefix: "dea"}, "dead dead"},
		{queue.Filter{KeyPrefix: "d", Kind: "b"}, "done dead"},
		{queue.Filter{KeyPrefix: "d", Kind: "b", States: []queue.State{queue.StateDead}}, "dead"},
		{queue.Filter{States: []queue.State{queue.StateDead, queue.StateLeased, queue.StateDead}}, "leased dead leased dead"},
		{queue.Filter{States: []queue.State{queue.StateReady, queue.StateScheduled}, Kind: "a"}, "scheduled ready"},
		{queue.Filter{States: []queue.State{queue.StateDone}, KeyPrefix: "x"}, ""},
		{queue.Filter{States: queue.States(), Kind: "a", Limit: 3}, "scheduled leased done"},
	} {
		if got := keysIn(f.list(c.filter)); got != c.want {
			f.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
	first := f.everything()[0].ID
	if got := keysIn(f.list(queue.Filter{Kind: "a", After: first, Limit: 2})); got != "leased done" {
		f.Errorf("after the first: %s", got)
	}
}

func (f *fixture) listsPrefix() {
	keys := []string{"a", "A", "ab", "a%b", "a_b", "a*b", "a\\", "aé", "a\u007f", "a\U0010FFFF", "b", strings.Repeat("a", queue.MaxKeyLength)}
	for _, key := range keys {
		f.add("k", key)
	}
	for _, prefix := range append(keys, "a\U0010FFFFx", "\U0010FFFF", "a\xc3\xa9"[:1], "aé"[:1]) {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		for _, kind := range []string{"", "k"} {
			if got := keysIn(f.list(queue.Filter{KeyPrefix: prefix, Kind: kind})); got != strings.Join(want, " ") {
				f.Errorf("prefix %q: %q, want %q", prefix, got, want)
			}
		}
	}
}

func (f *fixture) listsPages() {
	var jobs []queue.NewJob
	for i := range 230 {
		jobs = append(jobs, newJob(fmt.Sprint("k", i%3), numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	for _, filter := range []queue.Filter{{}, {Kind: "k1"}, {States: []queue.State{queue.StateReady}}, {KeyPrefix: "0001"}} {
		filter.Limit = queue.MaxPage
		all := keysIn(f.list(filter))
		for _, limit := range []int{1, 7, 100} {
			filter.Limit, filter.After = limit, 0
			var pages []queue.Job
			for {
				page := f.list(filter)
				if len(page) == 0 {
					break
				}
				pages = append(pages, page...)
				filter.After = page[len(page)-1].ID
			}
			if got := keysIn(pages); got != all {
				f.Errorf("%+v: %d jobs in pages", filter, len(pages))
			}
		}
	}
}

func (f *fixture) listsWhileMoving() {
	var jobs []queue.NewJob
	for i := range 60 {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	other := f.beside()
	seen := map[string]int{}
	last := int64(0)
	for page := 0; ; page++ {
		list := f.list(queue.Filter{Kind: "a", After: last, Limit: 7})
		if len(list) == 0 {
			break
		}
		for _, job := range list {
			seen[job.Key]++
		}
		last = list[len(list)-1].ID
		// Meanwhile some are done, pruned and added.
		for _, c := range other.claims(want("a", 3, rule)) {
			other.settles(c, queue.Outcome{Is: queue.RunDone})
		}
		f.clock.Advance(time.Millisecond)
		other.pruneAll(queue.Pruning{Keep: queue.Retention{Done: time.Millisecond}})
		other.add("b", numbered(page))
	}
	// What was there all the while is listed once, and nothing twice.
	for key, n := range seen {
		if n != 1 {
			f.Errorf("%s is listed %d times", key, n)
		}
	}
	for _, job := range f.list(queue.Filter{Kind: "a", Limit: queue.MaxPage}) {
		if seen[job.Key] != 1 {
			f.Errorf("%s was there and is not listed", job.Key)
		}
	}
}

func (f *fixture) listsStates() {
	f.everyState()
	for _, due := range []bool{false, true} {
		if due {
			f.clock.Advance(time.Hour)
		}
		by := map[queue.State]string{}
		for _, job := range f.everything() {
			by[job.State] = strings.TrimSpace(by[job.State] + " " + job.Key)
		}
		for _, state := range queue.States() {
			jobs := f.list(queue.Filter{States: []queue.State{state}})
			if got := keysIn(jobs); got != by[state] {
				f.Errorf("%s: %q, want %q", state, got, by[state])
			}
			for _, job := range jobs {
				if job.State != state {
					f.Errorf("%s: %+v", state, job)
				}
			}
		}
		if due && by[queue.StateScheduled] != "" {
			f.Errorf("an hour later these are scheduled: %s", by[queue.StateScheduled])
		}
	}
}

func (f *fixture) listsByAge() {
	f.add("a", "1")
	f.clock.Advance(time.Hour)
	f.add("a", "2")
	if got := keysIn(f.list(queue.Filter{OlderThan: time.Hour})); got != "1" {
		f.Errorf("an hour old: %s", got)
	}
	if got := keysIn(f.list(queue.Filter{OlderThan: time.Hour + time.Millisecond})); got != "" {
		f.Errorf("older than an hour: %s", got)
	}
	f.claim("a", rule)
	if got := keysIn(f.list(queue.Filter{OlderThan: time.Minute})); got != "" {
		f.Errorf("after a claim: %s", got)
	}
	f.clock.Advance(time.Minute)
	if got := keysIn(f.list(queue.Filter{OlderThan: time.Minute, States: []queue.State{queue.StateLeased}})); got != "1" {
		f.Errorf("a minute later: %s", got)
	}
}

func (f *fixture) listsLimited() {
	var jobs []queue.NewJob
	for i := range queue.DefaultPage + 1 {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	for limit, want := range map[int]int{0: queue.DefaultPage, 1: 1, queue.MaxPage: len(jobs)} {
		if got := len(f.list(queue.Filter{Limit: limit})); got != want {
			f.Errorf("limit %d: %d jobs", limit, got)
		}
	}
}
