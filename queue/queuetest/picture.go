package queuetest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
)

// picture is all that can be seen of a queue at one moment, as lines by what they
// are about.
type picture map[string]string

// picture looks at everything.
func (f *fixture) picture() picture {
	f.Helper()
	p := picture{}
	for _, job := range f.everything() {
		whole := f.get(job.ID)
		about := fmt.Sprintf("job %d", job.ID)
		p[about] = fmt.Sprintf("%+v", whole)
		for i, e := range f.story(job.ID) {
			p[fmt.Sprintf("%s, history %d", about, i)] = fmt.Sprintf("%+v", e)
		}
	}
	m := f.metrics()
	p["metrics"] = fmt.Sprintf("%+v", m.Counts)
	for kind, k := range m.Kinds {
		p["metrics of "+kind] = fmt.Sprintf("%+v", k)
	}
	return p
}

// of is the part that is about one job.
func (p picture) of(id int64) picture {
	about := fmt.Sprintf("job %d", id)
	part := maps.Clone(p)
	maps.DeleteFunc(part, func(line, _ string) bool { return line != about && !strings.HasPrefix(line, about+",") })
	return part
}

// renewed is where a picture shows what a restore changes of every job.
var renewed = regexp.MustCompile(`\b(Fence:\d+|NeedsReview:\w+)`)

// withoutRenewed leaves out of the jobs what a restore changes of every one.
func (p picture) withoutRenewed() picture {
	rest := maps.Clone(p)
	for about, line := range rest {
		if !strings.Contains(about, "history") {
			rest[about] = renewed.ReplaceAllString(line, "")
		}
	}
	return rest
}

// everything lists all jobs, page by page.
func (f *fixture) everything() (all []queue.Job) {
	f.Helper()
	for last := int64(0); ; last = all[len(all)-1].ID {
		page := f.list(queue.Filter{After: last, Limit: queue.MaxPage})
		all = append(all, page...)
		if len(page) < queue.MaxPage {
			return all
		}
	}
}

// unchanged fails the test if anything differs from before.
func (f *fixture) unchanged(before picture, what string) {
	f.Helper()
	if d := before.difference(f.picture()); d != "" {
		f.Errorf("%s changed something:\n%s", what, d)
	}
}

// difference shows what differs.
func (p picture) difference(other picture) string {
	var lines []string
	both := maps.Clone(p)
	maps.Copy(both, other)
	for _, about := range slices.Sorted(maps.Keys(both)) {
		if p[about] != other[about] {
			lines = append(lines, fmt.Sprintf("%s\n  was %s\n  is  %s", about, p[about], other[about]))
		}
	}
	return strings.Join(lines, "\n")
}

// counted fails the test if the metrics are not what listing the jobs counts.
func (f *fixture) counted() {
	f.Helper()
	var all queue.Counts
	kinds := map[string]*queue.Counts{}
	for _, job := range f.everything() {
		if kinds[job.Kind] == nil {
			kinds[job.Kind] = &queue.Counts{}
		}
		count(&all, job.State)
		count(kinds[job.Kind], job.State)
	}
	m := f.metrics()
	if m.Counts != all {
		f.Errorf("metrics %+v, counted %+v", m.Counts, all)
	}
	for kind, k := range m.Kinds {
		var counts queue.Counts
		if kinds[kind] != nil {
			counts = *kinds[kind]
		}
		if k.Counts != counts {
			f.Errorf("metrics of %s %+v, counted %+v", kind, k.Counts, counts)
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		f.Errorf("kinds without metrics: %v", slices.Sorted(maps.Keys(kinds)))
	}
}
